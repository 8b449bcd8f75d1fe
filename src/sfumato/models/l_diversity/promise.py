"""Distinct l-diversity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.demand import Order
from sfumato.core.limits import VALUES, Bound
from sfumato.core.promise import ClassPromise, Truth
from sfumato.core.verdict import Verdict
from sfumato.core.weights import WeightedClass
from sfumato.promises.parameters import Declared, Name, Parameter, Whole, values_of
from sfumato.promises.registry import register
from sfumato.promises.verdicts import verdict


@register("l-diversity", kind="distinct")
@dataclass(frozen=True)
class DistinctLDiversity(Declared, ClassPromise):
    """Every class holds at least l different values of the sensitive column.

    Spellings of one value count as one, and missing cells as none (`core/spelling.py`).
    Source: the weakest reading of *l-diversity* (Machanavajjhala, Kifer, Gehrke and
    Venkitasubramaniam 2007), under the name that Li, Li and Venkatasubramanian 2007 give it.
    Monotone: yes. Hereditary: yes. Evidence: the published table.
    Does not promise: that no value dominates a class (99 people of 100 may share one), nor that
    different values mean different things (all may be kinds of cancer).

    >>> import numpy as np
    >>> from sfumato.core.classes import histogram
    >>> from sfumato.core.taxonomy import Taxonomy
    >>> disease = Taxonomy.flat(["cold", "flu"])
    >>> two = histogram(disease, np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([99, 1, 50]), 2)
    >>> DistinctLDiversity("disease", 2).holds_on(Classes(two.totals, two.totals, {"disease": two})).tolist()
    [True, False]
    """

    of: str
    l: int  # noqa: E741  # the name in the paper and in every policy

    plain: ClassVar[str] = "People who look alike have at least {l} different values of {of} among them."
    silent_on: ClassVar[str] = (
        "One of these values may be far more frequent than the others, and different values may mean "
        "much the same."
    )
    name: ClassVar[str] = "l-diversity"
    kind: ClassVar[str | None] = "distinct"
    monotone: ClassVar[bool] = True
    hereditary: ClassVar[bool] = True
    cone: ClassVar[bool] = True
    known_alone: ClassVar[bool] = True
    by_values: ClassVar[bool] = True
    threats: ClassVar[tuple[str, ...]] = ("homogeneity", "composition", "differencing")
    keys: ClassVar[tuple[Parameter, ...]] = (
        Name("of", meaning="The sensitive column that is protected."),
        Whole("l", meaning="At least so many different values in every class."),
    )
    orders: ClassVar[Mapping[str, Order]] = {"l": Order.LARGER}

    @property
    def sensitive(self) -> tuple[str, ...]:
        return (self.of,)

    def with_least_values(self, l: int) -> Self:  # noqa: E741  # the name in every policy
        return replace(self, l=l)

    @property
    def least_values(self) -> int:
        return self.l

    def limits(self) -> tuple[Bound, ...]:
        return (Bound(VALUES, max(VALUES.default, Fraction(self.l)), self.of),)

    def holds_on(self, classes: Classes) -> Truth:
        truth: Truth = self._distinct(classes) >= self.l
        return truth

    def verdict(self, classes: Classes) -> Verdict:
        distinct = self._distinct(classes)
        worst = int(distinct.argmin()) if len(classes) else None
        measured = None if worst is None else int(distinct[worst])
        return verdict(self, classes, distinct >= self.l, limit=self.l, worst=worst, measured=measured)

    def _distinct(self, classes: Classes) -> NDArray[np.int64]:
        return np.diff(values_of(classes, self.of).start)

    def keeps_weights(self, held: WeightedClass) -> bool:
        return len(held.histograms[self.of].by_meaning(missing=False).weights) >= self.l

    def __str__(self) -> str:
        return f"distinct l-diversity of {self.of}, l = {self.l}"

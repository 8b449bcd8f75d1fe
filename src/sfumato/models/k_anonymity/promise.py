"""k-anonymity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from sfumato.models.contract import AdjustablePromise, ClassPromise, Truth
from sfumato.models.parameters import IntegerParam, Parameter, ParametrizedPromise, verdict
from sfumato.models.registry import register
from sfumato.system.verdict import RECOGNITION, Bound, Order, Verdict
from sfumato.table.classes import Classes


@register
@dataclass(frozen=True)
class KAnonymity(ParametrizedPromise, ClassPromise, AdjustablePromise):
    """Every published combination of quasi-identifier values is shared by at least k people.

    Source: Samarati and Sweeney 1998; Sweeney, *k-anonymity: a model for protecting privacy*, 2002.
    Monotone: yes. Hereditary: yes. Evidence: the published table.
    Does not promise: anything about sensitive values (k people may all share one disease), nor safety
    beside other releases, nor against somebody who knows more than the quasi-identifiers.

    >>> import numpy as np
    >>> sizes = np.array([5, 3])
    >>> KAnonymity(5).holds_on(Classes(sizes, sizes)).tolist()
    [True, False]
    """

    k: int

    plain: ClassVar[str] = "Whoever knows somebody's key columns finds at least {k} people who look alike."
    silent_on: ClassVar[str] = (
        "All people who look alike may share one secret, and knowledge beyond the key columns may "
        "tell them apart."
    )
    name: ClassVar[str] = "k-anonymity"
    monotone: ClassVar[bool] = True
    hereditary: ClassVar[bool] = True
    cone: ClassVar[bool] = True
    by_size: ClassVar[bool] = True
    threats: ClassVar[tuple[str, ...]] = ("linkage", "correspondence", "minimality")
    keys: ClassVar[tuple[Parameter, ...]] = (
        IntegerParam("k", meaning="At least so many people in every class."),
    )
    orders: ClassVar[Mapping[str, Order]] = {"k": Order.LARGER}

    @property
    def least_people(self) -> int:
        return self.k

    def with_least_people(self, k: int) -> Self:
        return replace(self, k=k)

    def limits(self) -> tuple[Bound, ...]:
        return (Bound(RECOGNITION, Fraction(1, self.k)),)

    def holds_on(self, classes: Classes) -> Truth:
        return classes.people >= self.k

    def verdict(self, classes: Classes) -> Verdict:
        worst = int(classes.people.argmin()) if len(classes) else None
        measured = None if worst is None else int(classes.people[worst])
        return verdict(self, classes, self.holds_on(classes), limit=self.k, worst=worst, measured=measured)

    def __str__(self) -> str:
        return f"k-anonymity, k = {self.k}"

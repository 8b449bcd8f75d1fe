"""Recursive (c, l)-diversity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from sfumato.core.classes import Classes
from sfumato.core.demand import Order
from sfumato.core.limits import CERTAINTY, VALUES, Bound
from sfumato.core.microdata import Counts
from sfumato.core.promise import ClassPromise, Promise, Truth
from sfumato.core.verdict import Verdict
from sfumato.core.weights import WeightedClass
from sfumato.promises.distinct_l_diversity import DistinctLDiversity
from sfumato.promises.parameters import Declared, Exact, Name, Parameter, Whole, values_of
from sfumato.promises.registry import register
from sfumato.promises.verdicts import largest_ratio, product_less, verdict


@register("l-diversity", kind="recursive")
@dataclass(frozen=True)
class RecursiveLDiversity(Declared, ClassPromise):
    """In every class r1 < c * (rl + ... + rm), where r1 >= r2 >= ... >= rm count its m sensitive values.

    So even after l - 2 values are ruled out, the most frequent one does not dominate the rest. A class with
    fewer than l values breaks it. The verdict measures r1 / (rl + ... + rm), which has to stay below c.
    Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, *l-diversity: privacy beyond
    k-anonymity*, 2007 (recursive (c, l)-diversity; the inequality is strict).
    Monotone: yes. Hereditary: no. Evidence: the published table.
    Does not promise: that the values mean different things, nor that a class looks like the table as a whole.
    Where one person has several rows, each counts once per value and class; a union of classes then is no
    sum, and the claim to be monotone is not covered.

    >>> import numpy as np
    >>> from sfumato.core.classes import histogram
    >>> from sfumato.core.taxonomy import Taxonomy
    >>> disease = Taxonomy.flat(["cold", "flu", "TB"])
    >>> one = histogram(disease, np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([6, 2, 1]), 1)
    >>> classes = Classes(one.totals, one.totals, {"disease": one})
    >>> [bool(RecursiveLDiversity("disease", 2, Fraction(c)).holds_on(classes)[0]) for c in (2, 3)]
    [False, True]
    """

    of: str
    l: int  # noqa: E741  # the name in the paper and in every policy
    c: Fraction

    plain: ClassVar[str] = (
        "Among people who look alike no value of {of} dominates, also after others are ruled out."
    )
    silent_on: ClassVar[str] = "Different values may mean much the same."
    name: ClassVar[str] = "l-diversity"
    kind: ClassVar[str | None] = "recursive"
    monotone: ClassVar[bool] = True
    hereditary: ClassVar[bool] = False
    cone: ClassVar[bool] = True
    known_alone: ClassVar[bool] = True
    threats: ClassVar[tuple[str, ...]] = ("homogeneity", "composition", "differencing")
    keys: ClassVar[tuple[Parameter, ...]] = (
        Name("of", meaning="The sensitive column that is protected."),
        Whole("l", meaning="The commonest value is compared with the l-th commonest and all rarer ones."),
        Exact(
            "c",
            strict=True,
            meaning="Fewer than c times as many people have the commonest value as have those.",
        ),
    )
    orders: ClassVar[Mapping[str, Order]] = {"l": Order.LARGER, "c": Order.SMALLER}

    def implied(self) -> tuple[Promise, ...]:
        """A class has l values. It bounds their shares, but not how many people have none."""
        return (DistinctLDiversity(self.of, self.l),)

    @property
    def sensitive(self) -> tuple[str, ...]:
        return (self.of,)

    def with_least_values(self, l: int) -> Self:  # noqa: E741  # the name in every policy
        return replace(self, l=l)

    @property
    def least_values(self) -> int:
        return self.l

    def limits(self) -> tuple[Bound, ...]:
        """From r1 < c * tail and r1 + tail <= all follows r1 / all < c / (1 + c); for l = 1, r1 / all < c."""
        share = self.c / (1 + self.c) if self.l > 1 else min(self.c, Fraction(1))
        return (
            Bound(VALUES, max(VALUES.default, Fraction(self.l)), self.of),
            Bound(CERTAINTY, share, self.of),
        )

    def holds_on(self, classes: Classes) -> Truth:
        return self._judge(*self._head_and_tail(classes))

    def verdict(self, classes: Classes) -> Verdict:
        head, tail = self._head_and_tail(classes)
        truth, worst, measured, reason = self._judge(head, tail), None, None, ""
        if not tail.all():
            worst = int(tail.argmin())
            reason = f"a class has fewer than {self.l} different values"
        elif len(classes):
            worst, measured = largest_ratio(head, tail)
        return verdict(self, classes, truth, limit=self.c, worst=worst, measured=measured, reason=reason)

    def _judge(self, head: Counts, tail: Counts) -> Truth:
        return product_less(head, self.c.denominator, tail, self.c.numerator)

    def _head_and_tail(self, classes: Classes) -> tuple[Counts, Counts]:
        """r1 and rl + ... + rm of each class, 0 where there is no such value."""
        h = values_of(classes, self.of)
        falling = h.counts[np.lexsort((-h.counts, h.owner))]
        begin, end = h.start[:-1], h.start[1:]
        running = np.concatenate(([0], np.cumsum(falling)))
        head = running[np.minimum(begin + 1, end)] - running[begin]
        return head, running[end] - running[np.minimum(begin + self.l - 1, end)]

    def keeps_weights(self, held: WeightedClass) -> bool:
        known = held.histograms[self.of].by_meaning(missing=False)
        falling = sorted(known.weights.values(), reverse=True)
        return bool(falling) and falling[0] < self.c * sum(falling[self.l - 1 :], Fraction(0))

    def __str__(self) -> str:
        return f"recursive (c, l)-diversity of {self.of}, c = {self.c}, l = {self.l}"

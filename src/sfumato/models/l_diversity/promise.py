"""Distinct l-diversity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import AdjustablePromise, ClassPromise, Promise, Truth
from sfumato.models.parameters import (
    VALUES_KEY,
    ColumnParam,
    FractionParam,
    IntegerParam,
    Parameter,
    ParametrizedPromise,
    ValuePromise,
    ValueShares,
    largest_ratio,
    product_less,
    segment_sums,
    values_of,
    verdict,
)
from sfumato.models.registry import register
from sfumato.system.verdict import CERTAINTY, EVENNESS, VALUES, Bound, Measure, Order, Verdict
from sfumato.table.arrays import sign_of_logs
from sfumato.table.classes import Classes, Histogram
from sfumato.table.microdata import Counts


@dataclass(frozen=True)
class _LDiversity(ParametrizedPromise, ClassPromise, AdjustablePromise):
    """What all kinds have in common."""

    of: str
    l: int | Fraction  # noqa: E741  # the name in the papers and in every policy

    name: ClassVar[str] = "l-diversity"
    monotone: ClassVar[bool] = True
    cone: ClassVar[bool] = True
    known_alone: ClassVar[bool] = True
    threats: ClassVar[tuple[str, ...]] = ("homogeneity", "composition", "differencing")
    orders: ClassVar[Mapping[str, Order]] = {"l": Order.LARGER}

    @property
    def protects(self) -> bool:
        return self.l > 1

    @property
    def least_values(self) -> int:
        """The values that a class has at least: none, where a share of some values alone is bounded."""
        return 0 if getattr(self, "values", None) else math.ceil(self.l)

    def with_least_values(self, l: int) -> Self:  # noqa: E741  # the name in every policy
        return replace(self, l=l)


@register
@dataclass(frozen=True)
class DistinctLDiversity(_LDiversity, ValuePromise):
    """Every class holds at least l different values of the sensitive column.

    Spellings of one value count as one, and missing cells as none (`table/spelling.py`). With `values`, each
    of these alone may be had by at most one in l of those in a class who have a value.
    Source: the weakest reading of *l-diversity* (Machanavajjhala, Kifer, Gehrke and
    Venkitasubramaniam 2007), under the name that Li, Li and Venkatasubramanian 2007 give it.
    Monotone: yes. Hereditary: yes. Evidence: the published table.
    Does not promise: that no value dominates a class (99 people of 100 may share one), nor that
    different values mean different things (all may be kinds of cancer).

    >>> import numpy as np
    >>> from sfumato.table.classes import histogram
    >>> from sfumato.table.taxonomy import Taxonomy
    >>> disease = Taxonomy.flat(["cold", "flu"])
    >>> two = histogram(disease, np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([99, 1, 50]), 2)
    >>> DistinctLDiversity("disease", 2).holds_on(Classes(two.totals, two.totals, {"disease": two})).tolist()
    [True, False]
    """

    l: int  # noqa: E741  # the name in the paper and in every policy
    values: tuple[str, ...] | None = None

    plain_of_values: ClassVar[str] = "Of the people who look alike, at most one in {l} has {values} of {of}."
    plain: ClassVar[str] = "People who look alike have at least {l} different values of {of} among them."
    silent_on: ClassVar[str] = (
        "One of these values may be far more frequent than the others, and different values may mean "
        "much the same."
    )
    kind: ClassVar[str | None] = "distinct"
    keys: ClassVar[tuple[Parameter, ...]] = (
        ColumnParam("of", meaning="The sensitive column that is protected."),
        IntegerParam("l", meaning="At least so many different values in every class."),
        VALUES_KEY,
    )

    @property
    def hereditary(self) -> bool:  # type: ignore[override]  # of some values, a part may have a smaller share
        return self.values is None

    @property
    def by_values(self) -> bool:
        return self.values is None

    def limits(self) -> tuple[Bound, ...]:
        if self.values is not None:
            return (Bound(CERTAINTY, Fraction(1, self.l), self.of, self.values),)
        return (Bound(VALUES, max(VALUES.default, Fraction(self.l)), self.of),)

    def holds_on(self, classes: Classes) -> Truth:
        if self.values is not None:
            return ValueShares.of(classes, self.of, self.values).within(lambda _: Fraction(1, self.l))
        return self._distinct(classes) >= self.l

    def verdict(self, classes: Classes) -> Verdict:
        if self.values is not None:
            shares, most = ValueShares.of(classes, self.of, self.values), Fraction(1, self.l)
            place, share = shares.worst(lambda _: Fraction(0))
            truth = shares.within(lambda _: most)
            return verdict(self, classes, truth, limit=most, worst=place, measured=share)
        distinct = self._distinct(classes)
        worst = int(distinct.argmin()) if len(classes) else None
        measured = None if worst is None else int(distinct[worst])
        return verdict(self, classes, distinct >= self.l, limit=self.l, worst=worst, measured=measured)

    def _distinct(self, classes: Classes) -> NDArray[np.int64]:
        return np.diff(values_of(classes, self.of).start)

    def __str__(self) -> str:
        kind = "distinct l-diversity" if self.values is None else "l-diversity"
        return f"{kind} of {self.of_what}, l = {self.l}"


# Entropy l-diversity.

EPSILON = 2.0**-52
DIGITS = Context(prec=60)


@register
@dataclass(frozen=True)
class EntropyLDiversity(_LDiversity):
    """In every class the sensitive values have an entropy of at least log l.

    So a class is as diverse as if l values were equally frequent; l may be any number from 1 on. The
    verdict measures this effective number of values, exp(entropy), rounded down.
    Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, *l-diversity: privacy beyond
    k-anonymity*, 2007 (entropy l-diversity).
    Monotone: yes (entropy is concave). Hereditary: no. Evidence: the published table.
    Does not promise: a bound on the most frequent value as tight as 1/l; that the values mean different
    things; that a class looks like the table as a whole.
    Where one person has several rows, each counts once per value and class; a union of classes then is no
    sum, and the claim to be monotone is not covered.

    Judged as n**n >= l**n * prod(c**c) for a class of n with counts c: by floating point only where the
    rounding error provably cannot matter, exactly otherwise.

    >>> import numpy as np
    >>> from sfumato.table.classes import histogram
    >>> from sfumato.table.taxonomy import Taxonomy
    >>> disease = Taxonomy.flat(["cold", "flu", "TB"])
    >>> three = histogram(disease, np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([7, 7, 7]), 1)
    >>> classes = Classes(three.totals, three.totals, {"disease": three})
    >>> EntropyLDiversity("disease", Fraction(3)).holds_on(classes)
    array([ True])
    """

    l: Fraction  # noqa: E741  # the name in the paper and in every policy

    plain: ClassVar[str] = (
        "Among people who look alike the values of {of} are as mixed as {l} equally frequent ones."
    )
    silent_on: ClassVar[str] = (
        "The most frequent value may be likelier than that number suggests, and different values may mean "
        "much the same."
    )
    kind: ClassVar[str | None] = "entropy"
    keys: ClassVar[tuple[Parameter, ...]] = (
        ColumnParam("of", meaning="The sensitive column that is protected."),
        FractionParam(
            "l", Fraction(1), meaning="The values of a class are as mixed as l equally common ones."
        ),
    )

    def implied(self) -> tuple[Promise, ...]:
        """The entropy of m values is at most log m, so there are at least l of them."""
        return (DistinctLDiversity(self.of, self.least_values),)

    def limits(self) -> tuple[Bound, ...]:
        values = max(VALUES.default, Fraction(self.least_values))
        return (Bound(VALUES, values, self.of), Bound(EVENNESS, self.l, self.of))

    def holds_on(self, classes: Classes) -> Truth:
        h = values_of(classes, self.of)
        distinct = np.diff(h.start)
        truth: Truth = distinct >= math.ceil(self.l)  # necessary; enough where all counts are equal
        open_ = np.flatnonzero(truth & ~_uniform(h))
        if len(open_):
            truth[open_] = self._judge(h.pick(open_))
        return truth

    def _judge(self, h: Histogram) -> Truth:
        """Classes with at least l different values."""
        n, distinct = h.totals.astype(np.float64), np.diff(h.start)
        margin = n * np.log(n) - _logs(h) - n * math.log(self.l)
        # Every rounded term is at most n log n, and there are `distinct` + 2 of them: this is their error
        # several times over.
        error = EPSILON * (4 * distinct + 64) * n * (np.log(n) + 1)
        truth: Truth = margin > 0
        for i in np.flatnonzero(abs(margin) <= error).tolist():
            truth[i] = self._exactly(list(h.of_class(i).values()))
        return truth

    def _exactly(self, counts: list[int]) -> bool:
        divisor = math.gcd(*counts)
        parts = [c // divisor for c in counts]
        n = sum(parts)
        powers = [(n, n), (self.l.denominator, n), (self.l.numerator, -n), *((c, -c) for c in parts)]
        return sign_of_logs(powers) >= 0

    def verdict(self, classes: Classes) -> Verdict:
        truth = self.holds_on(classes)
        worst, measured = self._worst(values_of(classes, self.of), truth) if len(classes) else (None, None)
        return verdict(self, classes, truth, limit=self.l, worst=worst, measured=measured)

    def _worst(self, h: Histogram, truth: Truth) -> tuple[int, Measure]:
        distinct, uniform = np.diff(h.start), _uniform(h)
        if not distinct.all():
            return int(distinct.argmin()), 0
        n = h.totals.astype(np.float64)
        effective = np.where(uniform, distinct, np.exp(np.log(n) - _logs(h) / n))
        if not truth.all():
            effective[truth] = np.inf  # the worst class is one that breaks the promise
        close = np.flatnonzero(effective <= effective.min() * (1 + 1e-9))
        _, first = np.unique(effective[close], return_index=True)
        exact = {int(i): _effective(list(h.of_class(int(i)).values())) for i in close[np.sort(first)]}
        worst = min(exact, key=lambda i: (exact[i], i))
        if uniform[worst]:
            return worst, int(distinct[worst])
        low = _rounded_down(exact[worst])
        # An effective number of exactly l must not be reported as less.
        return worst, self.l if truth[worst] and low < self.l else low

    def __str__(self) -> str:
        return f"entropy l-diversity of {self.of}, l = {self.l}"


def _uniform(h: Histogram) -> Truth:
    """Whether all values of a class are equally frequent; their number then is the effective one."""
    truth = np.ones(len(h.start) - 1, dtype=bool)
    full = np.flatnonzero(np.diff(h.start))
    if len(full):
        begin = h.start[:-1][full]
        truth[full] = np.maximum.reduceat(h.counts, begin) == np.minimum.reduceat(h.counts, begin)
    return truth


def _logs(h: Histogram) -> NDArray[np.float64]:
    """The sum of c log c over the counts of each class; no class is empty."""
    counts = h.counts.astype(np.float64)
    return segment_sums(counts * np.log(counts), h.start)


def _effective(counts: list[int]) -> Decimal:
    """exp(entropy) to more than 40 digits; the number of values where they are equally frequent."""
    if min(counts) == max(counts):
        return Decimal(len(counts))
    n = sum(counts)
    total = Decimal(0)
    for c in counts:
        total = DIGITS.add(total, DIGITS.multiply(Decimal(c), DIGITS.ln(Decimal(c))))
    return DIGITS.divide(Decimal(n), DIGITS.exp(DIGITS.divide(total, Decimal(n))))


def _rounded_down(number: Decimal) -> float:
    """The nearest float below a number that is known to more than 40 digits."""
    safe = DIGITS.multiply(number, DIGITS.subtract(Decimal(1), Decimal("1e-40")))
    near = float(safe)
    return near if Decimal(near) <= safe else math.nextafter(near, 0)


# Recursive (c, l)-diversity.


@register
@dataclass(frozen=True)
class RecursiveLDiversity(_LDiversity):
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
    >>> from sfumato.table.classes import histogram
    >>> from sfumato.table.taxonomy import Taxonomy
    >>> disease = Taxonomy.flat(["cold", "flu", "TB"])
    >>> one = histogram(disease, np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([6, 2, 1]), 1)
    >>> classes = Classes(one.totals, one.totals, {"disease": one})
    >>> [bool(RecursiveLDiversity("disease", 2, Fraction(c)).holds_on(classes)[0]) for c in (2, 3)]
    [False, True]
    """

    l: int  # noqa: E741  # the name in the paper and in every policy
    c: Fraction

    plain: ClassVar[str] = (
        "Among people who look alike no value of {of} dominates, also after others are ruled out."
    )
    silent_on: ClassVar[str] = "Different values may mean much the same."
    kind: ClassVar[str | None] = "recursive"
    keys: ClassVar[tuple[Parameter, ...]] = (
        ColumnParam("of", meaning="The sensitive column that is protected."),
        IntegerParam(
            "l", meaning="The commonest value is compared with the l-th commonest and all rarer ones."
        ),
        FractionParam(
            "c",
            strict=True,
            meaning="Fewer than c times as many people have the commonest value as have those.",
        ),
    )
    orders: ClassVar[Mapping[str, Order]] = {"l": Order.LARGER, "c": Order.SMALLER}

    def implied(self) -> tuple[Promise, ...]:
        """A class has l values. It bounds their shares, but not how many people have none."""
        return (DistinctLDiversity(self.of, self.l),)

    def limits(self) -> tuple[Bound, ...]:
        """From r1 < c * tail and r1 + tail <= all follows r1 / all < c / (1 + c); for l = 1, r1 / all < c."""
        share = self.c / (1 + self.c) if self.l > 1 else min(self.c, Fraction(1))
        values = max(VALUES.default, Fraction(self.l))
        return (Bound(VALUES, values, self.of), Bound(CERTAINTY, share, self.of))

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

    def __str__(self) -> str:
        return f"recursive (c, l)-diversity of {self.of}, c = {self.c}, l = {self.l}"

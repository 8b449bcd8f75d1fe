"""One minimal quasi-identifier by dropping columns, as in Yuan's paper, in one pass instead of many."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, isqrt, log

import numpy as np

from sfumato.discovery.quasi_identifiers.coded import Coded, Limits, Reading, Terms
from sfumato.discovery.quasi_identifiers.measures import Partition, QuasiIdentifierQuestion, ReducedTable
from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent


@dataclass(frozen=True)
class DescentStep:
    """A column was left out: are the others still a quasi-identifier?

    The others are the columns before it in the `order`, and those that were `kept`.
    """

    without: str
    holds: bool
    order: tuple[str, ...] = field(repr=False)
    place: int
    kept: tuple[str, ...]

    @property
    def remaining(self) -> tuple[str, ...]:
        """The columns that are tested here."""
        return self.order[: self.place] + self.kept


@dataclass(frozen=True)
class Descent:
    """A minimal quasi-identifier and the tests that led to it; `columns` is `None` if there is none."""

    terms: Terms
    columns: tuple[str, ...] | None
    steps: tuple[DescentStep, ...]
    reason: str = ""
    duplicates: int = 0


def descend(
    table: Coded,
    reading: Reading,
    *,
    order: Sequence[str] | None = None,
    progress: Progress = silent,
    limits: Limits | None = None,
) -> Descent:
    """Leave out one column after the other, last first, wherever the rest stays a quasi-identifier.

    The paper starts over after every column it drops. That changes nothing: a column that was needed
    among more columns is needed among fewer. So every column is tested once. Where the time of `limits` is
    up, the columns that were not tested stay: a quasi-identifier, but perhaps no minimal one.

    >>> table = Coded.of_columns({"a": "xxy", "b": "xyy", "c": "pqr"})
    >>> descend(table, Reading.of(k=2, mode="all")).columns
    ('a', 'b')
    """
    question = QuasiIdentifierQuestion.of(table, reading)
    chosen = list(range(len(table.names))) if order is None else list(table.index(order))
    if sorted(chosen) != list(range(len(table.names))):
        raise UsageError("an order names every column once")
    if question.reason and not question.empty_set:
        return Descent(question.terms, None, (), question.reason, question.duplicates)
    needed, steps = _scan(question, chosen, progress, limits)
    return Descent(question.terms, _names(question, needed), steps, question.reason, question.duplicates)


def _scan(
    question: QuasiIdentifierQuestion,
    order: list[int],
    progress: Progress = silent,
    limits: Limits | None = None,
) -> tuple[tuple[int, ...], tuple[DescentStep, ...]]:
    needed: list[int] = []
    steps: list[DescentStep] = []
    if limits is not None and limits.late:
        return tuple(order), ()
    prefixes = _Prefixes(question, order)
    names = _names(question, order)
    kept_names: tuple[str, ...] = ()
    for i in reversed(range(len(order))):
        if limits is not None and limits.late:
            return (*order[: i + 1], *needed), tuple(steps)
        holds = prefixes.exposes(i, needed)
        steps.append(DescentStep(names[i], holds, names, i, kept_names))
        if not holds:
            needed.insert(0, order[i])
            kept_names = (names[i], *kept_names)
        progress("columns tested", len(steps), len(order))
    return tuple(needed), tuple(steps)


def _names(question: QuasiIdentifierQuestion, columns: Iterable[int]) -> tuple[str, ...]:
    return tuple(question.table.names[j] for j in columns)


class _Prefixes:
    """Partitions under the first i columns of an order; some are stored, the others made from them."""

    def __init__(self, question: QuasiIdentifierQuestion, order: list[int]) -> None:
        self.table, self.terms, self.order = question.table, question.terms, order
        self.stride = isqrt(len(order)) + 1
        self.stored: list[Partition | None] = [Partition.whole(self.table.rows, self.terms.k)]
        if self.stored[0] is not None and self.stored[0].exposed >= self.terms.t:
            self.stored[0] = None
        current = self.stored[0]
        for i, column in enumerate(order, start=1):
            current = self._split(current, column)
            if i % self.stride == 0:
                self.stored.append(current)
        self.near: list[Partition | None] = []
        self.near_from = -1

    def exposes(self, i: int, columns: list[int]) -> bool:
        """Whether the first i columns and these expose enough records."""
        current = self._prefix(i)
        for column in columns:
            if current is None:
                return True
            current = self._split(current, column)
        return current is None

    def _prefix(self, i: int) -> Partition | None:
        block = i // self.stride
        if block != self.near_from:
            self.near_from, self.near = block, [self.stored[block]]
            for column in self.order[block * self.stride : (block + 1) * self.stride - 1]:
                self.near.append(self._split(self.near[-1], column))
        return self.near[i - block * self.stride]

    def _split(self, groups: Partition | None, column: int) -> Partition | None:
        """`None` stands for every partition that exposes enough."""
        if groups is None:
            return None
        return groups.refined(self.table.codes[column], self.table.sizes[column], enough=self.terms.t)


@dataclass(frozen=True)
class BestOfOrders:
    """The smallest of the minimal quasi-identifiers that some random orders of the columns led to."""

    terms: Terms
    columns: tuple[str, ...] | None
    orders: int
    seed: int
    of: int
    reason: str = ""
    duplicates: int = 0

    def chance(self, size: int) -> Fraction:
        """At least how likely it was to hit a given minimum quasi-identifier of this size.

        An order that tests its columns after all others drops the others: one order in C(m, size) does.
        """
        if not 0 <= size <= self.of:
            return Fraction(0)
        return 1 - (1 - Fraction(1, comb(self.of, size))) ** self.orders


def best_of_orders(
    table: Coded,
    reading: Reading,
    *,
    orders: int,
    seed: int,
    progress: Progress = silent,
    limits: Limits | None = None,
) -> BestOfOrders:
    """The descent over random orders of the columns, smallest result first found.

    To find a given minimum of q among m columns with probability 1 - δ, C(m, q)·ln(1/δ) orders do.
    """
    if orders < 1:
        raise UsageError("at least one order is needed")
    limits = limits or Limits()
    question = QuasiIdentifierQuestion.of(table, reading)
    columns = list(range(len(table.names)))
    if question.reason and not question.empty_set:
        return BestOfOrders(question.terms, None, 0, seed, len(columns), question.reason, question.duplicates)
    draw = random.Random(seed)  # noqa: S311  (no secret depends on it)
    best: tuple[int, ...] | None = None
    done = 0
    while done < orders and not (done and limits.late):
        draw.shuffle(columns)
        needed = tuple(sorted(_scan(question, list(columns))[0]))
        done += 1
        if best is None or (len(needed), needed) < (len(best), best):
            best = needed
        progress(f"orders tried, best so far {len(best)} columns", done, orders)
    names = _names(question, best or ())
    return BestOfOrders(question.terms, names, done, seed, len(columns), question.reason, question.duplicates)


# A small quasi-identifier by greedy cover, with a bound on how far it can be from the smallest.
#
# **Cover.** Every record is exposed when no k records agree on all chosen columns. So the k-sets of records
# are elements to be covered, and a column covers those that it does not leave alike; with k = 2 these are
# pairs. Groups of sizes g leave C(g, 2), or C(g, k), of them uncovered.
#
# **Bound.** Greedy takes the column that covers most of what is left. Let d be what the first one covers. The
# cover has at most H(d) = 1 + 1/2 + … + 1/d times as many columns as the smallest (Lovász 1975; Chvátal
# 1979), and d is less than n^k, so the factor is at most 1 + k·ln n. From below, the smallest needs in every
# round at least as many columns as the rest divided by the largest gain, since nothing covers more than that.
#
# Where fewer than all records are asked for (`any`, `fraction`, `count`) the question is no cover: the same
# walk gives a minimal set, and no factor is known.

LARGEST_EXACT_SUM = 64
"""Up to here harmonic numbers are summed; above, 1 + ln d is a bound from above."""


@dataclass(frozen=True)
class GreedyStep:
    """A column was taken: how many sets of k records it told apart, and how many are still alike."""

    column: str
    told_apart: int
    alike: int


@dataclass(frozen=True)
class GreedyCover:
    """A minimal quasi-identifier; `columns` is `None` if there is none.

    No quasi-identifier has fewer than `lower_bound` columns. The smallest has at least 1/`factor` as many as
    this one; `factor` is `None` where the reading is no cover and none is known.
    """

    terms: Terms
    columns: tuple[str, ...] | None
    steps: tuple[GreedyStep, ...]
    lower_bound: int
    factor: Fraction | None
    reason: str = ""
    duplicates: int = 0

    @property
    def proved(self) -> bool:
        """Whether the bound shows that no set is smaller."""
        return self.columns is not None and len(self.columns) == self.lower_bound


def greedy_cover(
    table: Coded, reading: Reading, *, progress: Progress = silent, limits: Limits | None = None
) -> GreedyCover:
    """Take the column that tells most of the records apart that are still alike, until enough are exposed.

    Columns that turn out not to be needed are dropped at the end. Of equal columns the first is taken. Where
    the time of `limits` is up first, OutOfTime is raised.

    >>> table = Coded.of_columns({"a": "xxyy", "b": "xyxy", "c": "pppq"})
    >>> found = greedy_cover(table, Reading.of(k=2, mode="all"))
    >>> found.columns, found.lower_bound
    (('a', 'b'), 2)
    """
    question = QuasiIdentifierQuestion.of(table, reading)
    terms = question.terms
    if question.settled:
        nothing = () if question.empty_set else None
        return GreedyCover(terms, nothing, (), 0, None, question.reason, question.duplicates)
    walk = _Walk(question, progress, limits or Limits())
    picked = walk.run()
    needed = descend(question.table.select(picked), reading).columns or ()
    columns = tuple(sorted(needed, key=table.names.index))
    factor = harmonic_bound(walk.steps[0].told_apart) if terms.t == terms.rows else None
    bound = walk.lower_bound
    if factor is not None:
        bound = max(bound, -(-len(columns) * factor.denominator // factor.numerator))
    return GreedyCover(terms, columns, tuple(walk.steps), bound, factor, "", question.duplicates)


class _Walk:
    """The greedy walk over the columns that group rows differently."""

    def __init__(self, question: QuasiIdentifierQuestion, progress: Progress, limits: Limits) -> None:
        self.limits = limits
        self.terms, self.names, self.progress = question.terms, question.table.names, progress
        self.reduced = ReducedTable.of(question.table, question.terms.k)
        self.order = sorted(range(self.reduced.columns), key=lambda j: self.reduced.members[j][0])
        self.steps: list[GreedyStep] = []
        self.lower_bound = 1

    def run(self) -> list[str]:
        """The names of the columns taken, which together expose enough records."""
        groups = Partition.whole(self.terms.rows, self.terms.k)
        alike = self._alike(groups)
        picked: list[str] = []
        left = list(self.order)
        while groups.exposed < self.terms.t:
            column, groups, still_alike = self._best(groups, left)
            left.remove(column)
            picked.append(self.names[self.reduced.members[column][0]])
            self._bound_below(alike, still_alike, groups, len(picked))
            self.steps.append(GreedyStep(picked[-1], alike - still_alike, still_alike))
            self.progress("columns taken", len(picked))
            alike = still_alike
        return picked

    def _best(self, groups: Partition, left: list[int]) -> tuple[int, Partition, int]:
        """The column that exposes enough, or else leaves the fewest alike; the first of equal ones."""
        best: tuple[tuple[bool, int], int, Partition] | None = None
        for column in left:
            self.limits.check()
            refined = groups.refined(self.reduced.codes[column], self.reduced.size)
            assert refined is not None  # noqa: S101  (nothing was asked to stop it)
            key = (refined.exposed < self.terms.t, self._alike(refined))
            if best is None or key < best[0]:
                best = (key, column, refined)
        assert best is not None  # noqa: S101  (all columns together expose enough)
        return best[1], best[2], best[0][1]

    def _bound_below(self, alike: int, still_alike: int, groups: Partition, taken: int) -> None:
        """No column covers more than the best one: the smallest set needs so many for what was left."""
        if self.terms.t == self.terms.rows:
            self.lower_bound = max(self.lower_bound, -(-alike // (alike - still_alike)))
        elif taken == 1 and groups.exposed < self.terms.t:
            self.lower_bound = 2

    def _alike(self, groups: Partition) -> int:
        """How many sets of k rows lie in one group; exact, however large."""
        sizes, counts = np.unique(groups.sizes, return_counts=True)
        k = self.terms.k
        return sum(n * comb(size, k) for size, n in zip(sizes.tolist(), counts.tolist(), strict=True))


def harmonic_bound(d: int) -> Fraction:
    """At least 1 + 1/2 + … + 1/d: exact for small d, else 1 + ln d, rounded up by more than a logarithm errs.

    >>> harmonic_bound(3), float(harmonic_bound(10**6)) > 14.39
    (Fraction(11, 6), True)
    """
    if d <= LARGEST_EXACT_SUM:
        return sum((Fraction(1, i) for i in range(1, d + 1)), Fraction(0))
    return 1 + Fraction(log(d)) * (1 + Fraction(1, 10**12))

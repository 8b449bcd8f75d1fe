"""A small quasi-identifier by greedy cover, with a bound on how far it can be from the smallest.

**Cover.** Every record is exposed when no k records agree on all chosen columns. So the k-sets of records are
elements to be covered, and a column covers those that it does not leave alike; with k = 2 these are pairs.
Groups of sizes g leave C(g, 2), or C(g, k), of them uncovered.

**Bound.** Greedy takes the column that covers most of what is left. Let d be what the first one covers. The
cover has at most H(d) = 1 + 1/2 + … + 1/d times as many columns as the smallest (Lovász 1975; Chvátal 1979),
and d is less than n^k, so the factor is at most 1 + k·ln n. From below, the smallest needs in every round at
least as many columns as the rest divided by the largest gain, since nothing covers more than that.

Where fewer than all records are asked for (`any`, `fraction`, `count`) the question is no cover: the same
walk gives a minimal set, and no factor is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, log

import numpy as np

from sfumato.core.progress import Progress, silent
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.criterion import Reading, Terms
from sfumato.discovery.quasi_identifiers.descent import descend
from sfumato.discovery.quasi_identifiers.limits import Limits
from sfumato.discovery.quasi_identifiers.partition import Partition
from sfumato.discovery.quasi_identifiers.question import QuasiIdentifierQuestion
from sfumato.discovery.quasi_identifiers.reduced import ReducedTable

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
    kept = descend(question.table.select(picked), reading).columns or ()
    columns = tuple(sorted(kept, key=table.names.index))
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
            column, groups, rest = self._best(groups, left)
            left.remove(column)
            picked.append(self.names[self.reduced.members[column][0]])
            self._bound_below(alike, rest, groups, len(picked))
            self.steps.append(GreedyStep(picked[-1], alike - rest, rest))
            self.progress("columns taken", len(picked))
            alike = rest
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

    def _bound_below(self, alike: int, rest: int, groups: Partition, taken: int) -> None:
        """No column covers more than the best one: the smallest set needs so many for what was left."""
        if self.terms.t == self.terms.rows:
            self.lower_bound = max(self.lower_bound, -(-alike // (alike - rest)))
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

"""The smallest quasi-identifiers: proved, or bounded from both sides."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from sfumato.core.progress import Progress, silent
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.criterion import Reading, Terms
from sfumato.discovery.quasi_identifiers.descent import descend
from sfumato.discovery.quasi_identifiers.greedy import greedy_cover
from sfumato.discovery.quasi_identifiers.level_search import LARGEST_SET, LevelSearch
from sfumato.discovery.quasi_identifiers.limits import Clock, Limits, OutOfTime
from sfumato.discovery.quasi_identifiers.question import QuasiIdentifierQuestion
from sfumato.discovery.quasi_identifiers.reduced import ReducedTable
from sfumato.discovery.quasi_identifiers.tree_search import Sets, TreeSearch

PROVING = 0.7
"""The share of the seconds that goes into proofs; what is left over is for a set at hand."""


@dataclass(frozen=True)
class Minimum:
    """The smallest quasi-identifiers found, and what is known about smaller ones.

    No quasi-identifier has fewer than `lower_bound` columns. `proved` says that the sets found have just
    that many, `complete` that every minimum is listed. Several minima may exist; the first in the order
    of the columns comes first.
    """

    terms: Terms
    sets: Sequence[tuple[str, ...]]
    lower_bound: int
    proved: bool
    complete: bool
    reason: str = ""
    duplicates: int = 0

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The first of the smallest sets found, `None` if there is no quasi-identifier."""
        return self.sets[0] if self.sets else None

    @property
    def size(self) -> int | None:
        return len(self.sets[0]) if self.sets else None


def minimum(
    table: Coded,
    reading: Reading,
    *,
    max_results: int | None = None,
    deadline: float | None = None,
    budget: int | None = None,
    progress: Progress = silent,
    clock: Clock = time.monotonic,
    limits: Limits | None = None,
) -> Minimum:
    """Prove sizes impossible, one after the other, until one is possible.

    `limits`, if given, is all that bounds the search.

    >>> table = Coded.of_columns({"a": "xxy", "b": "xyy", "c": "pqr"})
    >>> found = minimum(table, Reading.of(k=2, mode="all"))
    >>> found.columns, found.proved
    (('c',), True)
    """
    limits = limits or Limits(max_results, deadline, clock, budget)
    question = QuasiIdentifierQuestion.of(table, reading)
    sets: Sequence[tuple[str, ...]]
    if question.settled:
        sets = ((),) if question.empty_set else ()
        return Minimum(question.terms, sets, 0, bool(sets), True, question.reason, question.duplicates)
    reduced = ReducedTable.of(question.table, question.terms.k)
    proving = limits.until(PROVING, max_results=limits.max_results)
    search = _SizeSearch(reduced, question.terms, proving, progress)
    finished = search.run()
    if len(search.found):
        sets = question.named(search.found, reduced, most=limits.max_results)
        complete = finished and not sets.cut
        return Minimum(question.terms, sets, search.bound, True, complete, "", question.duplicates)
    best, bound = _incumbent(table, reading, limits)
    bound = max(bound, search.bound)
    return Minimum(question.terms, (best,), bound, len(best) == bound, False, "", question.duplicates)


class _SizeSearch:
    """Searches with growing size; `bound` is the least size not ruled out."""

    def __init__(self, reduced: ReducedTable, terms: Terms, limits: Limits, progress: Progress) -> None:
        self.reduced, self.terms, self.limits, self.progress = reduced, terms, limits, progress
        self.bound = 1
        self.steps = 0
        self.searching: LevelSearch | TreeSearch
        self.found: Sets = np.zeros((0, 1), np.uint64)

    def run(self) -> bool:
        """Whether the search of the last size came to its end."""
        if self.terms.t < self.terms.rows:
            finished = self._by_levels()
            if len(self.found) or not finished:
                return finished
        return self._by_tree()

    def _keep_going(self, found: int) -> bool:
        known = f"{self.bound} proved" if found else f"none below {self.bound} columns"
        self.progress(f"smallest set: {known}", found)
        return self.limits.allow(found, self.steps + self.searching.steps)

    def _by_levels(self) -> bool:
        """Sizes up to three, all at once: the search goes by size anyway."""
        search = LevelSearch(self.reduced, k=self.terms.k, t=self.terms.t, max_size=1)
        self.searching = search
        for size in range(1, min(LARGEST_SET, self.reduced.columns) + 1):
            self.bound = search.max_size = size
            finished = search.run(self._keep_going, fits=self.limits.fits)
            self.found = search.words()
            if len(self.found) or not finished:
                return finished
        self.bound = LARGEST_SET + 1
        self.steps = search.steps
        return True

    def _by_tree(self) -> bool:
        """Bounded tree searches that share what they learn about the rows."""
        search = TreeSearch(self.reduced, k=self.terms.k, t=self.terms.t, max_size=self.bound)
        self.searching = search
        while True:
            finished = search.run(self._keep_going, fits=self.limits.fits)
            self.found = search.words()
            if len(self.found) or not finished:
                return finished
            self.bound = max(self.bound + 1, disjoint_edges(search.edges))
            search.restart(self.bound)


def _incumbent(table: Coded, reading: Reading, limits: Limits) -> tuple[tuple[str, ...], int]:
    """A set at hand, and how many columns every set needs at least; minimal, unless time ran out.

    By greedy cover; as the columns come; dropping those with few values first.
    """
    covers: list[tuple[str, ...]] = []
    bound = 1
    with suppress(OutOfTime):
        cover = greedy_cover(table, reading, limits=limits)
        covers, bound = [cover.columns or ()], cover.lower_bound
    strong_first = [table.names[j] for j in sorted(range(len(table.names)), key=lambda j: -table.sizes[j])]
    orders = [None] if limits.late else [None, strong_first]
    descents = [descend(table, reading, order=order, limits=limits).columns or () for order in orders]
    best = min([*covers, *descents], key=len)
    return tuple(sorted(best, key=table.names.index)), bound


def disjoint_edges(edges: Sets) -> int:
    """How many edges, picked greedily, share no column: a set that meets all needs as many columns."""
    if len(edges) == 0:
        return 0
    sizes = np.bitwise_count(edges).sum(axis=1)
    taken = np.zeros(edges.shape[1], np.uint64)
    picked = 0
    for edge in edges[np.argsort(sizes, kind="stable")]:
        if not np.any(edge & taken):
            taken |= edge
            picked += 1
    return picked

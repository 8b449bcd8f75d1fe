"""The smallest quasi-identifiers: proved, or bounded from both sides."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from math import log, sqrt

import numpy as np

from sfumato.discovery.quasi_identifiers.coded import Coded, Limits, OutOfTime, Reading, Terms
from sfumato.discovery.quasi_identifiers.descent import descend, greedy_cover
from sfumato.discovery.quasi_identifiers.enumeration import (
    LARGEST_SET,
    LevelSearch,
    MinimalSets,
    Sets,
    TreeSearch,
    minimal,
)
from sfumato.discovery.quasi_identifiers.measures import (
    Measures,
    QuasiIdentifierQuestion,
    ReducedTable,
    measure,
)
from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent

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
    progress: Progress = silent,
    limits: Limits | None = None,
) -> Minimum:
    """Prove sizes impossible, one after the other, until one is possible.

    >>> table = Coded.of_columns({"a": "xxy", "b": "xyy", "c": "pqr"})
    >>> found = minimum(table, Reading.of(k=2, mode="all"))
    >>> found.columns, found.proved
    (('c',), True)
    """
    limits = limits or Limits()
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

    def _keep_going(self, sets: int) -> bool:
        state = f"{self.bound} proved" if sets else f"none below {self.bound} columns"
        self.progress(f"smallest set: {state}", sets)
        return self.limits.allow(sets, self.steps + self.searching.steps)

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


# The minimal sets and the smallest of them with their proof, searched within one budget.

MOST_MINIMA = 1000
"""So many smallest sets are named at most."""


@dataclass(frozen=True)
class Smallest:
    """The smallest quasi-identifiers known, none if there is none at all; no other has fewer columns than
    `lower_bound`. `proved` says that this settles it, `complete` that every smallest one is among `sets`.
    """

    sets: Sequence[tuple[str, ...]]
    lower_bound: int
    proved: bool
    complete: bool = False

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The first of them in the order of the columns."""
        return self.sets[0] if self.sets else None


def search(
    table: Coded,
    reading: Reading,
    *,
    max_size: int | None = None,
    progress: Progress = silent,
    limits: Limits | None = None,
) -> tuple[MinimalSets, Smallest]:
    """All minimal sets within the bounds, and the minima: proved, or bounded from below.

    Under a deadline the minima get the first half of the time. Without one they follow from the minimal
    sets, if these tell, and else have a budget of steps of their own. Neither `max_size` nor a number of
    results bounds them: they are what they would be without. Minima found on the way are listed with the
    minimal sets.
    """
    limits = limits or Limits()
    minima = None
    if limits.deadline is not None:
        minima = _minimum_within(table, reading, limits.until(0.5, max_results=MOST_MINIMA), progress)
    sets = minimal(table, reading, max_size=max_size, progress=progress, limits=replace(limits))
    if sets.complete and (sets.sets or sets.reason or sets.max_size is None):
        return sets, _from_minimal_sets(sets)
    if minima is None:
        minima = _minimum_within(table, reading, limits.until(1, max_results=MOST_MINIMA), progress)
    smallest = _with_what_was_found(minima, sets)
    return sets if sets.complete else _with_minima(sets, smallest, limits.max_results), smallest


def _minimum_within(table: Coded, reading: Reading, limits: Limits, progress: Progress) -> Smallest:
    best = minimum(table, reading, progress=progress, limits=limits)
    return Smallest(best.sets, best.lower_bound, best.proved or best.columns is None, best.complete)


def _with_what_was_found(minima: Smallest, sets: MinimalSets) -> Smallest:
    """The minima, improved by what the minimal sets tell: a smaller set, or that none is as small."""
    if minima.columns is None:
        return minima
    first = sets.sets[0] if sets.sets else None
    no_smaller = sets.max_size if sets.complete and sets.max_size is not None else sets.complete_to
    bound = max(minima.lower_bound, no_smaller + 1 if first is None else min(len(first), no_smaller + 1))
    if first is not None and len(first) < len(minima.columns):
        return Smallest((first,), bound, len(first) == bound)
    proved = len(minima.columns) == bound
    return Smallest(minima.sets, bound, proved, minima.complete and proved)


def _with_minima(sets: MinimalSets, smallest: Smallest, max_results: int | None) -> MinimalSets:
    """The minimal sets and, where they are proved, the minima; how far the list is without a gap."""
    size = smallest.lower_bound
    bound = size if smallest.complete and smallest.proved else max(0, size - 1)
    if not smallest.proved or (sets.max_size is not None and size > sets.max_size):
        return replace(sets, complete_to=max(bound, sets.complete_to))
    joined = sets.sets.joined(smallest.sets, most=max_results)
    cut = max_results is not None and max_results < len(smallest.sets)
    return replace(
        sets,
        sets=joined,
        complete_to=size - 1 if cut else max(bound, 0 if joined.cut else sets.complete_to),
    )


def _from_minimal_sets(sets: MinimalSets) -> Smallest:
    """All sets up to a size are known: so are the smallest."""
    if not sets.sets:
        return Smallest((), 0, True, True)
    size = len(sets.sets[0])
    minima = tuple(islice(takewhile(lambda columns: len(columns) == size, sets.sets), MOST_MINIMA + 1))
    return Smallest(minima[:MOST_MINIMA], size, True, len(minima) <= MOST_MINIMA)


# Keys of very long tables from a sample of their rows, with a stated guarantee, then verified.
#
# **Guarantee.** Take every row with probability ρ, each for itself. A key of the table is a key of every
# sample. A set of columns under which more than a share ε of all pairs of rows look alike is *bad*; with
# probability at least 1 - δ no bad set is a key of the sample.
#
# *Proof.* Let the groups under a bad set have sizes g, so that the sum of g(g-1) exceeds εn(n-1). At most
# one row of a group of size g is sampled with probability (1-ρ)^(g-1)·(1+(g-1)ρ) <= exp(-G(x)) with
# x = ρ(g-1) and G(x) = x - ln(1+x) >= x²/(2(1+x)). Groups are sampled independently, so the set is a key
# of the sample with probability at most exp(-Q/(2(1+√Q))), where Q is the sum of all x² (each x is at most
# √Q). Since (g-1)² >= g(g-1)/2 for g >= 2, Q > y² with y = ρ·√(εn(n-1)/2), and the bound falls with Q.
# There are fewer than 2^m bad sets, so it suffices that y²/(2(1+y)) >= L = m·ln 2 + ln(1/δ), which
# y = L + √(L²+2L) meets with equality. The expected sample has about y·√(2/ε) rows, whatever n is. ∎


@dataclass(frozen=True)
class SampledSet:
    """A minimal key of the sample, measured on all rows: is it a quasi-identifier of the table?"""

    columns: tuple[str, ...]
    holds: bool
    measures: Measures


@dataclass(frozen=True)
class SampledSets:
    """Minimal keys of a sample. `epsilon` and `delta` state the guarantee, `holds` what is true.

    Every key of the table contains one of the sets, if `complete`. Sets that hold are minimal keys, since no
    part of them is a key of the sample; `verified` says that all sets were measured on all rows before the
    deadline.
    """

    terms: Terms
    epsilon: float
    delta: float
    sampled: int
    sets: tuple[SampledSet, ...]
    complete: bool
    verified: bool
    reason: str = ""


def sampling_rate(rows: int, columns: int, *, epsilon: float, delta: float) -> float:
    """With which probability each row must be taken for the guarantee to hold.

    >>> round(6_000_000 * sampling_rate(6_000_000, 16, epsilon=1e-4, delta=0.01))
    4577
    """
    if not (0 < epsilon < 1 and 0 < delta < 1):
        raise UsageError("epsilon and delta must lie between 0 and 1")
    if rows < 2:
        return 1.0
    weight = columns * log(2) + log(1 / delta)
    y = weight + sqrt(weight * weight + 2 * weight)
    return min(1.0, y * sqrt(2 / (epsilon * rows * (rows - 1))))


def minimal_by_sample(
    table: Coded,
    reading: Reading,
    *,
    epsilon: float,
    delta: float,
    seed: int,
    max_size: int | None = None,
    progress: Progress = silent,
    limits: Limits | None = None,
) -> SampledSets:
    """Minimal keys of a random sample of the rows, each then measured on all rows."""
    if reading.k != 2 or reading.name not in ("all", "distinct"):
        raise UsageError(
            "a sample of rows says nothing about the size of groups",
            remedy='Sampling is for keys: use k=2 with mode "all" or "distinct".',
        )
    rate = sampling_rate(table.rows, len(table.names), epsilon=epsilon, delta=delta)
    limits = limits or Limits()
    question = QuasiIdentifierQuestion.of(table, reading)
    if question.settled:
        sets = (SampledSet((), True, measure(question.table, (), k=2)),) if question.empty_set else ()
        return SampledSets(question.terms, epsilon, delta, table.rows, sets, True, True, question.reason)
    whole = question.table
    rows = np.flatnonzero(np.random.default_rng(seed).random(whole.rows) < rate)
    keys = minimal(
        whole.take(rows),
        Reading.of(k=2, mode="distinct"),
        max_size=max_size,
        progress=progress,
        limits=replace(limits),
    )
    candidates = keys.sets if len(rows) else ((),)
    checked: list[SampledSet] = []
    for columns in candidates:
        if checked and limits.late:
            break
        measures = measure(whole, columns, k=2)
        checked.append(SampledSet(columns, measures.exposed == whole.rows, measures))
        progress("sets verified on all rows", len(checked), len(candidates))
    return SampledSets(
        question.terms,
        epsilon,
        delta,
        len(rows),
        tuple(checked),
        keys.complete,
        len(checked) == len(candidates),
    )

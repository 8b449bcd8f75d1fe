"""The smallest quasi-identifiers, proved or bounded from both sides, and the ways to search by name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, takewhile
from math import ceil, floor, log, sqrt
from typing import Literal, get_args

import numpy as np

from sfumato.discovery.quasi_identifiers.coded import (
    Coded,
    Limits,
    OutOfTime,
    Reading,
    Terms,
    listed,
    usual_budget,
)
from sfumato.discovery.quasi_identifiers.descent import (
    BestOfOrders,
    Descent,
    DescentStep,
    GreedyCover,
    best_of_orders,
    descend,
    greedy_cover,
)
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
from sfumato.system.memory import Memory
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


# The ways to search for quasi-identifiers, under the names by which they are asked for.
#
# | method | finds | says |
# |---|---|---|
# | `exact` | all minimal sets, and the smallest | what is proved; how far the list has no gap |
# | `greedy` | one minimal set, by greedy cover | by which factor it can be larger than the smallest |
# | `descend` | one minimal set, the best of some random orders | the chance that a smallest set was hit |
# | `descend`, 0 orders | one minimal set, columns left out as they stand | every test |
# | `sample` | keys of a sample of the rows, measured on all of them | (ε, δ) of the sample |

MethodName = Literal["exact", "greedy", "descend", "sample"]


@dataclass(frozen=True, kw_only=True)
class SearchMethod:
    """A way to search, with what bounds it and what is random about it.

    `budget` counts steps; `None` is the usual one for the size of the table. `orders` is for `descend`
    (0: columns as they stand, each test told), `epsilon` and `delta` are for `sample`, `seed` is for both.
    """

    name: str = "exact"
    max_size: int | None = None
    max_results: int | None = None
    deadline: float | None = None
    budget: int | None = None
    orders: int = 50
    seed: int = 0
    epsilon: float = 1e-6
    delta: float = 0.01

    def __post_init__(self) -> None:
        if self.name not in get_args(MethodName):
            raise UsageError("unknown method", remedy='Use "exact", "greedy", "descend" or "sample".')
        if self.orders < 0:
            raise UsageError("there are no fewer than 0 orders", remedy="0 takes the columns as they stand.")
        if self.max_size is not None and self.name in ("greedy", "descend"):
            raise UsageError(
                f"the method `{self.name}` looks for one set, of whatever size",
                remedy="Leave the largest size out, or use the method `exact`.",
            )
        if self.deadline is not None and self.name == "descend" and self.orders == 0:
            raise UsageError("one order tests every column once, and has no deadline", remedy="Leave it out.")
        if self.deadline is not None and self.name == "greedy":
            raise UsageError(
                "the method `greedy` tries every column once for each that it takes, and has no deadline",
                remedy="Leave the deadline out.",
            )

    def limits(self, memory: Memory | None = None) -> Limits:
        """Returns what bounds a search that begins now."""
        return Limits(self.max_results, self.deadline, memory=memory)


@dataclass(frozen=True)
class MethodAnswer:
    """The sets found, the smallest, what the method vouches for, and its tests where they are told."""

    found: MinimalSets
    smallest: Smallest
    assurance: str
    steps: tuple[DescentStep, ...] = ()


def search_by(
    method: SearchMethod,
    table: Coded,
    reading: Reading,
    *,
    progress: Progress = silent,
    limits: Limits | None = None,
) -> MethodAnswer:
    """Search by a method; `limits` began earlier, and may bound the memory.

    >>> table = Coded.of_columns({"a": "xxyy", "b": "xyxy", "c": "pppq"})
    >>> search_by(SearchMethod(name="greedy"), table, Reading.of(k=2, mode="all")).smallest.sets
    (('a', 'b'),)
    """
    limits = limits or method.limits()
    if method.name == "greedy":
        return _by_cover(greedy_cover(table, reading, progress=progress), table)
    if method.name == "descend":
        if method.orders == 0:
            return _by_order(descend(table, reading, progress=progress), table)
        until = Limits(deadline=limits.remaining)
        tried = best_of_orders(
            table, reading, orders=method.orders, seed=method.seed, progress=progress, limits=until
        )
        return _by_orders(tried, table)
    if method.name == "sample":
        return _by_sample(replace(method, deadline=limits.remaining), table, reading, progress)
    budget = method.budget or usual_budget(table.rows, len(table.names))
    bounds = replace(limits, budget=budget)
    sets, smallest = search(table, reading, max_size=method.max_size, progress=progress, limits=bounds)
    return MethodAnswer(sets, smallest, "" if sets.complete else _gap(sets))


def _gap(sets: MinimalSets) -> str:
    if not sets.complete_to:
        return "sets of any size may be missing; ask for less (max size, another method) or give more steps"
    columns = f"{sets.complete_to} column{'s' if sets.complete_to > 1 else ''}"
    return f"none of at most {columns} is missing; larger ones may be"


def _one_set(source: GreedyCover | BestOfOrders | Descent, table: Coded) -> MinimalSets:
    sets = listed([] if source.columns is None else [source.columns], table.names)
    settled = bool(source.reason)
    return MinimalSets(source.terms, sets, settled, reason=source.reason, duplicates=source.duplicates)


def _by_cover(cover: GreedyCover, table: Coded) -> MethodAnswer:
    sets = _one_set(cover, table)
    settled = sets.complete
    smallest = Smallest(tuple(sets.sets), cover.lower_bound, cover.proved or settled, settled)
    vouched = f"greedy: no factor is known for the reading {cover.terms.reading}"
    if cover.factor is not None:
        vouched = f"greedy: at most {_decimal(cover.factor)} times as many columns as the smallest set"
    return MethodAnswer(sets, smallest, "" if settled else vouched)


def _by_orders(tried: BestOfOrders, table: Coded) -> MethodAnswer:
    sets = _one_set(tried, table)
    if sets.complete:
        return MethodAnswer(sets, Smallest(tuple(sets.sets), 0, True, True), "")
    size = len(tried.columns or ())
    smallest = Smallest(tuple(sets.sets), 1, size == 1, False)
    sentence = f"descend: best of {tried.orders} random orders, seed {tried.seed}"
    if size > 1:
        chance = _decimal(tried.chance(size - 1), down=True)
        sentence += f"; a given set of {size - 1} would have been met with a chance of at least {chance}"
    return MethodAnswer(sets, smallest, sentence)


def _by_order(one: Descent, table: Coded) -> MethodAnswer:
    sets = _one_set(one, table)
    if sets.complete:
        return MethodAnswer(sets, Smallest(tuple(sets.sets), 0, True, True), "", one.steps)
    smallest = Smallest(tuple(sets.sets), 1, len(one.columns or ()) == 1, False)
    sentence = f"descend: columns left out as they stand, last first, in {len(one.steps)} tests; "
    sentence += "no column of the set can be left out, smaller sets may exist"
    return MethodAnswer(sets, smallest, sentence, one.steps)


def _by_sample(method: SearchMethod, table: Coded, reading: Reading, progress: Progress) -> MethodAnswer:
    sampled = minimal_by_sample(
        table,
        reading,
        epsilon=method.epsilon,
        delta=method.delta,
        seed=method.seed,
        max_size=method.max_size,
        progress=progress,
        limits=Limits(method.max_results, method.deadline),
    )
    keys = tuple(candidate.columns for candidate in sampled.sets if candidate.holds)
    every = sampled.complete and sampled.verified and len(keys) == len(sampled.sets)
    sets = MinimalSets(sampled.terms, listed(keys, table.names), every, method.max_size, sampled.reason)
    if sampled.reason:
        return MethodAnswer(sets, Smallest(keys, 0, True, True), "")
    smallest = _smallest_sampled(sampled, table, reading, method.max_size)
    rows = f"{sampled.sampled} of {sampled.terms.rows} rows"
    vouched = f"sample: {rows}, ε = {method.epsilon:g}, δ = {method.delta:g}"
    vouched += f"; {len(keys)} of {len(sampled.sets)} sets hold on all rows"
    return MethodAnswer(sets, smallest, vouched)


def _smallest_sampled(sampled: SampledSets, table: Coded, reading: Reading, max_size: int | None) -> Smallest:
    """Every key of the table contains a set of the sample, so none is smaller than the smallest of these."""
    bound = 1
    if sampled.complete:
        sizes = [len(candidate.columns) for candidate in sampled.sets]
        bound = min(sizes) if sizes else (max_size or 0) + 1
    keys = [candidate.columns for candidate in sampled.sets if candidate.holds]
    if not keys:
        cover = greedy_cover(table, reading)
        best = cover.columns or ()
        bound = max(bound, cover.lower_bound)
        return Smallest((best,), bound, len(best) == bound)
    size = min(map(len, keys))
    minima = tuple(columns for columns in keys if len(columns) == size)
    proved = size == bound
    return Smallest(minima, bound, proved, proved and sampled.complete and sampled.verified)


def _decimal(number: Fraction, *, down: bool = False) -> str:
    """A number with two decimals, rounded up, or down: it stays a bound."""
    whole = floor(number * 100) if down else ceil(number * 100)
    return f"{whole // 100}.{whole % 100:02d}"

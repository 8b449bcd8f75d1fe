"""The ways to search for quasi-identifiers, under the names by which they are asked for.

| method | finds | says |
|---|---|---|
| `exact` | all minimal sets, and the smallest | what is proved; how far the list has no gap |
| `greedy` | one minimal set, by greedy cover | by which factor it can be larger than the smallest |
| `descend` | one minimal set, the best of some random orders | the chance that a smallest set was hit |
| `sample` | keys of a sample of the rows, measured on all of them | (ε, δ) of the sample |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Literal, get_args

from sfumato.discovery.quasi_identifiers.coded import Coded, Limits, Reading, listed, usual_budget
from sfumato.discovery.quasi_identifiers.descent import (
    BestOfOrders,
    GreedyCover,
    best_of_orders,
    greedy_cover,
)
from sfumato.discovery.quasi_identifiers.enumeration import MinimalSets
from sfumato.discovery.quasi_identifiers.minimum import SampledSets, Smallest, minimal_by_sample, search
from sfumato.system.errors import UsageError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent

MethodName = Literal["exact", "greedy", "descend", "sample"]


@dataclass(frozen=True, kw_only=True)
class SearchMethod:
    """A way to search, with what bounds it and what is random about it.

    `budget` counts steps; `None` is the usual one for the size of the table. `orders` is for `descend`,
    `epsilon` and `delta` are for `sample`, `seed` is for both.
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
        if self.max_size is not None and self.name in ("greedy", "descend"):
            raise UsageError(
                f"the method `{self.name}` looks for one set, of whatever size",
                remedy="Leave the largest size out, or use the method `exact`.",
            )
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
    """The sets found, the smallest of them, and in a sentence what the method vouches for."""

    found: MinimalSets
    smallest: Smallest
    assurance: str


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


def _one_set(source: GreedyCover | BestOfOrders, table: Coded) -> MinimalSets:
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

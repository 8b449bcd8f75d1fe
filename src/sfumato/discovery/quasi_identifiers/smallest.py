"""The minimal sets and the smallest of them with their proof, searched within one budget."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from sfumato.core.progress import Progress, silent
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.criterion import Reading
from sfumato.discovery.quasi_identifiers.descent import descend
from sfumato.discovery.quasi_identifiers.enumeration import MinimalSets, minimal
from sfumato.discovery.quasi_identifiers.greedy import greedy_cover
from sfumato.discovery.quasi_identifiers.limits import Clock, Limits
from sfumato.discovery.quasi_identifiers.minimum import minimum

MOST_MINIMA = 1000
"""So many smallest sets are named at most."""


@dataclass(frozen=True)
class Smallest:
    """The smallest quasi-identifiers known, none if there is none at all; no other has fewer columns than
    `lower_bound`. `proved` says that this settles it, `complete` that every smallest one is among `sets`.
    """

    sets: tuple[tuple[str, ...], ...]
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
    max_results: int | None = None,
    deadline: float | None = None,
    budget: int | None = None,
    progress: Progress = silent,
    clock: Clock = time.monotonic,
) -> tuple[MinimalSets, Smallest]:
    """All minimal sets within the bounds, and the minima: proved, or bounded from below.

    Under a deadline the minima get the first half of the time. Without one they follow from the minimal
    sets, if these are complete, and else have a budget of steps of their own; where no set of `max_size`
    columns suffices, a descent shows one that does. Minima found on the way are listed with the minimal sets.
    """
    limits = Limits(max_results, deadline, clock)
    known = None
    if deadline is not None:
        known = _minimum_within(table, reading, deadline / 2, budget, progress, clock)
        deadline = max(0.0, deadline - (clock() - limits.started))
    found = minimal(
        table,
        reading,
        max_size=max_size,
        max_results=max_results,
        deadline=deadline,
        budget=budget,
        progress=progress,
        clock=clock,
    )
    if found.complete:
        return found, _from_minimal_sets(table, reading, found)
    smallest = known or _minimum_within(table, reading, None, budget, progress, clock)
    return _with_minima(table, found, smallest, max_results), smallest


def _minimum_within(
    table: Coded,
    reading: Reading,
    deadline: float | None,
    budget: int | None,
    progress: Progress,
    clock: Clock,
) -> Smallest:
    best = minimum(
        table,
        reading,
        max_results=MOST_MINIMA,
        deadline=deadline,
        budget=budget,
        progress=progress,
        clock=clock,
    )
    return Smallest(best.sets, best.lower_bound, best.proved or best.columns is None, best.complete)


def _with_minima(
    table: Coded, found: MinimalSets, smallest: Smallest, max_results: int | None
) -> MinimalSets:
    """The minimal sets and, where they are proved, the minima; how far the list is without a gap."""
    size = smallest.lower_bound
    bound = size if smallest.complete and smallest.proved else max(0, size - 1)
    if not smallest.proved or (found.max_size is not None and size > found.max_size):
        return replace(found, complete_to=bound)
    place = {name: j for j, name in enumerate(table.names)}
    every = {*found.sets, *smallest.sets}
    sets = sorted(every, key=lambda columns: (len(columns), [place[name] for name in columns]))
    cut = max_results is not None and max_results < len(smallest.sets)
    return replace(found, sets=tuple(sets[:max_results]), complete_to=size - 1 if cut else bound)


def _from_minimal_sets(table: Coded, reading: Reading, found: MinimalSets) -> Smallest:
    """All sets up to a size are known: so is the smallest, or that it is larger."""
    if found.sets:
        size = min(len(columns) for columns in found.sets)
        minima = tuple(columns for columns in found.sets if len(columns) == size)
        return Smallest(minima, size, True, True)
    if found.reason or found.max_size is None:
        return Smallest((), 0, True, True)
    cover = greedy_cover(table, reading)
    best = min(cover.columns or (), descend(table, reading).columns or (), key=len)
    bound = max(found.max_size + 1, cover.lower_bound)
    return Smallest((best,), bound, len(best) == bound)

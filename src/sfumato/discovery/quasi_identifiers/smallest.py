"""The minimal sets and the smallest of them with its proof, searched within one budget of time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sfumato.core.progress import Progress, silent
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.criterion import Reading
from sfumato.discovery.quasi_identifiers.descent import descend
from sfumato.discovery.quasi_identifiers.enumeration import MinimalSets, minimal
from sfumato.discovery.quasi_identifiers.limits import Clock, Limits
from sfumato.discovery.quasi_identifiers.minimum import minimum


@dataclass(frozen=True)
class Smallest:
    """The smallest quasi-identifier known, `None` if there is none at all; no other has fewer columns than
    `lower_bound`. `proved` says that this settles it.
    """

    columns: tuple[str, ...] | None
    lower_bound: int
    proved: bool


def search(
    table: Coded,
    reading: Reading,
    *,
    max_size: int | None = None,
    max_results: int | None = None,
    deadline: float | None = None,
    progress: Progress = silent,
    clock: Clock = time.monotonic,
) -> tuple[MinimalSets, Smallest]:
    """All minimal sets within the bounds, and the minimum: proved, or bounded from below.

    Under a deadline the minimum gets the first half of the time. Without one it follows from the minimal
    sets; where no set of `max_size` columns suffices, a descent shows one that does.
    """
    limits = Limits(max_results, deadline, clock)
    known = None
    if deadline is not None:
        known = _minimum_within(table, reading, deadline / 2, progress, clock)
        deadline = max(0.0, deadline - (clock() - limits.started))
    found = minimal(
        table,
        reading,
        max_size=max_size,
        max_results=max_results,
        deadline=deadline,
        progress=progress,
        clock=clock,
    )
    if found.complete:
        return found, _from_minimal_sets(table, reading, found)
    return found, known or _minimum_within(table, reading, None, progress, clock)


def _minimum_within(
    table: Coded, reading: Reading, deadline: float | None, progress: Progress, clock: Clock
) -> Smallest:
    best = minimum(table, reading, max_results=1, deadline=deadline, progress=progress, clock=clock)
    return Smallest(best.columns, best.lower_bound, best.proved or best.columns is None)


def _from_minimal_sets(table: Coded, reading: Reading, found: MinimalSets) -> Smallest:
    """All sets up to a size are known: so is the smallest, or that it is larger."""
    if found.sets:
        best = min(found.sets, key=len)
        return Smallest(best, len(best), True)
    if found.reason or found.max_size is None:
        return Smallest(None, 0, True)
    best = descend(table, reading).columns or ()
    bound = found.max_size + 1
    return Smallest(best, bound, len(best) == bound)

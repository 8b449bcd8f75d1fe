"""The minimal sets and the smallest of them with its proof, searched within one budget of time."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from sfumato.core.progress import Progress, silent
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.criterion import Reading
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
    limits: Limits | None = None,
) -> tuple[MinimalSets, Smallest]:
    """All minimal sets within the bounds, and the minimum: proved, or bounded from below.

    Under a deadline the minimum gets the first half of the time. Without one it follows from the minimal
    sets, if they tell. Neither `max_size` nor `max_results` is a bound on the minimum: it is what it would be
    without them. `limits` bounds all of it instead of `max_results`, `deadline` and `clock`.
    """
    limits = limits or Limits(max_results, deadline, clock)
    known = None
    if limits.deadline is not None:
        known = _minimum_within(table, reading, limits.until(0.5, max_results=1), progress)
    found = minimal(table, reading, max_size=max_size, progress=progress, limits=replace(limits))
    told = _from_minimal_sets(found)
    if told is not None and told.proved:
        return found, told
    if known is None:
        known = _minimum_within(table, reading, limits.until(1, max_results=1), progress)
    return found, _better(known, told, found)


def _minimum_within(table: Coded, reading: Reading, limits: Limits, progress: Progress) -> Smallest:
    best = minimum(table, reading, progress=progress, limits=limits)
    return Smallest(best.columns, best.lower_bound, best.proved or best.columns is None)


def _from_minimal_sets(found: MinimalSets) -> Smallest | None:
    """Returns what the minimal sets tell about the smallest: nothing, a bound, or all of it.

    Sets that were found are smallest first. All of at most `complete_to` columns are known.
    """
    best = found.sets[0] if found.sets else None
    if found.complete and best is None and (found.reason or found.max_size is None):
        return Smallest(None, 0, True)
    if best is None:
        return None
    bound = min(len(best), found.complete_to + 1)
    return Smallest(best, bound, len(best) == bound)


def _better(known: Smallest, told: Smallest | None, found: MinimalSets) -> Smallest:
    """Returns the smaller set of what is known and what the minimal sets tell, with the larger bound."""
    if known.columns is None:
        return known
    best = (
        known.columns if told is None or told.columns is None else min(known.columns, told.columns, key=len)
    )
    bound = max(known.lower_bound, found.complete_to + 1 if told is None else told.lower_bound)
    return Smallest(best, bound, len(best) == bound)

"""The minimal sets and the smallest of them with their proof, searched within one budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from sfumato.core.progress import Progress, silent
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.criterion import Reading
from sfumato.discovery.quasi_identifiers.enumeration import MinimalSets, minimal
from sfumato.discovery.quasi_identifiers.limits import Clock, Limits
from sfumato.discovery.quasi_identifiers.minimum import minimum

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
    max_results: int | None = None,
    deadline: float | None = None,
    budget: int | None = None,
    progress: Progress = silent,
    clock: Clock = time.monotonic,
    limits: Limits | None = None,
) -> tuple[MinimalSets, Smallest]:
    """All minimal sets within the bounds, and the minima: proved, or bounded from below.

    Under a deadline the minima get the first half of the time. Without one they follow from the minimal
    sets, if these tell, and else have a budget of steps of their own. Neither `max_size` nor `max_results`
    bounds them: they are what they would be without. Minima found on the way are listed with the minimal
    sets. `limits`, if given, is all that bounds the search except `max_size`.
    """
    limits = limits or Limits(max_results, deadline, clock, budget)
    known = None
    if limits.deadline is not None:
        known = _minimum_within(table, reading, limits.until(0.5, max_results=MOST_MINIMA), progress)
    found = minimal(table, reading, max_size=max_size, progress=progress, limits=replace(limits))
    if found.complete and (found.sets or found.reason or found.max_size is None):
        return found, _from_minimal_sets(found)
    if known is None:
        known = _minimum_within(table, reading, limits.until(1, max_results=MOST_MINIMA), progress)
    smallest = _with_what_was_found(known, found)
    return found if found.complete else _with_minima(found, smallest, limits.max_results), smallest


def _minimum_within(table: Coded, reading: Reading, limits: Limits, progress: Progress) -> Smallest:
    best = minimum(table, reading, progress=progress, limits=limits)
    return Smallest(best.sets, best.lower_bound, best.proved or best.columns is None, best.complete)


def _with_what_was_found(known: Smallest, found: MinimalSets) -> Smallest:
    """The minima, improved by what the minimal sets tell: a smaller set, or that none is as small."""
    if known.columns is None:
        return known
    first = found.sets[0] if found.sets else None
    no_smaller = found.max_size if found.complete and found.max_size is not None else found.complete_to
    bound = max(known.lower_bound, no_smaller + 1 if first is None else min(len(first), no_smaller + 1))
    if first is not None and len(first) < len(known.columns):
        return Smallest((first,), bound, len(first) == bound)
    proved = len(known.columns) == bound
    return Smallest(known.sets, bound, proved, known.complete and proved)


def _with_minima(found: MinimalSets, smallest: Smallest, max_results: int | None) -> MinimalSets:
    """The minimal sets and, where they are proved, the minima; how far the list is without a gap."""
    size = smallest.lower_bound
    bound = size if smallest.complete and smallest.proved else max(0, size - 1)
    if not smallest.proved or (found.max_size is not None and size > found.max_size):
        return replace(found, complete_to=max(bound, found.complete_to))
    sets = found.sets.joined(smallest.sets, most=max_results)
    cut = max_results is not None and max_results < len(smallest.sets)
    return replace(
        found, sets=sets, complete_to=size - 1 if cut else max(bound, 0 if sets.cut else found.complete_to)
    )


def _from_minimal_sets(found: MinimalSets) -> Smallest:
    """All sets up to a size are known: so are the smallest."""
    if not found.sets:
        return Smallest((), 0, True, True)
    size = len(found.sets[0])
    minima = tuple(islice(takewhile(lambda columns: len(columns) == size, found.sets), MOST_MINIMA + 1))
    return Smallest(minima[:MOST_MINIMA], size, True, len(minima) <= MOST_MINIMA)

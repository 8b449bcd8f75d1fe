"""The exact program for a chain that people leave: every way in which people can be behind its releases.

An entry is a presence, a cell and a value: how many people are of that kind is unknown. A release says of
every class and value how many people there are; a pair of releases, how many people are in both, of every
component or in all. `Worlds` asks how many people an entry can hold: the same question as for chains that
only grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.departures import Component, LivingChain, no_people
from sfumato.chains.equations import Equations
from sfumato.chains.presence_cells import PresenceCells, PresenceTargets
from sfumato.chains.worlds import StepBudget, Worlds, undecided
from sfumato.core.leavers import Leavers
from sfumato.core.microdata import Counts

MOST_ENTRIES = 400_000
"""Chains with more entries of targets than this are too large for the exact program."""
STEPS = 10_000_000
"""Steps of the exact program for all targets together; then what is left stays open."""


@dataclass(frozen=True)
class PresenceDecision:
    """How many targets are known to exist with fewer than k candidates, and of how many it is not known.

    `least` is the fewest candidates that somebody keeps: exactly, if `certain`, and at most otherwise; `None`
    where nobody can be.
    """

    few: int
    open: int
    least: int | None
    certain: bool

    @property
    def holds(self) -> bool | None:
        """`None`: nobody is known to have too few, but not everybody is known to have enough."""
        return False if self.few else None if self.open else True


@dataclass(frozen=True, eq=False)
class PresenceBounds:
    """The targets of one presence, and how many candidates each keeps at least and at most."""

    cells: PresenceCells
    least: Counts
    most: Counts


def bound_targets(targets: PresenceTargets, k: int | None) -> list[PresenceBounds]:
    """Returns how many candidates everybody who is or was in a release keeps, presence by presence.

    For two releases, and where departures are unknown, the formulas are exact. Otherwise the exact program
    narrows them where they leave it open whether there are k, within a fixed number of steps.
    """
    cells = list(targets.all_cells())
    if len(targets.chain) < 3 or targets.chain.leavers is Leavers.UNKNOWN:
        return [PresenceBounds(some, some.candidates, some.candidates) for some in cells]
    if k is None or sum(len(c.table.owner) for c in cells) > MOST_ENTRIES:
        return [PresenceBounds(some, np.zeros_like(some.candidates), some.candidates) for some in cells]
    worlds = Worlds.of_cells(cells, presence_equations(targets.chain, cells))
    worlds.decide(k, StepBudget(STEPS))
    ends = np.cumsum([len(some.table) for some in cells])[:-1]
    least, most = (np.split(numbers, ends) for numbers in worlds.candidate_bounds())
    return [PresenceBounds(*one) for one in zip(cells, least, most, strict=True)]


def decide_targets(targets: PresenceTargets, k: int) -> PresenceDecision:
    """Whether everybody who is or was in a release keeps k candidates, from what is known of the chain."""
    bounds, none = bound_targets(targets, k), np.zeros(0, np.int64)
    least = np.concatenate([none, *(bound.least for bound in bounds)])
    return _ruled(least, np.concatenate([none, *(bound.most for bound in bounds)]), k)


def _ruled(least: Counts, most: Counts, k: int) -> PresenceDecision:
    few, left = int(((least > 0) & (most < k)).sum()), int(undecided(least, most, k).sum())
    there, maybe = most[least > 0], most[most > 0]
    fewest = int(there.min()) if len(there) else int(maybe.min()) if len(maybe) else None
    return PresenceDecision(few, left, fewest, bool(np.array_equal(least, most)))


def presence_equations(chain: LivingChain, cells: Sequence[PresenceCells]) -> Equations:
    """The equations of a whole chain, given the targets of every presence."""
    values = 1 + max((int(r.values.max(initial=-1)) for r in chain.releases), default=-1)
    width = max(1, values)
    known = [r.owner.astype(np.int64) * width + r.values for r in chain.releases]
    offsets = np.cumsum([0, *(len(k) for k in known)])
    pairs, rows = _shared_sums(chain, int(offsets[-1]))
    through, lengths = [], []
    for some in cells:
        owner, value = some.table.owner, some.table.values.astype(np.int64)
        sums = []
        for place, j in enumerate(some.presence):
            asked = some.classes[owner, place].astype(np.int64) * width + value
            sums.append(offsets[j] + np.searchsorted(known[j], asked))
        for i, j in combinations(some.presence, 2):
            place = some.presence.index(j)
            sums.append(pairs[i, j][some.classes[owner, place]])
        stacked = np.stack(sums, axis=1).astype(np.int64)
        through.append(stacked.ravel())
        lengths.append(np.full(len(stacked), stacked.shape[1], np.int64))
    totals = np.concatenate([*(r.counts for r in chain.releases), rows])
    unused = np.ones(len(totals), bool)
    flat = np.concatenate(through)
    unused[flat] = False
    if totals[unused].any():
        raise no_people()
    return Equations(
        (),
        np.concatenate([np.full(len(c.table.owner), t, np.int32) for t, c in enumerate(cells)]),
        np.concatenate([c.table.owner for c in cells]),
        np.concatenate([c.table.values for c in cells]),
        np.concatenate([c.table.counts for c in cells]),
        np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64),
        flat.astype(np.int32),
        totals,
    )


def _shared_sums(chain: LivingChain, first: int) -> tuple[dict[tuple[int, int], NDArray[np.int64]], Counts]:
    """For every pair of releases the number of the sum that each class of the later one is part of, and what
    these sums come to; they are numbered from `first` on."""
    places: dict[tuple[int, int], NDArray[np.int64]] = {}
    rows: list[Counts] = []
    for i, j in combinations(range(len(chain)), 2):
        met = Component.of(chain.trees, chain.releases[i], chain.releases[j])
        both, _ = met.shared_in(chain.shared[i, j], chain.leavers)
        if chain.leavers is Leavers.TOTAL:
            places[i, j] = np.full(len(met.join_other), first, np.int64)
            rows.append(chain.shared[i, j][:1])
        else:
            places[i, j] = first + met.join_other.astype(np.int64)
            rows.append(both)
        first += len(rows[-1])
    return places, np.concatenate([np.zeros(0, np.int64), *rows])

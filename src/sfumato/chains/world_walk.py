"""A walk from world to world: pairs of people pass on to each other what some releases show of them.

Whoever holds the data knows one world. Two people who exchange their classes in some releases leave every
published count as it is, as long as both remain where somebody can be: in an entry of the equations. So one
step, in which everybody meets somebody, costs a few lookups, and its world shows of thousands of entries at
once how many people they can hold. What no world on the way shows stays open.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.equations import Equations, Longs
from sfumato.core.microdata import Counts
from sfumato.kernels.chains.exchanges import make_exchanges

STEPS = 20
"""So often everybody meets somebody before it is asked what is still open."""
WORTHWHILE = 0.04
"""The walk goes on as long as these steps decide this share of what is open."""
MOST_PEOPLE_PER_ENTRY = 5
"""A walk is for chains that count at most so many people, release by release, for every open entry."""
MOST_PLACES = 8_000_000
"""Entries times releases that are laid out; a larger chain is not walked."""


class WorldWalk:
    """Everybody's entry in a world that changes step by step, and the most that entries were seen to hold.

    Sum r of the equations is of release `release_of_sum[r]`; no entry has two sums of one release. The walk
    begins with `amounts` people in every entry, which must be a world.
    """

    def __init__(self, equations: Equations, release_of_sum: Longs, amounts: Counts) -> None:
        entries, releases = len(equations.most), int(release_of_sum.max(initial=-1)) + 1
        owner = np.repeat(np.arange(entries), np.diff(equations.start))
        self._sums = np.full((entries, releases), -1, np.int64)
        self._sums[owner, release_of_sum[equations.through]] = equations.through
        self._random = np.random.default_rng(0)
        drawn = self._random.integers(0, 1 << 64, len(release_of_sum) + 1, dtype=np.uint64)
        drawn[-1] = 0  # of a release that shows nothing new
        self._drawn = drawn[self._sums]
        self._key = self._drawn.sum(axis=1, dtype=np.uint64)
        self._order = np.argsort(self._key, kind="stable")
        self._keys = self._key[self._order]
        self._component = equations.component
        self._entry = np.repeat(np.arange(entries), amounts)
        self.seen: Counts = amounts.copy()

    @property
    def people(self) -> int:
        return len(self._entry)

    @property
    def amounts(self) -> Counts:
        """The people in every entry by now: a world."""
        return np.bincount(self._entry, minlength=len(self.seen))

    def step(self) -> None:
        """Lets everybody meet somebody of the same component, and makes every exchange that can be made."""
        order = np.argsort(self._component[self._entry] + self._random.random(self.people))
        passed = self._random.integers(0, 2, (self.people // 2, self._sums.shape[1]), dtype=np.bool_)
        known = self._key, self._keys, self._order
        make_exchanges(order, self._entry, passed, self._sums, self._drawn, known)
        np.maximum(self.seen, self.amounts, out=self.seen)


def is_worth_a_walk(equations: Equations, release_of_sum: Longs, entries: NDArray[np.intp]) -> bool:
    """Whether many entries are open beside the people who are counted, and the chain is not too large."""
    if not len(entries) or len(equations.most) * (int(release_of_sum.max()) + 1) > MOST_PLACES:
        return False
    return len(entries) * MOST_PEOPLE_PER_ENTRY >= int(equations.sums.sum())


def walk(world: WorldWalk, still_open: Callable[[Counts], int]) -> None:
    """Walks on as long as that decides much; `still_open` is told what was seen, and counts what is open."""
    left = still_open(world.seen)
    while left and world.people > 1:
        for _ in range(STEPS):
            world.step()
        before, left = left, still_open(world.seen)
        if left > (1 - WORTHWHILE) * before:
            return

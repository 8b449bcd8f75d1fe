"""Three releases and more, as whoever holds only the published tables can settle them.

Every target keeps between `least` and `most` candidates: at first nobody and what the refined bound allows.
The integer program narrows that, first for targets where it decides about k, then for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.detail import by_cut
from sfumato.chains.overlap import Overlap
from sfumato.chains.worlds import StepBudget, Worlds, undecided
from sfumato.core.chain import Chain, ReleaseIndex, match_blocks
from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Codes, Counts
from sfumato.kernels.chains.overlaps import NO_OVERLAP

STEPS = 100_000_000
"""Steps of the integer program for all targets together."""
LARGEST = 2_000_000
"""Releases that meet pair by pair in more entries than this are only bounded."""


@dataclass(frozen=True, eq=False)
class Settled:
    """The targets of one time: between how many candidates each keeps, and the classes they are in.

    `classes[j]` is their class in the release they came with and in the last one; `phantom`: some comparable
    classes share no value at all.
    """

    time: int
    least: Counts
    most: Counts
    classes: dict[int, Codes]
    sizes: dict[int, int]
    phantom: bool

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Targets that may exist."""
        return self.most > 0

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Targets that exist in a world that was found."""
        return self.least > 0

    @property
    def lowest(self) -> int | None:
        """No target keeps fewer candidates; `None`: there is none."""
        return _least_of(np.maximum(self.least, 1)[self.possible])

    @property
    def highest(self) -> int | None:
        """Some target keeps no more candidates; `None`: none is known to exist."""
        return _least_of(self.most[self.seen])

    def few(self, k: int) -> int:
        """How many targets exist that keep fewer than k candidates."""
        return int((self.seen & (self.most < k)).sum())

    def open(self, k: int | None) -> int:
        """How many targets may or may not be such; without k, how many are not known exactly."""
        if k is None:
            return int((self.least < self.most).sum())
        return int(undecided(self.least, self.most, k).sum())

    def per_class(self) -> dict[int, Counts]:
        """The fewest candidates of a target in each class: of those that are seen, else of the possible."""
        found = {}
        for j, classes in self.classes.items():
            fewest = np.full(self.sizes[j], NO_OVERLAP, np.int64)
            np.minimum.at(fewest, classes[self.seen], self.most[self.seen])
            others = self.possible & (fewest[classes] == NO_OVERLAP)
            np.minimum.at(fewest, classes[others], self.most[others])
            found[j] = np.where(fewest == NO_OVERLAP, -1, fewest)
        return found


def settle(chain: Chain, k: int | None) -> list[Settled] | None:
    """The targets of every time; `None` where there are too many."""
    if _pairs(chain) > LARGEST:
        return None
    try:
        worlds = Worlds(Overlap(chain))
    except WrongCall:
        return None
    budget = StepBudget(STEPS)
    if k is not None:
        worlds.decide(k, budget)
    worlds.solve(np.arange(len(worlds.targets)), budget)
    least, most = worlds.candidate_bounds()
    placed = {j: ReleaseIndex(chain, chain.releases[j]) for j in range(len(chain))}
    found, end = [], 0
    for time, cells in enumerate(worlds.cells):
        begin, end = end, end + len(cells.table)
        ends = sorted({time, len(chain) - 1})
        classes = {j: placed[j].classes(cells.table) for j in ends}
        sizes = {j: len(chain.releases[j]) for j in ends}
        found.append(Settled(time, least[begin:end], most[begin:end], classes, sizes, bool(cells.phantom[0])))
    return found


def _pairs(chain: Chain) -> int:
    """The most entries in which two releases meet."""
    sides, largest = [chain.releases[same[-1]] for same in by_cut(chain.releases)], 0
    for i, one in enumerate(sides):
        for other in sides[i + 1 :]:
            met = match_blocks(chain.trees, one, other)
            mine = np.bincount(met.one[met.one >= 0], minlength=met.count)
            largest = max(largest, int(mine @ np.bincount(met.other, minlength=met.count)))
    return largest


def _least_of(numbers: Counts) -> int | None:
    return int(numbers.min()) if len(numbers) else None

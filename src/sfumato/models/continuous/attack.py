"""Bounds on the candidates of every target in three releases or more, from the published tables alone.

Every target keeps between `least` and `most` candidates: at first nobody and what the refined bound allows.
The integer program narrows that, first for targets where it decides about k, then for all, or for as many as
the fewest candidates of anybody depend on.
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

MOST_STEPS = 100_000_000
"""The integer program takes so many steps for all targets together."""
MOST_ENTRY_PAIRS = 2_000_000
"""Releases whose classes share more pairs of entries than this are only bounded."""


@dataclass(frozen=True, eq=False)
class TargetBounds:
    """The targets of one time: the bounds of their candidates, and the classes they are in.

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
        """Counts the targets that exist and keep fewer than k candidates."""
        return int((self.seen & (self.most < k)).sum())

    def open(self, k: int | None) -> int:
        """Counts the targets that may or may not be such; without k, those that are not known exactly."""
        if k is None:
            return int((self.least < self.most).sum())
        return int(undecided(self.least, self.most, k).sum())

    def per_class(self) -> dict[int, Counts]:
        """Returns the fewest candidates of a target in each class: of those seen, else of the possible."""
        by_release = {}
        for j, classes in self.classes.items():
            fewest = np.full(self.sizes[j], NO_OVERLAP, np.int64)
            np.minimum.at(fewest, classes[self.seen], self.most[self.seen])
            others = self.possible & (fewest[classes] == NO_OVERLAP)
            np.minimum.at(fewest, classes[others], self.most[others])
            by_release[j] = np.where(fewest == NO_OVERLAP, -1, fewest)
        return by_release


def solve_targets(chain: Chain, k: int | None, *, only_fewest: bool = False) -> list[TargetBounds] | None:
    """Returns the targets of every time; `None` where there are too many.

    With `only_fewest` they are solved as far as k and two figures need it: the fewest candidates of somebody
    who is not new in the last release, and of somebody who is not in the first one.
    """
    if _entry_pairs(chain) > MOST_ENTRY_PAIRS:
        return None
    try:
        overlap = Overlap(chain)
        worlds = Worlds(overlap)
    except WrongCall:
        return None
    budget = StepBudget(MOST_STEPS)
    if k is not None:
        worlds.decide(k, budget)
    if only_fewest:
        came = np.repeat(np.arange(len(chain)), [len(cells.table) for cells in overlap.by_time])
        for asked in (came < len(chain) - 1, came > 0):
            worlds.solve_fewest(asked, budget)
    else:
        worlds.solve(np.arange(len(worlds.targets)), budget)
    least, most = worlds.candidate_bounds()
    indexes = {j: ReleaseIndex(chain, chain.releases[j]) for j in range(len(chain))}
    targets, end = [], 0
    for time, cells in enumerate(overlap.by_time):
        begin, end = end, end + len(cells.table)
        ends = sorted({time, len(chain) - 1})
        classes = {j: indexes[j].classes(cells.table) for j in ends}
        sizes = {j: len(chain.releases[j]) for j in ends}
        targets.append(
            TargetBounds(time, least[begin:end], most[begin:end], classes, sizes, bool(cells.phantom[0]))
        )
    return targets


def _entry_pairs(chain: Chain) -> int:
    """Returns the most pairs of entries that two releases share."""
    sides, largest = [chain.releases[same[-1]] for same in by_cut(chain.releases)], 0
    for i, one in enumerate(sides):
        for other in sides[i + 1 :]:
            matched = match_blocks(chain.trees, one, other)
            mine = np.bincount(matched.one[matched.one >= 0], minlength=matched.count)
            largest = max(largest, int(mine @ np.bincount(matched.other, minlength=matched.count)))
    return largest


def _least_of(numbers: Counts) -> int | None:
    return int(numbers.min()) if len(numbers) else None

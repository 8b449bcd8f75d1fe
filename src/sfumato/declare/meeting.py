"""Targets of a chain: the cells where releases meet, and how many candidates remain in each.

A person who came with release t is in every release from t on. Whoever knows their key values knows the class
q_j they fall into in each of them: a *cell*. A record with matching value s in that cell can be no more often
there than any class allows, g_j(s), and no more often than rows newer than an earlier release i < t exist in
the component that i and j share, n_j(J, s) - n_i(J, s). The sum over s of the least of these is the *refined*
bound; for two releases it is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.overlaps import NOTHING, least_overlaps
from sfumato.terms.chain import Blocks, Chain, Side, meet_of
from sfumato.terms.errors import WrongCall
from sfumato.terms.microdata import Codes, Counts

LARGEST = 50_000_000
"""So many entries of cells are looked at; more would not fit in memory."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The feasible targets of one time.

    `classes[c, i]` is the class of cell c in the i-th binding release from then on, `left[c]` how many
    candidates remain; `phantom` says that some comparable classes share no value at all.
    """

    time: int
    classes: Codes
    left: Counts
    side: Side
    phantom: bool


@dataclass(frozen=True, eq=False)
class Left:
    """The fewest candidates of a target of one time.

    Per class of the release it came with (`first`) and of the last one, NOTHING where no target can be;
    `alone` tells which classes have a comparable one that they share no value with.
    """

    first: Counts
    last: Counts | None
    alone: NDArray[np.bool_]

    @property
    def least(self) -> int | None:
        found = int(self.first.min(initial=NOTHING))
        return None if found == NOTHING else found


class Meeting:
    """The releases of a chain, matched pair by pair as needed.

    Releases hold more and more people, so among releases with the same cuts only one can bind: of those from
    a time on the first, of those before it the last. `every` looks at all of them nevertheless. Without
    `compose` earlier releases bind only the release that somebody came with, as in the paper.
    """

    def __init__(self, chain: Chain, *, compose: bool = True, every: bool = False) -> None:
        self.chain = chain
        self.compose = compose
        self._cuts = [
            bytes([i % 256, i >> 8]) if every else b"".join(cut.tobytes() for cut in side.node_of)
            for i, side in enumerate(chain.releases)
        ]
        self._blocks: dict[tuple[int, int], Blocks] = {}
        self._newer: dict[tuple[int, int], Counts] = {}
        self._cells: dict[int, Cells] = {}
        self._shorter: Meeting | None = None

    def followed_by(self, side: Side) -> Meeting:
        """The same releases and one more; what is known of these serves again."""
        found = Meeting(replace(self.chain, releases=(*self.chain.releases, side)), compose=self.compose)
        found._shorter = self
        return found

    def later(self, time: int, stop: int) -> list[int]:
        """The releases after the one of this time that bind its people."""
        seen, found = {self._cuts[time]}, []
        for j in range(time + 1, stop):
            if self._cuts[j] not in seen:
                seen.add(self._cuts[j])
                found.append(j)
        return found

    def before(self, time: int) -> list[int]:
        """The releases that people of this time are not in, as far as they bind."""
        return list({self._cuts[i]: i for i in range(time)}.values())

    def blocks(self, i: int, j: int) -> Blocks:
        if (i, j) not in self._blocks:
            releases = self.chain.releases
            self._blocks[i, j] = meet_of(self.chain.trees, releases[i], releases[j])
        return self._blocks[i, j]

    def newer(self, i: int, j: int) -> Counts:
        """For every entry of release j: the rows newer than release i in its block."""
        if self._shorter is not None and j < len(self._shorter.chain):
            return self._shorter.newer(i, j)
        if (i, j) not in self._newer:
            found = self.blocks(i, j)
            surplus = found.surplus(self.chain.releases[i], self.chain.releases[j])
            self._newer[i, j] = surplus[found.other]
        return self._newer[i, j]

    def capped(self, j: int, time: int) -> Side:
        """Release j with the counts that a person of this time can be behind."""
        side = self.chain.releases[j]
        counts = side.counts
        if self.compose or j == time:
            for i in self.before(time):
                counts = np.minimum(counts, self.newer(i, j))
        kept = counts > 0
        return replace(side, owner=side.owner[kept], values=side.values[kept], counts=counts[kept])

    def left(self, time: int) -> Left:
        """The fewest candidates of a target of this time, class by class; the last crossing is not kept."""
        last = len(self.chain) - 1
        if time == last:
            side = self.capped(time, time)
            return Left(np.where(side.sizes > 0, side.sizes, NOTHING), None, side.sizes == 0)
        before, other = self.cells(time, stop=last), self.capped(last, time)
        met = meet_of(self.chain.trees, before.side, other)
        order = np.argsort(met.other, kind="stable")
        begin = np.searchsorted(met.other[order], np.arange(met.count + 1)).astype(np.int64)
        one, _, back, _, partners = least_overlaps(
            before.side.start,
            met.one,
            before.side.counts,
            begin,
            other.owner[order],
            other.counts[order],
            len(other),
        )
        wide = np.bincount(met.join_other, minlength=int(met.join_one.max(initial=0)) + 1)
        alone = partners < wide[met.join_one]
        if time + 1 < last:
            one = _fewest_per(before.classes[:, 0], one, len(self.chain.releases[time]))
            alone = np.array([before.phantom or bool(alone.any())])
        return Left(one, back, alone)

    def cells(self, time: int, *, stop: int | None = None) -> Cells:
        """All feasible targets of a time, release by release, up to the release before `stop`."""
        last = len(self.chain) if stop is None else stop
        if self._shorter is not None and time < last - 1 == len(self._shorter.chain):
            return self._met(self._shorter.kept(time), [j for j in self.later(time, last) if j == last - 1])
        side = self.capped(time, time)
        classes = np.arange(len(side), dtype=np.int32)[:, None]
        start = Cells(time, classes, side.sizes, side, len(np.unique(side.owner)) < len(side))
        return self._met(start, self.later(time, last))

    def kept(self, time: int) -> Cells:
        """All feasible targets of a time, kept to be asked for again."""
        if time not in self._cells:
            self._cells[time] = self.cells(time)
        return self._cells[time]

    def _met(self, cells: Cells, releases: list[int]) -> Cells:
        """Cells of one time, with more releases."""
        side, classes, phantom = cells.side, cells.classes, cells.phantom
        for j in releases:
            side, pairs, all_met = _crossed(self.chain, side, self.capped(j, cells.time))
            classes = np.hstack([classes[pairs[0]], pairs[1][:, None]])
            phantom = phantom or not all_met
        return Cells(cells.time, classes, side.sizes, side, phantom)


def _crossed(chain: Chain, one: Side, other: Side) -> tuple[Side, tuple[NDArray[np.intp], Codes], bool]:
    """The cells where two sides meet and share a value, the pair each is made of, and whether all that are
    comparable do."""
    met = meet_of(chain.trees, one, other)
    order = np.argsort(met.other, kind="stable")
    begin = np.searchsorted(met.other[order], np.arange(met.count + 1))
    known = np.flatnonzero(met.one >= 0)
    lengths = np.diff(begin)[met.one[known]] if len(known) else np.zeros(0, np.int64)
    total = int(lengths.sum())
    if total > LARGEST:
        raise WrongCall(
            f"the releases meet in more than {LARGEST:,} cells", remedy="Look at fewer releases at a time."
        )
    left = np.repeat(known, lengths)
    first = np.repeat(begin[:-1][met.one[known]] - (np.cumsum(lengths) - lengths), lengths)
    right = order[first + np.arange(total)]
    pair = one.owner[left].astype(np.int64) * max(1, len(other)) + other.owner[right]
    distinct, cell = np.unique(pair, return_inverse=True)
    mine, theirs = distinct // max(1, len(other)), (distinct % max(1, len(other))).astype(np.int32)
    values, counts = one.values[left], np.minimum(one.counts[left], other.counts[right])
    sequence = np.lexsort((values, cell))
    node_of, nodes = [], np.empty((len(distinct), len(chain.trees)), np.int32)
    for j, tree in enumerate(chain.trees):
        a, b = one.node_of[j], other.node_of[j]
        node_of.append(np.where(tree.depth[a] >= tree.depth[b], a, b))
        u, v = one.nodes[mine, j], other.nodes[theirs, j]
        nodes[:, j] = np.where(tree.depth[u] >= tree.depth[v], u, v)
    side = Side(
        tuple(node_of),
        nodes,
        cell[sequence].astype(np.int32),
        values[sequence],
        counts[sequence],
    )
    return side, (mine, theirs), len(distinct) == comparable(met)


def _fewest_per(owner: Codes, left: Counts, count: int) -> Counts:
    found = np.full(count, NOTHING, np.int64)
    np.minimum.at(found, owner, left)
    return found


def comparable(met: Blocks) -> int:
    """How many pairs of classes are comparable, whether they share a value or not."""
    joins = int(max(met.join_one.max(initial=-1), met.join_other.max(initial=-1))) + 1
    return int(np.bincount(met.join_one, minlength=joins) @ np.bincount(met.join_other, minlength=joins))


def left_in(meeting: Meeting, time: int, classes: Mapping[int, Codes]) -> Counts:
    """How many candidates remain for given targets: `classes[j]` is their class in release j >= time."""
    start = meeting.capped(time, time)
    begin, end = start.start[classes[time]], start.start[classes[time] + 1]
    lengths = end - begin
    target = np.repeat(np.arange(len(lengths)), lengths)
    entry = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    values, least = start.values[entry].astype(np.int64), start.counts[entry]
    for j in range(time + 1, len(meeting.chain)):
        side = meeting.capped(j, time)
        keys = side.owner.astype(np.int64) * meeting.chain.values + side.values
        asked = classes[j][target].astype(np.int64) * meeting.chain.values + values
        place = np.minimum(np.searchsorted(keys, asked), max(0, len(keys) - 1))
        found = keys[place] == asked if len(keys) else np.zeros(len(asked), dtype=bool)
        least = np.where(found, np.minimum(least, side.counts[place] if len(keys) else 0), 0)
    sums = np.zeros(len(lengths), np.int64)
    np.add.at(sums, target, least)
    return sums

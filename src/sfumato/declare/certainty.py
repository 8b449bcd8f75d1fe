"""Whether everybody keeps k candidates, exactly: what the refined bound leaves open.

For every target the truth lies between two numbers: the people who are in it (whoever holds the data knows
them, and the truth is a world like any other) and the refined bound. Where k lies between, more people are
swapped into the target, world after world with the same counts; where that does not reach k, the integer
program says whether there can be as many. The first target that remains open after that ends the decision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.declare.history import History
from sfumato.declare.meeting import Cells, Meeting
from sfumato.declare.swaps import Swaps, Targets
from sfumato.declare.worlds import Worlds
from sfumato.terms.chain import Chain, Side, place
from sfumato.terms.errors import WrongCall
from sfumato.terms.microdata import Counts
from sfumato.terms.packing import Packing

PROGRAMS = 300
"""So many targets are solved by the integer program."""
LOOKS = 1_000_000
"""So many looks at cells are taken for one of them."""
LARGEST = 20_000
"""Chains with more entries of cells than this, times releases, are too large for the integer program."""


@dataclass(frozen=True)
class Certainty:
    """Targets of a chain with fewer than k candidates, and those that were not decided; not all of them are
    counted, since one is enough."""

    few: int
    open: int

    @property
    def holds(self) -> bool | None:
        """`None`: nobody is known to have too few, but not everybody is known to have enough."""
        return False if self.few else None if self.open else True


def decide(history: History, side: Side, k: int) -> Certainty:
    """Whether every target of the earlier releases and this one together keeps at least k candidates."""
    return Decider(history, k).decide(side)


class Decider:
    """Decides one candidate for the next release after another; what the earlier ones tell is found once."""

    def __init__(self, history: History, k: int) -> None:
        self.history = history
        self.k = k
        trees = tuple(c.taxonomy for c in history.table.keys)
        self.earlier = Meeting(Chain(trees, history.sides, history.values))
        self._swaps = Swaps(history, k)
        self._before: dict[int, Certainty] = {}

    def decide(self, side: Side) -> Certainty:
        """Whether every target of the earlier releases and this one together keeps at least k candidates."""
        meeting = self.earlier.followed_by(side)
        binding = _binding(meeting.chain)
        few = 0
        for time in range(binding, len(meeting.chain)):
            left = meeting.cells(time).left
            few += int(((left > 0) & (left < self.k)).sum())
        if binding == len(meeting.chain):
            return self._decided(meeting)
        if binding not in self._before:
            chain = replace(meeting.chain, releases=meeting.chain.releases[:binding])
            self._before[binding] = self._decided(Meeting(chain))
        found = self._before[binding]
        return Certainty(few, 0) if few else found

    def _decided(self, meeting: Meeting) -> Certainty:
        few, entries, doubtful = 0, 0, []
        for cells in meeting.all_cells():
            entries += len(cells.side.owner)
            there = _people_in(self.history, cells)
            known = (cells.left < self.k) & (there > 0)
            few += int(known.sum())
            unsure = np.flatnonzero((cells.left > 0) & (there < self.k) & ~known)
            if len(unsure):
                nodes = cells.side.nodes[unsure]
                doubtful.append(Targets(cells.times[unsure], nodes, cells.left[unsure], there[unsure]))
        if few or not doubtful:
            return Certainty(few, 0)
        targets = Targets.together(doubtful)
        if len(meeting.chain) < 3:
            return Certainty(int((targets.most < self.k).sum()), 0)
        return self._settled(meeting.chain, targets, entries)

    def _settled(self, chain: Chain, targets: Targets, entries: int) -> Certainty:
        """Targets that the bound leaves open: by swaps, then by the integer program; the narrowest first."""
        low = targets.most < self.k
        empty, others = targets.pick(np.flatnonzero(low)), targets.pick(np.flatnonzero(~low))
        nobody = self._swaps.short(chain, empty, 1)
        if len(nobody) < len(empty):  # somebody can be where k cannot
            return Certainty(1, 0)
        programs = _Programs(chain, self.k, entries)
        for i in nobody:
            if (answer := programs.answer(empty, i)) is not True:
                return _refused(answer)
        others = others.pick(np.lexsort((others.there, others.most)))
        for i in self._swaps.each_short(chain, others, self.k):
            if (answer := programs.answer(others, i)) is not True:
                return _refused(answer)
        return Certainty(0, 0)


def _refused(answer: bool | None) -> Certainty:
    return Certainty(int(answer is False), int(answer is None))


def _binding(chain: Chain) -> int:
    """How many releases bind the people of their time; those at the end that are coarser do not.

    If a release is coarser than the one before, every class of that one is within one of its classes: whoever
    was there before is where they have to be, so it tells nothing new of them, and exactly how many newcomers
    each of its groups holds.
    """
    count = len(chain)
    while count > 1 and all(
        np.all(tree.depth[b] <= tree.depth[a])
        for tree, a, b in zip(
            chain.trees, chain.releases[count - 2].node_of, chain.releases[count - 1].node_of, strict=True
        )
    ):
        count -= 1
    return count


def _people_in(history: History, cells: Cells) -> Counts:
    """How many people of its time are in each cell."""
    table, side = history.table, cells.side
    found = np.zeros(len(side), np.int64)
    here = np.flatnonzero(np.isin(history.time, cells.times))
    packing = Packing((len(history.sides) + 1, *(len(c.taxonomy.labels) for c in table.keys)))
    pairs = zip(table.keys, side.node_of, strict=True)
    shown = packing.pack([history.time[here], *(cut[table.codes(c.name)[here]] for c, cut in pairs)])
    known = packing.pack([cells.times, *side.nodes.T])
    order = np.lexsort(known[::-1])
    spot = place(known[:, order], shown)
    np.add.at(found, order[spot[spot >= 0]], table.counts[here][spot >= 0])
    return found


class _Programs:
    """Integer programs for single targets, as many as are allowed."""

    def __init__(self, chain: Chain, k: int, entries: int) -> None:
        self.fits = entries * len(chain) <= LARGEST
        self.chain = chain
        self.k = k
        self.solved = 0
        self._worlds: Worlds | None = None
        self._numbers: list[dict[tuple[int, ...], int]] = []

    def answer(self, targets: Targets, i: int) -> bool | None:
        """Whether a target has k candidates, or can hold nobody; `None`: not found out."""
        self.solved += 1
        if self.solved > PROGRAMS or not self.fits:
            return None
        if self._worlds is None:
            try:
                self._worlds = Worlds(Meeting(self.chain, every=True))
            except WrongCall:
                return None
            self._numbers = [
                {tuple(nodes): c for c, nodes in enumerate(side.nodes.tolist())}
                for side in self.chain.releases
            ]
        time, nodes = int(targets.times[i]), targets.nodes[i].tolist()
        leaf = [int(t.low[v]) for t, v in zip(self.chain.trees, nodes, strict=True)]
        classes = []
        for side, number in zip(self.chain.releases[time:], self._numbers[time:], strict=True):
            shown = tuple(int(cut[x]) for cut, x in zip(side.node_of, leaf, strict=True))
            classes.append(number[shown])
        found = self._worlds.survivors((time, tuple(classes)), np.array([LOOKS], np.int64))
        return None if found is None else not found or sum(found.values()) >= self.k

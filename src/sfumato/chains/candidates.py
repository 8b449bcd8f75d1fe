"""Whether everybody keeps k candidates, exactly: what the refined bound leaves open.

For every target the truth lies between two numbers: the people who are in it (whoever holds the data knows
them, and the truth is a world like any other) and the refined bound. Where k lies between, more people are
swapped into the target, world after world with the same counts; where that does not reach k, the integer
program says whether there can be as many. The first target that remains open after that ends the decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.detail import told_by
from sfumato.chains.history import History
from sfumato.chains.overlap import Cells, Overlap
from sfumato.chains.swaps import Swaps, SwapTargets
from sfumato.chains.worlds import Worlds, doubtful
from sfumato.core.chain import Chain, Side, place
from sfumato.core.microdata import Codes, Counts
from sfumato.core.packing import Packing

PROGRAMS = 100
"""So many targets are solved by the integer program."""
LOOKS = 1_000_000
"""So many looks at cells are taken for one of them."""
LARGEST, ALONE = 20_000, 2_000_000
"""Chains with more entries of cells than this are too large for the integer program: with a next release,
which is one of many that are tried, and without."""
SMALL, WIDEST = 20_000, 200_000
"""A program is small up to so many entries times sums, and not begun beyond so many."""


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
        self.earlier = Overlap(Chain(trees, history.sides, history.values))
        self._swaps = Swaps(history, k)

    def decide(self, side: Side) -> Certainty:
        """Whether every target of the earlier releases and this one together keeps at least k candidates.

        A release tells nothing more of people who are in an earlier one that is as fine. Where a chain is
        *closed*, all later releases are of that kind for everybody up to there: their worlds are those of the
        releases so far, and what was decided about them still stands.
        """
        if self.k == 1:  # whoever can be there is a candidate
            return Certainty(0, 0)
        meeting = self.earlier.followed_by(side)
        count = len(self.history.sides)
        told = told_by(meeting.chain)[-1]
        standing = [t for t in range(count) if self._closed_at[t] <= told]
        if standing and self._before.holds is not True:
            standing = []
        return self._decided(meeting, standing)

    @cached_property
    def _closed_at(self) -> list[int]:
        """For every time the first release from then on at which the chain is closed."""
        told, found, least = told_by(self.earlier.chain), [], len(self.history.sides)
        at = least
        for i in reversed(range(least)):
            at = i if least >= i else at
            found.append(at)
            least = min(least, told[i])
        return found[::-1]

    @cached_property
    def _before(self) -> Certainty:
        """Whether everybody keeps k candidates beside the earlier releases alone."""
        return self._decided(self.earlier)

    def _decided(self, meeting: Overlap, standing: Sequence[int] = ()) -> Certainty:
        """The decision, given that the targets of some times have enough candidates."""
        few, found = 0, []
        for cells in meeting.kept():
            there = _people_in(self.history, cells)
            asked = ~np.isin(cells.times, standing)
            known = (cells.left < self.k) & (there > 0) & asked
            few += int(known.sum())
            unsure = np.flatnonzero((cells.left > 0) & (there < self.k) & ~known & asked)
            found.append(SwapTargets.of(cells, there).pick(unsure))
        targets = SwapTargets.together(found)
        if few or not len(targets):
            return Certainty(few, 0)
        if len(meeting.chain) < 3:
            return Certainty(int((targets.most < self.k).sum()), 0)
        largest = ALONE if meeting is self.earlier else LARGEST
        return self._settled(_Programs(meeting, self.k, largest), targets)

    def _settled(self, programs: _Programs, targets: SwapTargets) -> Certainty:
        """Targets that the bound leaves open: by swaps, then by the integer program; the narrowest first.

        Of the earlier releases alone, whose programs are mostly small, these are solved before.
        """
        if programs.meeting is self.earlier:
            targets = targets.pick(programs.open_among(targets))
        low, chain = targets.most < self.k, programs.meeting.chain
        empty, others = targets.pick(np.flatnonzero(low)), targets.pick(np.flatnonzero(~low))
        nobody = self._swaps.short(chain, empty, 1)
        if len(nobody) < len(empty):  # somebody can be where k cannot
            return Certainty(1, 0)
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


def cell_of_rows(history: History, cells: Cells) -> Codes:
    """The cell of every row that came at one of the times; -1 for the others."""
    table, side = history.table, cells.side
    inside = np.full(table.distinct, -1, np.int32)
    here = np.flatnonzero(np.isin(history.time, cells.span))
    packing = Packing((len(history.sides) + 1, *(len(c.taxonomy.labels) for c in table.keys)))
    pairs = zip(table.keys, side.node_of, strict=True)
    shown = packing.pack([history.time[here], *(cut[table.codes(c.name)[here]] for c, cut in pairs)])
    known = packing.pack([cells.times, *side.nodes.T])
    order = np.append(np.lexsort(known[::-1]), -1)
    inside[here] = order[place(known[:, order[:-1]], shown)]
    return inside


def _people_in(history: History, cells: Cells) -> Counts:
    """How many people of its time are in each cell."""
    inside = cell_of_rows(history, cells)
    found = np.zeros(len(cells.side), np.int64)
    np.add.at(found, inside[inside >= 0], history.table.counts[inside >= 0])
    return found


class _Programs:
    """Integer programs for the targets of a chain, as many as are allowed."""

    def __init__(self, meeting: Overlap, k: int, largest: int) -> None:
        self.meeting = meeting
        self.k = k
        self.largest = largest
        self.solved = 0

    @cached_property
    def _worlds(self) -> Worlds | None:
        """`None`: the chain is too large."""
        entries = sum(len(cells.side.owner) for cells in self.meeting.kept())
        return Worlds(self.meeting) if entries <= self.largest and PROGRAMS else None

    def open_among(self, targets: SwapTargets) -> NDArray[np.intp]:
        """The targets that are not known to have k candidates, once small programs are solved."""
        worlds = self._worlds
        if worlds is None:
            return np.arange(len(targets))
        asked = doubtful(*worlds.between(), self.k)
        worlds.narrow(np.flatnonzero(asked[worlds.targets]), SMALL, Worlds.patience(LOOKS * PROGRAMS))
        least, most = worlds.between()
        number = worlds.number(targets.times, targets.cells)
        return np.flatnonzero((least[number] < self.k) & (most[number] > 0))

    def answer(self, targets: SwapTargets, i: int) -> bool | None:
        """Whether a target has k candidates, or can hold nobody; `None`: not found out."""
        self.solved += 1
        if self.solved > PROGRAMS or self._worlds is None:
            return None
        worlds, times, cells = self._worlds, targets.times[[i]], targets.cells[[i]]
        entries = worlds.entries_of(int(worlds.number(times, cells)[0]))
        if np.any(worlds.equations.widths[worlds.equations.component[entries]] > WIDEST):
            return None
        worlds.find_out(entries, Worlds.patience(LOOKS))
        least, most = int(worlds.least[entries].sum()), int(worlds.most[entries].sum())
        if doubtful(np.array(least), np.array(most), self.k):
            return None
        return least >= self.k or not most

"""Worlds: every way in which people could be behind a chain of published tables.

With three or more releases the refined bound may be too high: tables that agree pair by pair need not have a
common cause. Here the question is answered exactly, value by value: how many people can be in one cell in
some world that reproduces every published count? That is an integer program. Releases that tell somebody
nothing new are left out of it, and it falls into components; the simplex method finds the best corner of
each in exact numbers, nearly always a world. In large components, and where a corner is in fractions, a
depth-first search looks for worlds. What takes too long stays open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.equations import Equations, no_world
from sfumato.chains.overlap import Cells, Overlap
from sfumato.core.chain import Side
from sfumato.core.microdata import Codes, Counts
from sfumato.kernels.chains.simplex import NONE, raise_all
from sfumato.kernels.chains.whole_sums import NO, YES, fill

STEPS = 5_000_000
"""So many looks at cells, over all values of a target and all numbers that are tried; then it gives up."""
ROUNDS = ((20_000, 20_000), (4_000_000, 1_000_000))
"""Small components are solved, a world is soon found for most entries of larger ones, and only what is left
is worth more: the simplex method for components of so many entries times sums, and so many looks at cells in
search of a world with a certain number in one entry."""

Patience = NDArray[np.int64]
"""What is left of the steps, a single number."""


class Worlds:
    """How many people can be in cells of a chain.

    For every entry (a cell and a value) `least` people are there in some world, and in none are more than
    `most`; asking narrows both, as far as patience goes.
    """

    def __init__(self, meeting: Overlap) -> None:
        self.cells: Sequence[Cells] = meeting.by_time
        self.equations = Equations.of(meeting)
        self.most: Counts = self.equations.most.copy()
        self.least: Counts = np.zeros_like(self.most)
        unused = np.ones(len(self.equations.sums), bool)
        unused[self.equations.through] = False
        if self.equations.sums[unused].any():
            raise no_world()

    @staticmethod
    def patience(steps: int = STEPS) -> Patience:
        """Enough for one target, or for several that share it."""
        return np.array([steps], np.int64)

    def find_out(self, entries: NDArray[np.intp], patience: Patience) -> None:
        """Narrow what these entries can hold."""
        for widest, tries in ROUNDS:
            self.narrow(entries, widest, patience)
            self.search(entries, tries, patience)

    def narrow(self, entries: NDArray[np.intp], widest: int, patience: Patience) -> None:
        """By the simplex method, in components up to a width, the smaller ones first."""
        small = self.equations.widths[self.equations.component[entries]] <= widest
        entries = entries[small & (self.least[entries] < self.most[entries])]
        asked = self.equations.component[entries]
        order = np.lexsort((entries, asked, self.equations.widths[asked]))
        asked = asked[order]
        parts = asked[np.flatnonzero(np.diff(asked, prepend=-1))].astype(np.int64)
        system, wanted = self.equations, np.zeros(len(self.most), bool)
        wanted[entries] = True
        mine = (patience + 1) // 2
        patience -= mine
        answers = raise_all(
            parts,
            system.by_component,
            (system.start, system.through, system.sums),
            wanted,
            self.least,
            self.most,
            mine,
        )
        patience += mine
        if np.any(answers == NONE):
            raise no_world()

    def search(self, entries: NDArray[np.intp], tries: int, patience: Patience) -> None:
        """By looking for worlds, entry by entry; each that is found tells something of many."""
        for entry in entries[self.least[entries] < self.most[entries]].tolist():
            if self.least[entry] < self.most[entry] and patience[0] > 0:
                self._search(entry, tries, patience)

    def _search(self, entry: int, tries: int, patience: Patience) -> None:
        """Whether there can be as many as `most`, or else fewer; what takes too many looks stays open."""
        part = self.equations.part(int(self.equations.component[entry]))
        target = int(np.searchsorted(part.entries, entry))
        others = np.delete(part.entries, target)
        lengths = np.delete(np.diff(part.start), target)
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = part.through[part.start[target] : part.start[target + 1]]
        flat = np.delete(part.through, np.arange(part.start[target], part.start[target + 1]))
        order = np.argsort(flat, kind="stable")
        members = np.repeat(np.arange(len(others), dtype=np.int32), lengths)[order]
        first = np.searchsorted(flat[order], np.arange(len(part.sums) + 1))
        alone = first[1:] == first[:-1]
        amount, asked = np.empty(len(others) + 1, np.int64), int(self.most[entry])
        while self.least[entry] < asked and patience[0] > 0:
            sums, mine = part.sums.copy(), self.patience(tries)
            sums[rows] -= asked
            answer = NO if sums[alone].any() else fill(start, flat, sums, (first, members), amount, mine)
            patience -= tries - mine + len(others)
            if answer == YES:
                self.least[entry] = asked
                self.least[others] = np.maximum(self.least[others], amount[:-1])
            elif answer == NO and asked == self.most[entry]:
                asked = int(self.most[entry]) - 1
                self.most[entry] = asked
            else:
                asked = (asked + int(self.least[entry])) // 2

    def sides(self, patience: Patience) -> list[Side] | None:
        """The cells of every time where somebody can be, with what they can hold; `None`: not found out."""
        every = np.arange(len(self.most))
        self.find_out(every, patience)
        if np.any(self.least < self.most):
            return None
        found, end = [], 0
        for cells in self.cells:
            begin, end = end, end + len(cells.side.owner)
            some = self.most[begin:end] > 0
            there, owner = np.unique(cells.side.owner[some], return_inverse=True)
            found.append(
                replace(
                    cells.side,
                    nodes=cells.side.nodes[there],
                    owner=owner.astype(np.int32),
                    values=cells.side.values[some],
                    counts=self.most[begin:end][some],
                )
            )
        return found

    @cached_property
    def targets(self) -> Counts:
        """The number of every entry's target."""
        return self.number(self.equations.times, self.equations.cells)

    def number(self, times: Codes, cells: Codes) -> Counts:
        """Targets of all times are numbered in turn."""
        begin = np.cumsum([0, *(len(one.side) for one in self.cells)]).astype(np.int64)
        found: Counts = begin[times] + cells
        return found

    def between(self) -> tuple[Counts, Counts]:
        """For every target, how many candidates it has at least and at most, as far as is known."""
        count = sum(len(cells.side) for cells in self.cells)
        least, most = np.zeros(count, np.int64), np.zeros(count, np.int64)
        np.add.at(least, self.targets, self.least)
        np.add.at(most, self.targets, self.most)
        return least, most

    def entries_of(self, target: int) -> NDArray[np.intp]:
        """The entries of a target."""
        return np.arange(*np.searchsorted(self.targets, [target, target + 1]).tolist())

    def decide(self, k: int, patience: Patience) -> None:
        """Narrow targets until k lies between no more; the world that is found for one may settle others."""
        for widest, tries in ROUNDS:
            open_ones = doubtful(*self.between(), k)
            self.narrow(np.flatnonzero(open_ones[self.targets]), widest, patience)
            for target in np.flatnonzero(open_ones).tolist():
                entries = self.entries_of(target)
                if doubtful(self.least[entries].sum(), self.most[entries].sum(), k):
                    self.search(entries, tries, patience)


def doubtful(least: Counts, most: Counts, k: int) -> NDArray[np.bool_]:
    """Whether k lies between, or it is not known whether somebody can be where k cannot."""
    found: NDArray[np.bool_] = (least < k) & (most >= k) | (least == 0) & (most > 0)
    return found

"""Worlds: every way in which people could be behind a chain of published tables.

With three or more releases the refined bound may be too high: tables that agree pair by pair need not have a
common cause. Here the question is answered exactly, value by value: how many people can be in one cell in
some world that reproduces every published count? That is an integer program. Releases that tell somebody
nothing new are left out of it, and it falls into components; the simplex method finds the best corner of
each in exact numbers, nearly always a world. Where it is one in fractions, a depth-first search goes on.
Components that are too large are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.declare.equations import Equations, no_world
from sfumato.declare.meeting import Cells, Meeting
from sfumato.kernels.filling import GAVE_UP, NO, YES, fill
from sfumato.kernels.simplex import DONE, NONE, raise_all
from sfumato.terms.chain import Side
from sfumato.terms.microdata import Codes, Counts

STEPS = 5_000_000
"""So many looks at cells, over all values of a target and all numbers that are tried; then it gives up."""
TRIES = 1_000_000
"""So many of them for one entry where the simplex method ends in fractions."""
WIDEST = 4_000_000
"""Components of more entries than this, times sums, are not looked at."""

Patience = NDArray[np.int64]
"""What is left of the steps, a single number."""

Cell = tuple[int, tuple[int, ...]]
"""The time somebody came, and their class in every release from then on."""


class Worlds:
    """How many people can be in cells of a chain.

    For every entry (a cell and a value) `least` people are there in some world, and in none are more than
    `most`; asking narrows both, as far as patience goes.
    """

    def __init__(self, meeting: Meeting) -> None:
        self.cells: Sequence[Cells] = [meeting.cells(t) for t in range(len(meeting.chain))]
        self.equations = Equations.of(meeting.chain, self.cells)
        self.most: Counts = self.equations.most.copy()
        self.least: Counts = np.zeros_like(self.most)
        self._done = np.zeros(len(self.equations.widths), bool)
        self._owner = np.concatenate([side.owner for side in meeting.chain.releases])
        self._classes: dict[int, tuple[Counts, Codes]] = {}
        unused = np.ones(len(self.equations.sums), bool)
        unused[self.equations.through] = False
        if self.equations.sums[unused].any():
            raise no_world()

    @staticmethod
    def patience(steps: int = STEPS) -> Patience:
        """Enough for one target, or for several that share it."""
        return np.array([steps], np.int64)

    def narrow(self, entries: NDArray[np.intp], patience: Patience) -> None:
        """Find out what these entries can hold by the simplex method, small components first."""
        small = self.equations.widths[self.equations.component[entries]] <= WIDEST
        entries = entries[small & (self.least[entries] < self.most[entries])]
        asked = self.equations.component[entries]
        order = np.lexsort((entries, asked, self.equations.widths[asked]))
        entries, asked = entries[order], asked[order]
        parts = asked[np.flatnonzero(np.diff(asked, prepend=-1))].astype(np.int64)
        system, wanted = self.equations, np.zeros(len(self.most), bool)
        wanted[entries] = True
        answers = raise_all(
            parts,
            system.by_component,
            (system.start, system.through, system.sums),
            wanted,
            self.least,
            self.most,
            patience,
        )
        if np.any(answers == NONE):
            raise no_world()
        self._done[parts] = answers == DONE

    def search(self, entries: NDArray[np.intp], patience: Patience) -> None:
        """Try number after number where the best corner of a component was in fractions."""
        for entry in entries[self._done[self.equations.component[entries]]].tolist():
            if self.least[entry] < self.most[entry] and patience[0] > 0:
                mine = self.patience(min(TRIES, int(patience[0])))
                before = int(mine[0])
                self._search(entry, mine)
                patience -= before - mine

    def _search(self, entry: int, patience: Patience) -> None:
        part = self.equations.part(int(self.equations.component[entry]))
        target = int(np.searchsorted(part.entries, entry))
        others = np.delete(part.entries, target)
        lengths = np.delete(np.diff(part.start), target)
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        mine = np.arange(part.start[target], part.start[target + 1])
        flat = np.delete(part.through, mine)
        order = np.argsort(flat, kind="stable")
        members = np.repeat(np.arange(len(others), dtype=np.int32), lengths)[order]
        first = np.searchsorted(flat[order], np.arange(len(part.sums) + 1))
        amount = np.empty(len(others) + 1, np.int64)
        while self.least[entry] < self.most[entry]:
            sums = part.sums.copy()
            sums[part.through[mine]] -= self.most[entry]
            alone = first[1:] == first[:-1]
            answer = NO if sums[alone].any() else fill(start, flat, sums, (first, members), amount, patience)
            if answer == GAVE_UP:
                return
            if answer == YES:
                self.least[entry] = self.most[entry]
                self.least[others] = np.maximum(self.least[others], amount[:-1])
            else:
                self.most[entry] -= 1

    def sides(self, patience: Patience) -> list[Side] | None:
        """The cells of every time where somebody can be, with what they can hold; `None`: not found out."""
        every = np.arange(len(self.most))
        self.narrow(every, patience)
        self.search(every, patience)
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

    def left(self, cell: Cell) -> int | None:
        """The sum over the values of the most people that some world has in the cell; `None`: not found."""
        found = self.survivors(cell)
        return None if found is None else sum(found.values())

    def survivors(self, cell: Cell, patience: Patience | None = None) -> dict[int, int] | None:
        """For every value, the most people that some world has in the cell, where that is anybody."""
        entries = self._entries(cell)
        patience = self.patience() if patience is None else patience
        self.narrow(entries, patience)
        self.search(entries, patience)
        if np.any(self.least[entries] < self.most[entries]):
            return None
        found = zip(self.equations.values[entries].tolist(), self.most[entries].tolist(), strict=True)
        return {value: most for value, most in found if most}

    def _entries(self, cell: Cell) -> NDArray[np.intp]:
        """The entries of a cell that is given by its classes in all releases from its time on."""
        time, classes = cell
        if time not in self._classes:
            self._classes[time] = self.equations.classes(time, self._owner)
        first, found = self._classes[time]
        binding = [classes[j - time] for j in self.equations.binding[time]]
        here = np.flatnonzero((found == binding).all(axis=1))
        return np.arange(first[here[0]], first[here[0] + 1]) if len(here) else np.zeros(0, np.intp)

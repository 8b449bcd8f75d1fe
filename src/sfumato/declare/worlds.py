"""Worlds: every way in which people could be behind a chain of published tables, for small components.

With three or more releases the refined bound may be too high: tables that agree pair by pair need not have a
common cause. Here the question is answered exactly, value by value: how many people can be in one cell in
some world that reproduces every published count? That is an integer program; a depth-first search solves
the small ones and gives up on the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.declare.meeting import Cells, Meeting
from sfumato.kernels.filling import GAVE_UP, YES, fill

STEPS = 5_000_000
"""So many looks at cells, over all values of a target and all numbers that are tried; then it gives up."""
WIDEST = 2_000
"""Components of more cells than this are not looked at."""

Patience = NDArray[np.int64]
"""What is left of the steps, a single number."""

Cell = tuple[int, tuple[int, ...]]
"""The time somebody came, and their class in every release from then on."""


class Worlds:
    """The exact number of candidates of a cell, as far as small programs tell."""

    def __init__(self, meeting: Meeting) -> None:
        self._chain = meeting.chain
        cells = [meeting.cells(t) for t in range(len(meeting.chain))]
        self._by_value: dict[int, dict[Cell, int]] = {}
        for found in cells:
            self._note(found)
        self._held = [
            {(int(c), int(s)): int(n) for c, s, n in zip(r.owner, r.values, r.counts, strict=True)}
            for r in meeting.chain.releases
        ]

    def _note(self, found: Cells) -> None:
        classes = [tuple(row) for row in found.classes.tolist()]
        for owner, value, count in zip(found.side.owner, found.side.values, found.side.counts, strict=True):
            cell = (found.time, classes[int(owner)])
            self._by_value.setdefault(int(value), {})[cell] = int(count)

    @staticmethod
    def patience() -> Patience:
        """Enough for one target, or for several that share it."""
        return np.array([STEPS], np.int64)

    def left(self, cell: Cell) -> int | None:
        """The sum over the values of the most people that some world has in the cell; `None`: too large."""
        found = self.survivors(cell)
        return None if found is None else sum(found.values())

    def survivors(self, cell: Cell, patience: Patience | None = None) -> dict[int, int] | None:
        """For every value, the most people that some world has in the cell, where that is anybody."""
        found, patience = {}, self.patience() if patience is None else patience
        for value, cells in self._by_value.items():
            if cell in cells:
                most = self._most(cell, value, cells, patience)
                if most is None:
                    return None
                if most:
                    found[value] = most
        return found

    def _most(self, target: Cell, value: int, cells: dict[Cell, int], patience: Patience) -> int | None:
        component = _component(target, cells)
        if len(component) > WIDEST:
            return None
        rows: dict[tuple[int, int], int] = {}
        through = []
        for time, classes in component:
            through.append([rows.setdefault((time + i, c), len(rows)) for i, c in enumerate(classes)])
        held = np.array([self._held[j][c, value] for j, c in rows], np.int64)
        others = sorted(through[1:])
        start = np.cumsum([0, *(len(rows_of) for rows_of in others)])
        flat = np.array([row for rows_of in others for row in rows_of], np.int32)
        order = np.argsort(flat, kind="stable")
        members = np.repeat(np.arange(len(others), dtype=np.int32), np.diff(start))[order]
        begin = np.searchsorted(flat[order], np.arange(len(rows) + 1))
        forced = {int(held[row]) for row in through[0] if begin[row] == begin[row + 1]}
        for amount in range(cells[target], -1, -1) if not forced else sorted(forced):
            left = held.copy()
            left[through[0]] -= amount
            if len(forced) > 1 or np.any(left < 0):
                continue
            answer = fill(start, flat, left, (begin, members), patience)
            if answer == GAVE_UP:
                return None
            if answer == YES:
                return amount
        return 0


def _component(target: Cell, cells: dict[Cell, int]) -> list[Cell]:
    """The cells that share classes with the target, directly or through others; the target first."""
    at: dict[tuple[int, int], list[Cell]] = {}
    for time, classes in cells:
        for i, c in enumerate(classes):
            at.setdefault((time + i, c), []).append((time, classes))
    found, waiting, seen = [target], [target], {target}
    while waiting and len(found) <= WIDEST:
        time, classes = waiting.pop()
        for i, c in enumerate(classes):
            for cell in at[time + i, c]:
                if cell not in seen:
                    seen.add(cell)
                    found.append(cell)
                    waiting.append(cell)
    return [target, *sorted(found[1:])]

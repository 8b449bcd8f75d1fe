"""Worlds: every way in which people could be behind a chain of published tables, for small components.

With three or more releases the refined bound may be too high: tables that agree pair by pair need not have a
common cause. Here the question is answered exactly, value by value: how many people can be in one cell in
some world that reproduces every published count? That is an integer program; a depth-first search with
residual bounds solves the small ones and gives up on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.declare.meeting import Cells, Meeting

STEPS = 100_000
"""So many nodes of the search tree, then it gives up."""
WIDEST = 400
"""Components of more cells than this are not looked at."""

Cell = tuple[int, tuple[int, ...]]
"""The time somebody came, and their class in every release from then on."""


@dataclass
class _Program:
    """Cells as variables, classes as equations; `most` caps the cell of the target."""

    through: list[list[int]]
    residual: list[int]
    open: list[int]
    steps: int = 0

    def solve(self, order: Sequence[int], place: int) -> bool | None:
        """Whether the remaining variables can use up every residual; `None`: gave up."""
        self.steps += 1
        if self.steps > STEPS:
            return None
        if place == len(order):
            return not any(self.residual)
        rows = self.through[order[place]]
        for row in rows:
            self.open[row] -= 1
        low = max((self.residual[row] for row in rows if self.open[row] == 0), default=0)
        high = min(self.residual[row] for row in rows)
        answer: bool | None = False
        for amount in range(high, low - 1, -1):
            if any(self.open[row] == 0 and self.residual[row] != amount for row in rows):
                continue
            for row in rows:
                self.residual[row] -= amount
            answer = self.solve(order, place + 1)
            for row in rows:
                self.residual[row] += amount
            if answer is not False:
                break
        for row in rows:
            self.open[row] += 1
        return answer


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

    def left(self, cell: Cell) -> int | None:
        """The sum over the values of the most people that some world has in the cell; `None`: too large."""
        total = 0
        for value, cells in self._by_value.items():
            if cell in cells:
                most = self._most(cell, value, cells)
                if most is None:
                    return None
                total += most
        return total

    def _most(self, target: Cell, value: int, cells: dict[Cell, int]) -> int | None:
        component = _component(target, cells)
        if len(component) > WIDEST:
            return None
        rows: dict[tuple[int, int], int] = {}
        through = []
        for time, classes in component:
            through.append([rows.setdefault((time + i, c), len(rows)) for i, c in enumerate(classes)])
        held = [self._held[j][c, value] for j, c in rows]
        order = sorted(range(1, len(component)), key=lambda v: (through[v], v))
        for amount in range(cells[target], -1, -1):
            residual = list(held)
            for row in through[0]:
                residual[row] -= amount
            if min(residual) < 0:
                continue
            unsettled = [0] * len(rows)
            for v in order:
                for row in through[v]:
                    unsettled[row] += 1
            if any(r and not u for r, u in zip(residual, unsettled, strict=True)):
                continue
            answer = _Program(through, residual, unsettled).solve(order, 0)
            if answer is None:
                return None
            if answer:
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

"""Evidence about worlds for the second judge of a chain, which believes nothing that it cannot check.

The judge asks about a system: unknown u is part of some sums, and each sum comes to a total. A *world* gives
every unknown a whole number so that all sums come out. Evidence is worlds, and proofs that an unknown is
nowhere larger: weights of the sums, which give a bound by weak duality, or a proof for each amount that
another unknown can be, where the best corner is in fractions.

The simplex method works in whole numbers over one denominator, so weights are exact. What takes too long, or
numbers too large, is left out: then the judge leaves it open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Chosen = NDArray[np.bool_]
Weights = tuple[Numbers, int]
"""Weights of the sums of a component, ascending: whole numbers, and what they are divided by."""
Proof = tuple[int, Weights, int, tuple["Proof", ...]]
"""The unknown that is bounded (-1: there is no world at all), weights, and the unknown that is split (-1:
none) with a proof for each amount from 0 on."""

WORK = 1_500_000_000
"""So many entries of tableaus are changed, for all components together."""
LARGEST_TABLEAU = 8_000_000
LARGEST_ENTRY = 1 << 30
"""Entries beyond this could overflow when they are multiplied."""
MOST_STALLS = 40
"""After so many steps on the spot the first column that helps is taken, which cannot cycle."""
MOST_SPLITS = 200
"""So often an unknown is split for another one."""


class _GaveUp(Exception):
    """Numbers grew too large, or the work is used up."""


class _Work:
    """Work that is left."""

    def __init__(self) -> None:
        self.left = WORK

    def spend(self, entries: int) -> None:
        self.left -= entries
        if self.left < 0:
            raise _GaveUp


class _Tableau:
    """A corner of a system of sums: `table` holds the unknowns, one column per sum, and the totals."""

    def __init__(self, matrix: Numbers, total: Numbers, work: _Work) -> None:
        rows, self.unknowns = matrix.shape
        self.table = np.concatenate([matrix, np.eye(rows, dtype=np.int64), total[:, None]], axis=1)
        self.basis = self.unknowns + np.arange(rows)
        self.over, self._work = 1, work

    def pivot(self, row: int, column: int) -> None:
        """Makes a column that of a row."""
        self._work.spend(self.table.size)
        if self.table[row, column] < 0:
            self.table[row] = -self.table[row]
        pivot, line = int(self.table[row, column]), self.table[row].copy()
        self.table = (self.table * pivot - np.outer(self.table[:, column], line)) // self.over
        self.table[row] = line
        if abs(self.table).max() > LARGEST_ENTRY:
            raise _GaveUp
        self.basis[row], self.over = column, pivot

    def leaving(self, column: int) -> int:
        """The row whose unknown reaches zero first as the column grows; sums without unknown go first."""
        rows = np.flatnonzero(self.table[: len(self.basis), column] > 0)
        ratio = self.table[rows, -1] / self.table[rows, column]
        ties = rows[ratio <= ratio.min() * (1 + 1e-12)]
        artificial = ties[self.basis[ties] >= self.unknowns]
        chosen = artificial if len(artificial) else ties
        return int(chosen[np.argmin(self.basis[chosen])])

    def begin(self) -> Weights | None:
        """Finds a corner; returns weights that prove that there is none, where there is none."""
        rows, stalls = len(self.basis), 0
        self.table = np.concatenate([self.table, self.table.sum(axis=0)[None]])
        self.table[rows, self.unknowns : -1] = 1
        while self.table[rows, -1] > 0:
            gains = self.table[rows, : self.unknowns]
            column = int(np.argmax(gains > 0) if stalls > MOST_STALLS else np.argmax(gains))
            if gains[column] <= 0:
                return -self.table[rows, self.unknowns : -1], self.over
            row = self.leaving(column)
            stalls = stalls + 1 if self.table[row, -1] == 0 else 0
            self.pivot(row, column)
        self.table = self.table[:rows]
        for row in np.flatnonzero(self.basis >= self.unknowns).tolist():
            helpful = np.flatnonzero(self.table[row, : self.unknowns])
            if len(helpful):
                self.pivot(row, int(helpful[0]))
        return None

    def raise_to_most(self, unknown: int) -> int:
        """Goes to a corner where an unknown is largest; returns its row."""
        stalls = 0
        if unknown not in self.basis:
            self.pivot(self.leaving(unknown), unknown)
        row = int(np.flatnonzero(self.basis == unknown)[0])
        while True:
            losses = self.table[row, : self.unknowns]
            column = int(np.argmax(losses < 0) if stalls > MOST_STALLS else np.argmin(losses))
            if losses[column] >= 0:
                return row
            leaving = self.leaving(column)
            stalls = stalls + 1 if self.table[leaving, -1] == 0 else 0
            self.pivot(leaving, column)

    @property
    def amounts(self) -> NDArray[np.float64]:
        """What the corner gives every unknown."""
        amounts = np.zeros(self.unknowns)
        own = self.basis < self.unknowns
        amounts[self.basis[own]] = self.table[own, -1] / self.over
        return amounts

    def world(self) -> Numbers | None:
        """The corner, where it is in whole numbers."""
        own = self.basis < self.unknowns
        if np.any(self.table[own, -1] % self.over):
            return None
        whole = np.zeros(self.unknowns, np.int64)
        whole[self.basis[own]] = self.table[own, -1] // self.over
        return whole


@dataclass
class Evidence:
    """Worlds, component by component (its number, and the amounts of its unknowns, ascending), and proofs."""

    worlds: list[tuple[int, Numbers]]
    proofs: list[tuple[int, Proof]]


class _Search:
    """The search for evidence: what unknowns were seen to be at least, and are proved to be at most."""

    def __init__(self, start: Numbers, sums: Numbers, total: Numbers, component: Numbers) -> None:
        self.start, self.sums, self.total, self.component = start, sums, total, component
        self.least = np.zeros(len(component), np.int64)
        self.most = np.minimum.reduceat(total[sums], start[:-1]) if len(component) else self.least.copy()
        self.gave_up = np.zeros(len(component), dtype=bool)
        self.found = Evidence([], [])
        self._work = _Work()

    def narrow(self, goal: Callable[[], Chosen]) -> None:
        """Looks for evidence about what the goal asks for, small components first."""
        wanted = goal() & (self.least < self.most)
        sizes = np.bincount(self.component)
        for part in sorted(np.unique(self.component[wanted]).tolist(), key=lambda c: int(sizes[c])):
            if self._work.left <= 0:
                return
            self._narrow_component(part, goal)

    def _narrow_component(self, part: int, goal: Callable[[], Chosen]) -> None:
        columns = np.flatnonzero(self.component == part)
        matrix, total = self._matrix(columns)
        if sum(matrix.shape) * matrix.shape[0] > LARGEST_TABLEAU:
            return
        try:
            tableau = _Tableau(matrix, total, self._work)
            if (empty := tableau.begin()) is not None:
                self.found.proofs.append((part, (-1, empty, -1, ())))
                return
            self._note(part, columns, tableau)
            while True:
                left = np.flatnonzero((goal() & (self.least < self.most) & ~self.gave_up)[columns])
                if not len(left):
                    return
                self._settle(part, columns, (matrix, total), tableau, int(left[0]))
        except _GaveUp:
            self.gave_up[columns] = True

    def _matrix(self, columns: Numbers) -> tuple[Numbers, Numbers]:
        """The sums of some unknowns, ascending, as a matrix, and their totals."""
        own = [self.sums[self.start[u] : self.start[u + 1]] for u in columns.tolist()]
        rows, place = np.unique(np.concatenate(own), return_inverse=True)
        matrix = np.zeros((len(rows), len(columns)), np.int64)
        matrix[place.ravel(), np.repeat(np.arange(len(columns)), [len(some) for some in own])] = 1
        return matrix, self.total[rows]

    def _note(self, part: int, columns: Numbers, tableau: _Tableau) -> bool:
        """Keeps the world of a corner, where it is one."""
        world = tableau.world()
        if world is None:
            return False
        if np.any(world > self.least[columns]):
            self.least[columns] = np.maximum(self.least[columns], world)
            self.found.worlds.append((part, world))
        return True

    def _settle(
        self, part: int, columns: Numbers, system: tuple[Numbers, Numbers], tableau: _Tableau, u: int
    ) -> None:
        """Finds the most that an unknown can be, and what proves it."""
        unknown, splits = columns[u], [MOST_SPLITS]
        row = tableau.raise_to_most(u)
        whole = self._note(part, columns, tableau)
        bound, proof = self._proof(tableau, row, u, len(system[1]))
        if not whole and bound > self.least[unknown]:
            bound, proof = self._split(part, columns, system, tableau, u, {}, splits)
        if bound < self.most[unknown]:
            self.found.proofs.append((part, proof))
            self.most[unknown] = bound
        self.gave_up[unknown] = self.least[unknown] < self.most[unknown]

    @staticmethod
    def _proof(tableau: _Tableau, row: int, u: int, rows: int) -> tuple[int, Proof]:
        weights = tableau.table[row, tableau.unknowns : tableau.unknowns + rows]
        return int(tableau.table[row, -1]) // tableau.over, (u, (weights.copy(), tableau.over), -1, ())

    def _split(
        self,
        part: int,
        columns: Numbers,
        system: tuple[Numbers, Numbers],
        tableau: _Tableau,
        u: int,
        fixed: dict[int, int],
        splits: list[int],
    ) -> tuple[int, Proof]:
        """Tries every amount of an unknown that the best corner has in fractions."""
        splits[0] -= 1
        if splits[0] < 0:
            raise _GaveUp
        amounts = tableau.amounts
        split = int(np.argmax(np.abs(amounts - np.rint(amounts))))
        matrix, total = system
        highest = int(total[matrix[:, split] > 0].min())
        parts = [
            self._branch(part, columns, system, u, {**fixed, split: amount}, splits)
            for amount in range(highest + 1)
        ]
        nothing = np.zeros(len(total), np.int64), 1
        return max(bound for bound, _ in parts), (u, nothing, split, tuple(proof for _, proof in parts))

    def _branch(
        self,
        part: int,
        columns: Numbers,
        system: tuple[Numbers, Numbers],
        u: int,
        fixed: dict[int, int],
        splits: list[int],
    ) -> tuple[int, Proof]:
        """The most that an unknown can be where others are fixed, and what proves it."""
        matrix, total = system
        rows = np.zeros((len(fixed), matrix.shape[1]), np.int64)
        rows[np.arange(len(fixed)), list(fixed)] = 1
        tableau = _Tableau(np.concatenate([matrix, rows]), np.append(total, list(fixed.values())), self._work)
        if (empty := tableau.begin()) is not None:
            return -1, (-1, (empty[0][: len(total)], empty[1]), -1, ())
        row = tableau.raise_to_most(u)
        whole = self._note(part, columns, tableau)
        bound, proof = self._proof(tableau, row, u, len(total))
        if whole or bound <= self.least[columns[u]]:
            return bound, proof
        return self._split(part, columns, system, tableau, u, fixed, splits)


def evidence_of(
    start: Numbers, sums: Numbers, total: Numbers, component: Numbers, target: Numbers, k: int
) -> Evidence:
    """Returns evidence of whether every target that exists keeps k candidates, and of the fewest of any.

    A target keeps as many candidates as its unknowns can be at most, each in a world of its own.
    """
    search = _Search(start, sums, total, component)
    count = int(target.max(initial=-1)) + 1

    def candidates() -> tuple[Numbers, Numbers]:
        return tuple(  # type: ignore[return-value]  # two of them
            np.bincount(target, weights=side, minlength=count).astype(np.int64)
            for side in (search.least, search.most)
        )

    def doubtful() -> Chosen:
        least, most = candidates()
        open_ones: Chosen = (least < k) & (most >= k) | (least == 0) & (most > 0)
        return open_ones[target]

    def perhaps_lowest() -> Chosen:
        least, most = candidates()
        lowest = int(most[least > 0].min(initial=np.iinfo(np.int64).max))
        open_ones: Chosen = (least < most) & ((least < lowest) | (most == lowest))
        return open_ones[target]

    search.narrow(doubtful)
    search.narrow(perhaps_lowest)
    return search.found

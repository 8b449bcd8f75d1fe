"""Evidence about worlds for the second judge of a chain, which believes nothing that it cannot check.

The judge asks about a system: unknown u is part of some sums, and each sum comes to a total. A *world* gives
every unknown a whole number so that all sums come out. Evidence is worlds, and proofs that an unknown is
nowhere larger: weights of the sums, which give a bound by weak duality, or a proof for each amount that
another unknown can be, where the best corner is in fractions.

The simplex method works in whole numbers over one denominator, so weights are exact. A walk from one world
shows many others. What takes too long, or numbers too large, is left out: then the judge leaves it open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from sfumato.models.continuous.overlap import Equations
from sfumato.models.continuous.worlds import MOST_PLACES, WORTHWHILE, WorldWalk

Numbers = NDArray[np.int64]
Chosen = NDArray[np.bool_]
Weights = tuple[Numbers, int]
"""Weights of the sums of a component, ascending: whole numbers, and what they are divided by."""
Proof = tuple[int, Weights, int, tuple["Proof", ...]]
"""The unknown that is bounded (-1: there is no world at all), weights, and the unknown that is split (-1:
none) with a proof for each amount from 0 on."""

WORK = 1_000_000_000
"""So many entries of tableaus are changed, for all components together."""
LARGEST_TABLEAU = 8_000_000
LARGEST_ENTRY = 1 << 30
"""Entries beyond this could overflow when they are multiplied."""
MOST_STALLS = 40
"""After so many steps on the spot the first column that helps is taken, which cannot cycle."""
WALK_STEPS = 10
"""So many steps of a walk are made before it is asked what is still open."""
CORNERS = 20
"""So many corners are looked at for one that is a world, where an unknown is as large as it can be."""
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
        if self.table[row, column] < 0:
            self.table[row] = -self.table[row]
        pivot, factors = int(self.table[row, column]), self.table[:, column].copy()
        factors[row] = 0
        rows, columns = np.flatnonzero(factors), np.flatnonzero(self.table[row])
        if pivot == self.over:  # all else stays as it is
            self._work.spend(len(rows) * len(columns))
            change = np.outer(factors[rows], self.table[row, columns])
            block = np.ix_(rows, columns)
            changed = self.table[block] - (change if pivot == 1 else change // pivot)
            self.table[block] = changed
        else:
            self._work.spend(self.table.size)
            line = self.table[row].copy()
            self.table = (self.table * pivot - np.outer(factors, line)) // self.over
            self.table[row] = line
            changed = self.table
        if changed.size and abs(changed).max() > LARGEST_ENTRY:
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
class WorldEvidence:
    """Worlds, component by component (its number, and the amounts of its unknowns, ascending), and proofs."""

    worlds: list[tuple[int, Numbers]]
    proofs: list[tuple[int, Proof]]


class Stage(Enum):
    """How far evidence is looked for: what is cheap, and shows much, comes first."""

    FIRST_WORLD = 1
    CORNERS = 2
    DIVIDED = 3


class _Search:
    """The search for evidence: what unknowns were seen to be at least, and are proved to be at most."""

    def __init__(
        self, start: Numbers, sums: Numbers, total: Numbers, component: Numbers, kind: Numbers
    ) -> None:
        self.start, self.sums, self.total = start, sums, total
        self.component, self._kind = component, kind
        self._tableaus: dict[int, _Tableau] = {}
        self._worlds: dict[int, Numbers] = {}
        self._by_component = np.argsort(component, kind="stable")
        self._begin = np.searchsorted(
            component[self._by_component], np.arange(int(component.max(initial=-1)) + 2)
        )
        self.least = np.zeros(len(component), np.int64)
        self.most = np.minimum.reduceat(total[sums], start[:-1]) if len(component) else self.least.copy()
        of_sum = np.full(len(total), -1, np.int64)
        of_sum[sums] = np.repeat(component, np.diff(start))
        alone = np.bincount(of_sum[of_sum >= 0], minlength=int(component.max(initial=-1)) + 1) == 1
        self.least[alone[component]] = self.most[alone[component]]  # whoever looks at one sum sees this
        self.gave_up = np.zeros(len(component), dtype=bool)
        self.found = WorldEvidence([], [])
        self._work = _Work()

    def narrow(self, goal: Callable[[], Chosen]) -> None:
        """Looks for evidence about what the goal asks for, small components first."""
        parts = np.unique(self.component[self._open(goal)])
        sizes = np.diff(self._begin)[parts]
        parts = parts[np.argsort(sizes, kind="stable")]
        for part in parts.tolist():
            self._first_corner(part)
        for stage in Stage:
            for part in parts.tolist():
                if part in self._tableaus:
                    self._narrow_component(part, goal, stage)
            if stage is Stage.FIRST_WORLD:
                self._walk(goal)

    def _open(self, goal: Callable[[], Chosen]) -> Numbers:
        return np.flatnonzero(goal() & (self.least < self.most) & ~self.gave_up)

    def _columns(self, part: int) -> Numbers:
        return self._by_component[self._begin[part] : self._begin[part + 1]]

    def _first_corner(self, part: int) -> None:
        """Finds a corner of a component, or that it has none."""
        if part in self._tableaus:
            return
        columns = self._columns(part)
        matrix, total = self._matrix(columns)
        try:
            if sum(matrix.shape) * matrix.shape[0] > LARGEST_TABLEAU:
                raise _GaveUp
            tableau = _Tableau(matrix, total, self._work)
            if (empty := tableau.begin()) is not None:
                self.found.proofs.append((part, (-1, empty, -1, ())))
                raise _GaveUp
        except _GaveUp:
            self.gave_up[columns] = True
            return
        self._note(part, columns, tableau)
        self._tableaus[part] = tableau

    def _walk(self, goal: Callable[[], Chosen]) -> None:
        """Lets people of the worlds that were found exchange what some releases show of them."""
        amounts = np.zeros(len(self.component), np.int64)
        for part, world in self._worlds.items():
            amounts[self._columns(part)] = world
        left, releases = len(self._open(goal)), int(self._kind.max(initial=-1)) + 1
        if not left or len(amounts) * releases > MOST_PLACES:
            return
        nothing = np.zeros(len(amounts), np.int32)
        system = Equations(
            (), nothing, nothing, nothing, self.most, self.start, self.sums.astype(np.int32), self.total
        )
        walk, before = WorldWalk(system, self._kind, amounts), left + 1
        while left and walk.people > 1 and left <= (1 - WORTHWHILE) * before:
            for _ in range(WALK_STEPS):
                walk.step()
                self._keep(walk.amounts)
            before, left = left, len(self._open(goal))

    def _keep(self, amounts: Numbers) -> None:
        """Keeps the worlds of those components that they are news of."""
        news = np.unique(self.component[amounts > self.least])
        for part in news.tolist():
            columns = self._columns(part)
            self.found.worlds.append((part, amounts[columns]))
            self.least[columns] = np.maximum(self.least[columns], amounts[columns])

    def _narrow_component(self, part: int, goal: Callable[[], Chosen], stage: Stage) -> None:
        """Finds the most of one unknown after the other; what lies in fractions waits until it is divided."""
        columns, waiting = self._columns(part), np.zeros(len(self.component), dtype=bool)
        system = self._matrix(columns)
        try:
            while True:
                left = np.flatnonzero(
                    ((goal() & (self.least < self.most)) & ~self.gave_up & ~waiting)[columns]
                )
                if not len(left) or (stage is Stage.FIRST_WORLD and part in self._worlds):
                    return
                u = int(left[0])
                if not self._settle(
                    part, columns, system, self._tableaus[part], u, divides=stage is Stage.DIVIDED
                ):
                    waiting[columns[u]] = True
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
        self._worlds[part] = world
        if np.any(world > self.least[columns]):
            self.least[columns] = np.maximum(self.least[columns], world)
            self.found.worlds.append((part, world))
        return True

    def _settle(
        self,
        part: int,
        columns: Numbers,
        system: tuple[Numbers, Numbers],
        tableau: _Tableau,
        u: int,
        *,
        divides: bool,
    ) -> bool:
        """Finds the most that an unknown can be, and what proves it; tells whether it did."""
        unknown, splits = columns[u], [MOST_SPLITS]
        row = tableau.raise_to_most(u)
        whole = self._note(part, columns, tableau)
        bound, proof = self._proof(tableau, row, u, len(system[1]))
        if not whole and bound > self.least[unknown]:
            self._reach(part, columns, system, u, bound)
        if bound > self.least[unknown] and divides:
            bound, proof = self._split(part, columns, system, tableau, u, {}, splits)
        if bound < self.most[unknown]:
            self.found.proofs.append((part, proof))
            self.most[unknown] = bound
        return bool(self.least[unknown] == self.most[unknown])

    def _reach(
        self, part: int, columns: Numbers, system: tuple[Numbers, Numbers], u: int, bound: int
    ) -> None:
        """Looks at corners where an unknown is at its bound for one that is a world."""
        matrix, total = system
        line = np.zeros((1, matrix.shape[1]), np.int64)
        line[0, u] = 1
        tableau = _Tableau(np.concatenate([matrix, line]), np.append(total, bound), self._work)
        if tableau.begin() is not None:
            return
        for _ in range(CORNERS):
            if self._note(part, columns, tableau):
                return
            amounts = tableau.amounts
            tableau.raise_to_most(int(np.argmax(np.abs(amounts - np.rint(amounts)))))

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
    start: Numbers,
    sums: Numbers,
    total: Numbers,
    component: Numbers,
    kind: Numbers,
    target: Numbers,
    k: int,
) -> WorldEvidence:
    """Returns evidence of whether every target that exists keeps k candidates, and of the fewest of any.

    A target keeps as many candidates as its unknowns can be at most, each in a world of its own.
    """
    search = _Search(start, sums, total, component, kind)
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

"""Proposals of a linear solver: numbers that may be a world, and weights that may prove how far one can go.

The solver (HiGHS) calculates in floating point and is believed nothing: `certificates` checks what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.verify.chain.releases import Numbers

Floats = NDArray[np.float64]

SETTINGS: dict[str, object] = {"output_flag": False, "parallel": "off", "threads": 1, "random_seed": 0}
"""One thread, one seed, and no clock: the same question always gets the same answer."""
NODES = 50
"""So many branches are looked at for whole amounts."""
EXACT, ANY = 1e-4, 10.0
"""So much less than the best may they be worth: hardly anything, or whatever there is."""


@dataclass(frozen=True, eq=False)
class SumSystem:
    """Some unknowns: column u is part of the sums `sums[start[u] : start[u + 1]]`, which come to `total`."""

    start: Numbers
    sums: Numbers
    total: Numbers

    @property
    def columns(self) -> int:
        return len(self.start) - 1

    @property
    def owner(self) -> Numbers:
        """The column of each place in `sums`."""
        return np.repeat(np.arange(self.columns), np.diff(self.start))


@dataclass(frozen=True, eq=False)
class Proposal:
    """What the solver says: `amounts` of the unknowns and `weights` of the sums; either may be missing.

    Without amounts, the weights are meant to prove that there are none. `steps` is how long it took.
    """

    amounts: Floats | None
    weights: Floats | None
    steps: int


class _Solver:
    """A system that is asked about again and again, with other aims."""

    def __init__(self, system: SumSystem, most: Numbers, settings: dict[str, object]) -> None:
        import highspy  # noqa: PLC0415  # heavy, and only chains of three releases and more need it

        self._status, self._integer = highspy.HighsModelStatus, highspy.HighsVarType.kInteger
        self._solver = highspy.Highs()
        for name, value in {**SETTINGS, **settings}.items():
            self._solver.setOptionValue(name, value)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = system.columns, len(system.total)
        lp.col_cost_ = np.zeros(system.columns)
        lp.col_lower_, lp.col_upper_ = np.zeros(system.columns), most.astype(np.float64)
        lp.row_lower_ = lp.row_upper_ = system.total.astype(np.float64)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = system.start.astype(np.int32)
        lp.a_matrix_.index_ = system.sums.astype(np.int32)
        lp.a_matrix_.value_ = np.ones(len(system.sums))
        lp.sense_ = highspy.ObjSense.kMaximize
        self._finish(lp)
        self._solver.passModel(lp)
        self._cost = np.zeros(system.columns)

    def _finish(self, lp: Any) -> None:  # what the library's model is
        """Says what else the model needs."""

    def _run(self, aim: Numbers, worth: Floats | None) -> tuple[object, int]:
        """Solves for the largest sum over the columns in `aim`, each times its worth; says how that ended."""
        wanted = np.zeros(len(self._cost))
        wanted[aim] = 1.0 if worth is None else worth
        changed = np.flatnonzero(wanted != self._cost).astype(np.int32)
        if len(changed):
            self._solver.changeColsCost(len(changed), changed, wanted[changed])
        self._cost = wanted
        self._solver.run()
        return self._solver.getModelStatus(), max(0, int(self._solver.getInfo().simplex_iteration_count))


class LinearSolver(_Solver):
    """Proposes amounts, perhaps in fractions, and weights that may prove that there are no better ones."""

    def __init__(self, system: SumSystem, most: Numbers) -> None:
        super().__init__(system, most, {"presolve": "off", "solver": "simplex"})

    def propose(self, aim: Numbers, worth: Floats | None = None) -> Proposal:
        """Returns amounts with the largest sum over the columns in `aim`, each times its worth (else 1)."""
        ended, steps = self._run(aim, worth)
        if ended == self._status.kOptimal:
            solution = self._solver.getSolution()
            return Proposal(np.array(solution.col_value), np.array(solution.row_dual), steps)
        if ended == self._status.kInfeasible:
            _, there, ray = self._solver.getDualRay()
            return Proposal(None, np.array(ray) if there else None, steps)
        return Proposal(None, None, steps)

    def bound(self, column: int, least: int, most: int) -> None:
        """Asks for amounts of this column from `least` to `most` from now on."""
        self._solver.changeColBounds(column, float(least), float(most))


class IntegerSolver(_Solver):
    """Proposes whole amounts, good ones, as far as a fixed number of branches shows."""

    def __init__(self, system: SumSystem, most: Numbers) -> None:
        super().__init__(system, most, {"mip_max_nodes": NODES, "mip_heuristic_effort": 0.1})

    def _finish(self, lp: Any) -> None:
        lp.integrality_ = [self._integer] * lp.num_col_

    def propose(self, aim: Numbers, worth: Floats | None = None) -> Proposal:
        """Returns amounts, as above; where columns are of different worth, any will do."""
        self._solver.setOptionValue("mip_rel_gap", EXACT if worth is None else ANY)
        _, steps = self._run(aim, worth)
        solution = self._solver.getSolution()
        return Proposal(np.array(solution.col_value) if solution.value_valid else None, None, steps)


# Worlds that are made from a world: two people exchange what some releases count of them.
#
# Somebody is behind an unknown, and is counted by its sums, at most one of each *kind* (of each release). Let
# two people, of unknowns u and v, exchange their sums of some kinds. If there are unknowns a and b with the
# sums that come out, every sum counts as many people as before: a world in which these two are of a and b
# instead is as good as the one before. So one world that a solver has found shows many others, at hardly any
# cost, and each is a witness for all unknowns that hold more people in it than was known.
#
# Unknowns are looked up by a number that is drawn for their sums. What is found that way is not believed:
# `same_sums` compares the sums themselves.

Chosen = NDArray[np.bool_]
Keys = NDArray[np.uint64]
Bits = NDArray[np.unsignedinteger]

LARGEST = 8_000_000
"""So many places, unknowns times kinds of sums, are laid out; in larger systems nobody exchanges anything."""
STEPS = 2
"""So often everybody meets somebody before worlds that are one exchange away are looked at."""
AIMS = 200
"""So many unknowns are looked for among them that were seen to hold more people than they do."""
IDLE = 10
"""So many rounds in turn may show nothing new."""
LEAVES = 0.02
"""How likely it is that an exchange is made after which fewer people are where more are wanted."""
PAIRS = 4_000_000
"""So many pairs of people are compared with unknowns at a time."""
BITS = 64
"""So many kinds are put in one whole number, which takes as few bytes as they need."""
MOST_CELLS = 1_000
"""So many unknowns with people behind them are looked at in a component, where there are more."""


def same_sums(rows: Numbers, before: tuple[Numbers, Numbers], after: tuple[Numbers, Numbers]) -> Chosen:
    """Tells, pair by pair, whether two unknowns have the sums of two others, kind by kind.

    `rows[u]` are the sums of unknown u by their kind; -1: it has none of that kind.
    """
    (u, v), (a, b) = ((rows[left], rows[right]) for left, right in (before, after))
    equal: Chosen = (((a == u) & (b == v)) | ((a == v) & (b == u))).all(axis=1)
    return equal


class Exchanges:
    """People of a world who exchange sums; `least[u]` is the most that unknown u was seen to hold.

    `kind` is the kind of every sum: no unknown has two sums of one kind. `part[u]` is the part of the system
    that u is in; parts share no sum.
    """

    def __init__(self, system: SumSystem, kind: Numbers, part: Numbers) -> None:
        self.part = part
        kinds, of_sum = np.unique(kind, return_inverse=True)
        self.rows = np.full((system.columns, len(kinds)), -1, np.int64)
        self.rows[system.owner, of_sum.ravel()[system.sums]] = system.sums
        self._has: Chosen = self.rows >= 0
        self._kinds = np.unique(self._has, axis=0, return_inverse=True)[1].ravel()
        self.least = np.zeros(system.columns, np.int64)
        self._random = np.random.default_rng(0)
        drawn = self._random.integers(0, 1 << 64, len(kind) + 1, dtype=np.uint64)
        drawn[-1] = 0
        self._drawn: Keys = drawn[self.rows]
        self._key: Keys = self._drawn.sum(axis=1, dtype=np.uint64)
        self._order = np.argsort(self._key, kind="stable")
        self._sorted = self._key[self._order]
        self._unknown = np.zeros(0, np.int64)

    def begin(self, amounts: Numbers) -> None:
        """Begins with the people of a world: so many are behind every unknown."""
        self._unknown = np.repeat(np.arange(len(amounts)), amounts)
        self.least = np.maximum(self.least, amounts)

    @property
    def people(self) -> int:
        return len(self._unknown)

    @property
    def work(self) -> int:
        """What a step costs, in columns that are looked at."""
        return 100 + self.people * self.rows.shape[1] // 8

    @property
    def amounts(self) -> Numbers:
        """The people behind every unknown by now: a world."""
        return np.bincount(self._unknown, minlength=len(self.part))

    def stay_in(self, wanted: Chosen) -> None:
        """Lets people go of whose part nothing is wanted."""
        is_wanted = np.zeros(int(self.part.max(initial=-1)) + 1, dtype=bool)
        is_wanted[self.part[wanted]] = True
        self._unknown = self._unknown[is_wanted[self.part[self._unknown]]]

    def step(self, wanted: Chosen) -> None:
        """Lets everybody meet somebody of the same part, and makes those exchanges that give another world.

        People rarely leave the unknowns of which more are wanted.
        """
        count = self.people
        order = np.argsort(self.part[self._unknown] + self._random.random(count))
        left, right = order[: count - 1 : 2], order[1:count:2]
        u, v = self._unknown[left], self._unknown[right]
        swapped = self._random.integers(0, 2, (len(left), self.rows.shape[1]), dtype=np.bool_)
        swapped &= self._has[u] == self._has[v]  # or else what comes out is of no unknown
        moved = np.where(swapped, self._drawn[v] - self._drawn[u], np.uint64(0)).sum(axis=1, dtype=np.uint64)
        a = self._find(self._key[u] + moved)
        possible = np.flatnonzero((a >= 0) & (a != u) & (a != v))
        left, right, u, v, a = left[possible], right[possible], u[possible], v[possible], a[possible]
        b = self._find(self._key[v] - moved[possible])
        stays = wanted[a].astype(int) + wanted[b] >= wanted[u].astype(int) + wanted[v]
        good = np.flatnonzero((b >= 0) & (stays | (self._random.random(len(b)) < LEAVES)))
        good = good[same_sums(self.rows, (u[good], v[good]), (a[good], b[good]))]
        self._unknown[left[good]], self._unknown[right[good]] = a[good], b[good]
        np.maximum(self.least, self.amounts, out=self.least)

    def look_around(self, wanted: Chosen) -> int:
        """Looks for exchanges of two people that raise wanted unknowns; returns the work it took.

        Where one more would be news, all are looked at, of the others a few. In every part one of these
        exchanges is made, and the unknown that it raised is raised again as long as that can be done.
        """
        amounts, work = self.amounts, 0
        news = wanted & (amounts >= self.least)
        aims = np.concatenate([np.flatnonzero(news), self._some(np.flatnonzero(wanted & ~news), AIMS)])
        for part in np.unique(self.part[aims]).tolist():
            here = np.flatnonzero(self.part == part)
            mine: Numbers = aims[self.part[aims] == part]
            while len(mine):
                there = self._some(here[amounts[here] > 0], MOST_CELLS)
                work += 50 + len(mine) * len(there) * (len(there) + self.rows.shape[1]) // 4_000
                mine = self._raise(mine, there, amounts)
                amounts = self.amounts if len(mine) else amounts
        return work

    def _raise(self, aims: Numbers, there: Numbers, amounts: Numbers) -> Numbers:
        """Raises every aim that two people, of unknowns that are there, can raise.

        Makes one of the exchanges, and returns what it raised, if anything.
        """
        together = max(1, PAIRS // max(1, len(there)) ** 2)
        pieces = [
            self._pairs(block, there, amounts)
            for block in np.split(aims, range(together, len(aims), together))
        ]
        a, b, u, v = (np.concatenate(each) for each in zip(*pieces, strict=True))
        self.least[a] = np.maximum(self.least[a], amounts[a] + 1)
        if not len(a):
            return a
        chosen = int(self._random.integers(len(a)))
        first = np.flatnonzero(self._unknown == u[chosen])[0]
        second = np.flatnonzero(self._unknown == v[chosen])[-1]
        self._unknown[first], self._unknown[second] = a[chosen], b[chosen]
        return a[[chosen]]

    def _pairs(
        self, aims: Numbers, there: Numbers, amounts: Numbers
    ) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Returns aims, the other unknowns that come out, and the two that people exchange them for."""
        aim, first = np.nonzero(self._kinds[aims][:, None] == self._kinds[there])
        apart = np.ones((len(aim), len(there)), dtype=np.bool_)
        for word in self._lacking(aims, there):
            apart &= (word[aim, first][:, None] & word[aim]) == 0
        pair, second = np.divmod(np.flatnonzero(apart), max(1, len(there)))
        a, u, v = aims[aim[pair]], there[first[pair]], there[second]
        b = self._find(self._key[u] + self._key[v] - self._key[a])
        good = np.flatnonzero((b >= 0) & (a != u) & (a != v) & ((u != v) | (amounts[u] > 1)))
        a, b, u, v = a[good], b[good], u[good], v[good]
        right = same_sums(self.rows, (u, v), (a, b))
        return a[right], b[right], u[right], v[right]

    def _lacking(self, aims: Numbers, there: Numbers) -> Iterator[Bits]:
        """Yields, as bits of whole numbers, the kinds in which the sums of two unknowns differ."""
        wanted, present = self.rows[aims].T.copy(), self.rows[there].T.copy()
        differs = np.zeros((len(aims), len(there)), dtype=np.bool_)
        for begin in range(0, len(wanted), BITS):
            block = slice(begin, begin + BITS)
            word = np.zeros(differs.shape, np.min_scalar_type((1 << len(wanted[block])) - 1))
            for aim, sums in zip(wanted[block], present[block], strict=True):
                np.not_equal(aim[:, None], sums, out=differs)
                word <<= 1
                word |= differs
            yield word

    def _some(self, which: Numbers, most: int) -> Numbers:
        """Returns all of them, or as many as are looked at."""
        return which if len(which) <= most else self._random.choice(which, most, replace=False)

    def _find(self, key: Keys) -> Numbers:
        """Returns the unknown with each key; -1: there is none."""
        at = np.minimum(np.searchsorted(self._sorted, key), max(0, len(self._sorted) - 1))
        return np.where(self._sorted[at] == key, self._order[at], -1)


def exchange_sums(
    people: Exchanges, wanted: Callable[[Numbers], Chosen], spend: Callable[[int], bool]
) -> None:
    """Lets people exchange sums, round after round, as long as that shows more of what is wanted.

    `wanted` is told what unknowns hold at least, and says of which more is worth knowing; `spend` is told of
    work and says whether there may be more.
    """
    left, idle = wanted(people.least), 0
    while left.any() and idle < IDLE:
        people.stay_in(left)
        before, work = int(left.sum()), STEPS * people.work
        for _ in range(STEPS):
            people.step(left)
        work += people.look_around(wanted(people.least))
        left = wanted(people.least)
        idle = 0 if left.sum() < before else idle + 1
        if not spend(work):
            return

"""How many people can be where: for every unknown of a chain, between how many and how many.

A world that is found raises what is possible for sure; a bound that is proved lowers what may be possible.
Both are checked exactly (`certificates`); the solver only proposes where to look. Where the best proposal is
in fractions, one of its unknowns is bounded from either side and both halves are looked at. What takes too
long stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.judge.chain import exchanges
from sfumato.judge.chain.certificates import prove_empty, upper_bounds, world
from sfumato.judge.chain.exchanges import Exchanges, exchange_sums
from sfumato.judge.chain.proposals import Floats, IntegerSolver, LinearSolver, Proposal, SumSystem
from sfumato.judge.chain.remembered_release import Numbers
from sfumato.judge.chain.world_equations import WorldEquations, no_world

Chosen = NDArray[np.bool_]
Goal = Callable[[], Chosen]
"""Says which unknowns are worth narrowing, as far as is known by now."""

BUDGET = 40_000_000
"""So much work is done: columns that are looked at, and steps of the solver times columns, in hundreds."""
TOGETHER = 20_000
"""So many columns are solved together, where components are small."""
HARVESTS = 30
"""So often worlds are asked for that raise many unknowns at once, before one is looked at after the other."""
WORTHWHILE = 0.05
"""They are asked for as long as each settles this share of what is left."""
SMALL = 200
"""Components of fewer unknowns are left to the solver, which is as fast there as looking around."""
BRANCHES = 200
"""So many halves are looked at for one unknown whose best proposal is in fractions."""


WHOLE = 1e-6
"""What is nearer to a whole number than this is meant to be one."""


class WorldBounds:
    """Every unknown is at least `least` in some world, and in none more than `most`."""

    def __init__(self, equations: WorldEquations, budget: int | None = None) -> None:
        self.equations = equations
        self.least = np.zeros(len(equations.target), np.int64)
        self.most = np.full(len(equations.target), np.iinfo(np.int64).max)
        np.minimum.at(self.most, equations.owner, equations.total[equations.sums])
        self.budget = BUDGET if budget is None else budget
        self.found = np.zeros_like(self.least)
        self._tired = np.zeros(len(self.least), dtype=bool)
        self._by_component = np.argsort(equations.component, kind="stable")
        count = int(equations.component.max(initial=-1)) + 1
        self._begin = np.searchsorted(equations.component[self._by_component], np.arange(count + 1))
        self._one_sum()

    def _one_sum(self) -> None:
        """Settles components of a single sum: all its people may be in any of its unknowns."""
        e = self.equations
        sums = np.zeros(len(self._begin) - 1, np.int64)
        heard = np.unique(e.sums)
        of_sum = np.zeros(len(e.total), np.int64)
        of_sum[e.sums] = e.component[e.owner]
        np.add.at(sums, of_sum[heard], 1)
        alone = sums[e.component] == 1
        self.least[alone] = self.most[alone]

    def columns_of(self, components: Numbers) -> Numbers:
        """Returns the unknowns of some components."""
        pieces = [self._by_component[self._begin[c] : self._begin[c + 1]] for c in components.tolist()]
        return np.concatenate(pieces) if pieces else np.zeros(0, np.int64)

    def narrow(self, goal: Goal) -> None:
        """Narrows what the goal asks for, until nothing is left to ask, or the budget is used up.

        Raises `BadData` where it turns out that there is no world.
        """
        for some in self._bundles(goal) if self.budget > 0 else ():
            some.harvest(goal)
        while self.budget > 0 and (bundle := next(self._bundles(goal), None)) is not None:
            bundle.settle(goal)
        e, reach = self.equations, np.zeros(len(self.equations.total), np.int64)
        np.add.at(reach, e.sums, np.minimum(self.most, e.total.max(initial=0))[e.owner])
        if np.any(reach < e.total):
            raise no_world()

    def _bundles(self, goal: Goal) -> Iterator[_Bundle]:
        """Yields the components that the goal is about, small ones together and first."""
        components = np.unique(self.equations.component[self._open(goal())])
        sizes = np.diff(self._begin)[components]
        order = np.argsort(sizes, kind="stable")
        filled = np.cumsum(sizes[order]) // TOGETHER
        for some in np.split(components[order], np.flatnonzero(np.diff(filled)) + 1):
            if len(some):
                yield _Bundle(self, some)

    def _open(self, wanted: Chosen) -> Chosen:
        return wanted & (self.least < self.most) & ~self._tired

    def between(self) -> tuple[Numbers, Numbers]:
        """Returns, for every target, how many candidates it has at least and at most."""
        count = len(self.equations.time)
        least, most = np.zeros(count, np.int64), np.zeros(count, np.int64)
        np.add.at(least, self.equations.target, self.least)
        np.add.at(most, self.equations.target, self.most)
        return least, most


class _Bundle:
    """Components that are solved together: they share no sum, so each is asked for something of its own."""

    def __init__(self, bounds: WorldBounds, components: Numbers) -> None:
        e = bounds.equations
        self.bounds = bounds
        self.columns = bounds.columns_of(components)
        lengths = np.diff(e.start)[self.columns]
        start = np.concatenate(([0], np.cumsum(lengths)))
        flat = np.repeat(e.start[self.columns] - start[:-1], lengths) + np.arange(start[-1])
        rows, sums = np.unique(e.sums[flat], return_inverse=True)
        self.system = SumSystem(start, sums.ravel().astype(np.int64), e.total[rows])
        self.kind = e.kind[rows]
        self.part = np.unique(e.component[self.columns], return_inverse=True)[1].ravel().astype(np.int64)
        self.parts = len(components)
        self.high = bounds.most[self.columns]
        self.low = np.zeros(len(self.columns), np.int64)
        self.solver = LinearSolver(self.system, self.high)
        self.right = np.zeros(self.parts, dtype=bool)
        self._integer: IntegerSolver | None = None
        self._torn: _Bundle | None = None
        self._people: Exchanges | None = None
        self._alone: dict[int, _Bundle] = {}

    def harvest(self, goal: Goal, times: int = HARVESTS) -> None:
        """Looks for worlds that raise many unknowns at once, as long as they do.

        Once most components are done, the others are looked at apart from them.
        """
        left, random = self._left(goal), np.random.default_rng(times)
        for done in range(times):
            if not len(left) or self.bounds.budget <= 0:
                return
            if 2 * len(np.unique(self.part[left])) < self.parts:
                rest = np.unique(self.bounds.equations.component[self.columns[left]])
                _Bundle(self.bounds, rest).harvest(goal, times - done)
                return
            worth = random.integers(1, 9, len(left)).astype(np.float64)
            if self._ask(left, worth) is None:
                return
            if (torn := np.unique(self.part[left][~self.right[self.part[left]]])).size:
                self._whole(left, worth, torn)
            self._exchange(goal)
            before, left = len(left), self._left(goal)
            if len(left) > before * (1 - WORTHWHILE):
                return

    def _whole(self, aim: Numbers, worth: Floats, torn: Numbers) -> None:
        """Asks for whole numbers in the parts for which the last proposal was in fractions."""
        columns = np.flatnonzero(np.isin(self.part, torn))
        if self._torn is None or not np.array_equal(self._torn.columns, self.columns[columns]):
            self._torn = _Bundle(
                self.bounds, np.unique(self.bounds.equations.component[self.columns[columns]])
            )
        inner, order = self._torn, np.argsort(self._torn.columns)
        there = np.isin(self.columns[aim], inner.columns)
        place = order[np.searchsorted(inner.columns[order], self.columns[aim[there]])]
        inner.propose_whole(place, worth[there])

    def _exchange(self, goal: Goal) -> None:
        """Makes other worlds from those that are known by now, in components that are not small."""
        sizes = np.bincount(self.part, minlength=self.parts)
        here = (sizes >= SMALL)[self.part]
        if not here.any() or self.system.columns * len(np.unique(self.kind)) > exchanges.LARGEST:
            return
        if self._people is None:
            self._people = Exchanges(self.system, self.kind, self.part)

        def wanted(seen: Numbers) -> Chosen:
            least = self.bounds.least
            least[self.columns] = np.maximum(least[self.columns], seen)
            return here & self.bounds._open(goal())[self.columns]

        def spend(work: int) -> bool:
            self.bounds.budget -= work
            return self.bounds.budget > 0

        self._people.begin(np.where(here, self.bounds.found[self.columns], 0))
        exchange_sums(self._people, wanted, spend)

    def propose_whole(self, aim: Numbers, worth: Floats | None = None) -> None:
        """Keeps the worlds that the integer solver proposes."""
        if self._integer is None:
            self._integer = IntegerSolver(self.system, self.high)
        said = self._integer.propose(aim, worth)
        self.spend(said.steps)
        if said.amounts is not None:
            self.keep_worlds(said.amounts)

    def settle(self, goal: Goal) -> None:
        """Settles one unknown of every component after the other, until half of the components are done."""
        left = self._left(goal)
        first = len(np.unique(self.part[left]))
        while len(left) and self.bounds.budget > 0 and 2 * len(np.unique(self.part[left])) >= first:
            _, chosen = np.unique(self.part[left], return_index=True)
            self._settle(left[chosen])
            left = self._left(goal)

    def _left(self, goal: Goal) -> Numbers:
        """Returns the columns that are worth narrowing."""
        return np.flatnonzero(self.bounds._open(goal())[self.columns])

    def _settle(self, aim: Numbers) -> None:
        """Finds the most that each of these columns can be, of which there is one in a part."""
        amounts = self._ask(aim)
        for column in aim.tolist():
            unknown = self.columns[column]
            if self.bounds.least[unknown] == self.bounds.most[unknown]:
                continue
            if amounts is not None and self.bounds.budget > 0:
                _Branches(self, column).settle()
            self.bounds._tired[unknown] = self.bounds.least[unknown] < self.bounds.most[unknown]

    def _ask(self, aim: Numbers, worth: Floats | None = None) -> Floats | None:
        """Asks the solver for the largest sum of these columns; keeps what can be checked of its answer.

        Unless they are said to be of different `worth`, there is one in a part: then what bounds it is kept.
        """
        said = self.solver.propose(aim, worth)
        self.spend(said.steps)
        within = (self.low, self.high)
        if said.amounts is None or said.weights is None:
            if said.weights is not None and prove_empty(
                self.system, said.weights, within, self.part, self.parts
            ):
                raise no_world()
            self.bounds._tired[self.columns[aim]] = True
            return None
        if worth is None:
            found = upper_bounds(self.system, said.weights, aim, within, self.part, self.parts)
            for column in aim.tolist():
                self.lower(column, found[int(self.part[column])])
        self.keep_worlds(said.amounts)
        return said.amounts

    def keep_worlds(self, amounts: Floats) -> None:
        """Remembers the worlds of all parts where the proposal is one."""
        whole, self.right = world(self.system, amounts, self.high, self.part, self.parts)
        there = self.right[self.part]
        least = self.bounds.least
        least[self.columns[there]] = np.maximum(least[self.columns[there]], whole[there])
        self.bounds.found[self.columns[there]] = whole[there]

    def lower(self, column: int, bound: int) -> None:
        """Remembers that a column is nowhere more than this."""
        unknown = self.columns[column]
        if bound < self.bounds.least[unknown]:
            raise AssertionError("a bound contradicts a world")  # both were proved: the proof would be wrong
        self.bounds.most[unknown] = self.high[column] = min(int(self.high[column]), bound)

    def alone(self, column: int) -> _Bundle:
        """Returns the component of a column; its solvers begin where they ended before."""
        if self.parts == 1:
            return self
        part = int(self.part[column])
        if part not in self._alone:
            component = self.bounds.equations.component[self.columns[column]]
            self._alone[part] = _Bundle(self.bounds, np.array([component]))
        return self._alone[part]

    def spend(self, steps: int) -> None:
        self.bounds.budget -= 200 + 2 * len(self.columns) + steps * (1 + len(self.columns) // 100)


@dataclass(frozen=True)
class _Half:
    """Other bounds of some columns, and the most that the aim can be within them."""

    low: dict[int, int]
    high: dict[int, int]
    bound: int


class _Branches:
    """The search for the most that one column can be, where the best proposal is in fractions."""

    def __init__(self, bundle: _Bundle, column: int) -> None:
        self.bounds, self.unknown = bundle.bounds, int(bundle.columns[column])
        self.alone = bundle.alone(column)
        self.aim = np.flatnonzero(self.alone.columns == self.unknown)

    def settle(self) -> None:
        """Looks at halves, the most promising first, until one is a world that none can beat."""
        self.alone.propose_whole(self.aim)
        if self.bounds.least[self.unknown] == self.bounds.most[self.unknown]:
            return
        waiting, stuck, looked = [_Half({}, {}, int(self.bounds.most[self.unknown]))], [0], 0
        while waiting and looked < BRANCHES and self.bounds.budget > 0:
            waiting.sort(key=lambda half: half.bound)
            half = waiting.pop()
            found = self._look(half)
            if found is None:
                stuck.append(half.bound)
            else:
                waiting += [one for one in found if one.bound > self.bounds.least[self.unknown]]
            looked += 1
        most = max(int(self.bounds.least[self.unknown]), *stuck, *(half.bound for half in waiting))
        self.bounds.most[self.unknown] = min(int(self.bounds.most[self.unknown]), most)

    def _look(self, half: _Half) -> list[_Half] | None:
        """Returns what is left to look at of one half: nothing if it is settled, `None` if it cannot be."""
        low, high = self.alone.low.copy(), self.alone.high.copy()
        for side, other in ((low, half.low), (high, half.high)):
            side[list(other)] = list(other.values())
        said = self._propose(half, low, high)
        if said.weights is None:
            return None
        system, part, parts = self.alone.system, self.alone.part, self.alone.parts
        if said.amounts is None:
            return [] if prove_empty(system, said.weights, (low, high), part, parts) else None
        [bound] = upper_bounds(system, said.weights, self.aim, (low, high), part, parts)
        self.alone.keep_worlds(said.amounts)
        bound = min(bound, half.bound)
        if bound <= self.bounds.least[self.unknown]:
            return []
        amounts = np.where(np.isfinite(said.amounts), said.amounts, low).clip(low, high)
        away = abs(amounts - np.rint(amounts))
        split = int(away.argmax())
        if away[split] < WHOLE:
            return None
        below = int(np.floor(amounts[split]))
        return [
            _Half(half.low, {**half.high, split: below}, bound),
            _Half({**half.low, split: below + 1}, half.high, bound),
        ]

    def _propose(self, half: _Half, low: Numbers, high: Numbers) -> Proposal:
        """Returns the best proposal within the bounds of one half."""
        changed = {*half.low, *half.high}
        for column in changed:
            self.alone.solver.bound(column, int(low[column]), int(high[column]))
        said = self.alone.solver.propose(self.aim)
        for column in changed:
            self.alone.solver.bound(column, 0, int(self.alone.high[column]))
        self.alone.spend(said.steps)
        return said

"""What published counts say of the people behind a chain of releases: sums of unknown whole numbers.

An unknown is how many people of one *time* (the release they came with), one matching value and one *cell*
(the classes they are in from that release on) there are. A release says, class by class and value by value,
how many people of all times up to its own there are.

Where an earlier release i shows at least as much detail as release j, its sums can be subtracted from those
of j: what is left of j counts the people who came after i. That changes no solution, and people up to i are
in no sum of j any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData
from sfumato.verify.chain import proposals as exchanges
from sfumato.verify.chain.proposals import (
    Exchanges,
    Floats,
    IntegerSolver,
    LinearSolver,
    Proposal,
    SumSystem,
    exchange_sums,
)
from sfumato.verify.chain.releases import Numbers, ReleaseTable, covering

LARGEST = 2_000_000
"""So many unknowns are looked at; more are too many."""


class TooLarge(Exception):
    """There are more unknowns than are looked at."""


@dataclass(frozen=True, eq=False)
class WorldEquations:
    """Unknown u is part of the sums `sums[start[u] : start[u + 1]]`; sum r comes to `total[r]`.

    `target[u]` numbers whom somebody can be after who is known by time and classes; `time[n]` is the time of
    target n. Unknowns of different `component` share no sum, also not through others. `kind` is the release
    that each sum is of, or another number; no unknown has two sums of one kind.
    """

    target: Numbers
    time: Numbers
    start: Numbers
    sums: Numbers
    total: Numbers
    component: Numbers
    kind: Numbers

    @property
    def owner(self) -> Numbers:
        """The unknown of each place in `sums`."""
        return np.repeat(np.arange(len(self.target)), np.diff(self.start))

    @classmethod
    def of(cls, releases: Sequence[ReleaseTable]) -> WorldEquations:
        """Returns the equations of a chain.

        Raises `TooLarge`, and `BadData` where one release contradicts another.
        """
        finer_before = _told_by(releases)
        tables = [
            table if i < 0 else _less(table, releases[i])
            for table, i in zip(releases, finer_before, strict=True)
        ]
        offset = np.cumsum([0, *(len(table.owner) for table in tables)])
        pieces, targets, times = [], 0, []
        every = range(len(tables))
        bindings = [[j for j in every[time:] if finer_before[j] < time] for time in every]
        for time, cells in enumerate(cells_of_each(tables, bindings, offset)):
            pieces.append((cells.owner + targets, cells.sums))
            times.append(np.full(cells.count, time, np.int64))
            targets += cells.count
            if sum(len(owner) for owner, _ in pieces) > LARGEST:
                raise TooLarge
        target = np.concatenate([owner for owner, _ in pieces])
        lengths = np.concatenate([np.full(len(owner), sums.shape[1]) for owner, sums in pieces])
        start = np.concatenate(([0], np.cumsum(lengths)))
        sums = np.concatenate([rows.ravel() for _, rows in pieces])
        total = np.concatenate([table.count for table in tables])
        unheard = np.ones(len(total), dtype=bool)
        unheard[sums] = False
        if np.any(total[unheard] > 0):
            raise no_world()
        component = components_of(start, sums, len(total))
        kind = np.repeat(np.arange(len(tables)), np.diff(offset))
        return cls(target, np.concatenate(times), start, sums, total, component, kind)


def no_world() -> BadData:
    """Returns the refusal of releases that cannot be of one chain."""
    return BadData(
        "no table of people gives the counts of all these releases",
        remedy="Give cumulative releases of one chain, oldest first.",
    )


def _told_by(releases: Sequence[ReleaseTable]) -> list[int]:
    """Returns, for every release, the last one before it that shows as much detail; -1: none does."""
    keys = [release.key for release in releases]
    finer: dict[tuple[bytes, bytes], bool] = {}
    last_finer = []
    for j, table in enumerate(releases):
        for i in reversed(range(j)):
            pair = (keys[i], keys[j])
            if pair not in finer:
                finer[pair] = releases[i].is_finer(table)
            if finer[pair]:
                break
        else:
            i = -1
        last_finer.append(i)
    return last_finer


def _less(table: ReleaseTable, finer: ReleaseTable) -> ReleaseTable:
    """Returns a release without the people of an earlier, finer one; raises where these are not all in it."""
    columns = range(table.low.shape[1])
    place = [covering(table.cut[j], finer.low[:, j], finer.high[:, j]) for j in columns]
    own = [covering(table.cut[j], table.low[:, j], table.high[:, j]) for j in columns]
    sizes = [len(table.cut[j][0]) for j in columns]
    there, here = _numbered_together(own, place, sizes, (len(table), len(finer)))
    width = int(max(table.value.max(initial=0), finer.value.max(initial=0))) + 1
    present = there[table.owner] * width + table.value
    order = np.argsort(present, kind="stable")
    wanted = here[finer.owner] * width + finer.value
    at = np.minimum(np.searchsorted(present[order], wanted), max(0, len(present) - 1))
    if len(wanted) and (not len(present) or np.any(present[order][at] != wanted)):
        raise no_world()
    left = table.count.copy()
    np.subtract.at(left, order[at] if len(wanted) else at, finer.count)
    if np.any(left < 0):
        raise no_world()
    return ReleaseTable(table.low, table.high, table.owner, table.value, left, table.cut)


@dataclass(frozen=True, eq=False)
class CellTable:
    """The cells of one time: entry e is of cell `owner[e]` and value `value[e]`, and part of `sums[e]`."""

    low: Numbers
    high: Numbers
    owner: Numbers
    value: Numbers
    sums: Numbers

    @property
    def count(self) -> int:
        return len(self.low)


def cells_of_each(
    tables: Sequence[ReleaseTable], bindings: Iterable[Sequence[int]], offset: Numbers
) -> Iterator[CellTable]:
    """Yields the cells that the releases of each binding share, with the values that all of them have there.

    What a binding begins with as the one before it did is not made again.
    """
    stack: list[tuple[int, CellTable]] = []
    for binding in bindings:
        alike = 0
        while alike < min(len(stack), len(binding)) and stack[alike][0] == binding[alike]:
            alike += 1
        del stack[alike:]
        for j in binding[alike:]:
            cells = _met(stack[-1][1], tables[j], int(offset[j])) if stack else _of_one(tables, j, offset)
            stack.append((j, cells))
        yield stack[-1][1]


def _of_one(tables: Sequence[ReleaseTable], j: int, offset: Numbers) -> CellTable:
    """Returns the cells of a release alone: its classes."""
    table = tables[j]
    entries = np.flatnonzero(table.count)
    cells = CellTable(
        table.low, table.high, table.owner[entries], table.value[entries], (offset[j] + entries)[:, None]
    )
    return _without_empty(cells)


def _met(cells: CellTable, table: ReleaseTable, offset: int) -> CellTable:
    """Returns the cells where these and the classes of one more release meet and share a value.

    Two meet if, column by column, one holds the other. So each is known by the larger of the two: what holds
    it on the other side, or itself.
    """
    cell_join, class_join = joins(cells, table)
    entries = np.flatnonzero(table.count)
    width = int(max(cells.value.max(initial=0), table.value.max(initial=0))) + 1
    wanted = cell_join[cells.owner] * width + cells.value
    present = class_join[table.owner[entries]] * width + table.value[entries]
    order = np.argsort(present, kind="stable")
    begin, end = (np.searchsorted(present[order], wanted, side=side) for side in ("left", "right"))
    lengths = end - begin
    if int(lengths.sum()) > LARGEST:
        raise TooLarge
    left = np.repeat(np.arange(len(wanted)), lengths)
    first = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths)
    right = entries[order[first + np.arange(len(left))]]
    pair = cells.owner[left] * max(1, len(table)) + table.owner[right]
    distinct, owner = np.unique(pair, return_inverse=True)
    a, b = distinct // max(1, len(table)), distinct % max(1, len(table))
    return CellTable(
        np.maximum(cells.low[a], table.low[b]),
        np.minimum(cells.high[a], table.high[b]),
        owner.ravel().astype(np.int64),
        cells.value[left],
        np.hstack([cells.sums[left], (offset + right)[:, None]]),
    )


def joins(cells: CellTable | ReleaseTable, table: ReleaseTable) -> tuple[Numbers, Numbers]:
    """Returns a number for every cell and every class, equal where they meet."""
    mine, theirs, sizes = [], [], []
    for j in range(cells.low.shape[1]):
        ours = _ranges(cells.low[:, j], cells.high[:, j])
        others = _ranges(table.low[:, j], table.high[:, j])
        width = int(max(cells.high[:, j].max(initial=0), table.high[:, j].max(initial=0))) + 1
        mine.append(_larger(cells.low[:, j], cells.high[:, j], others, width))
        theirs.append(_larger(table.low[:, j], table.high[:, j], ours, width))
        sizes.append(int(max(mine[-1].max(initial=0), theirs[-1].max(initial=0))) + 1)
    return _numbered_together(mine, theirs, sizes, (len(cells.low), len(table)))


def blocks(first: ReleaseTable, second: ReleaseTable) -> tuple[Numbers, Numbers, int]:
    """Returns the block of every entry of two releases, and how many blocks there are.

    Entries of one block have the same value, and all their classes meet.
    """
    left, right = joins(first, second)
    width = int(max(first.value.max(initial=0), second.value.max(initial=0))) + 1
    every = np.concatenate(
        [left[first.owner] * width + first.value, right[second.owner] * width + second.value]
    )
    distinct, number = np.unique(every, return_inverse=True)
    number = number.ravel().astype(np.int64)
    return number[: len(first.owner)], number[len(first.owner) :], len(distinct)


def _without_empty(cells: CellTable) -> CellTable:
    """Returns the cells that have any entry."""
    there, owner = np.unique(cells.owner, return_inverse=True)
    return CellTable(
        cells.low[there], cells.high[there], owner.ravel().astype(np.int64), cells.value, cells.sums
    )


def _ranges(low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
    """Returns the different ranges, ascending."""
    width = int(high.max(initial=0)) + 1
    codes = np.unique(low * width + high)
    return codes // width, codes % width


def _larger(low: Numbers, high: Numbers, others: tuple[Numbers, Numbers], width: int) -> Numbers:
    """Returns a number for each range, or for what holds it among others; ranges end before `width`."""
    place = covering(others, low, high)
    inside = place >= 0
    low, high = low.copy(), high.copy()
    low[inside], high[inside] = others[0][place[inside]], others[1][place[inside]]
    return low * width + high


def _numbered_together(
    left: Sequence[Numbers], right: Sequence[Numbers], sizes: Sequence[int], lengths: tuple[int, int]
) -> tuple[Numbers, Numbers]:
    """Returns one numbering for the rows of two tables of numbers."""
    numbers = np.zeros(sum(lengths), np.int64)
    for a, b, size in zip(left, right, sizes, strict=True):
        pairs = numbers * (size + 1) + 1 + np.concatenate([a, b])
        numbers = np.unique(pairs, return_inverse=True)[1].ravel().astype(np.int64)
    return numbers[: lengths[0]], numbers[lengths[0] :]


def components_of(start: Numbers, sums: Numbers, count: int) -> Numbers:
    """Returns the number of every unknown's component."""
    lengths = np.diff(start)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    label = np.arange(count)
    mine = np.zeros(len(lengths), np.int64)
    while len(sums):
        mine[:] = count
        np.minimum.at(mine, owner, label[sums])
        fresh = label.copy()
        np.minimum.at(fresh, sums, mine[owner])
        fresh = fresh[fresh]  # whoever joined a smaller one is where that one is
        if np.array_equal(fresh, label):
            break
        label = fresh
    return np.unique(mine, return_inverse=True)[1].ravel().astype(np.int64)


# Exact checks of what a solver proposes: whole numbers that add up, and bounds that any weights prove.
#
# Let x be amounts within low <= x <= high whose sums come to the totals b, and y any weights of the sums.
# Then x[u] is the sum of y * b plus the sum over all columns v of d[v] * x[v], where d[v] is 1 if v = u, else
# 0, less the weights of the sums that v is part of. Since d[v] * x[v] is at most the larger of d[v] * low[v]
# and d[v] * high[v], this bounds x[u], whatever y is. Weights are whole multiples of one number, so it is
# exact.

SCALES = (60, 1 << 24)
"""Weights are rounded to multiples of one over these: those of a corner are mostly halves or thirds."""
FITS = 1 << 62


def world(
    system: SumSystem, amounts: Floats, most: Numbers, part: Numbers, parts: int
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Returns the nearest whole numbers, and for every part of the system whether they are a world of it.

    `part[u]` is the part of column u; no two parts share a sum. Any whole numbers from 0 to `most` whose sums
    come to the totals are a world.
    """
    whole = np.rint(np.where(np.isfinite(amounts), amounts, -1)).clip(-1, FITS).astype(np.int64)
    wrong = np.zeros(parts, dtype=bool)
    wrong[part[(whole < 0) | (whole > most)]] = True
    added = np.zeros(len(system.total), np.int64)
    safe = np.where((whole < 0) | (whole > most), 0, whole)
    np.add.at(added, system.sums, safe[system.owner])
    off = added != system.total
    wrong[part[system.owner[off[system.sums]]]] = True
    return whole, ~wrong


def upper_bounds(
    system: SumSystem,
    weights: Floats,
    aim: Numbers,
    bounds: tuple[Numbers, Numbers],
    part: Numbers,
    parts: int,
) -> list[int]:
    """Returns, for every part, a number that the sum over its columns in `aim` exceeds in no world.

    `bounds` are the least and the most of every column.
    """
    finite = np.where(np.isfinite(weights), weights, 0.0).clip(-1e6, 1e6)
    every = [_bounds(system, finite, aim, bounds, part, parts, scale) for scale in SCALES]
    return [min(proved) for proved in zip(*every, strict=True)]


def prove_empty(
    system: SumSystem, weights: Floats, bounds: tuple[Numbers, Numbers], part: Numbers, parts: int
) -> bool:
    """Tells whether these weights, or their opposites, prove that some part has no world.

    A sum over no columns is 0 in every world: a bound below 0 leaves none.
    """
    nothing = np.zeros(0, np.int64)
    return any(
        min(upper_bounds(system, signed, nothing, bounds, part, parts)) < 0 for signed in (weights, -weights)
    )


def _bounds(
    system: SumSystem,
    weights: Floats,
    aim: Numbers,
    bounds: tuple[Numbers, Numbers],
    part: Numbers,
    parts: int,
    scale: int,
) -> list[int]:
    """Returns the bounds that weights prove, each rounded to a multiple of one over `scale`."""
    low, high = bounds
    scaled = np.rint(weights * scale).astype(np.int64)
    gain = np.zeros(system.columns, np.int64)
    gain[aim] = scale
    np.subtract.at(gain, system.owner, scaled[system.sums])
    of_sum = np.zeros(len(system.total), np.int64)
    of_sum[system.sums] = part[system.owner]
    largest = max(int(abs(scaled).max(initial=0)), int(abs(gain).max(initial=0)), 1)
    most = max(int(system.total.max(initial=0)), int(high.max(initial=0)), 1)
    kind = np.int64 if largest * most * (len(scaled) + len(gain) + 1) < FITS else object
    proved = np.zeros(parts, dtype=kind)
    np.add.at(proved, of_sum, scaled.astype(kind) * system.total.astype(kind))
    reach = np.maximum(gain.astype(kind) * low.astype(kind), gain.astype(kind) * high.astype(kind))
    np.add.at(proved, part, reach)
    return [int(number) // scale for number in proved]


# How many people can be where: for every unknown of a chain, between how many and how many.
#
# A world that is found raises what is possible for sure; a bound that is proved lowers what may be possible.
# Both are checked exactly (`certificates`); the solver only proposes where to look. Where the best proposal
# is in fractions, one of its unknowns is bounded from either side and both halves are looked at. What takes
# too long stays open.

Chosen = NDArray[np.bool_]
Goal = Callable[[], Chosen]
"""Says which unknowns are worth narrowing, as far as is known by now."""

BUDGET = 40_000_000
"""So much work is done: columns that are looked at, and steps of the solver times columns, in hundreds."""
TOGETHER = 20_000
"""So many columns are solved together, where components are small."""
SAMPLES = 30
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
        self._gave_up = np.zeros(len(self.least), dtype=bool)
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
        for several in self._bundles(goal) if self.budget > 0 else ():
            several.sample_worlds(goal)
        while self.budget > 0 and (bundle := next(self._bundles(goal), None)) is not None:
            bundle.resolve(goal)
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
        for group in np.split(components[order], np.flatnonzero(np.diff(filled)) + 1):
            if len(group):
                yield _Bundle(self, group)

    def _open(self, wanted: Chosen) -> Chosen:
        return wanted & (self.least < self.most) & ~self._gave_up

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

    def sample_worlds(self, goal: Goal, times: int = SAMPLES) -> None:
        """Looks for worlds that raise many unknowns at once, as long as they do.

        Once most components are done, the others are looked at apart from them.
        """
        left, random = self._left(goal), np.random.default_rng(times)
        for done in range(times):
            if not len(left) or self.bounds.budget <= 0:
                return
            if 2 * len(np.unique(self.part[left])) < self.parts:
                components = np.unique(self.bounds.equations.component[self.columns[left]])
                _Bundle(self.bounds, components).sample_worlds(goal, times - done)
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

        def wanted(amounts: Numbers) -> Chosen:
            least = self.bounds.least
            least[self.columns] = np.maximum(least[self.columns], amounts)
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
        proposal = self._integer.propose(aim, worth)
        self.spend(proposal.steps)
        if proposal.amounts is not None:
            self.keep_worlds(proposal.amounts)

    def resolve(self, goal: Goal) -> None:
        """Settles one unknown of every component after the other, until half of the components are done."""
        left = self._left(goal)
        first = len(np.unique(self.part[left]))
        while len(left) and self.bounds.budget > 0 and 2 * len(np.unique(self.part[left])) >= first:
            _, chosen = np.unique(self.part[left], return_index=True)
            self._resolve_columns(left[chosen])
            left = self._left(goal)

    def _left(self, goal: Goal) -> Numbers:
        """Returns the columns that are worth narrowing."""
        return np.flatnonzero(self.bounds._open(goal())[self.columns])

    def _resolve_columns(self, aim: Numbers) -> None:
        """Finds the most that each of these columns can be, of which there is one in a part."""
        amounts = self._ask(aim)
        for column in aim.tolist():
            unknown = self.columns[column]
            if self.bounds.least[unknown] == self.bounds.most[unknown]:
                continue
            if amounts is not None and self.bounds.budget > 0:
                _Branches(self, column).resolve()
            self.bounds._gave_up[unknown] = self.bounds.least[unknown] < self.bounds.most[unknown]

    def _ask(self, aim: Numbers, worth: Floats | None = None) -> Floats | None:
        """Asks the solver for the largest sum of these columns; keeps what can be checked of its answer.

        Unless they are said to be of different `worth`, there is one in a part: then what bounds it is kept.
        """
        proposal = self.solver.propose(aim, worth)
        self.spend(proposal.steps)
        within = (self.low, self.high)
        if proposal.amounts is None or proposal.weights is None:
            if proposal.weights is not None and prove_empty(
                self.system, proposal.weights, within, self.part, self.parts
            ):
                raise no_world()
            self.bounds._gave_up[self.columns[aim]] = True
            return None
        if worth is None:
            proved = upper_bounds(self.system, proposal.weights, aim, within, self.part, self.parts)
            for column in aim.tolist():
                self.lower(column, proved[int(self.part[column])])
        self.keep_worlds(proposal.amounts)
        return proposal.amounts

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
class _BoundedBranch:
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

    def resolve(self) -> None:
        """Looks at halves, the most promising first, until one is a world that none can beat."""
        self.alone.propose_whole(self.aim)
        if self.bounds.least[self.unknown] == self.bounds.most[self.unknown]:
            return
        waiting, stuck, looked = [_BoundedBranch({}, {}, int(self.bounds.most[self.unknown]))], [0], 0
        while waiting and looked < BRANCHES and self.bounds.budget > 0:
            waiting.sort(key=lambda branch: branch.bound)
            branch = waiting.pop()
            parts = self._look(branch)
            if parts is None:
                stuck.append(branch.bound)
            else:
                waiting += [part for part in parts if part.bound > self.bounds.least[self.unknown]]
            looked += 1
        most = max(int(self.bounds.least[self.unknown]), *stuck, *(branch.bound for branch in waiting))
        self.bounds.most[self.unknown] = min(int(self.bounds.most[self.unknown]), most)

    def _look(self, branch: _BoundedBranch) -> list[_BoundedBranch] | None:
        """Returns what is left to look at of one half: nothing if it is settled, `None` if it cannot be."""
        low, high = self.alone.low.copy(), self.alone.high.copy()
        for side, bounds in ((low, branch.low), (high, branch.high)):
            side[list(bounds)] = list(bounds.values())
        proposal = self._propose(branch, low, high)
        if proposal.weights is None:
            return None
        system, part, parts = self.alone.system, self.alone.part, self.alone.parts
        if proposal.amounts is None:
            return [] if prove_empty(system, proposal.weights, (low, high), part, parts) else None
        [bound] = upper_bounds(system, proposal.weights, self.aim, (low, high), part, parts)
        self.alone.keep_worlds(proposal.amounts)
        bound = min(bound, branch.bound)
        if bound <= self.bounds.least[self.unknown]:
            return []
        amounts = np.where(np.isfinite(proposal.amounts), proposal.amounts, low).clip(low, high)
        away = abs(amounts - np.rint(amounts))
        split = int(away.argmax())
        if away[split] < WHOLE:
            return None
        below = int(np.floor(amounts[split]))
        return [
            _BoundedBranch(branch.low, {**branch.high, split: below}, bound),
            _BoundedBranch({**branch.low, split: below + 1}, branch.high, bound),
        ]

    def _propose(self, branch: _BoundedBranch, low: Numbers, high: Numbers) -> Proposal:
        """Returns the best proposal within the bounds of one half."""
        changed = {*branch.low, *branch.high}
        for column in changed:
            self.alone.solver.bound(column, int(low[column]), int(high[column]))
        proposal = self.alone.solver.propose(self.aim)
        for column in changed:
            self.alone.solver.bound(column, 0, int(self.alone.high[column]))
        self.alone.spend(proposal.steps)
        return proposal

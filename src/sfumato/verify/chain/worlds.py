"""What published counts say of the people behind a chain of releases: sums of unknown whole numbers.

An unknown is how many people of one *time* (the release they came with), one matching value and one *cell*
(the classes they are in from that release on) there are. A release says, class by class and value by value,
how many people of all times up to its own there are.

Where an earlier release i shows at least as much detail as release j, its sums can be subtracted from those
of j: what is left of j counts the people who came after i. That changes no solution, and people up to i are
in no sum of j any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.system.errors import BadData
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


# Exact checks of evidence: worlds that add up, and bounds that weights prove.
#
# Let x be amounts within low <= x <= high whose sums come to the totals b, and y any weights of the sums.
# Then x[u] is the sum of y * b plus the sum over all unknowns v of d[v] * x[v], where d[v] is 1 if v = u,
# else 0, less the weights of the sums that v is part of. Since d[v] * x[v] is at most the larger of
# d[v] * low[v] and d[v] * high[v], this bounds x[u], whatever y is. Weights are whole numbers over a common
# one, so it is exact. Whoever made the evidence is believed nothing: what does not add up is left aside.

FITS = 1 << 62
MOST_PARTS = 64
"""So deep may proofs be divided."""

Weights = tuple[Numbers, int]
Proof = tuple[int, Weights, int, Sequence["Proof"]]
"""The unknown that is bounded (-1: there is no world at all), weights of the sums of its component, and the
unknown that is split (-1: none) with a proof for each amount that it can be, from 0 on."""


def sums_of_components(equations: WorldEquations) -> Numbers:
    """Returns how many sums each component has."""
    of_sum = np.full(len(equations.total), -1, np.int64)
    of_sum[equations.sums] = equations.component[equations.owner]
    return np.bincount(of_sum[of_sum >= 0], minlength=int(equations.component.max(initial=-1)) + 1)


class HandedEvidence(Protocol):
    """What somebody hands over about worlds, component by component; unknowns and sums of each ascend.

    `worlds` are amounts of the unknowns, `proofs` say how much one of them is at most.
    """

    @property
    def worlds(self) -> Sequence[tuple[int, Numbers]]: ...

    @property
    def proofs(self) -> Sequence[tuple[int, Proof]]: ...


@dataclass(frozen=True, eq=False)
class SumSystem:
    """Some unknowns: column u is part of the sums `sums[start[u] : start[u + 1]]`, which come to `total`."""

    columns: Numbers
    start: Numbers
    sums: Numbers
    total: Numbers

    @property
    def owner(self) -> Numbers:
        """The column of each place in `sums`."""
        return np.repeat(np.arange(len(self.columns)), np.diff(self.start))

    def is_world(self, amounts: Numbers) -> bool:
        """Tells whether these whole numbers add up."""
        if amounts.dtype != np.int64 or amounts.shape != self.columns.shape or np.any(amounts < 0):
            return False
        if np.any(amounts > self.total.max(initial=0)):
            return False
        added = np.zeros(len(self.total), np.int64)
        np.add.at(added, self.sums, amounts[self.owner])
        return np.array_equal(added, self.total)

    def bound(self, aim: int, proof: Proof, low: Numbers, high: Numbers, depth: int = 0) -> int:
        """Returns a number that column `aim` exceeds in no world within these bounds; -1: there is none."""
        column, (weights, over), split, parts = proof
        known = int(high[aim]) if aim >= 0 else FITS
        if 0 <= split < len(self.columns):
            if len(parts) <= high[split] or depth > MOST_PARTS:
                return known
            bounds = []
            for amount in range(int(low[split]), int(high[split]) + 1):
                within = low.copy(), high.copy()
                within[0][split] = within[1][split] = amount
                bounds.append(self.bound(aim, parts[amount], *within, depth + 1))
            return max(bounds, default=-1)
        if column not in (aim, -1) or len(weights) != len(self.total) or over < 1:
            return known
        proved = self._proved(column, weights, int(over), low, high)
        if column == -1:
            return -1 if proved < 0 else known
        return min(known, max(-1, proved))

    def _proved(self, column: int, weights: Numbers, over: int, low: Numbers, high: Numbers) -> int:
        largest = max(int(abs(weights).max(initial=1)) * len(weights), over)
        most = max(int(self.total.max(initial=1)), 1)
        fits = largest * most * (len(weights) + len(low) + 1) < FITS
        kind = np.int64 if fits else object
        gain = np.zeros(len(self.columns), kind)
        np.subtract.at(gain, self.owner, weights.astype(kind)[self.sums])
        if column >= 0:
            gain[column] += over
        reach = np.maximum(gain * low.astype(kind), gain * high.astype(kind))
        return int((weights.astype(kind) * self.total.astype(kind)).sum() + reach.sum()) // over


class WorldBounds:
    """Every unknown is at least `least` in some world, and in none more than `most`."""

    def __init__(self, equations: WorldEquations) -> None:
        self.equations = equations
        self.least = np.zeros(len(equations.target), np.int64)
        self.most = np.full(len(equations.target), np.iinfo(np.int64).max)
        np.minimum.at(self.most, equations.owner, equations.total[equations.sums])
        self._by_component = np.argsort(equations.component, kind="stable")
        count = int(equations.component.max(initial=-1)) + 1
        self._begin = np.searchsorted(equations.component[self._by_component], np.arange(count + 1))
        self._systems: dict[int, SumSystem] = {}
        alone = sums_of_components(equations)[equations.component] == 1
        self.least[alone] = self.most[alone]  # of one sum, all people may be in any of its unknowns

    def take(self, evidence: HandedEvidence) -> None:
        """Takes over what can be checked; raises `BadData` where it turns out that there is no world."""
        for number, amounts in evidence.worlds:
            system = self._system(number)
            if system is not None and system.is_world(amounts):
                self.least[system.columns] = np.maximum(self.least[system.columns], amounts)
        for number, proof in evidence.proofs:
            system = self._system(number)
            if system is not None and -1 <= proof[0] < len(system.columns):
                self._lower(system, proof)
        e, reach = self.equations, np.zeros(len(self.equations.total), np.int64)
        np.add.at(reach, e.sums, np.minimum(self.most, e.total.max(initial=0))[e.owner])
        if np.any(reach < e.total):
            raise no_world()

    def _lower(self, system: SumSystem, proof: Proof) -> None:
        high = self.most[system.columns]
        bound = system.bound(proof[0], proof, np.zeros_like(high), high)
        if bound < 0:
            raise no_world()
        if proof[0] >= 0:
            unknown = system.columns[proof[0]]
            if bound < self.least[unknown]:
                raise AssertionError(
                    "a bound contradicts a world"
                )  # both were proved: the proof would be wrong
            self.most[unknown] = bound

    def _system(self, number: int) -> SumSystem | None:
        """Returns the unknowns of a component, and their sums, numbered anew; `None`: there is no such."""
        if not 0 <= number < len(self._begin) - 1:
            return None
        if number not in self._systems:
            e = self.equations
            columns = self._by_component[self._begin[number] : self._begin[number + 1]]
            lengths = np.diff(e.start)[columns]
            start = np.concatenate(([0], np.cumsum(lengths)))
            flat = np.repeat(e.start[columns] - start[:-1], lengths) + np.arange(start[-1])
            rows, sums = np.unique(e.sums[flat], return_inverse=True)
            self._systems[number] = SumSystem(columns, start, sums.ravel().astype(np.int64), e.total[rows])
        return self._systems[number]

    def between(self) -> tuple[Numbers, Numbers]:
        """Returns, for every target, how many candidates it has at least and at most."""
        count = len(self.equations.time)
        least, most = np.zeros(count, np.int64), np.zeros(count, np.int64)
        np.add.at(least, self.equations.target, self.least)
        np.add.at(most, self.equations.target, self.most)
        return least, most

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

import numpy as np

from sfumato.core.errors import BadData
from sfumato.judge.chain.remembered_release import Numbers, ReleaseTable, covering

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
        told = _told_by(releases)
        tables = [
            table if i < 0 else _less(table, releases[i]) for table, i in zip(releases, told, strict=True)
        ]
        offset = np.cumsum([0, *(len(table.owner) for table in tables)])
        pieces, targets, times = [], 0, []
        every = range(len(tables))
        bindings = [[j for j in every[time:] if told[j] < time] for time in every]
        for time, cells in enumerate(cells_of_each(tables, bindings, offset)):
            pieces.append((cells.owner + targets, cells.sums))
            times.append(np.full(cells.count, time, np.int64))
            targets += cells.count
            if sum(len(owner) for owner, _ in pieces) > LARGEST:
                raise TooLarge
        target = np.concatenate([owner for owner, _ in pieces])
        lengths = np.concatenate([np.full(len(owner), sums.shape[1]) for owner, sums in pieces])
        start = np.concatenate(([0], np.cumsum(lengths)))
        sums = np.concatenate([some.ravel() for _, some in pieces])
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
    found = []
    for j, table in enumerate(releases):
        for i in reversed(range(j)):
            pair = (keys[i], keys[j])
            if pair not in finer:
                finer[pair] = releases[i].is_finer(table)
            if finer[pair]:
                break
        else:
            i = -1
        found.append(i)
    return found


def _less(table: ReleaseTable, finer: ReleaseTable) -> ReleaseTable:
    """Returns a release without the people of an earlier, finer one; raises where these are not all in it."""
    columns = range(table.low.shape[1])
    place = [covering(table.cut[j], finer.low[:, j], finer.high[:, j]) for j in columns]
    own = [covering(table.cut[j], table.low[:, j], table.high[:, j]) for j in columns]
    sizes = [len(table.cut[j][0]) for j in columns]
    there, here = _numbered_together(own, place, sizes, (len(table), len(finer)))
    width = int(max(table.value.max(initial=0), finer.value.max(initial=0))) + 1
    known = there[table.owner] * width + table.value
    order = np.argsort(known, kind="stable")
    asked = here[finer.owner] * width + finer.value
    at = np.minimum(np.searchsorted(known[order], asked), max(0, len(known) - 1))
    if len(asked) and (not len(known) or np.any(known[order][at] != asked)):
        raise no_world()
    left = table.count.copy()
    np.subtract.at(left, order[at] if len(asked) else at, finer.count)
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
    known: list[tuple[int, CellTable]] = []
    for binding in bindings:
        alike = 0
        while alike < min(len(known), len(binding)) and known[alike][0] == binding[alike]:
            alike += 1
        del known[alike:]
        for j in binding[alike:]:
            cells = _met(known[-1][1], tables[j], int(offset[j])) if known else _of_one(tables, j, offset)
            known.append((j, cells))
        yield known[-1][1]


def _of_one(tables: Sequence[ReleaseTable], j: int, offset: Numbers) -> CellTable:
    """Returns the cells of a release alone: its classes."""
    table = tables[j]
    some = np.flatnonzero(table.count)
    cells = CellTable(
        table.low, table.high, table.owner[some], table.value[some], (offset[j] + some)[:, None]
    )
    return _without_empty(cells)


def _met(cells: CellTable, table: ReleaseTable, offset: int) -> CellTable:
    """Returns the cells where these and the classes of one more release meet and share a value.

    Two meet if, column by column, one holds the other. So each is known by the larger of the two: what holds
    it on the other side, or itself.
    """
    one, other = joins(cells, table)
    some = np.flatnonzero(table.count)
    width = int(max(cells.value.max(initial=0), table.value.max(initial=0))) + 1
    asked = one[cells.owner] * width + cells.value
    known = other[table.owner[some]] * width + table.value[some]
    order = np.argsort(known, kind="stable")
    begin, end = (np.searchsorted(known[order], asked, side=side) for side in ("left", "right"))
    lengths = end - begin
    if int(lengths.sum()) > LARGEST:
        raise TooLarge
    left = np.repeat(np.arange(len(asked)), lengths)
    first = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths)
    right = some[order[first + np.arange(len(left))]]
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
    one, other = joins(first, second)
    width = int(max(first.value.max(initial=0), second.value.max(initial=0))) + 1
    every = np.concatenate(
        [one[first.owner] * width + first.value, other[second.owner] * width + second.value]
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
    found = np.unique(low * width + high)
    return found // width, found % width


def _larger(low: Numbers, high: Numbers, others: tuple[Numbers, Numbers], width: int) -> Numbers:
    """Returns a number for each range, or for what holds it among others; ranges end before `width`."""
    place = covering(others, low, high)
    held = place >= 0
    low, high = low.copy(), high.copy()
    low[held], high[held] = others[0][place[held]], others[1][place[held]]
    return low * width + high


def _numbered_together(
    one: Sequence[Numbers], other: Sequence[Numbers], sizes: Sequence[int], lengths: tuple[int, int]
) -> tuple[Numbers, Numbers]:
    """Returns one numbering for the rows of two tables of numbers."""
    found = np.zeros(sum(lengths), np.int64)
    for a, b, size in zip(one, other, sizes, strict=True):
        pairs = found * (size + 1) + 1 + np.concatenate([a, b])
        found = np.unique(pairs, return_inverse=True)[1].ravel().astype(np.int64)
    return found[: lengths[0]], found[lengths[0] :]


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

"""What two tables make likely, judged a second time: cells, expected counts, and histograms around them.

Within a component of two tables, and for one matching value, a of n people are in a class of the first and b
in a class of the second. If all ways to match rows are equally likely, a * b / n of them are in both. Whoever
is new in the second table is in a class of the first that has no name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from sfumato.judge.chain.remembered_release import Numbers
from sfumato.judge.policy_data import JudgedPolicy, PromiseData
from sfumato.judge.registry import judge_of
from sfumato.judge.tables.tally import JointCounts, Tally, ValueCounts
from sfumato.judge.taxonomies.value_tree import Text, ValueTree

ABOUT = 1 << 28
"""Cells are looked at in whole numbers that add up to about this many."""

LARGEST_EXACT = 1 << 40
"""Cells that are whole numbers below this, times one factor, are judged as they are."""

MOST_ENTRIES = 20_000_000
"""So many entries of cells are looked at; more are too many."""

CELLS_TOGETHER = 2_000

Held = Mapping[int, Fraction]
"""Leaf -> how many people are expected to have it, in one cell."""


@dataclass(frozen=True, eq=False)
class PairEntries:
    """Entry e: in cell `cell[e]`, `one[e] * other[e] / all[e]` people with the matching value `value[e]`.

    The cell is of class `row[e]` of the first table and class `column[e]` of the second. `least` and `most`
    of these people there are in any world.
    """

    cell: Numbers
    row: Numbers
    column: Numbers
    value: Numbers
    one: Numbers
    other: Numbers
    all: Numbers

    @property
    def least(self) -> Numbers:
        beyond: Numbers = np.maximum(0, self.one + self.other - self.all)
        return beyond

    @property
    def most(self) -> Numbers:
        either: Numbers = np.minimum(self.one, self.other)
        return either


@dataclass(frozen=True, eq=False)
class SideCounts:
    """One table of two: entry e says that class `owner[e]` holds `count[e]` people of block `block[e]`.

    A block is a component of both tables, and a matching value in it. Entries are sorted by block.
    """

    block: Numbers
    owner: Numbers
    count: Numbers

    @classmethod
    def of(cls, block: Numbers, owner: Numbers, count: Numbers) -> SideCounts:
        """Returns the sums of equal entries."""
        width = int(owner.max(initial=0)) + 1
        distinct, which = np.unique(block * width + owner, return_inverse=True)
        sums = np.zeros(len(distinct), np.int64)
        np.add.at(sums, which.ravel(), count)
        return cls(distinct // width, distinct % width, sums)


def pair_entries(first: SideCounts, second: SideCounts, value_of_block: Numbers) -> PairEntries | None:
    """Returns the cells of two tables of the same people; `None` where they are too many to look at."""
    total = np.zeros(len(value_of_block), np.int64)
    np.add.at(total, second.block, second.count)
    begin = np.searchsorted(second.block, np.arange(len(total) + 1))
    lengths = np.diff(begin)[first.block]
    if int(lengths.sum()) > MOST_ENTRIES:
        return None
    left = np.repeat(np.arange(len(first.block)), lengths)
    right = np.repeat(begin[first.block] - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(left))
    width = int(second.owner.max(initial=0)) + 1
    _, cell = np.unique(first.owner[left] * width + second.owner[right], return_inverse=True)
    block = first.block[left]
    return PairEntries(
        cell.ravel().astype(np.int64),
        first.owner[left],
        second.owner[right],
        value_of_block[block],
        first.count[left],
        second.count[right],
        total[block],
    )


@dataclass(frozen=True, eq=False)
class JudgedValues:
    """The column of a promise: its tree, the leaf of every matching value, the whole table's counts."""

    column: str
    tree: ValueTree
    leaf_of_value: Numbers
    overall: Numbers
    policy: JudgedPolicy

    def tally(self, histograms: Sequence[Mapping[int, int]]) -> Tally:
        """Returns histograms in whole numbers as classes of the whole table."""
        owner, value, count, people = _as_arrays(histograms)
        spelling = self.policy.spelling_of(self.column)
        spread = ValueCounts(owner, value, count, self.tree, spelling=spelling)
        return Tally(
            people, people, {self.column: spread}, policy=self.policy, overall={self.column: self.overall}
        )


@dataclass(frozen=True, eq=False)
class JointlyJudgedValues:
    """Columns that a promise looks at together: their tuples of cells, and that of every matching value."""

    columns: tuple[str, ...]
    cells: tuple[tuple[Text, ...], ...]
    leaf_of_value: Numbers
    policy: JudgedPolicy

    def tally(self, histograms: Sequence[Mapping[int, int]]) -> Tally:
        """Returns histograms in whole numbers as classes."""
        owner, value, count, people = _as_arrays(histograms)
        held = JointCounts(owner, value, count, self.cells)
        return Tally(people, people, {}, policy=self.policy, together={self.columns: held})


def _as_arrays(histograms: Sequence[Mapping[int, int]]) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Returns classes, values and counts, entry by entry, and the people of every class."""
    owner = np.repeat(np.arange(len(histograms)), [len(h) for h in histograms]).astype(np.int64)
    pairs = [pair for h in histograms for pair in sorted(h.items())]
    value = np.array([leaf for leaf, _ in pairs], dtype=np.int64)
    count = np.array([n for _, n in pairs], dtype=np.int64)
    people = np.zeros(len(histograms), np.int64)
    np.add.at(people, owner, count)
    return owner, value, count, people


def pair_kept(
    entries: PairEntries, values: JudgedValues | JointlyJudgedValues, promise: PromiseData
) -> bool | None:
    """Returns whether what two tables make likely keeps a promise; `None` where that stays open.

    Sizes are not asked: counts are multiplied until there are enough people.
    """
    judge = judge_of(promise)

    def kept(histograms: Sequence[Mapping[int, int]]) -> bool:
        return judge(values.tally(histograms), promise).holds is True

    def decide(cells: Sequence[Held]) -> bool | None:
        if kept([near for cell in cells for near in _around(cell)]):
            return True
        if len(cells) > 1:
            half = len(cells) // 2
            one = decide(cells[:half])
            other = None if one is False else decide(cells[half:])
            return False if one is False or other is False else None if None in (one, other) else True
        exact = _exact(cells[0], promise.get("least_people") or 0)
        return None if exact is None else kept([exact])

    found: bool | None = True
    for some in _cells(entries, values.leaf_of_value):
        decided = decide(some)
        if decided is False:
            return False
        found = None if decided is None else found
    return found


def _cells(entries: PairEntries, leaf_of_value: Numbers) -> Iterator[list[Held]]:
    """Yields the expected histograms of all different cells, some at a time."""
    known: set[frozenset[tuple[int, Fraction]]] = set()
    waiting: list[Held] = []
    order = np.argsort(entries.cell, kind="stable")
    begin = np.searchsorted(entries.cell[order], np.arange(int(entries.cell.max(initial=-1)) + 2))
    leaf = leaf_of_value[entries.value]
    for start, stop in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        held: dict[int, Fraction] = {}
        for e in order[start:stop].tolist():
            share = Fraction(int(entries.one[e]) * int(entries.other[e]), int(entries.all[e]))
            held[int(leaf[e])] = held.get(int(leaf[e]), Fraction(0)) + share
        everybody = sum(held.values(), Fraction(0))
        shares = frozenset((value, weight / everybody) for value, weight in held.items())
        if shares in known:
            continue
        known.add(shares)
        waiting.append({value: weight / everybody for value, weight in held.items()})
        if len(waiting) == CELLS_TOGETHER:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _around(cell: Held) -> list[dict[int, int]]:
    """Returns whole histograms that a multiple of the cell is a mixture of: rounded down, and each value up.

    Rounding down takes less than one of each value. So the multiple is the rounded histogram and, for every
    value, less than one more; that is a mixture of the histograms with one value larger by their number.
    """
    low = {value: int(weight * ABOUT) for value, weight in cell.items()}
    found = [low]
    found += [{**low, value: low[value] + len(cell)} for value in cell]
    return [{value: count for value, count in some.items() if count} for some in found]


def _exact(cell: Held, people: int) -> dict[int, int] | None:
    """Returns the cell in whole numbers, at least so many people; `None` where they are too large."""
    factor = lcm(*(weight.denominator for weight in cell.values()))
    factor *= max(1, -(-people // factor))
    if factor >= LARGEST_EXACT:
        return None
    return {value: int(weight * factor) for value, weight in cell.items()}


def numbered(columns: Sequence[NDArray[np.integer]], rows: int) -> Numbers:
    """Returns a number for every row of some columns; equal rows have equal numbers."""
    if not columns or not rows:
        return np.zeros(rows, np.int64)
    table = np.stack([np.asarray(column, np.int64) for column in columns], axis=1)
    return np.unique(table, axis=0, return_inverse=True)[1].ravel().astype(np.int64)

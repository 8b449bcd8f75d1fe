"""Columns of a lattice as splits of classes: each level but the most general one is a line of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Counts, Microdata
from sfumato.kernels.lattice.splits import split_classes
from sfumato.protection.loss import Reals
from sfumato.protection.searches.frontier import Levels
from sfumato.protection.searches.node_cost import NodeCost

Rungs = Sequence[tuple[tuple[int, ...], list[Levels]]]
"""Groups of columns that move as one, and the levels that each may be at, ascending."""

Lines = tuple[int, ...]
"""The lines by which columns are split; a column without one is at its most general level."""


@dataclass(frozen=True, eq=False)
class Splits:
    """Every level of every group of columns, but the most general one, as a line of codes.

    Lines `first[g]` up to `first[g + 1]` are those of group g, the most general first; `group[line]` is g,
    and `rung[line]` says which of its levels that is. A line has codes below its `widths`.
    """

    rungs: Rungs
    first: tuple[int, ...]
    group: tuple[int, ...]
    rung: tuple[int, ...]
    codes: NDArray[np.int32]
    widths: Counts

    @classmethod
    def of(cls, table: Microdata, rungs: Rungs) -> Self:
        first, group, rung = [0], list[int](), list[int]()
        for g, (_, levels) in enumerate(rungs):
            below = range(len(levels) - 2, -1, -1)
            rung += below
            group += [g] * len(below)
            first.append(len(rung))
        codes = np.empty((len(rung), table.distinct), np.int32)
        for line, (g, r) in enumerate(zip(group, rung, strict=True)):
            codes[line] = codes_at(table, rungs[g][0], rungs[g][1][r])
        widths = codes.max(axis=1, initial=0).astype(np.int64) + 1
        return cls(rungs, tuple(first), tuple(group), tuple(rung), codes, widths)

    def levels(self, lines: Lines) -> Levels:
        """Returns the levels of all columns of the table."""
        chosen = [len(levels) - 1 for _, levels in self.rungs]
        for line in lines:
            chosen[self.group[line]] = self.rung[line]
        level_of = {
            j: level
            for (members, levels), r in zip(self.rungs, chosen, strict=True)
            for j, level in zip(members, levels[r], strict=True)
        }
        return tuple(level_of[j] for j in range(len(level_of)))


def codes_at(table: Microdata, members: Sequence[int], levels: Levels) -> NDArray[np.int32]:
    """Returns the number of every distinct row among the values of some columns at these levels."""
    numbers = np.zeros(table.distinct, np.int64)
    for j, level in zip(members, levels, strict=True):
        nodes, place = np.unique(table.keys[j].taxonomy.levels[level], return_inverse=True)
        numbers = numbers * len(nodes) + place[table.codes(table.keys[j].name)]
        if len(members) > 1:
            numbers = np.unique(numbers, return_inverse=True)[1]
    return numbers.astype(np.int32)


@dataclass(frozen=True, eq=False)
class LargeClasses:
    """The classes of a node that are large enough, the smallest first; `lost` rows are in the others."""

    rows: NDArray[np.int32]
    counts: Counts
    bounds: Counts
    lost: int

    @classmethod
    def most_general(cls, table: Microdata, rungs: Rungs, least: int) -> Self:
        """Returns the classes of the most general node."""
        rows, counts = np.arange(table.distinct, dtype=np.int32), table.counts.astype(np.int64)
        parts = cls(rows, counts, np.array([[0], [len(rows)]], np.int64), 0)
        for members, levels in rungs:
            codes = codes_at(table, members, levels[-1])
            parts = parts.split(codes, int(codes.max(initial=0)) + 1, least)
        return parts

    def split(self, codes: NDArray[np.int32], width: int, least: int) -> Self:
        """Returns these classes split by a line of codes; parts of fewer than `least` rows are lost."""
        rows, counts, bounds = split_classes(self.rows, self.counts, self.bounds, codes, width, least)
        return type(self)(rows, counts, bounds, self.lost + int(self.counts.sum()) - int(counts.sum()))


class Floors:
    """What groups of columns cost at least where some rows are suppressed: by line, and without a split.

    `before[g]` adds up what all groups before g cost without a split.
    """

    def __init__(self, lines: Reals, tops: Reals) -> None:
        self.all = np.concatenate([lines, tops])
        self.lines: list[float] = lines.tolist()
        self.tops: list[float] = tops.tolist()
        self.before: list[float] = [0.0, *np.cumsum(tops).tolist()]

    def of_node(self, splits: Splits, lines: Lines) -> float:
        """Returns what a node costs at least."""
        return self.before[-1] + sum(self.lines[i] - self.tops[splits.group[i]] for i in lines)


def floors_of(cost: NodeCost, splits: Splits, suppressed: Counts) -> list[Floors]:
    """Returns the floors for each of these numbers of suppressed rows."""

    def of_rung(g: int, r: int) -> Reals:
        members, levels = splits.rungs[g]
        each = [cost.floors(j, level, suppressed) for j, level in zip(members, levels[r], strict=True)]
        total: Reals = np.sum(each, axis=0)
        return total

    lines = [of_rung(g, r) for g, r in zip(splits.group, splits.rung, strict=True)]
    tops = [of_rung(g, len(levels) - 1) for g, (_, levels) in enumerate(splits.rungs)]
    return [
        Floors(np.array([amounts[i] for amounts in lines]), np.array([amounts[i] for amounts in tops]))
        for i in range(len(suppressed))
    ]

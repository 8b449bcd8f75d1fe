"""The box walk: classes from the boxes of a lattice of levels, those first in which rows lose little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

import numpy as np

from sfumato.core.microdata import Codes, Counts
from sfumato.core.progress import Progress, silent
from sfumato.kernels.local.key_classes import NOBODY
from sfumato.kernels.local.level_boxes import (
    Half,
    SideLevels,
    accept,
    all_free,
    boxes_at,
    candidates_in_band,
    empty_buckets,
    walk_band,
    without_classes,
)
from sfumato.protection.distinct_rows import distinct_rows
from sfumato.protection.searches.group_judge import GroupJudge
from sfumato.protection.searches.group_neighbours import meeting_levels
from sfumato.protection.searches.key_groups import WHOLE_PRICE, KeyGroups
from sfumato.protection.searches.search import MOST_LEVEL_VECTORS

MOST_ENTRIES = 1 << 25
"""Entries that the tables of both halves may have."""
JUDGED_TOGETHER = 1 << 18
"""About so many members of boxes are judged in one call."""
STEP = 8
"""Prices of boxes are compared in such steps, so that they fit 32 bits."""
TOO_DEAR = (1 << 30) - 1
"""More than any price in steps of a box that may be published."""
BOXES = "local: boxes"
"""What local recoding does second, as progress calls it."""
MOST_REPEATS = 8
"""How often the same level vectors are looked at again, where boxes that keep the promises shared groups."""


def walk_boxes(
    groups: KeyGroups, lattice: LevelLattice, judge: GroupJudge, *, progress: Progress = silent
) -> tuple[Codes, int]:
    """Returns the class of every group, NOBODY where none was found, and the number of classes.

    Boxes are taken band by band of what a row loses, from nothing to everything. In a band, each level
    vector sorts the free groups that lose so much there into its boxes; a box that keeps the promises
    becomes a class.
    """
    lattice = lattice.without_small(judge.least, groups.weight)
    class_of = np.full(len(groups), NOBODY, np.int32)
    one, two = lattice.halves
    order = np.argsort(one.value, kind="stable").astype(np.int32)
    free, left = all_free(order, groups.weight, one, two), len(groups)
    buckets = empty_buckets(len(groups))
    count, stamp = 0, 0
    bands = list(_bands(groups.leaf.shape[1]))
    for number, band in enumerate(bands):
        progress(BOXES, number, len(bands))
        nodes = lattice.nodes_in(band)
        if judge.by_size:
            left, count, stamp = walk_band(
                nodes, band, free, left, one, two, judge.least, class_of, count, buckets, stamp
            )
            continue
        done, repeats = 0, 0
        while done < len(nodes):
            looked, stamp, start, members = candidates_in_band(
                nodes[done:], band, free, left, one, two, judge.least, buckets, stamp, JUDGED_TOGETHER
            )
            good = judge.holds(members, start)
            before = count
            count = accept(start, members, good, class_of, count)
            left = without_classes(free, left, class_of) if count > before else left
            repeats = repeats + 1 if count - before < int(good.sum()) else MOST_REPEATS
            if repeats >= MOST_REPEATS:
                done, repeats = done + looked, 0
    progress(BOXES, len(bands), len(bands))
    return class_of, count


def _bands(columns: int) -> Iterator[Counts]:
    """Yields bounds of the price of a row, above the first and up to the second; narrow where prices are low.

    Bands are a twentieth of a column wide up to one column, then a tenth, from three columns on a quarter.
    """
    steps = [*range(0, 20), *range(20, 60, 2), *range(60, 20 * columns + 5, 5)]
    whole = WHOLE_PRICE // STEP
    ends = [-1, *(min(whole, step * whole // (20 * columns)) for step in steps), whole]
    for low, high in pairwise(ends):
        if low < high:
            yield np.array([low, high], np.int64)


@dataclass(frozen=True, eq=False)
class LevelLattice:
    """Level vectors, as pairs of rows of two tables: one for either half of the columns.

    `nodes` is sorted by what all rows lose there; `least` and `most` bound what a single row loses.
    """

    halves: tuple[Half, Half]
    nodes: Counts
    least: Counts
    most: Counts

    @classmethod
    def of(cls, groups: KeyGroups, near: Codes) -> LevelLattice:
        """Returns the whole lattice where it is small, else those level vectors at which neighbours meet."""
        sides = _two_sides([top + 1 for top in groups.ceilings])
        values = [distinct_rows(groups.leaf[:, side]) for side in sides]
        sizes = [len(found) for found, _ in values]
        vectors = _level_vectors(groups, near, sides, sizes)
        halves, nodes = [], []
        for side, (found, value) in zip(sides, values, strict=True):
            needed, node = distinct_rows(vectors[:, side])
            halves.append(_half(groups, side, needed, found, value.astype(np.int32)))
            nodes.append(node)
        one, two = halves
        rows = [np.bincount(half.value, groups.weight).astype(np.int64) for half in halves]
        total = [half.price @ count for half, count in zip(halves, rows, strict=True)]
        order = np.argsort(total[0][nodes[0]] + total[1][nodes[1]], kind="stable")
        first, second = nodes[0][order], nodes[1][order]
        return cls(
            (one, two),
            np.stack((first, second), axis=1).astype(np.int64),
            one.price.min(axis=1)[first].astype(np.int64) + two.price.min(axis=1)[second],
            one.price.max(axis=1)[first].astype(np.int64) + two.price.max(axis=1)[second],
        )

    def without_small(self, least: int, weight: Counts) -> LevelLattice:
        """Returns the lattice with prices in boxes that half of the columns already make too small.

        A box has no more rows than its values in one half have: fewer than `least` are never a class. Nodes
        keep their order.
        """
        one, two = self.halves
        return replace(self, halves=(_priced_out(one, least, weight), _priced_out(two, least, weight)))

    def nodes_in(self, band: Counts) -> Counts:
        """Returns the level vectors at which some row may lose as much as the band says."""
        chosen: Counts = self.nodes[(self.least <= band[1]) & (self.most > band[0])]
        return chosen


def most_entries(heights: list[int], leaves: list[int], rows: int) -> int:
    """Returns how many entries the tables of both halves have at most, by the levels and leaves of columns.

    >>> most_entries([2, 3], [5, 4], 1000)
    22
    """
    sizes = [
        (min(rows, prod(leaves[j] for j in side)), prod(heights[j] for j in side))
        for side in _two_sides(heights)
    ]
    few = 3 * sum(values for values, _ in sizes)  # one level vector at least, and both ends
    return min(sum(values * levels for values, levels in sizes), MOST_ENTRIES + few)


def _priced_out(half: Half, least: int, weight: Counts) -> Half:
    """Returns a half in which values are too dear where fewer than `least` rows share their box."""
    rows = np.bincount(half.value, weight, half.price.shape[1]).astype(np.int64)
    price = half.price.copy()
    for level, box in enumerate(half.box):
        sizes = np.bincount(box, rows)
        price[level, sizes[box] < least] = TOO_DEAR
    return half._replace(price=price)


def _two_sides(levels: list[int]) -> tuple[list[int], list[int]]:
    """Returns the columns in two parts with about equally many combinations of levels."""
    sides: tuple[list[int], list[int]] = ([], [])
    sizes = [1, 1]
    for j in sorted(range(len(levels)), key=lambda j: -levels[j]):
        smaller = int(sizes[1] < sizes[0])
        sides[smaller].append(j)
        sizes[smaller] *= levels[j]
    return sorted(sides[0]), sorted(sides[1])


def _level_vectors(
    groups: KeyGroups, near: Codes, sides: tuple[list[int], list[int]], sizes: list[int]
) -> Codes:
    """Returns the level vectors to walk; the last one has every column at its ceiling, the root as a rule."""
    heights = [top + 1 for top in groups.ceilings]
    entries = sum(size * prod(heights[j] for j in side) for size, side in zip(sizes, sides, strict=True))
    if prod(heights) <= MOST_LEVEL_VECTORS and entries <= MOST_ENTRIES:
        return np.indices(heights, np.int32).reshape(len(heights), -1).T
    found, counts = meeting_levels(groups, near)
    found = np.minimum(found, np.array(groups.ceilings, np.int32))
    most = max(1, min(MOST_LEVEL_VECTORS, MOST_ENTRIES // max(1, sum(sizes))))
    often = np.sort(np.argsort(-counts, kind="stable")[:most])
    ends = np.array([[0] * len(heights), [height - 1 for height in heights]], np.int32)
    return np.unique(np.concatenate((found[often], ends)), axis=0)


def _half(groups: KeyGroups, side: list[int], needed: Codes, values: Codes, value: Codes) -> Half:
    """Returns the table of one half."""
    levels = [groups.levels[j] for j in side]
    rank = np.empty((len(side), len(values)), np.int32)
    for i, nodes in enumerate(levels):
        rank[i] = np.searchsorted(nodes[0], values[:, i])
    flat = np.concatenate([nodes.ravel() for nodes in levels]) if levels else np.empty(0, np.int32)
    first = np.cumsum([0, *(nodes.size for nodes in levels)])[:-1].astype(np.int64)
    width = np.array([nodes.shape[1] for nodes in levels], np.int64)
    whole = [int((nodes.min(axis=1) != nodes.max(axis=1)).sum()) for nodes in levels]
    columns = SideLevels(
        rank, flat.astype(np.int32), first, width, np.array(whole, np.int64), groups.forest.price
    )
    return Half(value, *boxes_at(np.ascontiguousarray(needed, np.int32), columns, STEP, TOO_DEAR))

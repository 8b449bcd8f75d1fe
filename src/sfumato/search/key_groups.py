"""Key groups: the distinct combinations of key values, as leaves of priced trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.coarsest_level import within_ceiling
from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.kernels.local.key_classes import BARRED, NOBODY, Forest, KeyClasses
from sfumato.protection.distinct_rows import distinct_rows
from sfumato.protection.loss import leaves_of
from sfumato.protection.row_order import row_order
from sfumato.protection.searches.search import Aim

WHOLE_PRICE = 1 << 32
"""The price of a row that is published as the root of every column."""


@dataclass(frozen=True, eq=False)
class KeyGroups:
    """A table's rows by their key values: rows with equal keys are one group.

    Groups are numbered in ascending order of their codes, so that the same rows give the same numbers.
    `group_of` says the group of every distinct row, `rows` lists the distinct rows group by group from
    `start` on, and `weight` counts the rows of the source. `leaf` and `levels` hold nodes of `forest`,
    which numbers those of all key columns; columns are in `order`, those first in which the first step up
    costs most.

    A node's price is the loss of one row that is published as it, in whole numbers, so that sums are exact:
    `WHOLE_PRICE` is shared out among the columns by their weights, and a node has (its leaves - 1) of the
    (leaves - 1) parts of its column. Nodes above a column's ceiling are `BARRED`. So no class crosses a
    *block*: the groups that are below the same nodes where every column is at its ceiling.
    """

    table: Microdata
    order: tuple[int, ...]
    group_of: Codes
    rows: Codes
    start: Counts
    weight: Counts
    forest: Forest
    leaf: Codes
    levels: tuple[Codes, ...]
    first_node: tuple[int, ...]

    @classmethod
    def of(cls, table: Microdata, weights: Mapping[str, Fraction]) -> KeyGroups:
        """Groups the rows of a table."""
        codes = np.stack([table.codes(c.name) for c in table.keys], axis=1)
        rows = row_order(codes).astype(np.int32)
        codes = codes[rows]
        fresh = np.ones(len(rows), dtype=bool)
        fresh[1:] = np.any(codes[1:] != codes[:-1], axis=1)
        start = np.append(np.flatnonzero(fresh), len(rows)).astype(np.int64)
        group_of = np.empty(len(rows), np.int32)
        group_of[rows] = np.cumsum(fresh) - 1
        weight = np.add.reduceat(table.counts[rows], start[:-1])
        prices = node_prices(table, weights)
        codes = codes[fresh]
        order = _dear_first(table, prices, codes, weight)
        forest, first_node = _forest(table, prices, order)
        leaf, levels = np.empty_like(codes), []
        for place, j in enumerate(order):
            tree = table.keys[j].taxonomy
            leaf[:, place] = tree.leaves[codes[:, j]] + first_node[place]
            levels.append((tree.levels + first_node[place]).astype(np.int32))
        return cls(table, order, group_of, rows, start, weight, forest, leaf, tuple(levels), first_node)

    @classmethod
    def prepared(cls, table: Microdata, aim: Aim) -> KeyGroups:
        """Groups the rows of a table, or returns the groups that were made for another request."""
        if aim.prepared is None or aim.prepared.table is not table:
            return cls.of(table, aim.weights)
        return aim.prepared.find(("groups", *aim.weights.items()), lambda: cls.of(table, aim.weights))

    def __len__(self) -> int:
        return len(self.weight)

    @cached_property
    def ceilings(self) -> tuple[int, ...]:
        """The coarsest level of each column that may be published, in `order`."""
        return tuple(self.table.keys[j].taxonomy.ceiling for j in self.order)

    @cached_property
    def block_of(self) -> Codes:
        """The block of every group: there is one where every column may be its root."""
        tops = [
            levels[top][np.searchsorted(levels[0], self.leaf[:, place])]
            for place, (levels, top) in enumerate(zip(self.levels, self.ceilings, strict=True))
        ]
        return distinct_rows(np.stack(tops, axis=1))[1].astype(np.int32)

    def no_classes(self) -> KeyClasses:
        """Returns room for as many classes as groups, and one more; no group is in a class."""
        count, columns = self.leaf.shape
        in_none, after, before = (np.full(count, NOBODY, np.int32) for _ in range(3))
        room = count + 1
        return KeyClasses(
            self.leaf,
            self.weight,
            in_none,
            after,
            before,
            np.full(room, NOBODY, np.int32),
            np.zeros(room, np.int64),
            np.zeros((room, columns), np.int32),
            np.zeros(room, np.int64),
        )

    def rows_of(self, members: NDArray[np.integer], start: Counts) -> tuple[Codes, Counts]:
        """Returns the distinct rows of lists of groups, and where each list then starts."""
        lengths = (self.start[1:] - self.start[:-1])[members]
        ends = np.concatenate(([0], np.cumsum(lengths)))
        within = np.arange(ends[-1]) - np.repeat(ends[:-1] - self.start[members], lengths)
        return self.rows[within], ends[start]

    def intervals(self, boxes: Codes) -> tuple[Codes, Codes]:
        """Returns the leaf ranks that boxes cover, columns in the order of the table."""
        low, high = np.empty_like(boxes), np.empty_like(boxes)
        for place, j in enumerate(self.order):
            tree, node = self.table.keys[j].taxonomy, boxes[:, place] - self.first_node[place]
            low[:, j], high[:, j] = tree.low[node], tree.high[node]
        return low, high


def node_prices(table: Microdata, weights: Mapping[str, Fraction]) -> list[Counts]:
    """Returns the price of every node, column by column."""
    shares = [Fraction(weights.get(c.name, 1)) for c in table.keys]
    whole = sum(shares, Fraction()) or Fraction(1)
    return [
        (c.taxonomy.leaf_count - 1).astype(np.int64)
        * int(WHOLE_PRICE * share / whole)
        // max(1, leaves_of(c.taxonomy) - 1)
        for c, share in zip(table.keys, shares, strict=True)
    ]


def _dear_first(table: Microdata, prices: list[Counts], codes: Codes, weight: Counts) -> tuple[int, ...]:
    """Returns the key columns by the falling price of the first step up; ties keep the order of the table."""
    steps = []
    for j, column in enumerate(table.keys):
        tree = column.taxonomy
        leaves = tree.leaves[codes[:, j]]
        steps.append(int(weight @ prices[j][np.maximum(tree.parent[leaves], 0)]))
    return tuple(sorted(range(len(steps)), key=lambda j: -steps[j]))


def _forest(table: Microdata, prices: list[Counts], order: tuple[int, ...]) -> tuple[Forest, tuple[int, ...]]:
    """Returns the trees of all key columns under one numbering, and the root of each."""
    parent, end, price, first = [], [], [], [0]
    for j in order:
        tree = table.keys[j].taxonomy
        parent.append(np.maximum(tree.parent, 0) + first[-1])
        end.append(tree.end + first[-1])
        price.append(np.where(within_ceiling(tree), prices[j], BARRED))
        first.append(first[-1] + len(tree.labels))
    forest = Forest(
        np.concatenate(parent).astype(np.int32), np.concatenate(end).astype(np.int32), np.concatenate(price)
    )
    return forest, tuple(first[:-1])

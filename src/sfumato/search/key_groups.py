"""Key groups: the distinct combinations of key values, as leaves of priced trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.local_moves import BARRED, NOBODY, Forest, KeyClasses
from sfumato.policy.searches import losses_with
from sfumato.search.contract import Aim
from sfumato.search.loss import leaves_of, tally
from sfumato.search.refinement import Refinement, Specialization, Split
from sfumato.search.suppression import distinct_rows, row_order
from sfumato.table.microdata import Codes, Counts, Microdata
from sfumato.table.taxonomy import ROOT, Taxonomy, within_ceiling

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


# The candidates of a top-down search, ranked by what a specialization gains.

SIZE_MEASURES = losses_with(by_size=True)
"""Measures of class sizes; every other measure is about how general the values are."""

NOT_A_CANDIDATE = -1
"""The score of a node that is no candidate."""


class Ranking:
    """The candidates of a top-down search, best first.

    Measures of class sizes rank a node by the sum of the squared sizes of the classes that hold it: the
    larger, the more there is to gain by splitting them. Other measures rank it by what `loss` gains: rows
    below the node times leaves it covers, less the same of its children, as a share of the column. Weights
    multiply. Scores are integers within a column and fractions across columns, so ties are exact; they go
    to the first column, then to the lowest node number. With `skip_empty`, nodes that no row is below are no
    candidates.
    """

    def __init__(
        self, classes: Refinement, loss: str, weights: Mapping[str, Fraction], *, skip_empty: bool = True
    ) -> None:
        self._skip_empty = skip_empty
        self._classes = classes
        self._by_size = loss in SIZE_MEASURES
        self._score: list[Counts] = []
        self._factor: list[Fraction] = []
        self._live: list[Counts] = []
        self._aside: list[Specialization] = []
        self._moved = False
        for j, (column, tree) in enumerate(zip(classes.table.keys, classes.trees, strict=True)):
            weight = Fraction(weights.get(column.name, 1))
            if self._by_size:
                self._factor.append(weight)
                self._score.append(np.zeros(len(tree.labels), np.int64))
                self._score[j][ROOT] = int(classes.rows @ classes.rows)
            else:
                self._factor.append(weight / max(1, len(tree.leaves) - 1))
                self._score.append(_gains(tree, classes.rows_below[j]))
            self._live.append(np.full(len(tree.labels), NOT_A_CANDIDATE, np.int64))
            self._admit(Specialization(j, ROOT))
        self._best: list[int | None] = [None] * len(self._live)

    def best(self) -> Specialization | None:
        """Returns the best candidate; those set aside come last, after another step. `None`: none is left."""
        step = self._first()
        if step is None and self._moved and self._aside:
            for again in self._aside:
                self._admit(again)
            self._aside.clear()
            self._moved, self._best = False, [None] * len(self._best)
            step = self._first()
        return step

    def _first(self) -> Specialization | None:
        chosen, highest = None, Fraction(NOT_A_CANDIDATE)
        for j, live in enumerate(self._live):
            node = self._best[j]
            if node is None:
                node = self._best[j] = int(np.argmax(live))
            if live[node] == NOT_A_CANDIDATE:
                continue
            value = int(live[node]) * self._factor[j]
            if value > highest:
                chosen, highest = Specialization(j, node), value
        return chosen

    def drop(self, step: Specialization) -> None:
        """Removes a candidate."""
        self._live[step.column][step.node] = NOT_A_CANDIDATE
        self._best[step.column] = None

    def set_aside(self, step: Specialization) -> None:
        """Removes a candidate until another step was made and every other candidate was tried."""
        self.drop(step)
        self._aside.append(step)

    def follow(self, split: Split) -> None:
        """Makes the children of a step candidates; those set aside may come again."""
        if self._by_size:
            self._shift(split)
        self.drop(split.step)
        self._best = [None] * len(self._best)
        for child in split.children.tolist():
            self._admit(Specialization(split.step.column, child))
        self._moved = True

    def score(self, step: Specialization) -> Fraction:
        return int(self._score[step.column][step.node]) * self._factor[step.column]

    def _shift(self, split: Split) -> None:
        """Updates the squares that nodes hold after classes were split, in every column."""
        squares = split.rows**2
        gone = tally(split.parent, split.rows, self._classes.count)[split.touched] ** 2
        for j, score in enumerate(self._score):
            if j == split.step.column:
                np.add.at(score, split.children[split.branch], squares)
                continue
            nodes = self._classes.nodes[j]
            np.add.at(score, nodes[split.ids], squares)
            np.subtract.at(score, nodes[split.touched], gone)
            waiting = self._live[j] != NOT_A_CANDIDATE
            self._live[j][waiting] = score[waiting]

    def _admit(self, step: Specialization) -> None:
        has_children = self._classes.trees[step.column].end[step.node] > step.node + 1
        empty = self._skip_empty and self._classes.rows_below[step.column][step.node] == 0
        if has_children and not empty:
            self._live[step.column][step.node] = self._score[step.column][step.node]


def _gains(tree: Taxonomy, rows: Counts) -> Counts:
    """Returns rows below each node times the leaves it covers, less the same of its children."""
    lost = rows * tree.leaf_count.astype(np.int64)
    gains = lost.copy()
    np.subtract.at(gains, tree.parent[1:], lost[1:])
    return gains

"""The candidates of a top-down search, ranked by what a specialization gains."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from sfumato.core.microdata import Counts
from sfumato.core.taxonomy import ROOT, Taxonomy
from sfumato.protection.searches.refinement import Refinement, Specialization, Split

SIZE_MEASURES = ("discernibility", "discernibility-star", "class-size")
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
        squares, gone = split.rows**2, np.zeros(self._classes.count, np.int64)
        np.add.at(gone, split.parent, split.rows)
        gone = gone[split.touched] ** 2
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

"""Blocks of rows that may stand for each other in two releases, followed while the later one is refined.

Two classes of two releases can hold the same person only if, column by column, the more general of their two
nodes is the same: the *join*. A block is a join together with a matching value. Specializing a node strictly
above the earlier cut splits every block that shows it, child by child; specializing at or below that cut
leaves every block as it is. So no index of comparable classes is needed, only a label per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.history import History
from sfumato.core.chain import ClassTable
from sfumato.core.microdata import Codes, Counts
from sfumato.core.taxonomy import Nodes, Taxonomy
from sfumato.kernels.chains import parts
from sfumato.kernels.rows import splits

NO_FILTER = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class NodeSplit:
    """A node split into its children: `order[bounds[b] : bounds[b+1]]` are the rows below the b-th child."""

    column: int
    node: int
    children: Nodes
    order: Codes
    bounds: Counts

    @property
    def rows(self) -> Codes:
        return self.order[self.bounds[0] : self.bounds[-1]]


class RowLabels:
    """A label per row; the split of a node splits the labels, child by child."""

    def __init__(self, labels: Codes, count: int) -> None:
        self.of_row = labels.copy()
        self.count = count
        self._slot = np.full(max(1, len(labels)), -1, np.int64)
        self._stamp = 0
        self._part = np.empty(len(labels), np.int32)
        self._scratch = (
            np.empty(len(labels), np.int32),
            np.empty(len(labels), np.int32),
            np.empty(len(labels), np.int64),
        )

    def parts(self, step: NodeSplit) -> tuple[Codes, Codes, Codes]:
        """The part of every row below the node; the label and the branch of every part."""
        first, end = int(step.bounds[0]), int(step.bounds[-1])
        part = self._part[: end - first]
        nothing = np.zeros(0, np.int64)
        count = splits.split(
            step.order,
            step.bounds,
            self.of_row,
            nothing,
            self._slot,
            self._stamp,
            part,
            *self._scratch,
        )
        self._stamp += len(step.children)
        return part, self._scratch[0][:count].copy(), self._scratch[1][:count].copy()

    def split(self, step: NodeSplit) -> tuple[Codes, Codes, Codes]:
        """Make parts labels of their own: the label each was, its branch, the label it is now."""
        part, parent, branch = self.parts(step)
        _, first = np.unique(parent, return_index=True)
        keeps = np.zeros(len(parent), dtype=bool)
        keeps[first] = True
        now = np.where(keeps, parent, self.count + np.cumsum(~keeps) - 1).astype(np.int32)
        self.count += int((~keeps).sum())
        splits.relabel(step.order, int(step.bounds[0]), part, now, self.of_row)
        return parent, branch, now


class RefinedBlocks:
    """The blocks that earlier cells share with the release under way, and what the cells hold there."""

    def __init__(self, trees: list[Taxonomy], release: ClassTable, value: Codes, values: int) -> None:
        self._trees = trees
        self._cuts = release.node_of
        self.labels = RowLabels(value, values)
        self.earlier = release
        self._block = release.values.copy()
        self._sort()

    @property
    def of_row(self) -> Codes:
        return self.labels.of_row

    def branch_of_cells(self, step: NodeSplit) -> Codes:
        """The child of the node that each earlier class is below, if it is below the node at all."""
        if not _splits(self._trees, self._cuts, step):
            return NO_FILTER
        nodes = self.earlier.nodes[:, step.column]
        return (np.searchsorted(step.children, nodes, side="right") - 1).astype(np.int32)

    def accept(self, step: NodeSplit) -> None:
        if not _splits(self._trees, self._cuts, step):
            return
        inside = self.branch_of_cells(step)
        tree = self._trees[step.column]
        nodes = self.earlier.nodes[:, step.column]
        under = (nodes > step.node) & (nodes < tree.end[step.node])
        parent, branch, now = self.labels.split(step)
        width = max(1, len(step.children))
        keys = parent.astype(np.int64) * width + branch
        order = np.argsort(keys)
        touched = np.flatnonzero(under[self.earlier.owner] & (self._block >= 0))
        asked = self._block[touched].astype(np.int64) * width + inside[self.earlier.owner[touched]]
        if len(keys):
            place = order[np.minimum(np.searchsorted(keys[order], asked), len(keys) - 1)]
            self._block[touched] = np.where(keys[place] == asked, now[place], -1)
        else:
            self._block[touched] = -1
        self._sort()

    def _sort(self) -> None:
        """Entries by block; entries that no row can stand for are left out."""
        order = np.argsort(self._block, kind="stable")
        order = order[np.searchsorted(self._block[order], 0) :]
        self.begin: NDArray[np.int64] = np.searchsorted(
            self._block[order], np.arange(self.labels.count + 1)
        ).astype(np.int64)
        self.cell, self.held = self.earlier.owner[order], self.earlier.counts[order]


class NewerRows:
    """Counts, by block, the rows that came after each of some releases with the same cuts."""

    def __init__(self, history: History, releases: Sequence[int]) -> None:
        self.releases = np.array(releases)
        self._trees = [c.taxonomy for c in history.table.keys]
        self._cuts = history.releases[releases[0]].node_of
        self._labels = RowLabels(history.value, history.values)
        self._weight = history.table.counts
        self._lacking = np.searchsorted(self.releases, history.time).astype(np.int32)
        self._count()

    def of(self, example: Codes, branch: Codes, step: NodeSplit | None) -> NDArray[np.int64]:
        """Release by release, the newer rows in the block of each example, within its branch."""
        block = self._labels.of_row
        if step is None or not _splits(self._trees, self._cuts, step):
            return self._total[block[example]].T
        total = np.zeros((self._labels.count, len(self.releases) + 1), np.int64)
        rows = (step.order, step.bounds, block, self._weight, self._lacking)
        return _from_last(parts.weight_of_blocks(*rows, example, branch, total)).T

    def accept(self, step: NodeSplit) -> None:
        if _splits(self._trees, self._cuts, step):
            self._labels.split(step)
            self._count()

    def _count(self) -> None:
        width = len(self.releases) + 1
        total = np.zeros(max(1, self._labels.count) * width, np.int64)
        np.add.at(total, self._labels.of_row.astype(np.int64) * width + self._lacking, self._weight)
        self._total = _from_last(total.reshape(-1, width))


def _from_last(lacking: NDArray[np.int64]) -> NDArray[np.int64]:
    """From the rows that so many releases lack, the rows that each of them lacks."""
    return np.cumsum(lacking[:, :0:-1], axis=1)[:, ::-1]


def _splits(trees: Sequence[Taxonomy], cuts: Sequence[Nodes], step: NodeSplit) -> bool:
    """Whether the node is strictly above the earlier cut."""
    tree = trees[step.column]
    known = cuts[step.column][tree.low[step.node] : tree.high[step.node]]
    return bool(len(known)) and bool(tree.depth[known[0]] > tree.depth[step.node])

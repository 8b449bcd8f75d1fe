"""The shape of a column before and after: values, published groups, and their depth in the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import Nodes
from sfumato.show.card import figure, several


@dataclass(frozen=True)
class ColumnShape:
    """One column before and after.

    `values` counts the values that occur, `groups` the different values that are published, `kept` those of
    them that are as fine as the policy lets them be: raw values, unless the column begins at a higher level,
    `start`. `depths` maps depth in the tree (0: the root) to published groups; `level`, counted from there,
    is set where the search is full-domain. `everything` is the text that is published for everybody, where
    one node above all values of the tree is: `*`, or what the policy calls it.
    """

    column: str
    values: int
    groups: int
    kept: int
    depths: Mapping[int, int]
    height: int
    level: int | None = None
    start: int = 0
    everything: str | None = None

    @property
    def lost(self) -> bool:
        """Whether everybody gets the text that stands for all values of the tree."""
        return self.everything is not None and self.values > 1

    @property
    def line(self) -> tuple[str, ...]:
        """Cells for a card."""
        if self.everything is not None and self.lost:
            became = self.everything
        elif self.groups == self.kept == self.values:
            became = "as it is" if not self.start else f"{several(self.groups, 'group')} at its finest level"
        else:
            raw = "a raw value" if self.kept == 1 else "raw values"
            finest = raw if not self.start else "at its finest level"
            became = several(self.groups, "group")
            became += f", {figure(self.kept)} of them {finest}" if self.kept else ""
        last = self.height + self.start
        level = "" if self.level is None else f" (level {self.level + self.start} of {last})"
        return (self.column, f"{several(self.values, 'value')} →", became + level)


def lost_columns(recoding: Recoding) -> tuple[str, ...]:
    """Returns the key columns that have several values and publish one group for everybody."""
    lost = []
    for j, column in enumerate(recoding.table.keys):
        ends = zip(recoding.low[:1, j], recoding.high[:1, j], strict=True)
        same = all(
            bool((recoding.low[:, j] == low).all() and (recoding.high[:, j] == high).all())
            for low, high in ends
        )
        if same and len(recoding.table.held_codes(column.name)) > 1:
            lost.append(column.name)
    return tuple(lost)


def shape_of(recoding: Recoding, j: int, level: int | None = None) -> ColumnShape:
    """Returns the shape of key column j."""
    column = recoding.table.keys[j]
    taxonomy = column.taxonomy
    boxes = _different_intervals(recoding.low[:, j], recoding.high[:, j])
    nodes = covering_nodes(recoding, j, boxes)
    depths: dict[int, int] = {}
    for depth in taxonomy.depth[nodes].tolist():
        depths[depth] = depths.get(depth, 0) + 1
    return ColumnShape(
        column.name,
        len(recoding.table.held_codes(column.name)),
        len(boxes),
        int((taxonomy.end[nodes] == nodes + 1).sum()),
        dict(sorted(depths.items())),
        taxonomy.height,
        level,
        taxonomy.start,
        _everything(recoding, j, boxes),
    )


def _different_intervals(low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the intervals that differ, each once and in order, as rows of a low and a high end.

    >>> _different_intervals(np.array([3, 0, 3], np.int32), np.array([4, 3, 4], np.int32)).tolist()
    [[0, 3], [3, 4]]
    """
    ends = np.unique(low.astype(np.int64) << 32 | high)
    return np.stack([ends >> 32, ends & 0xFFFFFFFF], axis=1).astype(np.int32)


def _everything(recoding: Recoding, j: int, boxes: NDArray[np.int32]) -> str | None:
    """Returns the text of the only group that column j publishes, if all leaves of its tree are in it."""
    leaves = len(recoding.table.keys[j].taxonomy.leaves)
    if leaves < 2 or boxes.tolist() != [[0, leaves]]:  # a single leaf is a raw value
        return None
    return recoding.texts(j)[0][0]


def covering_nodes(recoding: Recoding, j: int, boxes: NDArray[np.int32]) -> Nodes:
    """Returns the lowest node over each interval of leaf ranks."""
    taxonomy = recoding.table.keys[j].taxonomy
    if recoding.cuts is not None:
        nodes: Nodes = recoding.cuts[recoding.table.keys[j].name].node_of[boxes[:, 0]]
        return nodes
    nodes = taxonomy.leaves[boxes[:, 0]]
    while np.any(short := taxonomy.high[nodes] < boxes[:, 1]):
        nodes = np.where(short, taxonomy.parent[nodes], nodes)
    return nodes


def published_nodes(recoding: Recoding, j: int) -> list[int]:
    """Returns the nodes that column j of a global recoding publishes, left to right."""
    assert recoding.cuts is not None  # noqa: S101  # only global recodings publish nodes of one cut
    node_of = recoding.cuts[recoding.table.keys[j].name].node_of
    nodes: list[int] = np.unique(node_of[recoding.low[:, j]]).tolist()
    return nodes

"""The classes of a table under cuts that get finer, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Cuts
from sfumato.search.group_counts import ClassedRows, RowParts
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Codes, Counts, Microdata
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.taxonomy import Nodes, Taxonomy

Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True)
class Specialization:
    """A node of a cut, to be replaced by its children; `column` counts the key columns."""

    column: int
    node: int


@dataclass(frozen=True, eq=False)
class GroupSplit:
    """Groups that are replaced by their parts: part i is of group `parent[i]` and has `rows[i]` rows.

    A group that is touched is replaced as a whole, so its parts add up to it; `count` groups were there
    before. `whole` says that every group stays whole.
    """

    parent: Codes
    rows: Counts
    count: int

    @property
    def whole(self) -> bool:
        return len(self.parent) == 0

    @cached_property
    def count_after(self) -> int:
        """How many groups there are when these are replaced."""
        return int(self.ids.max(initial=self.count - 1)) + 1

    def after(self, before: NDArray[Value], parts: NDArray[Value]) -> NDArray[Value]:
        """Returns what all groups hold when these are replaced, by what they and the parts hold now."""
        grown = np.zeros((*before.shape[:-1], self.count_after), before.dtype)
        grown[..., : self.count] = before
        grown[..., self.ids] = parts
        return grown

    @cached_property
    def touched(self) -> NDArray[np.intp]:
        """The groups that are replaced."""
        return self._firsts[0]

    @cached_property
    def ids(self) -> Codes:
        """The number of every part as a group: one part keeps its parent's number, the others are new."""
        keeps = np.zeros(len(self.parent), dtype=bool)
        keeps[self._firsts[1]] = True
        fresh = self.count + np.cumsum(~keeps) - 1
        return np.where(keeps, self.parent, fresh).astype(np.int32)

    @cached_property
    def _firsts(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The groups that are replaced, ascending, and the first part of each."""
        first = np.full(self.count, -1, np.intp)
        first[self.parent[::-1]] = np.arange(len(self.parent))[::-1]  # the last one written stays
        groups = np.flatnonzero(first >= 0)
        return groups, first[groups]


@dataclass(frozen=True, eq=False)
class Split(GroupSplit):
    """A proposed step: the parts of the classes that hold its node, one per class and child.

    Without `row_parts`, every class stays whole and only its node changes.
    """

    step: Specialization
    children: Nodes
    branch: Codes
    row_parts: RowParts | None

    @property
    def whole(self) -> bool:
        return self.row_parts is None


class Refinement:
    """Classes that start as one (every key column at its root) and are split by accepted steps.

    `count` classes exist; class c has `rows[c]` rows and shows node `nodes[j, c]` in key column j. The rows
    may be classed for several refinements, as long as these make the same steps.
    """

    def __init__(self, table: Microdata, classed: ClassedRows | None = None) -> None:
        self.table = table
        self.classed = ClassedRows.of(table) if classed is None else classed
        self.trees: list[Taxonomy] = [c.taxonomy for c in table.keys]
        self.count = min(1, table.distinct)
        self.rows = np.array([table.rows] * self.count, np.int64)
        self.nodes = np.zeros((len(self.trees), self.count), np.int32)
        self._node_of = [np.zeros(len(t.leaves), np.int32) for t in self.trees]

    @property
    def class_of(self) -> Codes:
        """The class of every distinct row."""
        return self.classed.class_of

    @cached_property
    def rows_below(self) -> list[Counts]:
        """The rows below every node, for each key column."""
        below = zip(self.trees, self.classed.orders, strict=True)
        return [each.before[tree.high] - each.before[tree.low] for tree, each in below]

    def split(self, step: Specialization) -> Split:
        """Returns a proposed step; nothing changes until it is accepted. It is valid until the next one."""
        tree = self.trees[step.column]
        start = self.classed.orders[step.column].start
        children = np.array(tree.children(step.node), dtype=np.int32)
        bounds = np.append(start[tree.low[children]], start[tree.high[children[-1]]])
        filled = np.flatnonzero(np.diff(bounds))
        if len(filled) <= 1:
            holds = np.flatnonzero(self.nodes[step.column] == step.node).astype(np.int32)
            branch = np.full(len(holds), filled[0] if len(filled) else 0, np.int32)
            return Split(holds, self.rows[holds], self.count, step, children, branch, None)
        parts = self.classed.split(step.column, bounds)
        return Split(parts.parent, parts.rows, self.count, step, children, parts.branch, parts)

    def rows_below_step(self, split: Split) -> Codes:
        """Returns the distinct rows below the node of a split, in the order of its parts; none if whole."""
        return np.zeros(0, np.int32) if split.row_parts is None else self.classed.below(split.row_parts)

    def parts(self, split: Split, sensitive: Sequence[str], overall: dict[str, Counts]) -> Classes:
        """Returns the parts of a split as classes to be judged."""
        if split.row_parts is None:
            raise ValueError("every class stays whole: there are no parts to judge")
        return self.classed.classes(split.row_parts, sensitive, overall)

    def everything(self, sensitive: Sequence[str]) -> Classes:
        """Returns the table as one class (no class if it is empty)."""
        return self.classed.everything(sensitive)

    def accept(self, split: Split) -> None:
        """Makes a proposed step."""
        column, tree = split.step.column, self.trees[split.step.column]
        for child in split.children.tolist():
            self._node_of[column][tree.low[child] : tree.high[child]] = child
        self.rows = split.after(self.rows, split.rows)
        self.nodes = split.after(self.nodes, self.nodes[:, split.parent])
        self.nodes[column, split.ids] = split.children[split.branch]
        self.count = split.count_after
        if split.row_parts is not None:
            self.classed.move(split.row_parts, split.ids)

    def open_empty_nodes(self) -> None:
        """Replaces the nodes that no row is below by their leaves."""
        for tree, rows, node_of in zip(self.trees, self.rows_below, self._node_of, strict=True):
            empty = rows[node_of] == 0
            node_of[empty] = tree.leaves[empty]

    @property
    def cuts(self) -> dict[str, Cut]:
        return {
            c.name: Cut(c.taxonomy, n.copy()) for c, n in zip(self.table.keys, self._node_of, strict=True)
        }

    def cuts_after(self, step: Specialization, current: Cuts) -> dict[str, Cut]:
        """Returns the cuts with one step more."""
        name = self.table.keys[step.column].name
        return {**current, name: current[name].specialize(step.node)}

    def recoding(self, published: NDArray[np.bool_]) -> Recoding:
        """Returns the classes as a recoding, in ascending order of nodes; those not kept are suppressed."""
        order = np.lexsort(self.nodes[::-1]) if len(self.trees) else np.arange(self.count)
        order = order[published[order]]
        number = np.full(self.count, SUPPRESSED, np.int32)
        number[order] = np.arange(len(order))
        low, high = np.empty((2, len(order), len(self.trees)), np.int32)
        for j, tree in enumerate(self.trees):
            low[:, j], high[:, j] = tree.low[self.nodes[j, order]], tree.high[self.nodes[j, order]]
        class_of = number[self.class_of] if self.count else self.class_of
        return Recoding(self.table, class_of, low, high, self.cuts)

"""The classes of a table under cuts that get finer, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.cut import Cut
from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.core.promise import Cuts
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.core.taxonomy import Nodes, Taxonomy
from sfumato.kernels.rows import splits
from sfumato.protection.searches.group_counts import GroupCounter

NO_COUNTS = np.zeros(0, dtype=np.int64)

MOST_REPEATED = 16
"""Where at most one in so many distinct rows occurs more than once, rows are counted, and those are added."""


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

    `part[p]` is the part of the p-th row below the node. No `part` at all: every class stays whole and
    only its node changes.
    """

    step: Specialization
    children: Nodes
    branch: Codes
    first: int
    part: Codes | None

    @property
    def whole(self) -> bool:
        return self.part is None


class Refinement:
    """Classes that start as one (every key column at its root) and are split by accepted steps.

    `count` classes exist; class c has `rows[c]` rows and shows node `nodes[j, c]` in key column j.
    """

    def __init__(self, table: Microdata) -> None:
        self.table = table
        self.trees: list[Taxonomy] = [c.taxonomy for c in table.keys]
        self.count = min(1, table.distinct)
        self.class_of = np.zeros(table.distinct, np.int32)
        self.rows = np.array([table.rows] * self.count, np.int64)
        self.nodes = np.zeros((len(self.trees), self.count), np.int32)
        self._node_of = [np.zeros(len(t.leaves), np.int32) for t in self.trees]
        repeated = int(np.count_nonzero(table.counts > 1))
        few = repeated * MOST_REPEATED <= table.distinct
        self._ordered = [_RowOrder.of(table, c.name, repeated if few else 0) for c in table.keys]
        self._weight = NO_COUNTS if few else table.counts
        self._slot = np.zeros(table.distinct, np.int64)
        self._stamp = 1
        self._part = np.empty(table.distinct, np.int32)
        self._found = (
            np.empty(table.distinct, np.int32),
            np.empty(table.distinct, np.int32),
            np.empty(table.distinct, np.int64),
        )
        self._counter = GroupCounter(table)

    @cached_property
    def rows_below(self) -> list[Counts]:
        """The rows below every node, for each key column."""
        below = zip(self.trees, self._ordered, strict=True)
        return [each.before[tree.high] - each.before[tree.low] for tree, each in below]

    def split(self, step: Specialization) -> Split:
        """Returns a proposed step; nothing changes until it is accepted. It is valid until the next one."""
        tree = self.trees[step.column]
        ordered = self._ordered[step.column]
        start = ordered.start
        children = np.array(tree.children(step.node), dtype=np.int32)
        bounds = np.append(start[tree.low[children]], start[tree.high[children[-1]]])
        filled = np.flatnonzero(np.diff(bounds))
        if len(filled) <= 1:
            holds = np.flatnonzero(self.nodes[step.column] == step.node).astype(np.int32)
            branch = np.full(len(holds), filled[0] if len(filled) else 0, np.int32)
            return Split(holds, self.rows[holds], self.count, step, children, branch, 0, None)
        part = self._part[: bounds[-1] - bounds[0]]
        parts = splits.split(
            ordered.rows, bounds, self.class_of, self._weight, self._slot, self._stamp, part, *self._found
        )
        self._stamp += len(children)
        parent, branch, rows = self._found
        ordered.add_repeated(rows, part, int(bounds[0]))
        parent, branch, rows = parent[:parts].copy(), branch[:parts].copy(), rows[:parts].copy()
        return Split(parent, rows, self.count, step, children, branch, int(bounds[0]), part)

    def rows_below_step(self, split: Split) -> Codes:
        """Returns the distinct rows below the node of a split, in the order of its `part`."""
        order = self._ordered[split.step.column].rows
        return order[split.first : split.first + (0 if split.part is None else len(split.part))]

    def parts(self, split: Split, sensitive: Sequence[str], overall: dict[str, Counts]) -> Classes:
        """Returns the parts of a split as classes to be judged."""
        if not (self.table.has_person or sensitive):
            return Classes(split.rows, split.rows)
        if split.part is None:
            raise ValueError("every class stays whole: there are no parts to judge")
        order = self._ordered[split.step.column].rows
        if self._counter.counts_parts(len(split.parent), len(split.part), sensitive):
            return self._counter.parts(order, split.first, split.part, split.rows, sensitive, overall)
        member, start = splits.rows_by_part(order, split.first, split.part, len(split.parent))
        return self._counter.classes(member, start, split.rows, sensitive, overall)

    def everything(self, sensitive: Sequence[str]) -> Classes:
        """Returns the table as one class (no class if it is empty)."""
        if not (self.table.has_person or sensitive):
            return Classes(self.rows, self.rows)
        member = np.arange(len(self.class_of), dtype=np.int32)
        start = np.array([0, len(member)] if self.count else [0], np.int64)
        return self._counter.classes(member, start, self.rows, sensitive, {})

    def accept(self, split: Split) -> None:
        """Makes a proposed step."""
        column, tree = split.step.column, self.trees[split.step.column]
        for child in split.children.tolist():
            self._node_of[column][tree.low[child] : tree.high[child]] = child
        grown = int(split.ids.max(initial=self.count - 1)) + 1
        rows, nodes = np.zeros(grown, np.int64), np.zeros((len(self.trees), grown), np.int32)
        rows[: self.count], nodes[:, : self.count] = self.rows, self.nodes
        nodes[:, split.ids] = self.nodes[:, split.parent]
        nodes[column, split.ids] = split.children[split.branch]
        rows[split.ids] = split.rows
        self.rows, self.nodes, self.count = rows, nodes, grown
        if split.part is not None:
            splits.relabel(self._ordered[column].rows, split.first, split.part, split.ids, self.class_of)

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

    def recoding(self, kept: NDArray[np.bool_]) -> Recoding:
        """Returns the classes as a recoding, in ascending order of nodes; those not kept are suppressed."""
        order = np.lexsort(self.nodes[::-1]) if len(self.trees) else np.arange(self.count)
        order = order[kept[order]]
        number = np.full(self.count, SUPPRESSED, np.int32)
        number[order] = np.arange(len(order))
        low, high = (
            np.empty((len(order), len(self.trees)), np.int32),
            np.empty((len(order), len(self.trees)), np.int32),
        )
        for j, tree in enumerate(self.trees):
            low[:, j], high[:, j] = tree.low[self.nodes[j, order]], tree.high[self.nodes[j, order]]
        class_of = number[self.class_of] if self.count else self.class_of
        return Recoding(self.table, class_of, low, high, self.cuts)


@dataclass(frozen=True, eq=False)
class _RowOrder:
    """Row numbers by a column's codes, where each code starts, and how many rows are before it.

    `repeated` are the places of rows that count more than once, ascending, `beyond` how much more; both are
    empty where counts are looked up row by row.
    """

    rows: Codes
    start: Counts
    before: Counts
    repeated: Counts
    beyond: Counts

    @classmethod
    def of(cls, table: Microdata, name: str, repeated: int) -> _RowOrder:
        index = [c.name for c in table.columns].index(name)
        word, shift, bits = table.packing.places[index]
        leaves = len(table.columns[index].taxonomy.leaves)
        rows, start, before, places, beyond = splits.order_by_code(
            table.words[word], table.counts, shift, (1 << bits) - 1, leaves, repeated
        )
        ascending = np.argsort(places)
        return cls(rows, start, before, places[ascending], beyond[ascending])

    def add_repeated(self, sizes: Counts, part: Codes, first: int) -> None:
        """Adds what rows count beyond one to the sizes of parts; `part` begins with the row at `first`."""
        begin, end = np.searchsorted(self.repeated, (first, first + len(part)))
        np.add.at(sizes, part[self.repeated[begin:end] - first], self.beyond[begin:end])

"""Groups of a table's rows: what they hold, and the classes of cuts that get finer, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import rows as part_tally
from sfumato.kernels import rows as splits
from sfumato.models.contract import Cuts
from sfumato.table.classes import Classes, Histogram
from sfumato.table.cut import Cut
from sfumato.table.microdata import Codes, Counts, Microdata
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.taxonomy import Nodes, Taxonomy

# Groups of rows as classes: how many people, and what values, each holds.

CELLS_PER_ROW = 2
"""Parts are counted in one pass where all pairs of a part and a value are at most so many per row."""


class GroupCounter:
    """Turns groups of a table's rows into classes, as `Classes.of` would, in time linear in their rows."""

    def __init__(self, table: Microdata) -> None:
        self._table = table
        person = table.person
        self._person = np.zeros(0, np.int32) if person is None else person
        self._seen = np.full(int(self._person.max(initial=0)) + 1, -1, np.int64)
        self._stamp = 0
        self._codes = cache(table.codes)
        self._packed = cache(partial(_packed_column, table))
        self._packable = person is None and int(table.counts.max(initial=0)) < 1 << 31

    def classes(
        self,
        member: Codes,
        start: Counts,
        rows: Counts,
        sensitive: Sequence[str],
        overall: Mapping[str, Counts],
    ) -> Classes:
        """Returns classes; group g holds the distinct rows `member[start[g] : start[g+1]]`, `rows[g]` in all.

        `overall` says what the whole table holds of a sensitive column; by default what the groups hold.
        """
        people = rows
        if self._table.has_person:
            people = splits.distinct_per_group(member, start, self._person, self._seen, self._stamp)
            self._stamp += len(rows)
        histograms = {name: self._histogram(name, member, start, overall.get(name)) for name in sensitive}
        return Classes(people, rows, histograms)

    def counts_parts(self, parts: int, rows: int, sensitive: Sequence[str]) -> bool:
        """Whether `parts` counts so many parts of so many distinct rows in less time than `classes`."""
        values = max((self._values(name) for name in sensitive), default=0)
        return self._packable and parts * values <= CELLS_PER_ROW * rows

    def parts(
        self,
        order: Codes,
        first: int,
        part: Codes,
        rows: Counts,
        sensitive: Sequence[str],
        overall: Mapping[str, Counts],
    ) -> Classes:
        """Returns the parts as classes; distinct row `order[first + i]` is in part `part[i]`.

        Part q has `rows[q]` rows; `overall` as for `classes`.
        """
        histograms = {}
        for name in sensitive:
            tallies = part_tally.tally_parts(
                order, first, part, len(rows), self._packed(name), self._values(name)
            )
            histograms[name] = self._histogram_of(name, tallies, overall.get(name))
        return Classes(rows, rows, histograms)

    def _histogram(self, name: str, member: Codes, start: Counts, overall: Counts | None) -> Histogram:
        sizes = (self._values(name), len(self._seen))
        tallies = splits.tally_per_group(
            member, start, self._codes(name), self._table.counts, self._person, sizes
        )
        return self._histogram_of(name, tallies, overall)

    def _histogram_of(
        self, name: str, tallies: tuple[Counts, Codes, Counts], overall: Counts | None
    ) -> Histogram:
        begin, values, counts = tallies
        if overall is None:
            overall = np.zeros(self._values(name), np.int64)
            np.add.at(overall, values, counts)
        return Histogram(self._table.column(name).taxonomy, begin, values, counts, overall)

    def _values(self, name: str) -> int:
        """How many values a column can have."""
        return max(1, len(self._table.column(name).taxonomy.leaves))


def _packed_column(table: Microdata, name: str) -> Counts:
    """Returns the count of every distinct row, above 32 bits with its code in a column."""
    packed = table.counts << 32
    packed |= table.codes(name)
    return packed


# The rows of a table in the classes of a top-down search: found by column, counted, and moved by steps.

NO_COUNTS = np.zeros(0, dtype=np.int64)

MOST_REPEATED = 16
"""Where at most one in so many distinct rows occurs more than once, rows are counted, and those are added."""


@dataclass(frozen=True, eq=False)
class RowParts:
    """Some rows of a column's order, from `first` on: row number `first + i` of them is in part `part[i]`.

    Part q is of class `parent[q]`, lies in `branch[q]` and has `rows[q]` rows. What parts hold is `counted`
    once for all who ask.
    """

    column: int
    first: int
    part: Codes
    parent: Codes
    branch: Codes
    rows: Counts
    counted: dict[tuple[str, ...], Classes]


class ClassedRows:
    """The class of every distinct row, all of them in one at first.

    Refinements that have made the same steps share it. What only the table decides is shared by copies, too;
    parts are valid until another split is looked at, in whichever of them.
    """

    def __init__(self, rows: _SortedRows, class_of: Codes) -> None:
        self.class_of = class_of
        self._rows = rows
        self._moved: RowParts | None = None

    @classmethod
    def of(cls, table: Microdata) -> ClassedRows:
        return cls(_SortedRows(table), np.zeros(table.distinct, np.int32))

    def copy(self) -> ClassedRows:
        """Returns the same classes, for refinements that go another way from here."""
        return ClassedRows(self._rows, self.class_of.copy())

    @property
    def orders(self) -> Sequence[RowOrder]:
        """The rows in the order of each key column."""
        return self._rows.ordered

    def split(self, column: int, bounds: Counts) -> RowParts:
        """Returns the parts of classes below branches: branch b has the rows `bounds[b]` to `bounds[b+1]`."""
        rows, ordered = self._rows, self._rows.ordered[column]
        part = rows.part[: bounds[-1] - bounds[0]]
        parts = splits.split(
            ordered.rows, bounds, self.class_of, rows.weight, rows.slot, rows.stamp, part, *rows.found
        )
        rows.stamp += len(bounds) - 1
        parent, branch, sizes = rows.found
        ordered.add_repeated(sizes, part, int(bounds[0]))
        return RowParts(
            column,
            int(bounds[0]),
            part,
            parent[:parts].copy(),
            branch[:parts].copy(),
            sizes[:parts].copy(),
            {},
        )

    def below(self, parts: RowParts) -> Codes:
        """Returns the distinct rows of some parts, in the order of `part`."""
        return self._rows.ordered[parts.column].rows[parts.first : parts.first + len(parts.part)]

    def classes(self, parts: RowParts, sensitive: Sequence[str], overall: Mapping[str, Counts]) -> Classes:
        """Returns parts as classes to be judged."""
        key = tuple(sensitive)
        if key not in parts.counted:
            parts.counted[key] = self._rows.classes(parts, key, overall)
        return parts.counted[key]

    def everything(self, sensitive: Sequence[str]) -> Classes:
        """Returns the table as one class (no class if it is empty)."""
        return self._rows.everything(tuple(sensitive))

    def move(self, parts: RowParts, ids: Codes) -> None:
        """Moves every row to the class of its part, once, however many refinements ask for it."""
        if self._moved is not parts:
            splits.relabel(self._rows.ordered[parts.column].rows, parts.first, parts.part, ids, self.class_of)
            self._moved = parts


class _SortedRows:
    """What is made of a table once: its rows sorted by every key column, and room for parts."""

    def __init__(self, table: Microdata) -> None:
        self._table = table
        repeated = int(np.count_nonzero(table.counts > 1))
        few = repeated * MOST_REPEATED <= table.distinct
        self.ordered = [RowOrder.of(table, c.name, repeated if few else 0) for c in table.keys]
        self.weight = NO_COUNTS if few else table.counts
        self.slot = np.zeros(table.distinct, np.int64)
        self.stamp = 1
        self.part = np.empty(table.distinct, np.int32)
        self.found = (
            np.empty(table.distinct, np.int32),
            np.empty(table.distinct, np.int32),
            np.empty(table.distinct, np.int64),
        )
        self._counter = GroupCounter(table)
        self._whole: dict[tuple[str, ...], Classes] = {}

    def classes(self, parts: RowParts, sensitive: tuple[str, ...], overall: Mapping[str, Counts]) -> Classes:
        if not (self._table.has_person or sensitive):
            return Classes(parts.rows, parts.rows)
        order, part, sizes = self.ordered[parts.column].rows, parts.part, parts.rows
        if self._counter.counts_parts(len(sizes), len(part), sensitive):
            return self._counter.parts(order, parts.first, part, sizes, sensitive, overall)
        member, start = splits.rows_by_part(order, parts.first, part, len(sizes))
        return self._counter.classes(member, start, sizes, sensitive, overall)

    def everything(self, sensitive: tuple[str, ...]) -> Classes:
        if sensitive not in self._whole:
            count = min(1, self._table.distinct)
            rows = np.array([self._table.rows] * count, np.int64)
            member = np.arange(self._table.distinct, dtype=np.int32)
            start = np.array([0, len(member)][: count + 1], np.int64)
            counted = self._table.has_person or sensitive
            self._whole[sensitive] = (
                self._counter.classes(member, start, rows, sensitive, {}) if counted else Classes(rows, rows)
            )
        return self._whole[sensitive]


@dataclass(frozen=True, eq=False)
class RowOrder:
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
    def of(cls, table: Microdata, name: str, repeated: int) -> RowOrder:
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


# Classes under cuts: what a step would split, and what they are after it.

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

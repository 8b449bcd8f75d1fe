"""The releases of a chain on common trees, and the blocks in which two of them can hold the same people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import rows as splits
from sfumato.models.continuous import kernels as parts
from sfumato.models.contract import Cuts
from sfumato.system.errors import BadData, RefusedByHistory, UsageError
from sfumato.table.cut import Cut
from sfumato.table.keyed_hashes import leaf_marks, matching, numbered_together, tree_marks
from sfumato.table.microdata import (
    Codes,
    Counts,
    Microdata,
    Packing,
    Role,
    keys_written_twice,
    sort_and_count,
)
from sfumato.table.recoding import classes_under
from sfumato.table.release_summary import (
    Imprint,
    KeyImprint,
    grouped,
    in_key_order,
    in_order_of_newest,
    refuse_other_columns,
)
from sfumato.table.taxonomy import Label, Nodes, Taxonomy


@dataclass(frozen=True, eq=False)
class ClassTable:
    """The classes of one release, or the cells where several overlap, with the counts of each value.

    Entry e says that class `owner[e]` holds `counts[e]` rows with the matching value `values[e]`; entries are
    sorted by owner, then value. `node_of[j]` is the cut of key column j; class c shows `nodes[c, j]` there.
    """

    node_of: tuple[Nodes, ...]
    nodes: Codes
    owner: Codes
    values: Codes
    counts: Counts

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def start(self) -> NDArray[np.int64]:
        """Where the entries of each class begin, and the end of the last."""
        return np.searchsorted(self.owner, np.arange(len(self) + 1)).astype(np.int64)

    @property
    def sizes(self) -> Counts:
        sums = np.zeros(len(self), np.int64)
        np.add.at(sums, self.owner, self.counts)
        return sums


class PresentTrees:
    """The trees of a table, and what nodes and cuts of earlier releases are on them, each found once.

    `marks` are those of trees whose labels are not at hand.
    """

    def __init__(
        self, trees: Sequence[Taxonomy], marks: Sequence[NDArray[np.uint64] | None] | None = None
    ) -> None:
        self._trees = trees
        self._marks: list[NDArray[np.uint64] | None] = [None] * len(trees) if marks is None else list(marks)
        self._nodes: dict[tuple[int, str, bytes, bytes], Nodes] = {}
        self._cuts: dict[tuple[int, str, bytes, bytes, bytes], Nodes] = {}

    def place(self, imprint: Imprint, number: Codes) -> ClassTable:
        """An earlier release on these trees, whose columns are in their order.

        `number` says which matching value each of its groups has.
        """
        nodes, cuts = np.empty_like(imprint.nodes), []
        for j, key in enumerate(imprint.keys):
            node_now, cut = self._on_tree(j, key)
            cuts.append(cut)
            nodes[:, j] = node_now[imprint.nodes[:, j]]
        order = np.lexsort((number, imprint.owner))
        return ClassTable(tuple(cuts), nodes, imprint.owner[order], number[order], imprint.counts[order])

    def _on_tree(self, j: int, key: KeyImprint) -> tuple[Nodes, Nodes]:
        """What the nodes of an earlier tree of a column are now, and its cut."""
        tree, tree_key = self._trees[j], (j, key.digest, key.parent.tobytes(), key.marks.tobytes())
        if tree_key not in self._nodes:
            if self._marks[j] is None and key.digest != tree.digest:
                self._marks[j] = tree_marks(tree)
            self._nodes[tree_key] = key.onto(tree, self._marks[j])
        node_now, cut_key = self._nodes[tree_key], (*tree_key, key.cut.tobytes())
        if cut_key not in self._cuts:
            self._cuts[cut_key] = key.cut_on(tree, node_now).node_of
        return node_now, self._cuts[cut_key]


@dataclass(frozen=True, eq=False)
class Chain:
    """Cumulative releases, oldest first: each holds everybody that the one before held."""

    trees: tuple[Taxonomy, ...]
    releases: tuple[ClassTable, ...]
    values: int
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, imprints: Sequence[Imprint]) -> Chain:
        """The chain of these releases, on the newest one's trees; raises where they do not fit together."""
        if not imprints:
            raise UsageError("there is no release to look at", remedy="Give at least one.")
        imprints = in_order_of_newest(imprints)
        newest = imprints[-1]
        numbers, values = numbered_together([i.values for i in imprints])
        trees = tuple(k.tree for k in newest.keys)
        present = PresentTrees(trees, [k.marks for k in newest.keys])
        releases = [present.place(imprint, number) for imprint, number in zip(imprints, numbers, strict=True)]
        return cls(trees, tuple(releases), values, newest.names)

    def __len__(self) -> int:
        return len(self.releases)


class ReleaseIndex:
    """Finds the classes and entries of a release that cells of the same chain are part of."""

    def __init__(self, chain: Chain, release: ClassTable) -> None:
        self.release = release
        self._trees = chain.trees
        self._packing = Packing(tuple(len(t.labels) for t in chain.trees))
        packed = self._packing.pack(list(release.nodes.T)) if chain.trees else np.zeros((1, 1), np.int64)
        self._order = np.lexsort(packed[::-1])
        self._known = packed[:, self._order]
        self._values = max(1, chain.values)
        self._keys = release.owner.astype(np.int64) * self._values + release.values

    def classes(self, cells: ClassTable) -> Codes:
        """The class of the release that each cell is part of."""
        if not self._trees:
            return np.zeros(len(cells), np.int32)
        columns = zip(self._trees, self.release.node_of, cells.nodes.T, strict=True)
        release_nodes = [cut[tree.low[nodes]] for tree, cut, nodes in columns]
        return self._order[positions(self._known, self._packing.pack(release_nodes))].astype(np.int32)

    def entries(self, cells: ClassTable) -> NDArray[np.int64]:
        """For every entry of the cells, the entry of the release that it is part of."""
        number = self.classes(cells).astype(np.int64)
        return np.searchsorted(self._keys, number[cells.owner] * self._values + cells.values)


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks that two tables share: comparable classes have equal joins, so (join, value) is a block.

    `one` and `other` give the block of every entry of either table (-1 where the other one has none),
    `join_one` and `join_other` the join of every class.
    """

    one: Codes
    other: Codes
    join_one: Codes
    join_other: Codes
    count: int

    def surplus(self, earlier: ClassTable, later: ClassTable) -> Counts:
        """Rows of the later table less rows of the earlier one, per block of the later one's entries."""
        surplus = np.zeros(self.count, np.int64)
        np.add.at(surplus, self.other, later.counts)
        if np.any(self.one < 0):
            surplus[:] = -1
        else:
            np.subtract.at(surplus, self.one, earlier.counts)
        if np.any(surplus < 0):
            raise UsageError(
                "an earlier release holds people that a later one lacks",
                remedy="Give cumulative releases of one chain, oldest first.",
            )
        return surplus


def stacked(tables: Sequence[ClassTable]) -> ClassTable:
    """The classes of several tables with the same cuts as one table, in that order."""
    if len(tables) == 1:
        return tables[0]
    begin = np.cumsum([0, *(len(table) for table in tables)]).astype(np.int32)
    return ClassTable(
        tables[0].node_of,
        np.concatenate([table.nodes for table in tables]),
        np.concatenate([table.owner + first for table, first in zip(tables, begin, strict=False)]),
        np.concatenate([table.values for table in tables]),
        np.concatenate([table.counts for table in tables]),
    )


def numbered_apart(
    trees: Sequence[Taxonomy],
    left: tuple[ClassTable, NDArray[np.integer]],
    right: tuple[ClassTable, NDArray[np.integer]],
) -> tuple[Sequence[Taxonomy], ClassTable, ClassTable]:
    """Trees and tables with one more column, the number of each class: only classes of equal number match."""
    count = 1 + max(int(numbers.max(initial=0)) for _, numbers in (left, right))
    if count == 1:
        return trees, left[0], right[0]
    tree = Taxonomy.flat([str(n) for n in range(count)])
    leaf_of = tree.leaves.astype(np.int32)
    wider = []
    for table, numbers in (left, right):
        nodes = np.column_stack([table.nodes, leaf_of[numbers]]).astype(np.int32)
        wider.append(replace(table, node_of=(*table.node_of, leaf_of), nodes=nodes))
    return (*trees, tree), wider[0], wider[1]


def match_blocks(trees: Sequence[Taxonomy], left: ClassTable, right: ClassTable) -> Blocks:
    """The blocks that two tables share, by the join theorem: one sort of classes, one of entries."""
    joins_one, joins_other = [], []
    for tree, a, b, shown_a, shown_b in zip(
        trees, left.node_of, right.node_of, left.nodes.T, right.nodes.T, strict=True
    ):
        joined = np.where(tree.depth[a] <= tree.depth[b], a, b)
        of_node = np.zeros(len(tree.labels), np.int32)
        of_node[a] = joined
        joins_one.append(of_node[shown_a])
        of_node[b] = joined
        joins_other.append(of_node[shown_b])
    sizes = [len(tree.labels) for tree in trees]
    (join_one, join_other), joins = _number_together(sizes, joins_one, joins_other, len(left), len(right))
    values = int(max(left.values.max(initial=-1), right.values.max(initial=-1))) + 1
    pairs = Packing((max(1, joins), max(1, values)))
    mine, theirs = (
        pairs.pack([join_one[left.owner], left.values]),
        pairs.pack([join_other[right.owner], right.values]),
    )
    blocks, _ = sort_and_count(theirs.copy())
    return Blocks(positions(blocks, mine), positions(blocks, theirs), join_one, join_other, blocks.shape[1])


def _number_together(
    sizes: Sequence[int], left: list[Codes], right: list[Codes], rows_left: int, rows_right: int
) -> tuple[tuple[Codes, Codes], int]:
    """One numbering for the rows of two tables of small codes."""
    if not sizes:
        return (np.zeros(rows_left, np.int32), np.zeros(rows_right, np.int32)), 1
    packing = Packing(tuple(sizes))
    a, b = packing.pack(left), packing.pack(right)
    every, _ = sort_and_count(np.concatenate([a, b], axis=1))
    return (positions(every, a), positions(every, b)), every.shape[1]


def positions(distinct: NDArray[np.int64], keys: NDArray[np.int64]) -> Codes:
    """The position of each key among sorted distinct keys; -1 where it is not there."""
    if distinct.shape[1] == 0:
        return np.full(keys.shape[1], -1, np.int32)
    if len(distinct) == 1:
        at = np.minimum(np.searchsorted(distinct[0], keys[0]), distinct.shape[1] - 1)
        return np.where(distinct[0][at] == keys[0], at, -1).astype(np.int32)
    kind = np.dtype([(f"w{i}", np.int64) for i in range(len(distinct))])
    table = np.ascontiguousarray(distinct.T).view(kind).ravel()
    wanted = np.ascontiguousarray(keys.T).view(kind).ravel()
    at = np.minimum(np.searchsorted(table, wanted), len(table) - 1)
    return np.where(table[at] == wanted, at, -1).astype(np.int32)


# The detail of cuts: which are finer than others, and which releases show the same.


class Detail:
    """The different cuts of a chain, by number, and which of them are finer than others.

    What a node shows is the values below it: a node and its only child show the same.
    """

    def __init__(self, trees: Sequence[Taxonomy]) -> None:
        self._trees = trees
        self._numbers: dict[bytes, int] = {}
        self._widths: list[NDArray[np.int32]] = []
        self._known: dict[tuple[int, int], bool] = {}

    def number(self, node_of: Sequence[Nodes]) -> int:
        key = _key(node_of)
        if key not in self._numbers:
            self._numbers[key] = len(self._widths)
            widths = [tree.leaf_count[cut] for tree, cut in zip(self._trees, node_of, strict=True)]
            self._widths.append(np.concatenate([np.zeros(0, np.int32), *widths]))
        return self._numbers[key]

    def is_finer(self, fine: int, coarse: int) -> bool:
        """Whether every class of one cut is within a class of the other; the same cut is."""
        if (fine, coarse) not in self._known:
            self._known[fine, coarse] = bool(np.all(self._widths[fine] <= self._widths[coarse]))
        return self._known[fine, coarse]


def last_finer_release(chain: Chain) -> list[int]:
    """For every release the last one before it whose cuts are at least as fine; -1: none is.

    Whoever is in the finer one is counted there, and what they show in the later one follows from it.
    """
    fine = Detail(chain.trees)
    cut = [fine.number(release.node_of) for release in chain.releases]
    return [
        next((i for i in reversed(range(j)) if fine.is_finer(cut[i], cut[j])), -1) for j in range(len(chain))
    ]


def closing_releases(chain: Chain) -> list[int]:
    """The releases that close a chain, oldest first: none after them shows more than they do.

    Nobody who was in such a release is bound by a later one, and no later count tells anything of them. So
    the worlds of those who came until then, and of those who came after, have nothing to do with each other.
    """
    finer = last_finer_release(chain)
    closing, least = [], len(chain)
    for i in reversed(range(len(chain))):
        if least >= i:
            closing.append(i)
        least = min(least, finer[i])
    return closing[::-1]


def by_cut(releases: Sequence[ClassTable]) -> list[list[int]]:
    """The numbers of the releases that share their cuts, group by group, in the order of the first."""
    groups: dict[bytes, list[int]] = {}
    for i, release in enumerate(releases):
        groups.setdefault(_key(release.node_of), []).append(i)
    return list(groups.values())


def _key(node_of: Sequence[Nodes]) -> bytes:
    return b"".join(cut.tobytes() for cut in node_of)


# The history of a table: the earlier releases of its people, checked before anything is built on them.
#
# Each check refuses with its reason: rows that are old must be told by a declared column, of batches or of
# people, and reproduce what was published of them, to the last count; releases show the same columns, in
# whatever order, by the same trees; there is one record per person; no release is missing from the list;
# everything was recoded globally (an imprint of anything else cannot be made).

NEW_CHAIN = "or start a new chain with the people who were never published"


@dataclass(frozen=True, eq=False)
class History:
    """A table beside the releases of its earlier batches.

    `releases` are the earlier releases on the table's trees, oldest first; `time` says of every distinct row
    which of them it came with (their number, if it is new), `value` numbers its matching value as they do.
    """

    table: Microdata
    releases: tuple[ClassTable, ...]
    time: Codes
    value: Codes
    values: int

    @classmethod
    def of(
        cls, table: Microdata, earlier: Sequence[Imprint], since: str | None, *, person: bool = False
    ) -> History:
        """The history of a table beside these releases; raises where a precondition fails.

        The column `since` says which batch a row came with or, with `person`, who it is about.
        """
        refuse_several_rows(table)
        if since is not None:
            refuse_unnamed(table, since, person=person)
        refuse_gaps(earlier)
        unchanged, names = unchanged_columns(table), [column.name for column in table.keys]
        for i, imprint in enumerate(earlier):
            refuse_other_columns(names, unchanged, imprint, i)
        if earlier and earlier[-1].since != since:
            raise RefusedByHistory(
                "an earlier release was told by another column which rows are new",
                remedy=f"Keep the promise's `since`, {NEW_CHAIN}.",
            )
        refuse_erased(earlier)
        value = matching(table, unchanged)
        numbers, values = numbered_together([value.marks, *(i.values for i in earlier)])
        trees = PresentTrees([column.taxonomy for column in table.keys])
        named = zip(earlier, numbers[1:], strict=True)
        releases = tuple(trees.place(in_key_order(imprint, names), number) for imprint, number in named)
        time = came_with(table, earlier, since, person=person)
        history = cls(table, releases, time, numbers[0][value.ids], values)
        for same_cuts in by_cut(releases):
            history._reproduces(same_cuts)
        return history

    @property
    def new(self) -> int:
        """How many rows are new."""
        return int(self.table.counts[self.time == len(self.releases)].sum())

    def since(self, release: int) -> History:
        """The same from a release on, with whom everybody in it counts as having come."""
        time = np.maximum(self.time - release, 0).astype(np.int32)
        return replace(self, releases=self.releases[release:], time=time)

    def chain_with(self, *releases: ClassTable) -> Chain:
        """The chain of the earlier releases and these."""
        trees = tuple(column.taxonomy for column in self.table.keys)
        return Chain(trees, (*self.releases, *releases), self.values)

    def code_of_value(self, name: str) -> Codes:
        """The leaf rank in a column that is published unchanged, by the number of a matching value."""
        codes = np.zeros(max(1, self.values), np.int32)
        codes[self.value] = self.table.codes(name)
        return codes

    def _reproduces(self, same_cuts: Sequence[int]) -> None:
        """Refuse old rows that, recoded as in these releases, do not give every published group its count."""
        keys, cuts = self.table.keys, self.releases[same_cuts[0]].node_of
        packing = Packing((*(len(c.taxonomy.labels) for c in keys), self.values))
        nodes = [cut[self.table.codes(c.name)] for c, cut in zip(keys, cuts, strict=True)]
        packed = packing.pack([*nodes, self.value])
        groups, _ = sort_and_count(packed.copy())
        group, came = positions(groups, packed), np.searchsorted(same_cuts, self.time)
        order = np.argsort(came, kind="stable")
        ends = np.searchsorted(came[order], np.arange(1, len(same_cuts) + 1))
        now, begin = np.zeros(groups.shape[1], np.int64), 0
        for i, end in zip(same_cuts, ends.tolist(), strict=True):
            np.add.at(now, group[order[begin:end]], self.table.counts[order[begin:end]])
            begin, release = end, self.releases[i]
            then = positions(groups, packing.pack([*release.nodes[release.owner].T, release.values]))
            old = np.zeros(len(now) + 1, np.int64)
            np.add.at(old, then, release.counts)
            if old[-1] or not np.array_equal(now, old[:-1]):
                raise RefusedByHistory(
                    f"the old rows do not reproduce release {i + 1}: it holds {int(old.sum())} rows in"
                    f" {len(then)} groups, the same batches now give {int(now.sum())} rows in"
                    f" {int((now > 0).sum())} groups",
                    remedy="Old records must not change, go, or come back after they were suppressed, and new"
                    f" ones must be told apart by `since`. Restore them, {NEW_CHAIN}.",
                )


def unchanged_columns(table: Microdata) -> list[str]:
    """The names of the columns that are published as they are."""
    return [c.name for c in table.columns if not c.role.is_key and c.role is not Role.IDENTIFIER]


def refuse_several_rows(table: Microdata) -> None:
    """Refuse a table where somebody has several rows."""
    if table.has_person and table.people != table.rows:
        raise BadData(
            f"{table.rows} rows are about {table.people} people; in a chain everybody has one record",
            remedy="Bring each person's rows together in one.",
        )


def refuse_unnamed(table: Microdata, since: str, *, person: bool) -> None:
    """Refuse rows that do not say when they came, or who they are; and people with several rows."""
    codes, labels = table.codes(since), table.column(since).taxonomy.leaf_labels
    unsaid = int(table.counts[np.array([label is None for label in labels], bool)[codes]].sum())
    if unsaid:
        raise BadData(
            f"{unsaid} rows do not say {'who they are about' if person else 'which batch they came with'}",
            where=f"column {since}",
            remedy="Who is old is declared, never guessed: fill the column.",
        )
    rows = np.zeros(len(labels), np.int64)
    np.add.at(rows, codes, table.counts)
    if person and (several := int((rows > 1).sum())):
        raise BadData(
            f"{several} people have several rows; in a chain everybody has one record",
            where=f"column {since}",
            remedy="Bring each person's rows together in one.",
        )
    if person and (again := keys_written_twice(labels)):
        raise BadData(
            f"of the keys of people {again} differ from others in nothing but blanks around them or composed"
            " letters",
            where=f"column {since}",
            remedy="Write each key in one way: the same person would count as several.",
        )


def refuse_erased(earlier: Sequence[Imprint]) -> None:
    """Refuse a history from which somebody was erased: the table lacks people whom releases count."""
    for i, imprint in enumerate(earlier):
        if imprint.erased:
            people = "1 person was" if imprint.erased == 1 else f"{imprint.erased} people were"
            raise RefusedByHistory(
                f"{people} erased from release {i + 1}, and releases that somebody has left are not judged",
                remedy="Start a new chain with the people who were never published.",
            )


def refuse_gaps(earlier: Sequence[Imprint]) -> None:
    """Refuse a history with gaps: a release counts beside every one that it was itself made beside.

    Versions for several recipients are releases like any other.
    """
    digests: set[str] = set()
    for i, imprint in enumerate(earlier):
        if lacking := len(set(imprint.after) - digests):
            raise RefusedByHistory(
                f"release {i + 1} was made beside {len(imprint.after)} others, and {lacking} of them"
                " are not given",
                remedy="Give every earlier release, to whomever it went, oldest first.",
            )
        digests.add(imprint.digest)


def came_with(
    table: Microdata, earlier: Sequence[Imprint], since: str | None, *, person: bool = False
) -> Codes:
    """The release every distinct row came with; nobody is guessed to be old, and nobody has gone."""
    if since is None:
        return np.zeros(table.distinct, np.int32)
    marks = leaf_marks(table.column(since).taxonomy)
    (now, *then), count = numbered_together([marks, *(imprint.batches for imprint in earlier)])
    present = np.zeros(count, dtype=bool)
    present[now] = True
    first = np.full(count, len(earlier), np.int32)
    before: NDArray[np.bool_] | None = None
    for i in reversed(range(len(earlier))):
        if person and (gone := int((~present[then[i]]).sum())):
            raise RefusedByHistory(
                f"{gone} people of release {i + 1} are not in the table any more",
                where=f"column {since}",
                remedy=f"Somebody who was published stays: restore them, {NEW_CHAIN}.",
            )
        here = np.zeros(count, dtype=bool)
        here[then[i]] = True
        if before is not None and np.any(here & present & ~before):
            raise RefusedByHistory(
                f"release {i + 1} holds batches that release {i + 2} lacks: they are no chain",
                remedy="Give the releases of one chain, oldest first.",
            )
        first[here] = i
        before = here
    return first[now][table.codes(since)]


def release_under(history: History, cuts: Cuts) -> ClassTable:
    """The release that the table would be under these cuts, on the same trees and values as the earlier.

    Where nobody is, its cuts are as coarse as can be: what is published tells no more of them.
    """
    table = history.table
    class_of, nodes = classes_under(table, cuts)
    owner, values, counts = grouped(table, class_of, history.value, len(nodes), history.values)
    cut_nodes = [_as_shown(cuts[c.name], nodes[:, j]) for j, c in enumerate(table.keys)]
    return ClassTable(tuple(cut_nodes), nodes, owner, values, counts)


def _as_shown(cut: Cut, nodes: Codes) -> Nodes:
    """The coarsest cut that has these nodes of a cut."""
    tree = cut.taxonomy
    begins = np.zeros(len(tree.labels) + 1, np.int64)
    begins[np.unique(nodes) + 1] = 1
    before = np.cumsum(begins)
    nobody = before[tree.end] == before[:-1]
    top = np.arange(len(tree.labels), dtype=np.int32)
    while True:
        above = np.where(top > 0, tree.parent[top], 0)
        climbs = nobody[top] & (top > 0) & nobody[above]
        if not climbs.any():
            return top[cut.node_of]
        top = np.where(climbs, above, top).astype(np.int32)


# Blocks of rows that may stand for each other in two releases, followed while the later one is refined.
#
# Two classes of two releases can hold the same person only if, column by column, the more general of their
# two nodes is the same: the *join*. A block is a join together with a matching value. Specializing a node
# strictly above the earlier cut splits every block that shows it, child by child; specializing at or below
# that cut leaves every block as it is. So no index of comparable classes is needed, only a label per row.

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
        wanted = self._block[touched].astype(np.int64) * width + inside[self.earlier.owner[touched]]
        if len(keys):
            place = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
            self._block[touched] = np.where(keys[place] == wanted, now[place], -1)
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
    nodes = cuts[step.column][tree.low[step.node] : tree.high[step.node]]
    return bool(len(nodes)) and bool(tree.depth[nodes[0]] > tree.depth[step.node])


# The rows of people who are to be erased, told by batches: which earlier releases hold how many of them.


def rows_by_release(
    table: Microdata, earlier: Sequence[Imprint], keys: Sequence[str], *, person: str, since: str
) -> tuple[list[int], int]:
    """Returns how many rows each release holds of people with these keys, and how many of them there are.

    The table is whole: their rows are still in it, and nobody else's are missing. Raises `RefusedByHistory`
    where a release holds more or fewer rows than the table and those who were erased before give.
    """
    came = came_with(table, earlier, since)
    _refuse_missing(table, earlier, came)
    labels = {label: code for code, label in enumerate(table.column(person).taxonomy.leaf_labels)}
    codes = np.array([labels[key] for key in keys if key in labels], np.int64)
    wanted = np.isin(table.codes(person), codes)
    return _rows_in_each(came[wanted], table.counts[wanted], len(earlier)), len(codes)


def named_by_release(
    table: Microdata, earlier: Sequence[Imprint], rows: Sequence[tuple[Label, ...]], *, since: str
) -> list[int]:
    """Returns how many of some rows each release holds: of each the batch it came with.

    Raises as `rows_by_release` does.
    """
    came, column = came_with(table, earlier, since), table.column(since)
    _refuse_missing(table, earlier, came)
    of_batch = np.full(len(column.taxonomy.leaves), len(earlier), np.int32)
    of_batch[table.codes(since)] = came
    codes = np.array([column.taxonomy.rank(batch) for (batch,) in rows], np.int32)
    return _rows_in_each(of_batch[codes], np.ones(len(codes), np.int64), len(earlier))


def _rows_in_each(came: Codes, counts: Counts, releases: int) -> list[int]:
    """Returns how many rows each release holds: it holds all that came with it, and before it."""
    return [int(counts[came <= i].sum()) for i in range(releases)]


def _refuse_missing(table: Microdata, earlier: Sequence[Imprint], came: Codes) -> None:
    """Raises where a release holds more or fewer rows than the table and those who were erased give."""
    for i, (imprint, present) in enumerate(
        zip(earlier, _rows_in_each(came, table.counts, len(earlier)), strict=True)
    ):
        if present + imprint.erased != imprint.rows:
            raise RefusedByHistory(
                f"release {i + 1} holds {imprint.rows} rows, of which {imprint.erased} were erased, and the"
                f" table has {present} of them",
                remedy="Give the whole table: rows of whoever was erased before are deleted, all others are"
                " in it.",
            )

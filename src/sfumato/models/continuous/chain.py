"""The releases of a chain on common trees, and the blocks in which two of them can hold the same people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import WrongCall
from sfumato.core.imprint import Imprint, KeyImprint
from sfumato.core.marks import numbered_together, tree_marks
from sfumato.core.microdata import Codes, Counts
from sfumato.core.packing import Packing, sort_and_count
from sfumato.core.same_columns import in_order_of_newest
from sfumato.core.taxonomy import Nodes, Taxonomy


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
        shown, cuts = np.empty_like(imprint.nodes), []
        for j, key in enumerate(imprint.keys):
            node_now, cut = self._on_tree(j, key)
            cuts.append(cut)
            shown[:, j] = node_now[imprint.nodes[:, j]]
        order = np.lexsort((number, imprint.owner))
        return ClassTable(tuple(cuts), shown, imprint.owner[order], number[order], imprint.counts[order])

    def _on_tree(self, j: int, key: KeyImprint) -> tuple[Nodes, Nodes]:
        """What the nodes of an earlier tree of a column are now, and its cut."""
        tree, known = self._trees[j], (j, key.digest, key.parent.tobytes(), key.marks.tobytes())
        if known not in self._nodes:
            if self._marks[j] is None and key.digest != tree.digest:
                self._marks[j] = tree_marks(tree)
            self._nodes[known] = key.onto(tree, self._marks[j])
        node_now, same = self._nodes[known], (*known, key.cut.tobytes())
        if same not in self._cuts:
            self._cuts[same] = key.cut_on(tree, node_now).node_of
        return node_now, self._cuts[same]


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
            raise WrongCall("there is no release to look at", remedy="Give at least one.")
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
        shown = [cut[tree.low[nodes]] for tree, cut, nodes in columns]
        return self._order[positions(self._known, self._packing.pack(shown))].astype(np.int32)

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

    def surplus(self, one: ClassTable, other: ClassTable) -> Counts:
        """Rows of the later table less rows of the earlier one, per block of the later one's entries."""
        held = np.zeros(self.count, np.int64)
        np.add.at(held, self.other, other.counts)
        if np.any(self.one < 0):
            held[:] = -1
        else:
            np.subtract.at(held, self.one, one.counts)
        if np.any(held < 0):
            raise WrongCall(
                "an earlier release holds people that a later one lacks",
                remedy="Give cumulative releases of one chain, oldest first.",
            )
        return held


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
    one: tuple[ClassTable, NDArray[np.integer]],
    other: tuple[ClassTable, NDArray[np.integer]],
) -> tuple[Sequence[Taxonomy], ClassTable, ClassTable]:
    """Trees and tables with one more column, the number of each class: only classes of equal number match."""
    count = 1 + max(int(numbers.max(initial=0)) for _, numbers in (one, other))
    if count == 1:
        return trees, one[0], other[0]
    tree = Taxonomy.flat([str(n) for n in range(count)])
    leaf_of = tree.leaves.astype(np.int32)
    wider = []
    for table, numbers in (one, other):
        nodes = np.column_stack([table.nodes, leaf_of[numbers]]).astype(np.int32)
        wider.append(replace(table, node_of=(*table.node_of, leaf_of), nodes=nodes))
    return (*trees, tree), wider[0], wider[1]


def match_blocks(trees: Sequence[Taxonomy], one: ClassTable, other: ClassTable) -> Blocks:
    """The blocks that two tables share, by the join theorem: one sort of classes, one of entries."""
    joins_one, joins_other = [], []
    for tree, a, b, shown_a, shown_b in zip(
        trees, one.node_of, other.node_of, one.nodes.T, other.nodes.T, strict=True
    ):
        joined = np.where(tree.depth[a] <= tree.depth[b], a, b)
        of_node = np.zeros(len(tree.labels), np.int32)
        of_node[a] = joined
        joins_one.append(of_node[shown_a])
        of_node[b] = joined
        joins_other.append(of_node[shown_b])
    sizes = [len(tree.labels) for tree in trees]
    (join_one, join_other), joins = _number_together(sizes, joins_one, joins_other, len(one), len(other))
    values = int(max(one.values.max(initial=-1), other.values.max(initial=-1))) + 1
    pairs = Packing((max(1, joins), max(1, values)))
    mine, theirs = (
        pairs.pack([join_one[one.owner], one.values]),
        pairs.pack([join_other[other.owner], other.values]),
    )
    known, _ = sort_and_count(theirs.copy())
    return Blocks(positions(known, mine), positions(known, theirs), join_one, join_other, known.shape[1])


def _number_together(
    sizes: Sequence[int], one: list[Codes], other: list[Codes], rows_one: int, rows_other: int
) -> tuple[tuple[Codes, Codes], int]:
    """One numbering for the rows of two tables of small codes."""
    if not sizes:
        return (np.zeros(rows_one, np.int32), np.zeros(rows_other, np.int32)), 1
    packing = Packing(tuple(sizes))
    a, b = packing.pack(one), packing.pack(other)
    every, _ = sort_and_count(np.concatenate([a, b], axis=1))
    return (positions(every, a), positions(every, b)), every.shape[1]


def positions(known: NDArray[np.int64], keys: NDArray[np.int64]) -> Codes:
    """The position of each key among sorted distinct keys; -1 where it is not there."""
    if known.shape[1] == 0:
        return np.full(keys.shape[1], -1, np.int32)
    if len(known) == 1:
        at = np.minimum(np.searchsorted(known[0], keys[0]), known.shape[1] - 1)
        return np.where(known[0][at] == keys[0], at, -1).astype(np.int32)
    kind = np.dtype([(f"w{i}", np.int64) for i in range(len(known))])
    table = np.ascontiguousarray(known.T).view(kind).ravel()
    asked = np.ascontiguousarray(keys.T).view(kind).ravel()
    at = np.minimum(np.searchsorted(table, asked), len(table) - 1)
    return np.where(table[at] == asked, at, -1).astype(np.int32)

"""Releases of one chain, side by side: the same trees, the same numbers for the same values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import WrongCall
from sfumato.core.imprint import Imprint
from sfumato.core.marks import numbered_together
from sfumato.core.microdata import Codes, Counts
from sfumato.core.packing import Packing, sort_and_count
from sfumato.core.taxonomy import Nodes, Taxonomy


@dataclass(frozen=True, eq=False)
class Side:
    """Classes of one release, or cells of several: what they show, and the rows they hold of each value.

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


@dataclass(frozen=True, eq=False)
class Chain:
    """Cumulative releases, oldest first: each holds everybody that the one before held."""

    trees: tuple[Taxonomy, ...]
    releases: tuple[Side, ...]
    values: int
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, imprints: Sequence[Imprint]) -> Chain:
        """The newest release's trees serve for all; raises where the releases do not fit together."""
        if not imprints:
            raise WrongCall("there is no release to look at", remedy="Give at least one.")
        newest = imprints[-1]
        for earlier in imprints[:-1]:
            if earlier.names != newest.names or earlier.unchanged != newest.unchanged:
                raise WrongCall(
                    "the releases do not show the same columns",
                    remedy="Compare releases with the same key columns and the same unchanged columns.",
                )
        numbers, values = numbered_together([i.values for i in imprints])
        trees = tuple(k.tree for k in newest.keys)
        sides = []
        for imprint, number in zip(imprints, numbers, strict=True):
            shown, cuts = np.empty_like(imprint.nodes), []
            for j, key in enumerate(imprint.keys):
                found = key.onto(trees[j], newest.keys[j].marks)
                cuts.append(key.cut_on(trees[j], found).node_of)
                shown[:, j] = found[imprint.nodes[:, j]]
            order = np.lexsort((number, imprint.owner))
            sides.append(Side(tuple(cuts), shown, imprint.owner[order], number[order], imprint.counts[order]))
        return cls(trees, tuple(sides), values, newest.names)

    def __len__(self) -> int:
        return len(self.releases)


class Placed:
    """Finds where people of given leaves are in a release."""

    def __init__(self, chain: Chain, side: Side) -> None:
        self.side = side
        self._trees = chain.trees
        self._packing = Packing(tuple(len(t.labels) for t in chain.trees))
        packed = self._packing.pack(list(side.nodes.T)) if chain.trees else np.zeros((1, 1), np.int64)
        self._order = np.lexsort(packed[::-1])
        self._known = packed[:, self._order]
        self._values = max(1, chain.values)
        self._keys = side.owner.astype(np.int64) * self._values + side.values

    def classes(self, cells: Side) -> Codes:
        """The class of the release that each cell is part of."""
        if not self._trees:
            return np.zeros(len(cells), np.int32)
        columns = zip(self._trees, self.side.node_of, cells.nodes.T, strict=True)
        shown = [cut[tree.low[nodes]] for tree, cut, nodes in columns]
        return self._order[place(self._known, self._packing.pack(shown))].astype(np.int32)

    def entries(self, cells: Side) -> NDArray[np.int64]:
        """For every entry of cells the one of the release."""
        number = self.classes(cells).astype(np.int64)
        return np.searchsorted(self._keys, number[cells.owner] * self._values + cells.values)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Where two sides meet: comparable classes have equal joins, so each (join, value) is a complete block.

    `one` and `other` give the block of every entry of either side (-1 where the other side has none),
    `join_one` and `join_other` the component of every class.
    """

    one: Codes
    other: Codes
    join_one: Codes
    join_other: Codes
    count: int

    def surplus(self, one: Side, other: Side) -> Counts:
        """Rows of the other side less rows of this one, per block of the other side's entries."""
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


def side_by_side(sides: Sequence[Side]) -> Side:
    """The classes of several sides with the same cuts, one side after the other."""
    if len(sides) == 1:
        return sides[0]
    begin = np.cumsum([0, *(len(side) for side in sides)]).astype(np.int32)
    return Side(
        sides[0].node_of,
        np.concatenate([side.nodes for side in sides]),
        np.concatenate([side.owner + first for side, first in zip(sides, begin, strict=False)]),
        np.concatenate([side.values for side in sides]),
        np.concatenate([side.counts for side in sides]),
    )


def apart(
    trees: Sequence[Taxonomy], one: tuple[Side, NDArray[np.integer]], other: tuple[Side, NDArray[np.integer]]
) -> tuple[Sequence[Taxonomy], Side, Side]:
    """Two sides whose classes have a number: with one more column, so that only those of one number meet."""
    count = 1 + max(int(numbers.max(initial=0)) for _, numbers in (one, other))
    if count == 1:
        return trees, one[0], other[0]
    tree = Taxonomy.flat([str(n) for n in range(count)])
    leaf_of = tree.leaves.astype(np.int32)
    wider = []
    for side, numbers in (one, other):
        nodes = np.column_stack([side.nodes, leaf_of[numbers]]).astype(np.int32)
        wider.append(replace(side, node_of=(*side.node_of, leaf_of), nodes=nodes))
    return (*trees, tree), wider[0], wider[1]


def meet_of(trees: Sequence[Taxonomy], one: Side, other: Side) -> Blocks:
    """Match two sides by the join theorem: one sort of their classes, one of their entries."""
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
    (join_one, join_other), joins = _together(sizes, joins_one, joins_other, len(one), len(other))
    values = int(max(one.values.max(initial=-1), other.values.max(initial=-1))) + 1
    pairs = Packing((max(1, joins), max(1, values)))
    mine, theirs = (
        pairs.pack([join_one[one.owner], one.values]),
        pairs.pack([join_other[other.owner], other.values]),
    )
    known, _ = sort_and_count(theirs.copy())
    return Blocks(place(known, mine), place(known, theirs), join_one, join_other, known.shape[1])


def _together(
    sizes: Sequence[int], one: list[Codes], other: list[Codes], rows_one: int, rows_other: int
) -> tuple[tuple[Codes, Codes], int]:
    """One numbering for the rows of two tables of small codes."""
    if not sizes:
        return (np.zeros(rows_one, np.int32), np.zeros(rows_other, np.int32)), 1
    packing = Packing(tuple(sizes))
    a, b = packing.pack(one), packing.pack(other)
    every, _ = sort_and_count(np.concatenate([a, b], axis=1))
    return (place(every, a), place(every, b)), every.shape[1]


def place(known: NDArray[np.int64], keys: NDArray[np.int64]) -> Codes:
    """The number of each key among sorted distinct keys; -1 where it is not there."""
    if known.shape[1] == 0:
        return np.full(keys.shape[1], -1, np.int32)
    if len(known) == 1:
        place = np.minimum(np.searchsorted(known[0], keys[0]), known.shape[1] - 1)
        return np.where(known[0][place] == keys[0], place, -1).astype(np.int32)
    kind = np.dtype([(f"w{i}", np.int64) for i in range(len(known))])
    table = np.ascontiguousarray(known.T).view(kind).ravel()
    asked = np.ascontiguousarray(keys.T).view(kind).ravel()
    place = np.minimum(np.searchsorted(table, asked), len(table) - 1)
    return np.where(table[place] == asked, place, -1).astype(np.int32)

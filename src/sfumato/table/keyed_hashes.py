"""Marks: hashes by which values and tree nodes are told apart without being kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.table.microdata import Codes, Microdata, Packing, numbered_keys
from sfumato.table.taxonomy import Label, Taxonomy

Marks = NDArray[np.uint64]
"""128 bits per value, as two columns of 64."""

PAIRS_AT_ONCE = 1_000_000
"""Pairs of a label and a node that are compared at a time."""

_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
_SHIFT = np.uint64(29)
_LEAF_MARKS: WeakKeyDictionary[Taxonomy, Marks] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Matching:
    """The matching value of every distinct row: what it shows unchanged in every release.

    `ids` numbers the combinations of values that occur, `marks` tells them apart across tables. The values
    themselves are not kept.
    """

    ids: Codes
    marks: Marks


def matching(table: Microdata, names: Sequence[str]) -> Matching:
    """The matching value of every distinct row, over these columns.

    >>> from sfumato.table.microdata import Column, Role
    >>> column = Column("disease", Role.SENSITIVE, Taxonomy.flat(["flu", "TB"]))
    >>> table = Microdata.of_codes([column], [np.array([1, 0, 1])])
    >>> matching(table, ["disease"]).ids.tolist()
    [0, 1]
    """
    ordered = sorted(names)
    if not ordered:
        return Matching(np.zeros(table.distinct, np.int32), np.zeros((1, 2), np.uint64))
    packing = Packing(tuple(max(1, len(table.column(name).taxonomy.leaves)) for name in ordered))
    packed = packing.pack([table.codes(name) for name in ordered])
    ids, distinct = numbered_keys(packed)
    labels = [table.column(name).taxonomy.leaf_labels for name in ordered]
    codes = [packing.unpack(distinct, j) for j in range(len(ordered))]
    return Matching(ids, joined_marks(list(zip(labels, codes, strict=True)), distinct.shape[1]))


def joined_marks(columns: Sequence[tuple[Sequence[Label], Codes]], rows: int) -> Marks:
    """A mark per row for its values in some columns together, given as labels and the label of every row.

    The columns are in the order of their names, as in `matching`.
    """
    return marks_together([label_marks(labels)[codes] for labels, codes in columns], rows)


def marks_together(columns: Sequence[Marks], rows: int) -> Marks:
    """A mark per row for its values in some columns together, given as the marks of each."""
    marks = np.zeros((rows, 2), np.uint64)
    for own in columns:
        marks = _mixed(marks, own)
    return marks


def label_marks(labels: Sequence[Label]) -> Marks:
    """A mark per label; a missing cell has one of its own."""
    texts = [b"\0" if label is None else b"\1" + label.encode("utf-8", "surrogatepass") for label in labels]
    joined = b"".join(blake2b(text, digest_size=16).digest() for text in texts)
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64).reshape(-1, 2)


def leaf_marks(taxonomy: Taxonomy) -> Marks:
    """A mark per leaf; they are made once, for as long as the tree is there, and cannot be written to."""
    marks = _LEAF_MARKS.get(taxonomy)
    if marks is None:
        marks = label_marks(taxonomy.leaf_labels)
        marks.setflags(write=False)
        _LEAF_MARKS[taxonomy] = marks
    return marks


def tree_marks(taxonomy: Taxonomy) -> NDArray[np.uint64]:
    """A mark per node, of the labels on its path from the root."""
    own = label_marks(taxonomy.labels)[:, 0]
    marks = own.copy()
    order = np.argsort(taxonomy.depth, kind="stable")
    depth = taxonomy.depth[order]
    for level in range(1, int(depth.max(initial=0)) + 1):
        nodes = order[np.searchsorted(depth, level) : np.searchsorted(depth, level + 1)]
        above = marks[taxonomy.parent[nodes]]
        marks[nodes] = _mixed(np.stack([above, above], axis=1), np.stack([own[nodes]] * 2, axis=1))[:, 0]
    return marks


def nodes_named(
    labels: Sequence[Label], marks: NDArray[np.uint64], parent: NDArray[np.integer]
) -> tuple[Codes, Codes]:
    """Every (label, node) where a node of the marked tree has this label, sorted by label, then node.

    >>> tree = Taxonomy.grow(["*", "Viral", "Flu"], [-1, 0, 1])
    >>> [part.tolist() for part in nodes_named(["Flu", "TB", "*"], tree_marks(tree), tree.parent)]
    [[0, 2], [2, 0]]
    """
    own = label_marks(labels)[:, 0]
    order = np.argsort(marks, kind="stable").astype(np.int32)
    sorted_marks, above = marks[order], np.unique(parent[1:])
    which, nodes = [np.flatnonzero(own == marks[0])], [np.zeros(int((own == marks[0]).sum()), np.int32)]
    step = max(1, PAIRS_AT_ONCE // max(1, len(own)))
    for begin in range(0, len(above), step):
        parents = above[begin : begin + step]
        upper, lower = (x.ravel() for x in np.meshgrid(marks[parents], own, indexing="ij"))
        below = _mixed(np.stack([upper, upper], axis=1), np.stack([lower, lower], axis=1))[:, 0]
        place = np.minimum(np.searchsorted(sorted_marks, below), len(sorted_marks) - 1)
        hit = np.flatnonzero(sorted_marks[place] == below)
        which.append(hit % len(own))
        nodes.append(order[place[hit]])
    label, node = np.concatenate(which).astype(np.int32), np.concatenate(nodes)
    sort = np.lexsort((node, label))
    return label[sort], node[sort]


def numbered_together(marks: Sequence[Marks]) -> tuple[list[Codes], int]:
    """One numbering for the values of several tables: equal marks get equal numbers."""
    sizes = np.cumsum([0, *(len(m) for m in marks)])
    every = np.concatenate([*marks, np.zeros((0, 2), np.uint64)])
    order, fresh = order_of_marks(every)
    number = np.empty(len(every), np.int32)
    number[order] = np.cumsum(fresh) - 1
    parts = [number[a:b] for a, b in pairwise(sizes)]
    return parts, int(fresh.sum())


def order_of_marks(marks: Marks) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """An ascending order of marks, and which of them, in that order, differ from the one before.

    Marks whose first halves are equal nearly always are equal: then an order by the first halves is enough.
    """
    order = np.argsort(marks[:, 0])
    first, second = marks[order, 0], marks[order, 1]
    fresh = np.ones(len(marks), dtype=bool)
    fresh[1:] = first[1:] != first[:-1]
    if np.any(second[1:][~fresh[1:]] != second[:-1][~fresh[1:]]):
        order = np.lexsort((marks[:, 1], marks[:, 0]))
        fresh[1:] = np.any(marks[order[1:]] != marks[order[:-1]], axis=1)
    return order, fresh


class KnownMarks:
    """Marks in order, so that others can be looked up among them again and again."""

    def __init__(self, marks: Marks) -> None:
        self._known = marks[order_of_marks(marks)[0]]

    def hold(self, marks: Marks) -> NDArray[np.bool_]:
        """Per mark: whether it is among the known ones.

        Marks whose first halves are equal nearly always are equal; where the first one met is another, all
        with this half are looked at.
        """
        sorted_marks = self._known
        if not len(marks) or not len(sorted_marks):
            return np.zeros(len(marks), dtype=bool)
        nearest = sorted_marks[
            np.minimum(np.searchsorted(sorted_marks[:, 0], marks[:, 0]), len(sorted_marks) - 1)
        ]
        alike_first = nearest[:, 0] == marks[:, 0]
        is_known: NDArray[np.bool_] = alike_first & (nearest[:, 1] == marks[:, 1])
        if len(doubtful := np.flatnonzero(alike_first & ~is_known)):
            alike = {
                tuple(mark) for mark in sorted_marks[np.isin(sorted_marks[:, 0], marks[doubtful, 0])].tolist()
            }
            is_known[doubtful] = [tuple(mark) in alike for mark in marks[doubtful].tolist()]
        return is_known


def are_known(marks: Marks, among: Marks) -> NDArray[np.bool_]:
    """Per mark: whether it is among the known ones.

    >>> are_known(label_marks(["a", "b"]), label_marks(["b", "c"])).tolist()
    [False, True]
    """
    return KnownMarks(among).hold(marks)


def _mixed(marks: Marks, more: Marks) -> Marks:
    """Two marks become one; their order counts."""
    mixed = (marks + _ODD) * (more | np.uint64(1)) + more
    mixed ^= mixed >> _SHIFT
    mixed *= _ODD
    result: Marks = mixed ^ (mixed >> _SHIFT)
    return result

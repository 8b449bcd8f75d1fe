"""What is remembered of a release, read from its document: classes, counts, and trees known by marks."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData, RefusedByHistory, UsageError
from sfumato.verify.trees import Text

# Marks, as imprints hold them: 128 bits tell values apart and 64 tell nodes apart, without the texts.
#
# This is the format of what a ledger keeps, written down a second time.

Marks = NDArray[np.uint64]
"""Two columns of 64 bits per value."""

ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
SHIFT = np.uint64(29)


def text_marks(texts: Sequence[Text]) -> Marks:
    """Returns the mark of every text: BLAKE2b of a byte 1 and the text; of a byte 0 where there is none."""
    digests = (
        blake2b(b"\0" if text is None else b"\1" + text.encode("utf-8", "surrogatepass"), digest_size=16)
        for text in texts
    )
    joined = b"".join(digest.digest() for digest in digests)
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64).reshape(-1, 2)


def in_order(marks: Marks) -> NDArray[np.intp]:
    """Returns an ascending order of marks; equal ones are side by side."""
    order = np.argsort(marks[:, 0])
    head, tail = marks[order, 0], marks[order, 1]
    if np.any((head[1:] == head[:-1]) & (tail[1:] != tail[:-1])):  # rare: half of two marks is the same
        return np.lexsort((marks[:, 1], marks[:, 0]))
    return order


def mixed(marks: Marks, more: Marks) -> Marks:
    """Returns one mark of two; their order counts. Sums and products are taken modulo 2**64.

    >>> one, two = text_marks(["a"]), text_marks(["b"])
    >>> bool((mixed(one, two) == mixed(two, one)).all())
    False
    """
    folded = (marks + ODD) * (more | np.uint64(1)) + more
    folded = (folded ^ (folded >> SHIFT)) * ODD
    return folded ^ (folded >> SHIFT)


def tuple_marks(columns: Sequence[Marks], count: int) -> Marks:
    """Returns the mark of every row of some columns, mixed from nothing on, column by column."""
    marks = np.zeros((1 if not columns else count, 2), np.uint64)
    for column in columns:
        marks = mixed(marks, column)
    return marks if columns else np.zeros((count, 2), np.uint64)


def child_marks(above: NDArray[np.uint64], texts: Sequence[Text]) -> NDArray[np.uint64]:
    """Returns the mark of a node with each of these labels (columns) below each of these nodes (rows)."""
    own = text_marks(texts)[:, 0]
    left = np.repeat(above, len(own))
    right = np.tile(own, len(above))
    both = mixed(np.stack([left, left], axis=1), np.stack([right, right], axis=1))
    return both[:, 0].reshape(len(above), len(own))


Numbers = NDArray[np.int64]

VERSION = 1
TREES = 8
"""So many trees are remembered, those that were read last."""


@dataclass(frozen=True, eq=False)
class MarkedTree:
    """The tree of one key column: node v, known by `marks[v]`, covers the leaves `low[v]` to `high[v] - 1`.

    Nodes are numbered parents first, and those below a node come right after it. `cut` are the nodes that the
    release shows.
    """

    name: str
    marks: NDArray[np.uint64]
    parent: Numbers
    low: Numbers
    high: Numbers
    cut: Numbers

    @classmethod
    def of(cls, words: Mapping[str, Any]) -> MarkedTree:
        parent, marks, low, high = _laid_out(words["parent"], words["marks"])
        cut = unpacked(words["cut"], "<i4").astype(np.int64)
        if np.any((cut < 0) | (cut >= len(parent))):
            raise ValueError
        return cls(str(words["name"]), marks, parent, low, high, cut)

    @property
    def leaves(self) -> int:
        return int(self.high[0])

    def onto(self, newer: MarkedTree) -> Numbers:
        """Returns the node of a newer tree that each node is now; trees only grow, and only below groups."""
        order = np.argsort(newer.marks)
        sorted_marks = newer.marks[order]
        place = np.minimum(np.searchsorted(sorted_marks, self.marks), len(sorted_marks) - 1)
        node_now = np.where(sorted_marks[place] == self.marks, order[place], -1)
        was_leaf = np.ones(len(self.parent), dtype=bool)
        was_leaf[self.parent[1:]] = False
        lost = (
            np.any(node_now < 0)
            or np.any(sorted_marks[1:] == sorted_marks[:-1])
            or len(np.unique(node_now)) < len(node_now)
        )
        is_group = np.zeros(len(newer.parent), dtype=bool)
        is_group[newer.parent[1:]] = True
        if lost or np.any(is_group[node_now[was_leaf]]):
            raise RefusedByHistory(
                f"the taxonomy of {self.name} has changed since an earlier release",
                remedy="Keep the tree: it may only grow below existing nodes. Or start a new chain.",
            )
        return node_now


@lru_cache(maxsize=TREES)
def _laid_out(parent_text: str, marks_text: str) -> tuple[Numbers, NDArray[np.uint64], Numbers, Numbers]:
    """Returns the parents, the marks, and the first and last leaf of all nodes of a tree, from its texts.

    Most releases of a chain have the same trees: each is read once, and nobody may write to it.
    """
    parent = unpacked(parent_text, "<i4").astype(np.int64)
    marks = unpacked(marks_text, "<u8").astype(np.uint64)
    numbers = np.arange(len(parent))
    if not len(parent) or len(marks) != len(parent) or parent[0] != -1 or np.any(parent[1:] < 0):
        raise ValueError
    if np.any(parent[1:] >= numbers[1:]):
        raise ValueError
    end = _ends(parent)
    before = np.concatenate(([0], np.cumsum(end == numbers + 1)))
    arrays = parent, marks, before[numbers], before[end]
    for array in arrays:
        array.setflags(write=False)
    return arrays


def _ends(parent: Numbers) -> Numbers:
    """Returns, for every node, the number after the last one below it; parents are numbered first."""
    above, end = parent.tolist(), list(range(1, len(parent) + 1))
    for node in range(len(end) - 1, 0, -1):
        end[above[node]] = max(end[above[node]], end[node])
    return np.array(end)


@dataclass(frozen=True, eq=False)
class RememberedRelease:
    """Class c shows the node `nodes[c, j]` of key column j; entry e says that it is class `owner[e]` of which
    `counts[e]` rows have the matching value with the mark `values[e]`."""

    trees: tuple[MarkedTree, ...]
    unchanged: tuple[str, ...]
    nodes: Numbers
    owner: Numbers
    values: Marks
    counts: Numbers

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> RememberedRelease:
        """Returns what a document says; raises `BadData` where that is not whole."""
        try:
            if document["sfumato-imprint"] != VERSION:
                raise ValueError
            trees = tuple(MarkedTree.of(words) for words in document["keys"])
            nodes = unpacked(document["nodes"], "<i4").astype(np.int64)
            shape = nodes.reshape(-1, len(trees)) if trees else nodes.reshape(min(1, document["rows"]), 0)
            release = cls(
                trees,
                tuple(map(str, document["unchanged"])),
                shape,
                unpacked(document["owner"], "<i4").astype(np.int64),
                unpacked(document["values"], "<u8").astype(np.uint64).reshape(-1, 2),
                unpacked(document["counts"], "<i8").astype(np.int64),
            )
            if not release._is_whole() or int(release.counts.sum()) != document["rows"]:
                raise ValueError
        except (KeyError, TypeError, ValueError, IndexError, zlib.error, binascii.Error):
            release = None
        if release is None:
            raise BadData("the imprint of a release is damaged", remedy="Restore it from a backup.")
        return release

    @property
    def names(self) -> tuple[str, ...]:
        """The key columns."""
        return tuple(tree.name for tree in self.trees)

    def shows_columns_of(self, release: RememberedRelease) -> bool:
        """Tells whether both show the same columns in the same roles, in whatever order."""
        mine, theirs = ((sorted(side.names), sorted(side.unchanged)) for side in (self, release))
        return mine == theirs

    def in_key_order(self, names: Sequence[str]) -> RememberedRelease:
        """Returns the same release with its key columns, which these are, in this order."""
        if self.names == tuple(names):
            return self
        order = [self.names.index(name) for name in names]
        return replace(self, trees=tuple(self.trees[j] for j in order), nodes=self.nodes[:, order])

    def _is_whole(self) -> bool:
        entries = len(self.owner) == len(self.values) == len(self.counts)
        within = entries and bool(np.all((self.owner >= 0) & (self.owner < len(self.nodes))))
        in_cuts = all(np.isin(self.nodes[:, j], tree.cut).all() for j, tree in enumerate(self.trees))
        return within and in_cuts and bool(np.all(self.counts > 0))


@dataclass(frozen=True, eq=False)
class ReleaseTable:
    """A release on the newest trees: class c covers the leaves `low[c, j]` to `high[c, j] - 1` of column j.

    Entries are sorted by class, then value; equal values have equal numbers in all releases. `cut[j]` are the
    ranges of leaves, ascending, that column j shows.
    """

    low: Numbers
    high: Numbers
    owner: Numbers
    value: Numbers
    count: Numbers
    cut: tuple[tuple[Numbers, Numbers], ...]

    def __len__(self) -> int:
        return len(self.low)

    @property
    def key(self) -> bytes:
        """The same for releases with the same cut."""
        return b"".join(side.tobytes() for pair in self.cut for side in pair)

    def is_finer(self, table: ReleaseTable) -> bool:
        """Tells whether all that this release shows lies within something that the other one shows."""
        return all(
            bool(np.all(covering(theirs, mine[0], mine[1]) >= 0))
            for mine, theirs in zip(self.cut, table.cut, strict=True)
        )


def covering(ranges: tuple[Numbers, Numbers], low: Numbers, high: Numbers) -> Numbers:
    """Returns which of some ranges, ascending and apart, holds each of these; -1 where none does."""
    if not len(ranges[0]):
        return np.full(len(low), -1, np.int64)
    place = np.searchsorted(ranges[0], low, side="right") - 1
    inside = (place >= 0) & (ranges[1][place] >= high)
    return np.where(inside, place, -1)


def in_order_of_newest(releases: Sequence[RememberedRelease]) -> list[RememberedRelease]:
    """Returns releases with their columns in the order of the newest; raises where columns differ."""
    if not all(release.shows_columns_of(releases[-1]) for release in releases):
        raise RefusedByHistory(
            "the releases do not show the same columns",
            remedy="Compare releases with the same key columns and the same unchanged columns.",
        )
    return [release.in_key_order(releases[-1].names) for release in releases]


def on_newest_trees(releases: Sequence[RememberedRelease]) -> list[ReleaseTable]:
    """Returns releases side by side, oldest first; raises where they do not show the same columns.

    Their columns are in the order of the newest.
    """
    if not releases:
        raise UsageError("there is no release to look at", remedy="Give at least one.")
    releases = in_order_of_newest(releases)
    newest = releases[-1]
    every = np.concatenate([release.values for release in releases])
    _, number = np.unique(every, axis=0, return_inverse=True)
    ends = np.cumsum([len(release.values) for release in releases])
    numbers = np.split(number.ravel().astype(np.int64), ends[:-1])
    return [_placed(release, newest, values) for release, values in zip(releases, numbers, strict=True)]


def _placed(release: RememberedRelease, newest: RememberedRelease, value: Numbers) -> ReleaseTable:
    low, high = np.zeros_like(release.nodes), np.zeros_like(release.nodes)
    cuts = []
    for j, (old, new) in enumerate(zip(release.trees, newest.trees, strict=True)):
        now = np.arange(len(old.parent)) if old is new else old.onto(new)
        low[:, j], high[:, j] = new.low[now[release.nodes[:, j]]], new.high[now[release.nodes[:, j]]]
        ranges = np.unique(np.stack([new.low[now[old.cut]], new.high[now[old.cut]]]), axis=1)
        if np.any(ranges[1, :-1] > ranges[0, 1:]):
            raise BadData(f"{old.name} shows values and groups they belong to: that is no global recoding")
        cuts.append((ranges[0], ranges[1]))
    order = np.lexsort((value, release.owner))
    return ReleaseTable(low, high, release.owner[order], value[order], release.counts[order], tuple(cuts))


def unpacked(text: str, kind: str) -> NDArray[Any]:
    """Returns an array that a document holds as text: little end first, compressed, in base 64."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text, validate=True)), dtype=kind)

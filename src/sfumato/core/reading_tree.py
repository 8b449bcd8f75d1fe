"""Reading trees: what a ledger keeps of taxonomies, to read published texts as nodes without their values."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import packed, unpacked
from sfumato.core.errors import BadData
from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import ROOT, Label, Nodes, Taxonomy

VERSION = 1
UNKNOWN = -1
"""The node of a text that no node carries."""

NO_LEVEL = -1

_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{0,12})?(e[+-]?[0-9]{1,2})?")
_DASHES = re.compile(r"[‐-―−]")
_MIDNIGHT = re.compile(r"(?<=[0-9]{4}-[0-9]{2}-[0-9]{2})t?00:00(:00(\.0*)?)?")
_BLANKS = frozenset(["", "na", "n/a", "nan", "nat", "null", "none", "-", "?", "."])


@dataclass(frozen=True, eq=False)
class ReadingTree:
    """The tree of one key column as a ledger keeps it: its shape, levels, and a mark of every node's text.

    With it a cell that turns up somewhere is read as a node; without the policy, and without knowing any
    value beforehand. `level[v]` is the coarsest level of full-domain recoding that holds node v.

    >>> tree = Taxonomy.grow(["*", "30-39", "34", "37", "40"], [-1, 0, 1, 1, 0])
    >>> ReadingTree.of("age", tree).read(["34.0 ", "30–39", None, "*", "41"]).tolist()
    [2, 1, 0, 0, -1]
    """

    name: str
    digest: str
    parent: Nodes
    level: Nodes
    marks: NDArray[np.uint64]

    @classmethod
    def of(cls, name: str, taxonomy: Taxonomy) -> ReadingTree:
        level = np.full(len(taxonomy.labels), NO_LEVEL, np.int32)
        for i, nodes in enumerate(taxonomy.levels):
            level[nodes] = i
        return cls(name, taxonomy.digest, taxonomy.parent, level, _node_marks(taxonomy.labels))

    @cached_property
    def shape(self) -> Taxonomy:
        """The tree with numbers for labels."""
        return Taxonomy.grow([str(v) for v in range(len(self.parent))], self.parent)

    @property
    def height(self) -> int:
        """The number of the last level, at which everything is the root."""
        return int(self.level[ROOT])

    def read(self, texts: Sequence[Label]) -> Nodes:
        """The node that each text stands for, UNKNOWN if it is none of the tree's.

        Where several nodes carry a text, it is the lowest node that covers all of them: of a chain the
        coarsest, so that nobody is taken to have known more than the text shows. A missing cell, or one that
        was starred out, says nothing: it is the root.
        """
        nodes = self.read_marks(text_marks(texts))
        for i in np.flatnonzero(nodes == UNKNOWN).tolist():
            if _is_blank(texts[i]):
                nodes[i] = ROOT
        nodes[[i for i, text in enumerate(texts) if text is None]] = ROOT
        return nodes

    def read_marks(self, wanted: NDArray[np.uint64]) -> Nodes:
        """The same for texts of which only the marks are known."""
        marks, nodes = self._node_of_mark
        place = np.minimum(np.searchsorted(marks, wanted), len(marks) - 1)
        return np.where(marks[place] == wanted, nodes[place], UNKNOWN).astype(np.int32)

    @cached_property
    def _node_of_mark(self) -> tuple[NDArray[np.uint64], Nodes]:
        """The marks, ascending, and the node that each is read as."""
        marks, first, size = np.unique(self.marks, return_index=True, return_counts=True)
        nodes = first.astype(np.int32)
        shape = self.shape
        for i in np.flatnonzero(size > 1).tolist():
            same = np.flatnonzero(self.marks == marks[i])
            top = int(same.min())
            while shape.end[top] <= same.max():
                top = int(shape.parent[top])
            nodes[i] = top
        return marks, nodes

    @cached_property
    def _cuts(self) -> dict[tuple[int, ...], tuple[Nodes, NDArray[np.bool_]]]:
        """By cut: the node of every leaf, and which nodes it tells."""
        return {}

    def _cut_arrays(self, cut: Sequence[int] | Nodes) -> tuple[Nodes, NDArray[np.bool_]]:
        place = tuple(cut.tolist() if isinstance(cut, np.ndarray) else cut)
        if place not in self._cuts:
            node_of = self._node_of(place)
            held = node_of[self.shape.low]
            own = np.arange(len(self.parent))
            self._cuts[place] = node_of, (own <= held) & (held < self.shape.end)
        return self._cuts[place]

    def node_of(self, cut: Sequence[int] | Nodes) -> Nodes:
        """The node that every leaf becomes under a cut, given by its nodes; raises where that is no cut."""
        return self._cut_arrays(cut)[0]

    def _node_of(self, cut: Sequence[int]) -> Nodes:
        nodes = np.sort(np.asarray(cut, dtype=np.int32))
        shape = self.shape
        if not len(nodes) or nodes[0] < 0 or nodes[-1] >= len(self.parent):
            raise _damaged()
        edges = np.append(shape.low[nodes], len(shape.leaves))
        if edges[0] != 0 or not np.array_equal(shape.high[nodes], edges[1:]):
            raise _damaged()
        return np.repeat(nodes, shape.leaf_count[nodes]).astype(np.int32)

    def knows(self, cut: Sequence[int] | Nodes) -> NDArray[np.bool_]:
        """Per node: whether somebody whose version has this cut can tell it, that is, holds it or finer ones.

        >>> tree = ReadingTree.of("age", Taxonomy.grow(["*", "30-39", "34", "37", "40"], [-1, 0, 1, 1, 0]))
        >>> tree.knows([1, 4]).tolist()
        [True, True, False, False, True]
        """
        return self._cut_arrays(cut)[1]

    def level_nodes(self, level: int) -> Nodes:
        """The nodes of a level of full-domain recoding."""
        node = self.shape.leaves.copy()
        for _ in range(int(self.shape.depth.max(initial=0))):
            low = self.level[node] < level
            node[low] = self.parent[node[low]]
        return np.unique(node)

    def level_of(self, cut: Sequence[int] | Nodes) -> int | None:
        """The level that a cut is (of several equal ones the coarsest); `None` if it is none."""
        nodes = np.asarray(cut, dtype=np.int32)
        level = int(self.level[nodes].min())
        same = level != NO_LEVEL and np.array_equal(np.sort(nodes), self.level_nodes(level))
        return level if same else None

    def as_dict(self) -> dict[str, str]:
        return {
            "name": self.name,
            "taxonomy": self.digest,
            "parent": packed(self.parent),
            "level": packed(self.level),
            "marks": packed(self.marks),
        }

    @classmethod
    def from_dict(cls, words: JsonMapping) -> ReadingTree:
        """From its JSON form; raises `BadData` where that is not whole."""
        try:
            made = cls(
                str(words["name"]),
                str(words["taxonomy"]),
                unpacked(words["parent"], np.int32),
                unpacked(words["level"], np.int32),
                unpacked(words["marks"], np.uint64),
            )
        except (KeyError, TypeError, ValueError):
            raise _damaged() from None
        if not len(made.parent) or not len(made.parent) == len(made.level) == len(made.marks):
            raise _damaged()
        return made

    def __repr__(self) -> str:
        return f"ReadingTree({self.name!r}, {len(self.parent)} nodes)"


def reading_trees(recoding: Recoding, *, known: Iterable[str] = ()) -> JsonObject:
    """The document that a ledger keeps of the key columns of a release, so that a leak of it can be traced.

    Trees whose digests are `known`, because an earlier entry holds them, are only named.
    """
    there = frozenset(known)
    return {
        "sfumato-trees": VERSION,
        "columns": [
            {"name": column.name, "taxonomy": column.taxonomy.digest}
            if column.taxonomy.digest in there
            else ReadingTree.of(column.name, column.taxonomy).as_dict()
            for column in recoding.table.keys
        ],
    }


def trees_in(documents: Iterable[JsonMapping]) -> dict[str, ReadingTree]:
    """The trees that such documents hold, by digest; each is read once. Columns may have the same tree."""
    trees: dict[str, ReadingTree] = {}
    for document in documents:
        if document and document.get("sfumato-trees") != VERSION:
            raise BadData("the trees of a release are of another version", remedy="Use what wrote them.")
        for words in document.get("columns", ()):
            digest = str(words.get("taxonomy"))
            if "marks" in words and digest not in trees:
                trees[digest] = ReadingTree.from_dict(words)
    return trees


def text_marks(texts: Sequence[Label]) -> NDArray[np.uint64]:
    """64 bits of each text as it is `folded`; a missing cell has bits of its own."""
    joined = b"".join(blake2b(_bytes(text), digest_size=8).digest() for text in texts)
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64)


def _node_marks(labels: Sequence[Label]) -> NDArray[np.uint64]:
    """The marks of nodes by their texts."""
    joined = b"".join(blake2b(_bytes(label), digest_size=8).digest() for label in labels)
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64)


def folded(text: str) -> str:
    """A text without what changes when a table is saved, typed or copied again.

    >>> [folded(text) for text in ("34.0 ", "034", "3.4E1", "New  York", "30 – 39", "1970-03-18 00:00:00")]
    ['34', '34', '34', 'newyork', '30-39', '1970-03-18']
    """
    plain = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    plain = _DASHES.sub("-", plain)
    if _NUMBER.fullmatch(plain):
        number = Decimal(plain).normalize()
        return format(number or abs(number), "f")
    return _MIDNIGHT.sub("", plain)


def _bytes(text: Label) -> bytes:
    return b"\0" if text is None else b"\1" + folded(text).encode("utf-8", "surrogatepass")


def _is_blank(text: Label) -> bool:
    if text is None:
        return True
    plain = folded(text)
    return plain in _BLANKS or not plain.strip("*")


def _damaged() -> BadData:
    return BadData("the trees of a release are damaged", remedy="Run `sfumato ledger verify`.")

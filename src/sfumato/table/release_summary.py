"""An imprint: everything that later checks need of a release, and not one row of it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData, RefusedByHistory, UsageError
from sfumato.system.json_object import JsonMapping, JsonObject, read_json
from sfumato.table.arrays import packed, unpacked
from sfumato.table.cut import Cut
from sfumato.table.keyed_hashes import Marks, are_known, leaf_marks, matching, tree_marks
from sfumato.table.microdata import Codes, Counts, Microdata, Packing, sort_and_count
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import ROOT, Label, Nodes, Taxonomy

# Reading trees: what a ledger keeps of taxonomies, to read published texts as nodes without their values.

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
        return cls(name, taxonomy.digest, taxonomy.parent, level, text_marks(taxonomy.labels))

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
            alike = np.flatnonzero(self.marks == marks[i])
            top = int(alike.min())
            while shape.end[top] <= alike.max():
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
            cut_node = node_of[self.shape.low]
            own = np.arange(len(self.parent))
            self._cuts[place] = node_of, (own <= cut_node) & (cut_node < self.shape.end)
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
        is_level = level != NO_LEVEL and np.array_equal(np.sort(nodes), self.level_nodes(level))
        return level if is_level else None

    def as_dict(self) -> dict[str, str]:
        return {
            "name": self.name,
            "taxonomy": self.digest,
            **_packed_parts(self, "parent", "level", "marks"),
        }

    @classmethod
    def from_dict(cls, words: JsonMapping) -> ReadingTree:
        """From its JSON form; raises `BadData` where that is not whole."""
        try:
            tree = cls(
                str(words["name"]),
                str(words["taxonomy"]),
                unpacked(words["parent"], np.int32),
                unpacked(words["level"], np.int32),
                unpacked(words["marks"], np.uint64),
            )
        except (KeyError, TypeError, ValueError):
            raise _damaged() from None
        if not len(tree.parent) or not len(tree.parent) == len(tree.level) == len(tree.marks):
            raise _damaged()
        return tree

    def __repr__(self) -> str:
        return f"ReadingTree({self.name!r}, {len(self.parent)} nodes)"


POOL = "drawn_from"
"""Beside the trees of a release: column by column, the levels of all patterns that it was drawn from."""


def reading_trees(recoding: Recoding, *, stored: Iterable[str] = ()) -> JsonObject:
    """The document that a ledger keeps of the key columns of a release, so that a leak of it can be traced.

    Trees whose digests are `stored`, because an earlier entry holds them, are only named.
    """
    there = frozenset(stored)
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


def _packed_parts(thing: object, *names: str) -> dict[str, str]:
    """Arrays of a thing as short texts, by their names."""
    return {name: packed(getattr(thing, name)) for name in names}


def _damaged() -> BadData:
    return BadData("the trees of a release are damaged", remedy="Run `sfumato ledger verify`.")


# What was proved of the candidates that everybody keeps beside a chain of releases.


@dataclass(frozen=True)
class ProvedCandidates:
    """Everybody keeps at least `proved` candidates, and somebody at most `fewest`; `None`: nobody is in."""

    proved: int
    fewest: int | None

    def as_dict(self) -> JsonObject:
        """JSON-ready."""
        return {"proved": self.proved, "fewest": self.fewest}

    @classmethod
    def from_dict(cls, words: JsonMapping) -> ProvedCandidates:
        """Reads its JSON form; raises `ValueError` where that is not whole."""
        proved, fewest = words["proved"], words["fewest"]
        if type(proved) is not int or proved < 0 or not (fewest is None or type(fewest) is int):
            raise ValueError
        if fewest is not None and fewest < proved:
            raise ValueError
        return cls(proved, fewest)


RETIRED = {
    "departures": "numbers of people who left: tables that people leave are no longer judged",
    "parts": "values column by column: releases with other columns of the same people are no longer judged",
}
"""What imprints held of earlier releases that cannot be judged any more, and why."""


@dataclass(frozen=True, eq=False)
class KeyImprint:
    """How one key column was recoded: the nodes of its cut, and marks by which its tree is known again."""

    name: str
    digest: str
    parent: Nodes
    marks: NDArray[np.uint64]
    cut: Nodes

    @classmethod
    def of(cls, name: str, cut: Cut) -> KeyImprint:
        tree = cut.taxonomy
        return cls(name, tree.digest, tree.parent, tree_marks(tree), cut.nodes)

    @cached_property
    def tree(self) -> Taxonomy:
        """The shape of the tree; labels are marks."""
        return Taxonomy.grow([f"{mark:016x}" for mark in self.marks.tolist()], self.parent)

    def onto(self, taxonomy: Taxonomy, marks: NDArray[np.uint64] | None = None) -> Nodes:
        """The node of `taxonomy` that each node of the old tree is now.

        A tree may have grown below existing nodes; anything else makes old and new values incomparable.
        `marks` are those of the taxonomy's nodes, where its labels are not at hand.
        """
        if marks is None and self.digest == taxonomy.digest:
            return np.arange(len(self.parent), dtype=np.int32)
        marks = tree_marks(taxonomy) if marks is None else marks
        order = np.argsort(marks, kind="stable")
        place = np.minimum(np.searchsorted(marks[order], self.marks), len(marks) - 1)
        node_now = order[place].astype(np.int32)
        lost = int((marks[node_now] != self.marks).sum()) + len(self.marks) - len(np.unique(self.marks))
        if lost:
            raise self._changed(f"{lost} of its nodes are gone, renamed, moved or ambiguous")
        was_leaf = np.ones(len(self.parent), dtype=bool)
        was_leaf[self.parent[1:]] = False
        split = int((taxonomy.end[node_now[was_leaf]] > node_now[was_leaf] + 1).sum())
        if split:
            raise self._changed(f"{split} of its values have become groups")
        return node_now

    def cut_on(self, taxonomy: Taxonomy, node_now: Nodes) -> Cut:
        """The cut on today's tree, given what `onto` returned; leaves that have grown beside its nodes become
        the highest node that the old tree lacks."""
        node_of = np.full(len(taxonomy.leaves), -1, np.int32)
        for v in node_now[self.cut].tolist():
            node_of[taxonomy.low[v] : taxonomy.high[v]] = v
        old = np.zeros(len(taxonomy.labels), dtype=bool)
        old[node_now] = True
        for rank in np.flatnonzero(node_of < 0).tolist():
            v = int(taxonomy.leaves[rank])
            while not old[taxonomy.parent[v]]:
                v = int(taxonomy.parent[v])
            node_of[rank] = v
        return Cut(taxonomy, node_of)

    def _changed(self, how: str) -> RefusedByHistory:
        return RefusedByHistory(
            f"the taxonomy of {self.name} has changed since an earlier release: {how}",
            remedy="Keep the tree: it may only grow below existing nodes. Or start a new chain.",
        )


@dataclass(frozen=True, eq=False)
class Imprint:
    """What is remembered of a release: its cuts, and how many rows each class holds of each matching value.

    Class c showed node `nodes[c, j]` in key column j. Group g belongs to class `owner[g]`, `counts[g]` of its
    rows have the same matching value, the tuple of every column in `unchanged`; of that tuple only a mark is
    kept. `batches` marks the batches of data, or the people, that were in it, where the column `since` tells
    them apart. `after` holds the digests of the releases that it was made beside. A ledger can store it; a
    published table and its taxonomies are enough to compute it, but for `batches`.

    `candidates` says what was proved of everybody beside this release and those before it; it follows from
    the rest, and is no part of the digest.

    With `people`, `batches` are marks of people, who may ask to be erased: then their marks go, and `erased`
    counts them. Nothing else of an imprint ever changes. Other imprints know it by a digest without marks.
    """

    keys: tuple[KeyImprint, ...]
    unchanged: tuple[str, ...]
    nodes: Codes
    owner: Codes
    values: Marks
    counts: Counts
    batches: Marks = field(default_factory=lambda: np.zeros((0, 2), np.uint64))
    since: str | None = None
    policy: str = ""
    after: tuple[str, ...] = ()
    people: bool = False
    erased: int = 0
    candidates: ProvedCandidates | None = None

    @classmethod
    def of(
        cls,
        recoding: Recoding,
        unchanged: Sequence[str],
        *,
        since: str | None = None,
        people: bool = False,
        policy: str = "",
        after: Sequence[str] = (),
        candidates: ProvedCandidates | None = None,
    ) -> Imprint:
        """The imprint of a release that was made by global recoding; raises where it was not."""
        table = recoding.table
        if recoding.cuts is None:
            raise UsageError(
                "only a release with one recoding for all classes can be part of a chain",
                remedy="Use search: top-down or lattice.",
            )
        absent = [name for name in unchanged if name not in {c.name for c in table.columns}]
        if absent:
            raise UsageError(
                f"{len(absent)} columns that are published unchanged were not counted",
                remedy="Make the release under a policy with the promise continuous.",
            )
        value = matching(table, unchanged)
        owner, ids, counts = grouped(table, recoding.class_of, value.ids, recoding.count, len(value.marks))
        nodes = np.empty_like(recoding.low)
        for j, column in enumerate(table.keys):
            nodes[:, j] = recoding.cuts[column.name].node_of[recoding.low[:, j]]
        keys = tuple(KeyImprint.of(c.name, recoding.cuts[c.name]) for c in table.keys)
        batches = np.zeros((0, 2), np.uint64)
        if since is not None:
            tree = table.column(since).taxonomy
            included = np.zeros(len(tree.leaves), dtype=bool)
            included[table.codes(since)[recoding.class_of >= 0]] = True
            batches = leaf_marks(tree)[included]
        return cls(
            keys,
            tuple(sorted(unchanged)),
            nodes,
            owner,
            value.marks[ids],
            counts,
            batches,
            since,
            policy,
            tuple(after),
            people,
            candidates=candidates,
        )

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything in it, but for marks of people."""
        words = [
            *(k.name for k in self.keys),
            "",
            *self.unchanged,
            "",
            str(self.since),
            self.policy,
            *self.after,
        ]
        digest = blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=16)
        for k in self.keys:
            digest.update(k.digest.encode() + k.marks.tobytes() + k.cut.tobytes())
        arrays = (self.nodes, self.owner, self.values, self.counts)
        for array in arrays if self.people else (*arrays, self.batches):
            digest.update(len(array).to_bytes(8, "little") + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def names(self) -> tuple[str, ...]:
        """The key columns."""
        return tuple(key.name for key in self.keys)

    @cached_property
    def sizes(self) -> Counts:
        """The rows of every class."""
        sums = np.zeros(len(self.nodes), np.int64)
        np.add.at(sums, self.owner, self.counts)
        return sums

    def without(self, marks: Marks) -> tuple[Imprint, int]:
        """The same without the marks of some people, and how many of them were in it.

        Raises `UsageError` where it holds no marks of people.
        """
        if self.since is None:
            raise UsageError("the imprint tells nobody apart")
        stays = ~are_known(self.batches, marks)
        gone = int(len(stays) - stays.sum())
        left = replace(self, batches=self.batches[stays], erased=self.erased + gone)
        return (left if gone else self), gone

    def as_dict(self) -> JsonObject:
        """JSON-ready; arrays are packed as text."""
        more = {"people": self.people, "erased": self.erased}
        return {
            "sfumato-imprint": VERSION,
            "policy": self.policy,
            "rows": self.rows,
            "unchanged": list(self.unchanged),
            "since": self.since,
            "after": list(self.after),
            "keys": [
                {"name": k.name, "taxonomy": k.digest, **_packed_parts(k, "parent", "marks", "cut")}
                for k in self.keys
            ],
            **_packed_parts(self, "nodes", "owner", "values", "counts", "batches"),
            **({} if self.candidates is None else {"candidates": self.candidates.as_dict()}),
            **{name: value for name, value in more.items() if value},
        }

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_dict(cls, words: JsonMapping) -> Imprint:
        """From its JSON form; raises `BadData` where that is not whole."""
        if gone := [name for name in RETIRED if name in words]:
            raise BadData(
                f"the imprint of a release holds {gone[0]}, {RETIRED[gone[0]]}",
                remedy="Start a new chain with the people who were never published.",
            )
        try:
            if words["sfumato-imprint"] != VERSION:
                raise BadData("the imprint is of another version", remedy="Use the version that wrote it.")
            keys = tuple(
                KeyImprint(
                    str(k["name"]),
                    str(k["taxonomy"]),
                    unpacked(k["parent"], np.int32),
                    unpacked(k["marks"], np.uint64),
                    unpacked(k["cut"], np.int32),
                )
                for k in words["keys"]
            )
            nodes = unpacked(words["nodes"], np.int32)
            imprint = cls(
                keys,
                tuple(map(str, words["unchanged"])),
                nodes.reshape(-1, len(keys)) if keys else nodes.reshape(min(1, words["rows"]), 0),
                unpacked(words["owner"], np.int32),
                unpacked(words["values"], np.uint64).reshape(-1, 2),
                unpacked(words["counts"], np.int64),
                unpacked(words["batches"], np.uint64).reshape(-1, 2),
                words["since"],
                str(words["policy"]),
                tuple(map(str, words.get("after", ()))),
                people=bool(words.get("people", False)),
                erased=int(words.get("erased", 0)),
                candidates=ProvedCandidates.from_dict(words["candidates"]) if "candidates" in words else None,
            )
            if not imprint._is_whole() or imprint.rows != words["rows"]:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise BadData("the imprint of a release is damaged", remedy="Restore it from a backup.") from None
        return imprint

    @classmethod
    def from_json(cls, text: str | bytes) -> Imprint:
        try:
            words = read_json(text)
        except ValueError:
            words = {}
        return cls.from_dict(words if isinstance(words, Mapping) else {})

    def _is_whole(self) -> bool:
        groups = len(self.owner) == len(self.values) == len(self.counts)
        if not 0 <= self.erased <= self.rows:
            return False
        if not groups or np.any(self.counts <= 0) or not _within(self.owner, len(self.nodes)):
            return False
        return all(
            len(k.parent) == len(k.marks) > 0
            and k.parent[0] == -1
            and bool(np.all((k.parent[1:] >= 0) & (k.parent[1:] < np.arange(1, len(k.parent)))))
            and _within(k.cut, len(k.parent))
            and bool(np.isin(self.nodes[:, j], k.cut).all())
            for j, k in enumerate(self.keys)
        )

    def __repr__(self) -> str:
        return f"Imprint({self.rows} rows, {len(self.nodes)} classes, {len(self.owner)} groups)"


def grouped(
    table: Microdata, class_of: NDArray[np.integer], ids: Codes, classes: int, values: int
) -> tuple[Codes, Codes, Counts]:
    """Class, matching value and rows of every group; distinct rows of class -1 are left out."""
    packing = Packing((max(1, classes), max(1, values)))
    included = class_of >= 0
    whole = bool(included.all())
    columns = [class_of, ids] if whole else [class_of[included], ids[included]]
    weight = table.counts if whole else table.counts[included]
    unit = None if bool(np.all(weight == 1)) else weight
    words, counts = sort_and_count(packing.pack(columns), unit)
    return packing.unpack(words, 0), packing.unpack(words, 1), counts


def _within(numbers: NDArray[np.integer], size: int) -> bool:
    return bool(np.all((numbers >= 0) & (numbers < size)))


# Releases side by side have to show the same columns; in which order does not matter.


def show_other_columns(names: Sequence[str], unchanged: Sequence[str], imprint: Imprint) -> bool:
    """Whether a release shows other columns than these, in whatever order."""
    return sorted(imprint.names) != sorted(names) or sorted(imprint.unchanged) != sorted(unchanged)


def in_key_order(imprint: Imprint, names: Sequence[str]) -> Imprint:
    """Returns a release with its key columns in this order, to be compared; `names` are just these columns.

    Its classes keep their numbers. Other releases know it by its digest in its own order.
    """
    if imprint.names == tuple(names):
        return imprint
    place = {name: j for j, name in enumerate(imprint.names)}
    order = [place[name] for name in names]
    nodes = np.ascontiguousarray(imprint.nodes[:, order])
    return replace(imprint, keys=tuple(imprint.keys[j] for j in order), nodes=nodes)


def in_order_of_newest(imprints: Sequence[Imprint]) -> list[Imprint]:
    """Returns releases with their key columns in the order of the newest; raises where columns differ."""
    for i, imprint in enumerate(imprints):
        refuse_other_columns(imprints[-1].names, imprints[-1].unchanged, imprint, i)
    return [in_key_order(imprint, imprints[-1].names) for imprint in imprints]


def refuse_other_columns(names: Sequence[str], unchanged: Sequence[str], imprint: Imprint, i: int) -> None:
    """Raises where an earlier release, number i from 0 on, showed other columns than these."""
    if show_other_columns(names, unchanged, imprint):
        raise RefusedByHistory(
            f"release {i + 1} showed other columns: {len(imprint.names)} key columns and "
            f"{len(imprint.unchanged)} unchanged ones, now {len(names)} and {len(unchanged)}, or others",
            remedy="Publish the same columns under the same names and in the same roles, or start a new chain"
            " with the people who were never published.",
        )

"""An imprint: everything that later checks need of a release, and not one row of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import packed, unpacked
from sfumato.core.cut import Cut
from sfumato.core.errors import BadData, RefusedByHistory, WrongCall
from sfumato.core.json_object import JsonMapping, JsonObject, read_json
from sfumato.core.marks import Marks, are_known, leaf_marks, matching, tree_marks
from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.core.packing import Packing, sort_and_count
from sfumato.core.proved_candidates import ProvedCandidates
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import Nodes, Taxonomy

VERSION = 1
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
            raise WrongCall(
                "only a release with one recoding for all classes can be part of a chain",
                remedy="Use search: top-down or lattice.",
            )
        absent = [name for name in unchanged if name not in {c.name for c in table.columns}]
        if absent:
            raise WrongCall(
                f"{len(absent)} columns that are published unchanged were not counted",
                remedy="Make the release under a policy with the promise continuous.",
            )
        value = matching(table, unchanged)
        owner, ids, counts = grouped(table, recoding.class_of, value.ids, recoding.count, len(value.marks))
        shown = np.empty_like(recoding.low)
        for j, column in enumerate(table.keys):
            shown[:, j] = recoding.cuts[column.name].node_of[recoding.low[:, j]]
        keys = tuple(KeyImprint.of(c.name, recoding.cuts[c.name]) for c in table.keys)
        batches = np.zeros((0, 2), np.uint64)
        if since is not None:
            tree = table.column(since).taxonomy
            kept = np.zeros(len(tree.leaves), dtype=bool)
            kept[table.codes(since)[recoding.class_of >= 0]] = True
            batches = leaf_marks(tree)[kept]
        return cls(
            keys,
            tuple(sorted(unchanged)),
            shown,
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

        Raises `WrongCall` where it holds no marks of people.
        """
        if self.since is None:
            raise WrongCall("the imprint tells nobody apart")
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
                {
                    "name": k.name,
                    "taxonomy": k.digest,
                    "parent": packed(k.parent),
                    "marks": packed(k.marks),
                    "cut": packed(k.cut),
                }
                for k in self.keys
            ],
            "nodes": packed(self.nodes),
            "owner": packed(self.owner),
            "values": packed(self.values),
            "counts": packed(self.counts),
            "batches": packed(self.batches),
            **({} if self.candidates is None else {"candidates": self.candidates.as_dict()}),
            **{name: said for name, said in more.items() if said},
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
            made = cls(
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
            if not made._is_whole() or made.rows != words["rows"]:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise BadData("the imprint of a release is damaged", remedy="Restore it from a backup.") from None
        return made

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
    kept = class_of >= 0
    whole = bool(kept.all())
    columns = [class_of, ids] if whole else [class_of[kept], ids[kept]]
    weight = table.counts if whole else table.counts[kept]
    unit = None if bool(np.all(weight == 1)) else weight
    words, counts = sort_and_count(packing.pack(columns), unit)
    return packing.unpack(words, 0), packing.unpack(words, 1), counts


def _within(numbers: NDArray[np.integer], size: int) -> bool:
    return bool(np.all((numbers >= 0) & (numbers < size)))

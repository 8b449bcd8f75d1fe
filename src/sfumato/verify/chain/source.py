"""The original rows beside several published tables: who is told apart by all of them, counted a second time.

The judge reads the source with its own reader, places every key in its own trees, and finds, table by table,
the label that each row was published under: of the nodes that the table shows, the one above the row's value.
Rows with the same labels in all tables are one *position*; who came after a table was published is in it
under no label. Before anything is judged, the source has to give every published count again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadData, BadTaxonomy, RefusedByHistory
from sfumato.judge.chain.expected_cells import SideCounts, numbered
from sfumato.judge.chain.marks import Marks, child_marks, text_marks, tuple_marks
from sfumato.judge.chain.remembered_release import (
    MarkedTree,
    Numbers,
    RememberedRelease,
    in_order_of_newest,
    unpacked,
)
from sfumato.judge.policy_data import JudgedPolicy
from sfumato.judge.tables.tally import JointCounts, Tally, ValueCounts, grown
from sfumato.judge.tables.text_table import TextTable
from sfumato.judge.taxonomies.value_tree import Text, ValueTree

OTHER_TABLE = "the table does not give the counts again that were published of it"


@dataclass(frozen=True, eq=False)
class PositionRequest:
    """Which tables are looked at together: what is remembered of each, and what tells who was in it.

    `since` names the column of batches or people; without it everybody is in every table.
    """

    policy: JudgedPolicy
    missing: str
    releases: tuple[RememberedRelease, ...]
    batches: tuple[Marks, ...]
    since: str | None = None

    @classmethod
    def of(
        cls, policy: Mapping[str, Any], documents: Sequence[Mapping[str, Any]], since: str | None
    ) -> PositionRequest:
        """Returns the question about a policy, as plain data, and the documents of tables."""
        batches = [unpacked(d["batches"], "<u8").astype(np.uint64).reshape(-1, 2) for d in documents]
        return cls(
            JudgedPolicy.of(policy),
            str(policy.get("missing", "")),
            tuple(in_order_of_newest([RememberedRelease.of(document) for document in documents])),
            tuple(batches),
            since,
        )

    @property
    def keys(self) -> tuple[str, ...]:
        return self.releases[0].names

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The columns that rows are matched by, in the order of their marks."""
        return tuple(sorted(self.releases[0].unchanged))

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns that are looked at, each once; those of term sets by the name that promises use."""
        more = [self.since] if self.since else []
        return tuple(dict.fromkeys([*self.keys, *self.unchanged, *self.policy.judged, *more]))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the source that have to be read."""
        sets = self.policy.sets
        parts = (sets[name].parts if name in sets else () for name in self.wanted)
        found = (p or (name,) for p, name in zip(parts, self.wanted, strict=True))
        return tuple(dict.fromkeys(column for some in found for column in some))


@dataclass(frozen=True, eq=False)
class SourcePositions:
    """Rows of the source, equal ones once, and the label of each in every table.

    `labels[t][j]` is the node of key column j that each row shows in table t, as a number of the judge's own
    tree; `inside[t]` says which rows are in that table.
    """

    request: PositionRequest
    rows: TextTable
    labels: tuple[tuple[Numbers, ...], ...]
    inside: tuple[NDArray[np.bool_], ...]
    marks: Mapping[str, NDArray[np.uint64]] = field(repr=False, default_factory=dict)
    widths: Mapping[str, Numbers] = field(repr=False, default_factory=dict)

    @classmethod
    def of(cls, rows: TextTable, request: PositionRequest) -> SourcePositions:
        """Returns the rows beside the tables; raises where they are not those that were published."""
        rows = _published_rows(rows, request)
        trees = {name: _PlacedTree.of(request.policy, name, _texts(rows, name)) for name in request.keys}
        labels = tuple(
            tuple(trees[tree.name].shown(tree)[_codes(rows, tree.name)] for tree in release.trees)
            for release in request.releases
        )
        inside = tuple(_inside(rows, request, batches) for batches in request.batches)
        marks = {name: tree.marks for name, tree in trees.items()}
        widths = {name: tree.tree.nodes.high - tree.tree.nodes.low for name, tree in trees.items()}
        found = cls(request, rows, labels, inside, marks, widths)
        for number in range(len(request.releases)):
            found._check_counts(number)
        return found

    def positions(self, tables: Sequence[int]) -> tuple[Numbers, Numbers]:
        """Returns the position of every row that is in some of these tables, and which rows these are."""
        here = np.flatnonzero(np.any([self.inside[t] for t in tables], axis=0))
        columns = [np.where(self.inside[t], label, -1)[here] for t in tables for label in self.labels[t]] + [
            self.inside[t][here].astype(np.int64) for t in tables
        ]
        return numbered(columns, len(here)), here

    def tally(self, tables: Sequence[int]) -> Tally:
        """Returns the people of every position as classes, with their values of every judged column."""
        position, here = self.positions(tables)
        people = np.zeros(int(position.max(initial=-1)) + 1, np.int64)
        np.add.at(people, position, self.rows.counts[here])
        spreads = {}
        for name in self.request.policy.judged:
            tree, leaf = self.leaves[name]
            spread = _spread(position, leaf[here], self.rows.counts[here], tree)
            spreads[name] = replace(spread, spelling=self.request.policy.spelling_of(name))
        together = {
            columns: JointCounts(*_summed(position, value[here], self.rows.counts[here]), texts)
            for columns, (texts, value) in self.joint_cells.items()
        }
        return Tally(people, people, spreads, policy=self.request.policy, together=together)

    @cached_property
    def leaves(self) -> dict[str, tuple[ValueTree, Numbers]]:
        """The tree of every judged column, and the leaf of every row."""
        found = {}
        policy = self.request.policy
        for name in policy.judged:
            texts = _texts(self.rows, name)
            ordered = sorted(texts, key=lambda text: (text is None, text or ""))
            tree, lacking = grown(policy.columns.get(name), ordered, [*policy.spoken_of(name)])
            if lacking:
                raise BadData(f"{lacking} values of {name} are not in its taxonomy")
            place = np.array([tree.place(text) for text in texts], dtype=np.int64)
            found[name] = (tree, place[_codes(self.rows, name)])
        return found

    @cached_property
    def joint_cells(self) -> dict[tuple[str, ...], tuple[tuple[tuple[Text, ...], ...], Numbers]]:
        """Of columns judged together: the different tuples of cells, and the number of every row's."""
        found = {}
        for columns in self.request.policy.judged_jointly:
            codes = np.stack([_codes(self.rows, name) for name in columns], axis=1)
            distinct, value = np.unique(codes, axis=0, return_inverse=True)
            texts = [_texts(self.rows, name) for name in columns]
            cells = tuple(tuple(texts[d][v] for d, v in enumerate(row)) for row in distinct.tolist())
            found[columns] = cells, value.ravel().astype(np.int64)
        return found

    @cached_property
    def matching(self) -> Numbers:
        """A number for the matching value of every row."""
        columns = [_codes(self.rows, name) for name in self.request.unchanged]
        return numbered(columns, len(self.rows.counts))

    def sides(self, first: int, second: int) -> tuple[SideCounts, SideCounts, Numbers]:
        """Returns two tables, the second of which holds everybody of the first, as counts by block.

        Who is new in the second is in a class of the first that has no name. With them comes the matching
        value of every block.
        """
        rows = np.flatnonzero(self.inside[second])
        old = self.inside[first][rows]
        one = [label[rows] for label in self.labels[first]]
        two = [label[rows] for label in self.labels[second]]
        joins = [self._coarser(j, a, b) for j, (a, b) in enumerate(zip(one, two, strict=True))]
        value, counts = self.matching[rows], self.rows.counts[rows]
        block = numbered([*joins, value], len(rows))
        value_of_block = np.zeros(int(block.max(initial=-1)) + 1, np.int64)
        value_of_block[block] = value
        names = [*(np.where(old, label, -1) for label in one), old]
        component = numbered(joins, len(rows))
        first_class = numbered([*names, np.where(old, -1, component)], len(rows))
        second_class = numbered(two, len(rows))
        return (
            SideCounts.of(block, first_class, counts),
            SideCounts.of(block, second_class, counts),
            value_of_block,
        )

    def _coarser(self, column: int, one: Numbers, other: Numbers) -> Numbers:
        """Returns, of two nodes on one path of a key column, the one with more leaves below it."""
        width = self.widths[self.request.keys[column]]
        found: Numbers = np.where(width[one] >= width[other], one, other)
        return found

    def _check_counts(self, number: int) -> None:
        """Raises unless the rows of a table, under its labels, have exactly the counts that it shows."""
        release, here = self.request.releases[number], np.flatnonzero(self.inside[number])
        own = [
            self.marks[t.name][label[here]]
            for t, label in zip(release.trees, self.labels[number], strict=True)
        ]
        theirs = [t.marks[release.nodes[release.owner, j]] for j, t in enumerate(release.trees)]
        if self.request.policy.sets:  # how sets of terms are marked is not the judge's to know
            mine, other = np.zeros((len(here), 0), np.uint64), np.zeros((len(release.owner), 0), np.uint64)
        else:
            texts = [
                text_marks(_texts(self.rows, n))[_codes(self.rows, n)][here] for n in self.request.unchanged
            ]
            mine, other = tuple_marks(texts, len(here)), release.values
        if _listed(own, mine, self.rows.counts[here]) != _listed(theirs, other, release.counts):
            raise RefusedByHistory(OTHER_TABLE, remedy="Release the table that the versions were made from.")


@dataclass(frozen=True, eq=False)
class _PlacedTree:
    """The judge's tree of a key column, the mark of each node, and the leaf of each text."""

    tree: ValueTree
    marks: NDArray[np.uint64]
    leaf: Numbers

    @classmethod
    def of(cls, policy: JudgedPolicy, name: str, texts: Sequence[Text]) -> _PlacedTree:
        ordered = sorted(texts, key=lambda text: (text is None, text or ""))
        try:
            tree = policy.columns[name].tree(ordered)
        except BadTaxonomy as wrong:
            raise BadData(f"values of {name} are not in its taxonomy", remedy=wrong.remedy) from None
        nodes = tree.nodes
        marks = np.zeros(len(nodes.labels), np.uint64)
        marks[:1] = text_marks(nodes.labels[:1])[:, 0]
        for v in range(1, len(nodes.labels)):
            marks[v] = child_marks(marks[nodes.parent[v]][None], [nodes.labels[v]])[0, 0]
        return cls(tree, marks, np.array([tree.place(text) for text in texts], dtype=np.int64))

    def shown(self, table: MarkedTree) -> Numbers:
        """Returns the node that a table shows for every text: the highest that it names, or that is new."""
        nodes, named = self.tree.nodes, set(table.marks[table.cut].tolist())
        known = set(table.marks.tolist())
        shown = np.full(len(nodes.labels), -1, np.int64)
        for v, mark in enumerate(self.marks.tolist()):
            above = shown[nodes.parent[v]] if v else -1
            shown[v] = above if above >= 0 else v if mark in named or mark not in known else -1
        leaf_node = np.full(len(self.tree.values), -1, np.int64)
        for v in range(len(nodes.labels)):
            if nodes.high[v] - nodes.low[v] == 1:
                leaf_node[nodes.low[v]] = v
        found: Numbers = shown[leaf_node[self.leaf]]
        if np.any(found < 0):
            raise RefusedByHistory(f"{table.name}: {OTHER_TABLE}")
        return found


def _published_rows(rows: TextTable, request: PositionRequest) -> TextTable:
    """Returns the rows without those that are left out because a key is missing."""
    if request.missing != "suppress":
        return rows
    lacking = np.zeros(len(rows.counts), dtype=bool)
    for name in request.keys:
        empty = np.array([text is None for text in _texts(rows, name)], dtype=bool)
        lacking |= empty[_codes(rows, name)] if len(empty) else False
    kept = np.flatnonzero(~lacking)
    return replace(rows, codes=tuple(code[kept] for code in rows.codes), counts=rows.counts[kept])


def _inside(rows: TextTable, request: PositionRequest, batches: Marks) -> NDArray[np.bool_]:
    if request.since is None:
        return np.ones(len(rows.counts), dtype=bool)
    known = {tuple(mark) for mark in batches.tolist()}
    own = text_marks(_texts(rows, request.since)).tolist()
    held = np.array([tuple(mark) in known for mark in own], dtype=bool)
    found: NDArray[np.bool_] = held[_codes(rows, request.since)]
    return found


def _texts(rows: TextTable, name: str) -> tuple[Text, ...]:
    return rows.texts[rows.names.index(name)]


def _codes(rows: TextTable, name: str) -> Numbers:
    return rows.codes[rows.names.index(name)]


def _spread(owner: Numbers, leaf: Numbers, counts: Numbers, tree: ValueTree) -> ValueCounts:
    return ValueCounts(*_summed(owner, leaf, counts), tree)


def _summed(owner: Numbers, value: Numbers, counts: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Returns owners, values and the sums of equal entries, sorted by both."""
    width = int(value.max(initial=0)) + 1
    distinct, which = np.unique(owner * width + value, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, which.ravel(), counts)
    return distinct // width, distinct % width, sums


def _listed(
    columns: Sequence[NDArray[np.uint64]], values: NDArray[np.uint64], counts: Numbers
) -> tuple[bytes, bytes]:
    """Returns groups with their sums, in an order that depends on nothing else, as bytes to be compared."""
    rows = len(counts)
    whole = np.concatenate(
        [*(c.reshape(rows, 1) for c in columns), values.reshape(rows, -1), np.zeros((rows, 1), np.uint64)],
        axis=1,
    )
    distinct, which = np.unique(whole, axis=0, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, which.ravel(), counts)
    return distinct.tobytes(), sums.tobytes()

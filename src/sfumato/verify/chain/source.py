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
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData, BadTaxonomy, RefusedByHistory
from sfumato.system.verdict import Verdict
from sfumato.verify.chain.releases import (
    JudgedValues,
    MarkedTree,
    Marks,
    Numbers,
    PairEntries,
    ReleaseTable,
    RememberedRelease,
    SideCounts,
    child_marks,
    in_order_of_newest,
    numbered,
    on_newest_trees,
    pair_entries,
    pair_kept,
    text_marks,
    tuple_marks,
    unpacked,
)
from sfumato.verify.chain.worlds import blocks, joins, no_world
from sfumato.verify.policy_data import JudgedPolicy, PromiseData
from sfumato.verify.registry import judge_of
from sfumato.verify.tables import TextTable
from sfumato.verify.tally import JointCounts, Tally, ValueCounts, grown
from sfumato.verify.trees import Text, ValueTree

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
        groups = (p or (name,) for p, name in zip(parts, self.wanted, strict=True))
        return tuple(dict.fromkeys(column for group in groups for column in group))


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
        positions = cls(request, rows, labels, inside, marks, widths)
        for number in range(len(request.releases)):
            positions._check_counts(number)
        return positions

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
        leaves = {}
        policy = self.request.policy
        for name in policy.judged:
            texts = _texts(self.rows, name)
            ordered = sorted(texts, key=lambda text: (text is None, text or ""))
            tree, lacking = grown(policy.columns.get(name), ordered, [*policy.spoken_of(name)])
            if lacking:
                raise BadData(f"{lacking} values of {name} are not in its taxonomy")
            place = np.array([tree.place(text) for text in texts], dtype=np.int64)
            leaves[name] = (tree, place[_codes(self.rows, name)])
        return leaves

    @cached_property
    def joint_cells(self) -> dict[tuple[str, ...], tuple[tuple[tuple[Text, ...], ...], Numbers]]:
        """Of columns judged together: the different tuples of cells, and the number of every row's."""
        by_columns = {}
        for columns in self.request.policy.judged_jointly:
            codes = np.stack([_codes(self.rows, name) for name in columns], axis=1)
            distinct, value = np.unique(codes, axis=0, return_inverse=True)
            texts = [_texts(self.rows, name) for name in columns]
            cells = tuple(tuple(texts[d][v] for d, v in enumerate(row)) for row in distinct.tolist())
            by_columns[columns] = cells, value.ravel().astype(np.int64)
        return by_columns

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
        first_labels = [label[rows] for label in self.labels[first]]
        second_labels = [label[rows] for label in self.labels[second]]
        joins = [
            self._coarser(j, a, b) for j, (a, b) in enumerate(zip(first_labels, second_labels, strict=True))
        ]
        value, counts = self.matching[rows], self.rows.counts[rows]
        block = numbered([*joins, value], len(rows))
        value_of_block = np.zeros(int(block.max(initial=-1)) + 1, np.int64)
        value_of_block[block] = value
        names = [*(np.where(old, label, -1) for label in first_labels), old]
        component = numbered(joins, len(rows))
        first_class = numbered([*names, np.where(old, -1, component)], len(rows))
        second_class = numbered(second_labels, len(rows))
        return (
            SideCounts.of(block, first_class, counts),
            SideCounts.of(block, second_class, counts),
            value_of_block,
        )

    def _coarser(self, column: int, left: Numbers, right: Numbers) -> Numbers:
        """Returns, of two nodes on one path of a key column, the one with more leaves below it."""
        width = self.widths[self.request.keys[column]]
        coarser: Numbers = np.where(width[left] >= width[right], left, right)
        return coarser

    def _check_counts(self, number: int) -> None:
        """Raises unless the rows of a table, under its labels, have exactly the counts that it shows."""
        release, here = self.request.releases[number], np.flatnonzero(self.inside[number])
        own = [
            self.marks[t.name][label[here]]
            for t, label in zip(release.trees, self.labels[number], strict=True)
        ]
        theirs = [t.marks[release.nodes[release.owner, j]] for j, t in enumerate(release.trees)]
        if self.request.policy.sets:  # how sets of terms are marked is not the judge's to know
            mine, published = (
                np.zeros((len(here), 0), np.uint64),
                np.zeros((len(release.owner), 0), np.uint64),
            )
        else:
            texts = [
                text_marks(_texts(self.rows, n))[_codes(self.rows, n)][here] for n in self.request.unchanged
            ]
            mine, published = tuple_marks(texts, len(here)), release.values
        if _listed(own, mine, self.rows.counts[here]) != _listed(theirs, published, release.counts):
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
        marks = set(table.marks.tolist())
        node_shown = np.full(len(nodes.labels), -1, np.int64)
        for v, mark in enumerate(self.marks.tolist()):
            above = node_shown[nodes.parent[v]] if v else -1
            node_shown[v] = above if above >= 0 else v if mark in named or mark not in marks else -1
        leaf_node = np.full(len(self.tree.values), -1, np.int64)
        for v in range(len(nodes.labels)):
            if nodes.high[v] - nodes.low[v] == 1:
                leaf_node[nodes.low[v]] = v
        node_of_text: Numbers = node_shown[leaf_node[self.leaf]]
        if np.any(node_of_text < 0):
            raise RefusedByHistory(f"{table.name}: {OTHER_TABLE}")
        return node_of_text


def _published_rows(rows: TextTable, request: PositionRequest) -> TextTable:
    """Returns the rows without those that are left out because a key is missing."""
    if request.missing != "suppress":
        return rows
    lacking = np.zeros(len(rows.counts), dtype=bool)
    for name in request.keys:
        empty = np.array([text is None for text in _texts(rows, name)], dtype=bool)
        lacking |= empty[_codes(rows, name)] if len(empty) else False
    complete = np.flatnonzero(~lacking)
    return replace(rows, codes=tuple(code[complete] for code in rows.codes), counts=rows.counts[complete])


def _inside(rows: TextTable, request: PositionRequest, batches: Marks) -> NDArray[np.bool_]:
    if request.since is None:
        return np.ones(len(rows.counts), dtype=bool)
    marks = {tuple(mark) for mark in batches.tolist()}
    own = text_marks(_texts(rows, request.since)).tolist()
    is_inside = np.array([tuple(mark) in marks for mark in own], dtype=bool)
    inside: NDArray[np.bool_] = is_inside[_codes(rows, request.since)]
    return inside


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


# Tables kept against a register, judged by what is published alone: kept in all worlds, broken, or unknown.
#
# How many people of which value are in a cell of two tables, the tables do not say; they bound it, value by
# value: no fewer than what the two classes hold beyond all others, no more than either holds. All whole
# numbers between these bounds occur in some world. A promise is kept for sure if every corner of these bounds
# keeps it (what keeps it is convex). It is broken for sure if what is likely breaks it, or if some class has
# no cell that could hold enough. Otherwise only whoever counted the positions on the data can tell.

NOT_FROM_FILES = "not decidable from the tables: it was asked of every position of people, on the data"
LIKELY = "what two tables make likely breaks it"
NO_CELL = "some class cannot be divided among cells that keep it"
IN_ALL_WORLDS = "kept in every world that gives these tables"

MOST_FREE_VALUES = 12
"""In cells where more values than this are not known exactly, corners are not looked at."""

HeldValues = Mapping[str, Sequence[Text]]
"""Column -> texts: the different combinations of what is published unchanged, one after the other."""


@dataclass(frozen=True)
class FilesQuestion:
    """What is asked: the policy as plain data, k people in every position, and these class promises there."""

    policy: Mapping[str, Any]
    k: int
    promises: tuple[Mapping[str, object], ...] = ()


def files_verdict(
    sentence: str, documents: Sequence[Mapping[str, Any]], question: FilesQuestion, values: HeldValues
) -> Verdict:
    """Returns whether tables, oldest first, keep what is asked of everybody's position, as far as they tell.

    Each table holds everybody of those before it.
    """
    releases = [RememberedRelease.of(document) for document in documents]
    tables = on_newest_trees(releases)
    sure = len(tables) == 2
    for i, j in combinations(range(len(tables)), 2):
        first, second, of_block = _sides(tables[i], tables[j])
        entries = pair_entries(first, second, of_block)
        if entries is None:
            sure = False
            continue
        if _lacks_room(entries, first, second, question.k):
            return _said(sentence, False, question.k, NO_CELL)
        sure = sure and _always_people(entries, question.k)
        for promise in map(PromiseData, question.promises):
            judged = _known(releases, promise, question.policy, values)
            if judged is None:
                sure = False
                continue
            if not _counts_values_alone(promise) and pair_kept(entries, judged, promise) is False:
                return _said(sentence, False, question.k, LIKELY)
            sure = sure and _always(entries, judged, promise)
    return _said(sentence, True if sure else None, question.k, IN_ALL_WORLDS if sure else NOT_FROM_FILES)


def _said(sentence: str, holds: bool | None, k: int, reason: str) -> Verdict:
    return Verdict(sentence, holds, None, k, reason=reason)


def _counts_values_alone(promise: PromiseData) -> bool:
    return bool(promise.get("by_values")) or not promise.columns


def _sides(first: ReleaseTable, second: ReleaseTable) -> tuple[SideCounts, SideCounts, Numbers]:
    """Returns both tables as counts by block; who is new in a component is one more class of the first."""
    first_block, second_block, count = blocks(first, second)
    _, join = joins(first, second)
    before, after = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.add.at(before, first_block, first.count)
    np.add.at(after, second_block, second.count)
    if np.any(after < before):
        raise no_world()
    value, component = np.zeros(count, np.int64), np.zeros(count, np.int64)
    value[second_block], component[second_block] = second.value, join[second.owner]
    new = np.flatnonzero(after > before)
    old_and_new = SideCounts.of(
        np.concatenate([first_block, new]),
        np.concatenate([first.owner, len(first) + component[new]]),
        np.concatenate([first.count, (after - before)[new]]),
    )
    return old_and_new, SideCounts.of(second_block, second.owner, second.count), value


def _people(entries: PairEntries, bound: Numbers) -> Numbers:
    sums = np.zeros(int(entries.cell.max(initial=-1)) + 1, np.int64)
    np.add.at(sums, entries.cell, bound)
    return sums


def _always_people(entries: PairEntries, k: int) -> bool:
    """Tells whether in every world a cell where somebody is holds k people."""
    return bool((np.maximum(1, _people(entries, entries.least)) >= k).all())


def _lacks_room(entries: PairEntries, first: SideCounts, second: SideCounts, k: int) -> bool:
    """Tells whether some class holds people, and none of its cells can hold k of them."""
    most = _people(entries, entries.most)[entries.cell]
    for side, owner in ((first, entries.row), (second, entries.column)):
        best = np.zeros(int(side.owner.max(initial=-1)) + 1, np.int64)
        np.maximum.at(best, owner, most)
        if np.any(best[side.owner] < k):
            return True
    return False


def _known(
    releases: Sequence[RememberedRelease],
    promise: PromiseData,
    policy: Mapping[str, Any],
    values: HeldValues,
) -> JudgedValues | None:
    """Returns the value of the promise's column for every matching value; `None` where one is not known."""
    if len(promise.columns) != 1:
        return None
    (column,) = promise.columns
    judged = JudgedPolicy.of(policy)
    unchanged = sorted(releases[-1].unchanged)
    if column not in unchanged or any(name not in values for name in unchanged):
        return None
    texts = values[column]
    marks = tuple_marks([text_marks(values[name]) for name in unchanged], len(texts))
    every = np.concatenate([release.values for release in releases])
    distinct, number = np.unique(every, axis=0, return_inverse=True)
    place = {tuple(mark): i for i, mark in enumerate(distinct.tolist())}
    ordered = sorted(set(texts), key=lambda text: (text is None, text or ""))
    tree, lacking = grown(judged.columns.get(column), ordered, [*judged.spoken_of(column)])
    leaf = np.full(len(distinct), -1, np.int64)
    for mark, text in zip(marks.tolist(), texts, strict=True):
        if tuple(mark) in place:
            place_of_text = tree.place(text)
            leaf[place[tuple(mark)]] = -1 if place_of_text is None else place_of_text
    if lacking or np.any(leaf < 0):
        return None
    newest = number.ravel()[-len(releases[-1].values) :]
    overall = np.zeros(len(tree.values), np.int64)
    np.add.at(overall, leaf[newest], releases[-1].counts)
    return JudgedValues(column, tree, leaf, overall, judged)


def _always(entries: PairEntries, values: JudgedValues, promise: PromiseData) -> bool:
    """Tells whether every world keeps a promise in every cell: all corners of the bounds do."""
    corners: list[dict[int, int]] = []
    leaf = values.leaf_of_value[entries.value]
    order = np.argsort(entries.cell, kind="stable")
    begin = np.searchsorted(entries.cell[order], np.arange(int(entries.cell.max(initial=-1)) + 2))
    for start, stop in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        low: dict[int, int] = {}
        high: dict[int, int] = {}
        for e in order[start:stop].tolist():
            low[int(leaf[e])] = low.get(int(leaf[e]), 0) + int(entries.least[e])
            high[int(leaf[e])] = high.get(int(leaf[e]), 0) + int(entries.most[e])
        if sum(low[v] < high[v] for v in low) > MOST_FREE_VALUES:
            return False
        for chosen in product(*(sorted({low[v], high[v]}) for v in low)):
            corner = {v: n for v, n in zip(low, chosen, strict=True) if n}
            corners += [corner] if corner else []
    if not corners:
        return True
    return judge_of(promise)(values.tally(corners), promise).holds is True

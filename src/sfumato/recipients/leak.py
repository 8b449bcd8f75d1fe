"""A leak as it is read: which of its columns are ours, and which node each of its cells stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.recipients.traced_versions import HeldVersion, IssuedVersions
from sfumato.system.errors import BadData, UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.keyed_hashes import Marks, joined_marks
from sfumato.table.microdata import Codes, Coding, Counts, Microdata, Role
from sfumato.table.release_summary import UNKNOWN, Imprint, ReadingTree, folded
from sfumato.table.source import Source
from sfumato.table.taxonomy import ROOT, Label, Nodes, Taxonomy

LEAST_READABLE = 0.05
"""A column with a name of ours is ours if this share of its cells that say something can be read."""
LEAST_READABLE_RENAMED = 0.9
"""A column with another name is ours if this share can be read by the trees of exactly one column."""

Flags = NDArray[np.bool_]
Trees = Mapping[str, tuple[ReadingTree, ...]]


@dataclass(frozen=True, eq=False)
class Leak:
    """The distinct rows of a leak in the columns that are ours, each with its count.

    `names[j]` is our name of a column and `called[j]` the leak's. `texts[j]` are the texts that occur in it,
    and `codes[j]` says which of them every row has. `unknown` are columns of our names of which next to
    nothing can be read: they are left aside, and their rows are not. `fixed` are columns of which the caller
    said which they are. Where a leak is read otherwise, `places[j]` is the place of column j as it was read
    at first, and `exchanged` are columns taken for unchanged ones: their names at first, and now. `unchanged`
    are columns of the leak that were published unchanged: texts, and that of every row.
    """

    names: tuple[str, ...]
    called: tuple[str, ...]
    texts: tuple[tuple[Label, ...], ...]
    codes: tuple[Codes, ...]
    counts: Counts
    trees: Trees = field(repr=False)
    unknown: tuple[str, ...] = ()
    fixed: frozenset[str] = frozenset()
    places: tuple[int, ...] = ()
    exchanged: tuple[tuple[str, str], ...] = ()
    unchanged: Mapping[str, tuple[tuple[Label, ...], Codes]] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def renamed(self) -> dict[str, str]:
        """Maps our names to those of the leak, where they differ."""
        return {ours: theirs for ours, theirs in zip(self.names, self.called, strict=True) if ours != theirs}

    def read_as(self, names: Mapping[int, str], trees: Trees) -> Leak:
        """Returns the leak with some of its columns, by place, each read as the column of this name.

        Columns that were published unchanged have the places behind the others. Columns with a name that is
        not in `trees` are taken for unchanged ones; where there are none, nothing is known of these.
        """
        called = (*self.names, *self.unchanged)
        columns = [*zip(self.texts, self.codes, strict=True), *self.unchanged.values()]
        places = tuple(j for j, name in names.items() if name in trees)
        taken = {j: name for j, name in names.items() if name not in trees}
        unchanged = {n: column for n, column in self.unchanged.items() if called.index(n) not in names}
        unchanged |= {name: columns[j] for j, name in taken.items()}
        return Leak(
            tuple(names[j] for j in places),
            tuple((*self.called, *self.unchanged)[j] for j in places),
            tuple(columns[j][0] for j in places),
            tuple(columns[j][1] for j in places),
            self.counts,
            trees,
            places=places,
            exchanged=tuple((called[j], name) for j, name in taken.items() if called[j] != name),
            unchanged=unchanged if taken else {},
        )

    def nodes(self, column: int, tree: ReadingTree) -> Nodes:
        """Returns the node of every text of a column; UNKNOWN where the tree has none."""
        key = (column, tree.digest)
        if key not in self._nodes:
            self._nodes[key] = tree.read(self.texts[column])
        return self._nodes[key]

    def joint_marks(self, names: Sequence[str], *, instead: tuple[str, int] | None = None) -> Marks | None:
        """Returns a mark per row for what it shows in unchanged columns together; `None` if one is missing.

        `instead` names one of them, and the place of the column that is taken for it.
        """
        key = (tuple(sorted(names)), instead)
        if key not in self._joint_marks:
            columns_by_name = dict(self.unchanged)
            if instead is not None:
                columns_by_name[instead[0]] = self.texts[instead[1]], self.codes[instead[1]]
            there = bool(names) and all(name in columns_by_name for name in names)
            columns = [columns_by_name[name] for name in key[0]] if there else []
            self._joint_marks[key] = joined_marks(columns, len(self.counts)) if there else None
        return self._joint_marks[key]

    @cached_property
    def _joint_marks(self) -> dict[tuple[tuple[str, ...], tuple[str, int] | None], Marks | None]:
        """The marks that have been worked out."""
        return {}

    def different(self, rows: NDArray[np.bool_]) -> int:
        """Counts the rows, of those that are flagged, that differ in the columns that were read."""
        if not self.unchanged:
            return int(rows.sum())
        return len(np.unique(np.stack(self.codes, axis=1)[rows], axis=0))

    @cached_property
    def _nodes(self) -> dict[tuple[int, str], Nodes]:
        """The nodes that have been read, by column and tree."""
        return {}

    @cached_property
    def readable(self) -> tuple[NDArray[np.bool_], ...]:
        """Per column: which of its texts some tree can read."""
        return tuple(
            np.any([self.nodes(j, tree) != UNKNOWN for tree in self.trees[name]], axis=0)
            for j, name in enumerate(self.names)
        )

    @cached_property
    def legible(self) -> NDArray[np.bool_]:
        """The rows whose cells can all be read."""
        legible = np.ones(len(self.counts), dtype=bool)
        for readable, codes in zip(self.readable, self.codes, strict=True):
            legible &= readable[codes]
        return legible

    def unreadable_texts(self) -> dict[str, tuple[str, ...]]:
        """Returns the texts that cannot be read, by column: cell values, for whoever asked to see them."""
        return {
            name: tuple(str(text) for text, can in zip(texts, readable.tolist(), strict=True) if not can)
            for name, texts, readable in zip(self.names, self.texts, self.readable, strict=True)
            if not readable.all()
        }


def read_leak(
    source: Source,
    issued: IssuedVersions,
    *,
    columns: Mapping[str, str] | None = None,
    unchanged: Iterable[str] = (),
    progress: Progress = silent,
) -> Leak:
    """Returns a leak, its cells read by the trees of the issued versions.

    A column is recognized by its name, whatever the case; one with another name by its cells, if they fit
    exactly one column of ours that is otherwise missing. `columns` maps names of the leak to ours, where that
    is known. `unchanged` names columns that are not recoded: those that the leak has by these names are read.
    """
    trees = issued.columns
    present = [name for name in dict.fromkeys(unchanged) if name in source.columns]
    ours = _by_name(source.columns, trees, columns or {})
    taken = set(ours.values())
    spare = [name for name in source.columns if name not in taken and name not in present]
    table = _count(source, [*ours.values(), *present], progress)
    unknown = tuple(
        name
        for name, theirs in ours.items()
        if theirs not in (columns or {})
        and not _familiar(table, theirs, trees[name])
        and any(issued.known_nodes(tree)[ROOT + 1 :].any() for tree in trees[name])
    )
    spare += [ours.pop(name) for name in unknown]
    lost = [name for name in trees if name not in ours]
    if lost and spare:
        ours |= _by_content(source, spare, {name: trees[name] for name in lost}, issued, progress)
    if not ours:
        raise BadData(
            "the leak has no column that can be read as one of ours",
            where=", ".join(unknown),
            remedy="Say which column is which, as columns={theirs: ours}; or it is not ours.",
        )
    names = tuple(name for name in trees if name in ours)
    called = tuple(ours[name] for name in names)
    if {*called, *present} != {column.name for column in table.columns}:
        table = _count(source, [*called, *present], progress)
    fixed = frozenset((columns or {}).values())
    texts = tuple(table.column(theirs).taxonomy.leaf_labels for theirs in called)
    codes = tuple(table.codes(theirs) for theirs in called)
    unchanged_columns = {
        name: (table.column(name).taxonomy.leaf_labels, table.codes(name)) for name in present
    }
    ours_trees = {name: trees[name] for name in names}
    return Leak(
        names, called, texts, codes, table.counts, ours_trees, unknown, fixed, unchanged=unchanged_columns
    )


def _by_name(theirs: Sequence[str], trees: Trees, named: Mapping[str, str]) -> dict[str, str]:
    """Maps our names to theirs: those that are `given`, and those that are equal."""
    if wrong := [name for name in (*named, *named.values()) if name not in {*theirs, *trees}]:
        raise UsageError(f"there is no column {wrong[0]!r}", remedy="Say --column THEIRS=OURS.")
    matched = {ours: name for name, ours in named.items()}
    free = [name for name in theirs if name not in named]
    for fold in (str, folded):
        for ours in trees:
            fitting = [name for name in free if fold(name) == fold(ours)]
            if ours not in matched and len(fitting) == 1:
                matched[ours] = fitting[0]
                free.remove(fitting[0])
    return matched


def _by_content(
    source: Source, spare: Sequence[str], trees: Trees, issued: IssuedVersions, progress: Progress
) -> dict[str, str]:
    """Maps our names to spare columns whose cells fit the trees of that column and of no other.

    Only cells count that some issued version shows.
    """
    surveys = source.survey(spare, progress=progress).columns
    fits: dict[str, list[str]] = {name: [] for name in trees}
    for theirs, survey in surveys.items():
        if survey.complete:
            fitting = [
                name
                for name, ours in trees.items()
                if _readable_share(survey.values, survey.counts, ours, issued.known_nodes)
                >= LEAST_READABLE_RENAMED
            ]
            for name in fitting:
                fits[name].append(theirs if len(fitting) == 1 else "")
    return {name: theirs[0] for name, theirs in fits.items() if len(theirs) == 1 and theirs[0]}


def _familiar(table: Microdata, theirs: str, trees: Sequence[ReadingTree]) -> bool:
    """Whether enough of a column with a name of ours can be read, or most of it says nothing."""
    column = table.column(theirs)
    counts = np.bincount(table.codes(theirs), weights=table.counts, minlength=len(column.taxonomy.leaves))
    labels = column.taxonomy.leaf_labels
    silent = np.all([tree.read(labels) == ROOT for tree in trees], axis=0)
    if counts[silent].sum() * 2 >= counts.sum():
        return True
    return _readable_share(labels, counts, trees) >= LEAST_READABLE


def _readable_share(
    texts: Sequence[Label],
    counts: NDArray[np.generic],
    trees: Sequence[ReadingTree],
    known_nodes: Callable[[ReadingTree], NDArray[np.bool_]] | None = None,
) -> float:
    """Returns the share of cells that can be read as `known_nodes`; cells that say nothing do not count."""
    read = [tree.read(texts) for tree in trees]
    readable = [nodes != UNKNOWN for nodes in read]
    if known_nodes is not None:
        readable = [
            can & known_nodes(tree)[nodes] for can, tree, nodes in zip(readable, trees, read, strict=True)
        ]
    by_any = np.any(readable, axis=0)
    says_nothing = np.all([nodes == ROOT for nodes in read], axis=0)
    weight = np.where(says_nothing, 0, counts.astype(np.float64))
    total = float(weight.sum())
    return float(weight[by_any].sum()) / total if total else 0.0


def _count(source: Source, names: Sequence[str], progress: Progress) -> Microdata:
    """Returns the distinct rows of these columns; every text is a value of its own."""
    codings = [Coding(name, Role.QUASI, Taxonomy.flat) for name in dict.fromkeys(names)]
    table = source.count(codings, progress=progress)
    if names and not table.rows:
        raise BadData("the leak has no rows", remedy="There is nothing to trace in it.")
    return table


# Which rows of a leak exist: in the imprint of a version, or in the original table.

FEW_TEXTS = 64
"""Columns with at most so many texts are compared text by text."""

Span = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Per text of a column: the lowest code that fits it, and the first one after."""


def rows_held_by(leak: Leak, version: HeldVersion, imprint: Imprint, rows: Flags) -> Flags | None:
    """Flags the rows of the leak that a version may be the source of: it has a class on a path with each.

    Other rows than these are not looked at. Returns `None` if the imprint is not of this version.
    """
    matched = _columns_and_spans(leak, version, imprint)
    if matched is None:
        return None
    columns, spans, places = matched
    return _rows_with_a_point(leak, columns, spans, imprint.nodes[:, places], rows)


def rows_shown_with(leak: Leak, imprint: Imprint, *, instead: tuple[str, int] | None = None) -> Flags | None:
    """Flags the rows whose texts in unchanged columns a version shows together; `None` if one is missing.

    `instead` names one of these columns, and the place of the column of the leak that is taken for it.
    """
    marks = leak.joint_marks(imprint.unchanged, instead=instead)
    return None if marks is None else np.isin(marks[:, 0], imprint.values[:, 0])


def rows_held_jointly(leak: Leak, version: HeldVersion, imprint: Imprint, rows: Flags) -> Flags:
    """Flags those of the rows that a class on a path with them holds with their unchanged texts.

    The version shows these texts together (`rows_shown_with`).
    """
    from sfumato.kernels.rows import boxes_with_points_of_kind  # noqa: PLC0415  # compiled code waits

    matched, marks = _columns_and_spans(leak, version, imprint), leak.joint_marks(imprint.unchanged)
    flags = np.zeros(len(rows), dtype=bool)
    if matched is None or marks is None:
        return rows.copy()
    columns, spans, places = matched
    order = np.argsort(imprint.values[:, 0], kind="stable")
    kinds, start = np.unique(imprint.values[order, 0], return_index=True)
    points = imprint.nodes[imprint.owner[order]][:, places]
    flags[rows] = boxes_with_points_of_kind(
        *_sides(leak, columns, spans, rows),
        np.searchsorted(kinds, marks[rows, 0]),
        np.ascontiguousarray(points, dtype=np.int32),
        np.append(start, len(order)).astype(np.int64),
    )
    return flags


def _columns_and_spans(
    leak: Leak, version: HeldVersion, imprint: Imprint
) -> tuple[list[int], list[Span], list[int]] | None:
    """Returns the columns that the version has, the nodes that fit their texts, and their places there."""
    trees = {tree.name: tree for tree in _trees(leak, version)}
    places = {key.name: i for i, key in enumerate(imprint.keys)}
    if version.cuts is None or any(
        imprint.keys[places[name]].digest != tree.digest if name in places else True
        for name, tree in trees.items()
    ):
        return None
    columns = [j for j, name in enumerate(leak.names) if name in trees]
    spans = []
    for j in columns:
        tree = trees[leak.names[j]]
        spans.append(_spans(tree, leak.nodes(j, tree), version.cuts[version.columns.index(tree.name)]))
    return columns, spans, [places[leak.names[j]] for j in columns]


def withheld_columns(leak: Leak, version: HeldVersion, imprint: Imprint) -> list[str]:
    """Returns the columns of a leak that a version is known not to have shown."""
    published = {*version.columns, *imprint.unchanged}
    return [name for name in leak.names if name not in published]


def rows_in_original(leak: Leak, original: Microdata, rows: Flags) -> Flags:
    """Flags the rows of the leak that generalize a row of the original, in all columns that it has."""
    keys = {column.name: column.taxonomy for column in original.keys}
    columns = [j for j, name in enumerate(leak.names) if name in keys]
    spans = []
    for j in columns:
        taxonomy = keys[leak.names[j]]
        nodes = ReadingTree.of(leak.names[j], taxonomy).read(leak.texts[j])
        readable = nodes != UNKNOWN
        low = np.where(readable, taxonomy.low[nodes], 0).astype(np.int32)
        spans.append((low, np.where(readable, taxonomy.high[nodes], 0).astype(np.int32)))
    points = [original.codes(leak.names[j]) for j in columns]
    if not points:
        return np.zeros(len(rows), dtype=bool)
    return _rows_with_a_point(leak, columns, spans, np.stack(points, axis=1), rows)


def _trees(leak: Leak, version: HeldVersion) -> list[ReadingTree]:
    """Returns the version's own trees, of the columns that the leak has."""
    return [tree for name in leak.names for tree in leak.trees[name] if version.cut_of(tree) is not None]


def _spans(tree: ReadingTree, nodes: NDArray[np.int32], cut: Sequence[int]) -> Span:
    """Returns, per text, the nodes of the cut that are on a path with its node."""
    readable = nodes != UNKNOWN
    shape = tree.shape
    published = tree.node_of(cut)[shape.low[nodes]]
    finer = tree.knows(cut)[nodes]
    low = np.where(finer, nodes, published)
    high = np.where(finer, shape.end[nodes], published + 1)
    return np.where(readable, low, 0).astype(np.int32), np.where(readable, high, 0).astype(np.int32)


def _rows_with_a_point(
    leak: Leak, columns: Sequence[int], spans: Sequence[Span], points: Codes, rows: Flags
) -> Flags:
    """Flags those of the rows that have a point that fits all their texts."""
    from sfumato.kernels.rows import boxes_with_points  # noqa: PLC0415  # compiled code waits

    matched = np.zeros(len(rows), dtype=bool)
    matched[rows] = boxes_with_points(
        *_sides(leak, columns, spans, rows), np.ascontiguousarray(points, dtype=np.int32)
    )
    return matched


def _sides(
    leak: Leak, columns: Sequence[int], spans: Sequence[Span], rows: Flags
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Returns the rows as boxes: the numbers of their sides, and the lowest and first higher code of each."""
    sides = np.zeros((int(rows.sum()), len(columns)), np.int32)
    low, high = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    begin = 0
    for place, (j, span) in enumerate(zip(columns, spans, strict=True)):
        (first, end), which = _distinct(span)
        sides[:, place] = begin + which[leak.codes[j][rows]]
        low.append(first)
        high.append(end)
        begin += len(first)
    return sides, np.concatenate(low), np.concatenate(high)


def _distinct(span: Span) -> tuple[Span, NDArray[np.intp]]:
    """Returns the different spans, and which of them each text has; few texts stay as they are."""
    first, end = span
    if len(first) <= FEW_TEXTS:
        return span, np.arange(len(first))
    distinct, which = np.unique((first.astype(np.int64) << 32) | end, return_inverse=True)
    return ((distinct >> 32).astype(np.int32), (distinct & 0xFFFFFFFF).astype(np.int32)), which.ravel()


# Columns that are published unchanged, compared jointly: what versions show in all of them together.

VERSIONS_PER_EVENT = 4
"""So many versions of an event are compared in their unchanged columns: all show the same table."""


@dataclass(frozen=True, eq=False)
class UnchangedColumns:
    """What the versions that were looked at say about columns that are published unchanged.

    An imprint knows the texts of all such columns of a row together. Per event, `shown` flags the rows of the
    leak whose texts occur in its table, and `held` those that it has a record for with these texts. An event
    is in neither if the leak lacks one of the columns, or if next to nothing in them is as published: then
    they were changed, and are left aside. `taken[j]` flags the rows in which column j of the leak, under the
    name of a key column, may be one of the unchanged columns, which is not where it should be.
    `exchangeable` are columns, and names of unchanged ones, that some rows show if the one is taken for the
    other.
    """

    shown: Mapping[str, Flags] = field(default_factory=dict)
    held: Mapping[str, Flags] = field(default_factory=dict)
    taken: Mapping[int, Flags] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    looked_at: Mapping[str, int] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    exchangeable: frozenset[tuple[int, str]] = frozenset()

    def learn(self, leak: Leak, version: HeldVersion, imprint: Imprint, rows: Flags) -> UnchangedColumns:
        """Returns the same after a version was looked at that holds records for these rows."""
        event, before = version.event, self.looked_at.get(version.event, 0)
        if not imprint.unchanged or before >= VERSIONS_PER_EVENT:
            return self
        compared = rows_shown_with(leak, imprint)
        taken, exchangeable = self._taken(leak, imprint, compared)
        learned = replace(
            self,
            looked_at={**self.looked_at, event: before + 1},
            taken=taken,
            exchangeable=self.exchangeable | exchangeable,
        )
        if compared is None or not _mostly_known(leak, compared):
            return learned
        rows_held = rows_held_jointly(leak, version, imprint, rows & compared)
        before_it = self.held.get(event)
        if before_it is not None:
            rows_held = _in_all_whole(rows_held, before_it, whole=(version.whole, event in self.whole))
        return replace(
            learned,
            shown={**self.shown, event: compared | self.shown.get(event, np.zeros_like(compared))},
            held={**self.held, event: rows_held},
            names=self.names | set(imprint.unchanged),
            whole=self.whole | {event} if version.whole else self.whole,
        )

    def _taken(
        self, leak: Leak, imprint: Imprint, compared: Flags | None
    ) -> tuple[Mapping[int, Flags], set[tuple[int, str]]]:
        """Flags, per column, rows that this version shows if the column is taken for an unchanged one; and
        says which columns can be taken for which.

        Rows whose unchanged columns are where they should be are not flagged.
        """
        taken, exchangeable = dict(self.taken), set[tuple[int, str]]()
        for j, own in enumerate(leak.names):
            for name in imprint.unchanged if own not in leak.fixed else ():
                rows = rows_shown_with(leak, imprint, instead=(name, j))
                if rows is not None:
                    exchangeable |= {(j, name)} if rows.any() else set()
                    rows = rows if compared is None else rows & ~compared
                    taken[j] = rows | taken.get(j, np.zeros_like(rows))
        return taken, exchangeable

    def never_shown(self, events: frozenset[str], rows: int) -> Flags:
        """Flags the rows with texts that no event shows; none where some event cannot say."""
        if not events or not events <= set(self.shown):
            return np.zeros(rows, dtype=bool)
        return ~self._any_shown

    @cached_property
    def _any_shown(self) -> Flags:
        flags: Flags = np.logical_or.reduce(list(self.shown.values()))
        return flags

    def may_hold(self, event: str, rows: int) -> Flags:
        """Flags the rows that an event has a record for with these texts; all where it cannot say."""
        return self.held.get(event, np.ones(rows, dtype=bool))


def _in_all_whole(flags: Flags, before: Flags, *, whole: tuple[bool, bool]) -> Flags:
    """Returns the rows that every whole version holds; while there is none, those that some version holds."""
    now, earlier = whole
    if now != earlier:
        return flags if now else before
    return flags & before if now else flags | before


def _mostly_known(leak: Leak, compared: Flags) -> bool:
    """Whether enough of the rows that can be read have unchanged texts as published."""
    total = int(leak.counts[leak.legible].sum())
    return bool(total) and int(leak.counts[leak.legible & compared].sum()) >= LEAST_READABLE * total

"""A leak as it is read: which of its columns are ours, and which node each of its cells stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.recipients.traced_versions import HeldVersion, IssuedVersions
from sfumato.system.errors import BadData, UsageError
from sfumato.system.progress import Progress, silent
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
    nothing can be read: they are left aside, and their rows are not.
    """

    names: tuple[str, ...]
    called: tuple[str, ...]
    texts: tuple[tuple[Label, ...], ...]
    codes: tuple[Codes, ...]
    counts: Counts
    trees: Trees = field(repr=False)
    unknown: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def renamed(self) -> dict[str, str]:
        """Maps our names to those of the leak, where they differ."""
        return {ours: theirs for ours, theirs in zip(self.names, self.called, strict=True) if ours != theirs}

    def nodes(self, column: int, tree: ReadingTree) -> Nodes:
        """Returns the node of every text of a column; UNKNOWN where the tree has none."""
        key = (column, tree.digest)
        if key not in self._nodes:
            self._nodes[key] = tree.read(self.texts[column])
        return self._nodes[key]

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
    progress: Progress = silent,
) -> Leak:
    """Returns a leak, its cells read by the trees of the issued versions.

    A column is recognized by its name, whatever the case; one with another name by its cells, if they fit
    exactly one column of ours that is otherwise missing. `columns` maps names of the leak to ours, where that
    is known. Who holds which version has no say in it.
    """
    trees = issued.columns
    ours = _by_name(source.columns, trees, columns or {})
    table = _count(source, list(ours.values()), progress)
    unknown = tuple(
        name
        for name, theirs in ours.items()
        if theirs not in (columns or {}) and not _familiar(table, theirs, trees[name])
    )
    taken = set(ours.values())
    spare = [name for name in source.columns if name not in taken]
    spare += [ours.pop(name) for name in unknown]
    lost = [name for name in trees if name not in ours]
    if lost and spare:
        ours |= _by_content(source, spare, {name: trees[name] for name in lost}, progress)
    if not ours:
        raise BadData(
            "the leak has no column that can be read as one of ours",
            where=", ".join(unknown),
            remedy="Say which column is which, as columns={theirs: ours}; or it is not ours.",
        )
    names = tuple(name for name in trees if name in ours)
    called = tuple(ours[name] for name in names)
    if {*called} != {column.name for column in table.columns}:
        table = _count(source, called, progress)
    texts = tuple(table.column(theirs).taxonomy.leaf_labels for theirs in called)
    codes = tuple(table.codes(theirs) for theirs in called)
    return Leak(names, called, texts, codes, table.counts, {name: trees[name] for name in names}, unknown)


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


def _by_content(source: Source, spare: Sequence[str], trees: Trees, progress: Progress) -> dict[str, str]:
    """Maps our names to spare columns whose cells fit the trees of that column and of no other."""
    surveys = source.survey(spare, progress=progress).columns
    fits: dict[str, list[str]] = {name: [] for name in trees}
    for theirs, survey in surveys.items():
        if survey.complete:
            fitting = [
                name
                for name, ours in trees.items()
                if _readable_share(survey.values, survey.counts, ours) >= LEAST_READABLE_RENAMED
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
    texts: Sequence[Label], counts: NDArray[np.generic], trees: Sequence[ReadingTree]
) -> float:
    """Returns the share of cells that can be read; cells that say nothing do not count."""
    read = [tree.read(texts) for tree in trees]
    by_any = np.any([nodes != UNKNOWN for nodes in read], axis=0)
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


# Which rows of a leak exist in a version, by its imprint.

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

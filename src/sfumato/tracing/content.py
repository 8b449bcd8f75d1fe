"""Which rows of a leak exist: in the imprint of a version, or in the original table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Codes, Microdata
from sfumato.core.reading_tree import UNKNOWN, ReadingTree
from sfumato.tracing.leak import Flags, Leak
from sfumato.tracing.versions import HeldVersion

FEW_TEXTS = 64
"""Columns with at most so many texts are compared text by text."""

Span = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Per text of a column: the lowest code that fits it, and the first one after."""


def rows_held_by(leak: Leak, version: HeldVersion, imprint: Imprint, rows: Flags) -> Flags | None:
    """Flags the rows of the leak that a version may be the source of: it has a class on a path with each.

    Other rows than these are not looked at. Returns `None` if the imprint is not of this version.
    """
    found = _columns_and_spans(leak, version, imprint)
    if found is None:
        return None
    columns, spans, places = found
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
    from sfumato.kernels.rows.boxes import boxes_with_points_of_kind  # noqa: PLC0415  # compiled code waits

    found, marks = _columns_and_spans(leak, version, imprint), leak.joint_marks(imprint.unchanged)
    held = np.zeros(len(rows), dtype=bool)
    if found is None or marks is None:
        return rows.copy()
    columns, spans, places = found
    order = np.argsort(imprint.values[:, 0], kind="stable")
    kinds, start = np.unique(imprint.values[order, 0], return_index=True)
    points = imprint.nodes[imprint.owner[order]][:, places]
    held[rows] = boxes_with_points_of_kind(
        *_sides(leak, columns, spans, rows),
        np.searchsorted(kinds, marks[rows, 0]),
        np.ascontiguousarray(points, dtype=np.int32),
        np.append(start, len(order)).astype(np.int64),
    )
    return held


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
    shown = {*version.columns, *imprint.unchanged}
    return [name for name in leak.names if name not in shown]


def rows_in_original(leak: Leak, original: Microdata, rows: Flags) -> Flags:
    """Flags the rows of the leak that generalize a row of the original, in all columns that it has."""
    keys = {column.name: column.taxonomy for column in original.keys}
    columns = [j for j, name in enumerate(leak.names) if name in keys]
    spans = []
    for j in columns:
        taxonomy = keys[leak.names[j]]
        nodes = ReadingTree.of(leak.names[j], taxonomy).read(leak.texts[j])
        known = nodes != UNKNOWN
        low = np.where(known, taxonomy.low[nodes], 0).astype(np.int32)
        spans.append((low, np.where(known, taxonomy.high[nodes], 0).astype(np.int32)))
    points = [original.codes(leak.names[j]) for j in columns]
    if not points:
        return np.zeros(len(rows), dtype=bool)
    return _rows_with_a_point(leak, columns, spans, np.stack(points, axis=1), rows)


def _trees(leak: Leak, version: HeldVersion) -> list[ReadingTree]:
    """Returns the version's own trees, of the columns that the leak has."""
    return [tree for name in leak.names for tree in leak.trees[name] if version.cut_of(tree) is not None]


def _spans(tree: ReadingTree, nodes: NDArray[np.int32], cut: Sequence[int]) -> Span:
    """Returns, per text, the nodes of the cut that are on a path with its node."""
    known = nodes != UNKNOWN
    shape = tree.shape
    shown = tree.node_of(cut)[shape.low[nodes]]
    finer = tree.knows(cut)[nodes]
    low = np.where(finer, nodes, shown)
    high = np.where(finer, shape.end[nodes], shown + 1)
    return np.where(known, low, 0).astype(np.int32), np.where(known, high, 0).astype(np.int32)


def _rows_with_a_point(
    leak: Leak, columns: Sequence[int], spans: Sequence[Span], points: Codes, rows: Flags
) -> Flags:
    """Flags those of the rows that have a point that fits all their texts."""
    from sfumato.kernels.rows.boxes import boxes_with_points  # noqa: PLC0415  # compiled code waits

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

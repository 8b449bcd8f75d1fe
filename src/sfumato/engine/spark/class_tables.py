"""The class of every row, as tables that Spark can join with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.cut import Cut
from sfumato.core.microdata import Microdata
from sfumato.core.packing import Packing, Words, sort_and_count
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.engine.arrow_arrays import to_arrow
from sfumato.engine.spark.row_order import ShownColumn


@dataclass(frozen=True, eq=False)
class RecodedByColumn:
    """Every column is recoded by itself; rows whose nodes, packed, are among `gone` are suppressed."""

    packing: Packing
    nodes: tuple[NDArray[np.int64], ...]
    """The node of every rank, key by key."""
    labels: tuple[ShownColumn, ...]
    """The published text of every rank, key by key."""
    gone: Words


@dataclass(frozen=True, eq=False)
class RecodedByRow:
    """Rows find their class by their packed key: by the key columns where these decide, else by all."""

    packing: Packing | None
    words: Words
    classes: NDArray[np.int64]
    labels: tuple[ShownColumn, ...]
    """The published text of every class, key by key."""


def class_tables(recoding: Recoding) -> RecodedByColumn | RecodedByRow:
    """The cheapest tables that tell what rows become."""
    return _by_column(recoding) or _by_row(recoding)


def _by_column(recoding: Recoding) -> RecodedByColumn | None:
    cuts, table = recoding.cuts, recoding.table
    if cuts is None or not table.keys:
        return None
    kept = recoding.class_of != SUPPRESSED
    shown = [cuts[c.name].node_of[recoding.low[:, j]] for j, c in enumerate(table.keys)]
    for column, nodes in zip(table.keys, shown, strict=True):
        own = cuts[column.name].node_of[table.codes(column.name)]
        if not np.array_equal(nodes[recoding.class_of[kept]], own[kept]):
            return None
    packing = Packing(tuple(len(c.taxonomy.labels) for c in table.keys))
    lost = np.flatnonzero(~kept)
    gone, _ = sort_and_count(
        packing.pack([cuts[c.name].node_of[table.codes(c.name)[lost]] for c in table.keys])
    )
    left, _ = sort_and_count(packing.pack(shown))
    every, _ = sort_and_count(np.hstack((gone, left)))
    if gone.shape[1] + left.shape[1] != every.shape[1]:
        return None
    return RecodedByColumn(packing, _nodes(cuts, table), _labels(cuts, table), gone)


def _nodes(cuts: Mapping[str, Cut], table: Microdata) -> tuple[NDArray[np.int64], ...]:
    return tuple(cuts[c.name].node_of.astype(np.int64) for c in table.keys)


def _labels(cuts: Mapping[str, Cut], table: Microdata) -> tuple[ShownColumn, ...]:
    columns = []
    for column in table.keys:
        nodes, which = np.unique(cuts[column.name].node_of, return_inverse=True)
        columns.append(ShownColumn.of([column.taxonomy.labels[v] for v in nodes.tolist()], which))
    return tuple(columns)


def _by_row(recoding: Recoding) -> RecodedByRow:
    table = recoding.table
    labels = tuple(ShownColumn.of(*recoding.texts(j)) for j in range(len(table.keys)))
    packing = Packing(tuple(max(1, len(c.taxonomy.leaves)) for c in table.keys)) if table.keys else None
    words = table.words if packing is None else packing.pack([table.codes(c.name) for c in table.keys])
    first = _first_of_each(words)
    if packing is None or not _decides(words, recoding.class_of, first):
        packing, words, first = None, table.words, np.arange(table.distinct)
    classes = recoding.class_of[first].astype(np.int64)
    kept = classes != SUPPRESSED
    return RecodedByRow(packing, words[:, first[kept]], classes[kept], labels)


def _first_of_each(words: Words) -> NDArray[np.int64]:
    """One position of every distinct key."""
    if words.shape[1] == 0:
        return np.zeros(0, np.int64)
    order = np.lexsort(words[::-1])
    fresh = np.ones(len(order), bool)
    fresh[1:] = (words[:, order[1:]] != words[:, order[:-1]]).any(axis=0)
    return order[fresh]


def _decides(words: Words, class_of: NDArray[np.integer], first: NDArray[np.int64]) -> bool:
    """Whether equal keys always have the same class."""
    both = np.vstack((words, class_of.astype(np.int64)))
    return len(_first_of_each(both)) == len(first)


def arrow_words(words: Words, names: Sequence[str]) -> dict[str, pa.Array]:
    """Packed keys as columns."""
    return {name: to_arrow(np.ascontiguousarray(word)) for name, word in zip(names, words, strict=True)}

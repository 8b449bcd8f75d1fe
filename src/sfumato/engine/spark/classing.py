"""Which class a row belongs to, as tables that Spark can join with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engine.exchange import text_array, to_arrow
from sfumato.terms.cut import Cut
from sfumato.terms.microdata import Microdata
from sfumato.terms.packing import Packing, Words, sort_and_count
from sfumato.terms.recoding import SUPPRESSED, Recoding


@dataclass(frozen=True, eq=False)
class ByColumn:
    """Every column is recoded by itself; rows whose nodes, packed, are among `gone` are suppressed."""

    packing: Packing
    nodes: tuple[NDArray[np.int64], ...]
    """The node of every rank, key by key."""
    labels: tuple[pa.Array, ...]
    """The published text of every rank, key by key."""
    gone: Words


@dataclass(frozen=True, eq=False)
class ByRow:
    """Rows find their class by their packed key: by the key columns where these decide, else by all."""

    packing: Packing | None
    words: Words
    classes: NDArray[np.int64]
    labels: tuple[pa.Array, ...]
    """The published text of every class, key by key."""


def classing(recoding: Recoding) -> ByColumn | ByRow:
    """The cheapest tables that tell what rows become."""
    return _by_column(recoding) or _by_row(recoding)


def _by_column(recoding: Recoding) -> ByColumn | None:
    cuts, table = recoding.cuts, recoding.table
    if cuts is None or not table.keys:
        return None
    kept = recoding.class_of != SUPPRESSED
    nodes = [cuts[c.name].node_of[table.codes(c.name)] for c in table.keys]
    for j, column in enumerate(table.keys):
        low = recoding.low[recoding.class_of[kept], j]
        if not np.array_equal(cuts[column.name].node_of[low], nodes[j][kept]):
            return None
    packing = Packing(tuple(len(c.taxonomy.labels) for c in table.keys))
    words = packing.pack(nodes)
    gone, _ = sort_and_count(words[:, ~kept].copy())
    left, _ = sort_and_count(words[:, kept].copy())
    every, _ = sort_and_count(words)
    if gone.shape[1] + left.shape[1] != every.shape[1]:
        return None
    return ByColumn(packing, _nodes(cuts, table), _labels(cuts, table), gone)


def _nodes(cuts: Mapping[str, Cut], table: Microdata) -> tuple[NDArray[np.int64], ...]:
    return tuple(cuts[c.name].node_of.astype(np.int64) for c in table.keys)


def _labels(cuts: Mapping[str, Cut], table: Microdata) -> tuple[pa.Array, ...]:
    found = []
    for column in table.keys:
        labels = column.taxonomy.labels
        found.append(text_array([labels[v] for v in cuts[column.name].node_of.tolist()], pa.string()))
    return tuple(found)


def _by_row(recoding: Recoding) -> ByRow:
    table = recoding.table
    labels = []
    for j in range(len(table.keys)):
        texts, which = recoding.texts(j)
        labels.append(text_array(texts, pa.string()).take(to_arrow(which.astype(np.int64))))
    packing = Packing(tuple(max(1, len(c.taxonomy.leaves)) for c in table.keys)) if table.keys else None
    words = table.words if packing is None else packing.pack([table.codes(c.name) for c in table.keys])
    first = _first_of_each(words)
    if packing is None or not _decides(words, recoding.class_of, first):
        packing, words, first = None, table.words, np.arange(table.distinct)
    classes = recoding.class_of[first].astype(np.int64)
    kept = classes != SUPPRESSED
    return ByRow(packing, words[:, first[kept]], classes[kept], tuple(labels))


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

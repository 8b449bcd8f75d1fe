"""Positions: who is told apart by several tables together, and whether every promise is kept there (rule M).

A person's *position* is the class they are in, table by table; in a chain of cumulative releases it begins
with the release they came with. Nothing that the tables say tells people of one position apart, whatever
else is known of their keys. Where the histograms that keep a promise form a convex cone (`Promise.cone`), and
tables are published only where every position that somebody is in keeps it, the belief of whoever holds the
tables is a mixture of histograms that keep it, and keeps it, too: also for those who know that rule, or
everybody's key values, or hold only some of the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.history import History
from sfumato.core.classes import Classes
from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.core.packing import Packing, sort_and_count
from sfumato.core.promise import Cuts, Promises
from sfumato.core.taxonomy import Nodes, Taxonomy

Labels = NDArray[np.int64]
"""A number for every distinct row; equal numbers are one group."""


def overall_counts(table: Microdata, columns: Sequence[str]) -> dict[str, Counts]:
    """Returns how often every value of some columns occurs in the whole table."""
    counts = {}
    for name in columns:
        every = np.zeros(max(1, len(table.column(name).taxonomy.leaves)), np.int64)
        np.add.at(every, table.codes(name), table.counts)
        counts[name] = every
    return counts


def people_at(
    table: Microdata,
    position: NDArray[np.integer],
    columns: Sequence[str],
    overall: Mapping[str, Counts] | None = None,
) -> Classes:
    """Returns the people of every position as classes; `overall` counts the whole table, where given."""
    return Classes.of(table, position, sensitive=columns, overall=overall)


def positions_kept(table: Microdata, position: NDArray[np.integer], promises: Promises) -> bool:
    """Tells whether every position keeps every class promise: rule M."""
    return bool(promises.holds_on(people_at(table, position, promises.sensitive)).all())


def positions_of(history: History, cuts: Cuts) -> Labels:
    """Returns the position of every distinct row beside the earlier releases and this one.

    Rows that came with different releases are apart. Of each, only the releases count that it is in.
    """
    table = history.table
    trees = [c.taxonomy for c in table.keys]
    finest: list[Nodes] = [cuts[c.name].node_of for c in table.keys]
    shown = [np.zeros(table.distinct, np.int32) for _ in trees]
    codes = [table.codes(c.name) for c in table.keys]
    for time in range(len(history.releases), -1, -1):
        if time < len(history.releases):
            earlier = history.releases[time].node_of
            finest = [deeper(*three) for three in zip(trees, finest, earlier, strict=True)]
        here = np.flatnonzero(history.time == time)
        for j, nodes in enumerate(finest):
            shown[j][here] = nodes[codes[j][here]]
    sizes = (len(history.releases) + 1, *(len(tree.labels) for tree in trees))
    return numbered([history.time, *shown], sizes)


def deeper(tree: Taxonomy, one: Nodes, other: Nodes) -> Nodes:
    """Returns, of two cuts given as the node of every leaf, the finer node on every path."""
    finer: Nodes = np.where(tree.depth[one] >= tree.depth[other], one, other)
    return finer


def numbered(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int]) -> Labels:
    """Returns a number for every row of some columns, from 0 on: equal rows have equal numbers."""
    packing = Packing(tuple(max(1, size) for size in sizes))
    packed = packing.pack([np.asarray(column, np.int32) for column in columns])
    distinct, _ = sort_and_count(packed.copy())
    if len(distinct) == 1:
        alone: Labels = np.searchsorted(distinct[0], packed[0]).astype(np.int64)
        return alone
    several: Labels = np.unique(packed.T, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    return several


def smallest_position(table: Microdata, position: NDArray[np.integer]) -> int | None:
    """Returns how many rows the smallest position holds; `None` where nobody is."""
    held = np.zeros(int(position.max(initial=-1)) + 1, np.int64)
    np.add.at(held, position, table.counts)
    return int(held[held > 0].min()) if (held > 0).any() else None


def rows_under(codes: Codes, tree: Taxonomy, node: int) -> NDArray[np.intp]:
    """Returns the distinct rows whose value lies below a node."""
    return np.flatnonzero((codes >= tree.low[node]) & (codes < tree.high[node]))

"""The classes of lattice nodes, each rolled up from those of a finer node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes, Histogram
from sfumato.core.microdata import Column, Counts, Microdata
from sfumato.core.packing import Packing
from sfumato.core.positions import positions
from sfumato.kernels.rows.groups import cross_tabulate, regroup, tally_fields

Ints = NDArray[np.int64]
Levels = tuple[int, ...]

MOST_HELD_ENTRIES = 16_000_000
"""So many entries of rolled-up tables are held at once (16 bytes each, more where keys are wide)."""


@dataclass(frozen=True, eq=False)
class EntryFields:
    """Where each key column, then each sensitive column, sits in an entry's key, and what levels do to it.

    A field holds the index of a node (of a sensitive column: of a leaf rank) among those that rows of the
    table reach at some level, in `present`: a taxonomy of many labels takes no more bits than its use. At
    level i of column j index x becomes `lift[offset[j][i] + x]`.
    """

    keys: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    present: tuple[NDArray[np.int32], ...]
    packing: Packing
    lift: NDArray[np.int32]
    offset: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, table: Microdata, sensitive: Sequence[str]) -> EntryFields:
        values = tuple(table.column(name) for name in sensitive)
        found = [_reached(c, table.codes(c.name)) for c in table.keys]
        found += [_marked(len(c.taxonomy.leaves), table.codes(c.name)) for c in values]
        sizes = tuple(len(nodes) for nodes in found)
        lifts, offset, end = [np.zeros(max(sizes, default=1), np.int32)], [], max(sizes, default=1)
        for column, nodes in zip(table.keys, found[: len(table.keys)], strict=True):
            taxonomy, starts = column.taxonomy, []
            for level in taxonomy.levels:
                starts.append(end)
                lifts.append(np.searchsorted(nodes, level[taxonomy.low[nodes]]).astype(np.int32))
                end += len(nodes)
            offset.append(tuple(starts))
        return cls(table.keys, values, tuple(found), Packing(sizes), np.concatenate(lifts), tuple(offset))

    def entries(self, table: Microdata) -> Ints:
        """Returns the key of every distinct row, one per line."""
        if not self.packing.sizes:
            return np.zeros((table.distinct, 1), np.int64)
        fields = []
        for j, column in enumerate((*self.keys, *self.sensitive)):
            codes = table.codes(column.name)
            leaves = column.taxonomy.leaves if j < len(self.keys) else np.arange(len(column.taxonomy.leaves))
            fields.append(np.searchsorted(self.present[j], leaves)[codes])
        return np.ascontiguousarray(self.packing.pack(fields).T)

    def where(self, columns: Sequence[int]) -> tuple[Ints, Ints, Ints]:
        """Returns word, shift and mask of these columns."""
        places = [self.packing.places[j] for j in columns]
        table = np.array([(w, s, (1 << b) - 1) for w, s, b in places], dtype=np.int64).reshape(-1, 3)
        return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()

    def codes(self, entries: Ints, column: int) -> NDArray[np.int32]:
        """Returns the nodes of a key column, or the leaf ranks of a sensitive one."""
        word, shift, bits = self.packing.places[column]
        codes: NDArray[np.int32] = self.present[column][(entries[:, word] >> shift) & ((1 << bits) - 1)]
        return codes


def _reached(column: Column, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the nodes that stand for some of these leaves at some level, ascending."""
    leaves = _marked(len(column.taxonomy.leaves), ranks)
    nodes = np.concatenate(
        [column.taxonomy.leaves[leaves], *(level[leaves] for level in column.taxonomy.levels)]
    )
    return _marked(len(column.taxonomy.labels), nodes)


def _marked(size: int, some: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the distinct of these numbers below a size, ascending, without sorting them."""
    held = np.zeros(size, bool)
    held[some] = True
    return np.flatnonzero(held).astype(np.int32)


@dataclass(frozen=True, eq=False)
class NodeClasses:
    """The classes of a node: their keys and rows; `entries` and `owner` where sensitive values matter.

    `positions` are those of the rows' people, where promises are judged on them.
    """

    keys: Ints
    rows: Counts
    owner: NDArray[np.int32] | None = None
    entries: tuple[Ints, Counts] | None = None
    positions: NDArray[np.int32] | None = None


class RollUp:
    """Groups a table at any node of its lattice.

    Columns are raised to their levels one after the other, those that merge most rows first; every table
    on the way is kept and serves all nodes that begin alike. Each step works on an ever smaller table.
    Where rows and people differ, a table must tell people apart, and every node starts from the rows.
    `work` counts the entries that were grouped.
    """

    def __init__(self, table: Microdata, sensitive: Sequence[str]) -> None:
        self.table = table
        self.work = 0
        self.fields = EntryFields.of(table, sensitive)
        self._where = [self.fields.where([j]) for j in range(len(self.fields.packing.sizes))]
        keys = len(table.keys)
        self._key_fields = self.fields.where(range(keys))
        self._sensitive_fields = self.fields.where(range(keys, keys + len(sensitive)))
        entries, counts = self.fields.entries(table), table.counts
        if not table.has_person:
            entries, counts = self._regroup(entries, counts, self.fields.where([]), [])[1:]
        self.order = sorted(range(keys), key=lambda j: (-self._spread(entries, counts, j), j))
        self._held: dict[Levels, tuple[Ints, Counts]] = {(0,) * keys: (entries, counts)}
        self._entries = len(counts)
        self._limit = MOST_HELD_ENTRIES + len(counts)
        self.overall = {
            c.name: np.bincount(table.codes(c.name), table.counts, len(c.taxonomy.leaves)).astype(np.int64)
            for c in self.fields.sensitive
        }

    def at(self, levels: Levels) -> NodeClasses:
        """Returns the classes of a node."""
        fields = self.fields
        if self.table.has_person:
            base = self._held[(0,) * len(levels)]
            lift = [fields.offset[j][i] for j, i in enumerate(levels)]
            zero = [0] * len(fields.sensitive)
            owner, keys, rows = self._regroup(*base, fields.where(range(len(lift + zero))), lift + zero)
            where = positions(self.table, owner) if self.table.profiles else None
            return NodeClasses(keys, rows, owner, positions=where)
        entries = self._rolled(levels)
        if not fields.sensitive:
            return NodeClasses(*entries)
        owner, keys, rows = self._regroup(*entries, self._sensitive_fields, [0] * len(fields.sensitive))
        return NodeClasses(keys, rows, owner, entries)

    def classes(self, grouped: NodeClasses, *, sensitive: bool) -> Classes:
        """Returns classes, or people's positions, as promises judge them; without `sensitive` only sizes."""
        names = [c.name for c in self.fields.sensitive] if sensitive else []
        if grouped.positions is not None:
            return Classes.of(self.table, grouped.positions, sensitive=names)
        if self.table.has_person and grouped.owner is not None:
            return Classes.of(self.table, grouped.owner, sensitive=names)
        histograms = {}
        if grouped.owner is not None and grouped.entries is not None:
            for j, column in enumerate(self.fields.sensitive[: len(names)]):
                values = self.fields.codes(grouped.entries[0], len(self.fields.keys) + j)
                start, found, sums = cross_tabulate(
                    grouped.owner, values, grouped.entries[1], len(grouped.rows), len(column.taxonomy.leaves)
                )
                overall = self.overall[column.name]
                histograms[column.name] = Histogram(column.taxonomy, start, found, sums, overall)
        return Classes(grouped.rows, grouped.rows, histograms)

    def tally(self, grouped: NodeClasses, chosen: NDArray[np.bool_]) -> list[Counts]:
        """Counts the rows of some classes or positions, for every key column, per node of its taxonomy."""
        columns = self.fields.keys
        bounds = np.cumsum([0, *self.fields.packing.sizes[: len(columns)]])
        rows = self.rows_of(grouped, chosen)
        some = rows > 0
        sums = tally_fields(grouped.keys[some], rows[some], *self._key_fields, bounds[:-1], int(bounds[-1]))
        counts = [np.zeros(len(c.taxonomy.labels), np.int64) for c in columns]
        for j, of_column in enumerate(counts):
            of_column[self.fields.present[j]] = sums[bounds[j] : bounds[j + 1]]
        return counts

    def rows_of(self, grouped: NodeClasses, chosen: NDArray[np.bool_]) -> Counts:
        """Counts, for every class, the rows that are in some of the classes or positions."""
        if grouped.positions is None or grouped.owner is None:
            return np.where(chosen, grouped.rows, 0)
        rows, inside = np.zeros(len(grouped.rows), np.int64), chosen[grouped.positions]
        np.add.at(rows, grouped.owner[inside], self.table.counts[inside])
        return rows

    def _rolled(self, levels: Levels) -> tuple[Ints, Counts]:
        if (ready := self._held.pop(levels, None)) is not None:
            self._held[levels] = ready  # used last, dropped last
            return ready
        place = [0] * len(levels)
        table = self._held[tuple(place)]
        for j in self.order:
            for level in range(levels[j], 0, -1):
                place[j] = level
                if (near := self._held.pop(tuple(place), None)) is not None:
                    table = self._held[tuple(place)] = near
                    break
            else:
                level = 0
            if level < levels[j]:
                place[j] = levels[j]
                _, keys, rows = self._regroup(*table, self._where[j], [self.fields.offset[j][levels[j]]])
                table = (keys, rows)
                self._hold(tuple(place), table)
        return table

    def _hold(self, levels: Levels, table: tuple[Ints, Counts]) -> None:
        """Keeps a table; when too much is held, drops those that were not used for longest."""
        self._held[levels] = table
        self._entries += len(table[1])
        while self._entries > self._limit:
            oldest = next(name for name in self._held if any(name))
            self._entries -= len(self._held.pop(oldest)[1])

    def _regroup(
        self, keys: Ints, rows: Counts, where: tuple[Ints, Ints, Ints], lift: Sequence[int]
    ) -> tuple[NDArray[np.int32], Ints, Counts]:
        self.work += len(rows)
        offset = np.array(lift, dtype=np.int64)
        owner, merged, sums = regroup(keys, rows, *where, offset, self.fields.lift)
        return owner, merged, sums

    def _spread(self, entries: Ints, counts: Counts, column: int) -> float:
        """Returns the entropy of a column: the higher, the more rows merge when it is raised."""
        share = np.bincount(self.fields.codes(entries, column), counts) / max(1, int(counts.sum()))
        share = share[share > 0]
        return float(-(share @ np.log2(share)))

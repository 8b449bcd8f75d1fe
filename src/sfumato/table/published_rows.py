"""The published rows as sorted codes, and the values that the codes stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.table.arrow_arrays import to_arrow
from sfumato.table.microdata import Counts, Packing, Words
from sfumato.table.spill import Runs, Spill

ROWS_AT_A_TIME = 1 << 20

ColumnCodes = list[NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class PublishedRows:
    """Sorted packed keys; `place[j]` says which of `values[j]` a code of column j is (missing: last)."""

    names: tuple[str, ...]
    values: tuple[pa.Array, ...]
    packing: Packing
    place: tuple[NDArray[np.int32], ...]
    keys: Runs

    @property
    def rows(self) -> int:
        return self.keys.rows

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(n, v.type) for n, v in zip(self.names, self.values, strict=True)])

    def blocks(self, rows: int = ROWS_AT_A_TIME) -> Iterator[ColumnCodes]:
        """The rows in order, so many at a time: by column, which of its values they have (missing: last)."""
        for parts in self.keys.repeated(rows):
            yield [self._codes(parts, j) for j in range(len(self.place))]

    def _codes(self, parts: Sequence[tuple[Words, Counts]], column: int) -> NDArray[np.int32]:
        """Which of its values a column has in rows that are given as keys and how often each is repeated."""
        codes = [
            np.repeat(self.place[column].take(self.packing.unpack(words, column)), times)
            for words, times in parts
        ]
        return codes[0] if len(codes) == 1 else np.concatenate(codes)

    def table(self) -> pa.Table:
        """All rows, decoded, in fresh buffers that hold nothing else."""
        codes = list(zip(*self.blocks(), strict=True))
        columns = []
        for j, values in enumerate(self.values):
            whole = np.concatenate(codes[j]) if codes else np.zeros(0, np.int32)
            indices = to_arrow(whole, missing=len(values))
            columns.append(pc.take(values, indices) if len(values) else pa.nulls(self.rows, values.type))
        return pa.Table.from_arrays(columns, schema=self.schema)

    def first_columns(self, count: int) -> PublishedRows:
        """The same rows, in the same order, without the columns after the first `count`."""
        names, values, place = self.names[:count], self.values[:count], self.place[:count]
        return replace(self, names=names, values=values, place=place)

    def with_values(self, column: int, values: pa.Array) -> PublishedRows:
        """The same table, its values in one column written in another way."""
        changed = (*self.values[:column], values, *self.values[column + 1 :])
        return replace(self, values=changed)


class PublishedRowsBuilder:
    """Builds a published table from rows in any order, given as codes of sorted values (missing: last)."""

    def __init__(self, names: Sequence[str], values: Sequence[pa.Array], spill: Spill) -> None:
        self.names, self.values = tuple(names), tuple(values)
        self.packing = Packing(tuple(len(v) + 1 for v in values))
        self._keys = Runs(spill)
        self._used = [np.zeros(len(v) + 1, bool) for v in values]

    def add(self, rows: int, codes: Iterable[NDArray[np.integer]], counts: Counts | None = None) -> None:
        """Add so many rows, column by column: no two columns need be in memory at a time."""
        packed = np.zeros((self.packing.words, rows), np.int64)
        for used, column, (word, shift, _) in zip(self._used, codes, self.packing.places, strict=True):
            used[column] = True
            packed[word] |= column.astype(np.int64) << shift
        self._keys.add(packed, counts)

    def finish(self) -> PublishedRows:
        """The table; values that no row has are gone from it."""
        used_values, places = [], []
        for values, used in zip(self.values, self._used, strict=True):
            used[-1] = False
            places.append((np.cumsum(used) - used).astype(np.int32))
            used_values.append(values.take(to_arrow(np.flatnonzero(used))))
        return PublishedRows(self.names, tuple(used_values), self.packing, tuple(places), self._keys)

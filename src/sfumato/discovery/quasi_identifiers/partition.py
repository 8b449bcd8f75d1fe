"""Partitions of the rows by some columns, without the groups of fewer than k rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.kernels.sets.partitions import DROPPED, refine

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Partition:
    """The groups of at least k rows: group i is `rows[bounds[i]:bounds[i + 1]]`."""

    total: int
    k: int
    rows: Ints
    bounds: Ints

    @classmethod
    def whole(cls, total: int, k: int) -> Partition:
        """All rows in one group, as no column at all leaves them."""
        if total < max(k, 1):
            return cls(total, k, np.zeros(0, np.int32), np.zeros(1, np.int32))
        return cls(total, k, np.arange(total, dtype=np.int32), np.array([0, total], np.int32))

    @property
    def exposed(self) -> int:
        """How many rows lie in groups of fewer than k."""
        return self.total - len(self.rows)

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.bounds).astype(np.int64)

    def refined(self, codes: Ints, size: int, *, enough: int | None = None) -> Partition | None:
        """Groups split by one more column; `None` as soon as `enough` rows are exposed."""
        kept = len(self.rows)
        limit = kept + 1 if enough is None else enough - self.exposed
        if limit <= 0:
            return None
        out = np.empty(kept, np.int32)
        bounds = np.empty(kept // self.k + 2, np.int32)
        clusters, stayed, why = refine(
            self.rows,
            0,
            self.bounds,
            0,
            len(self.bounds) - 1,
            codes,
            self.k,
            limit,
            kept + 1,
            np.zeros(max(size, 1), np.int32),
            np.empty(max(kept, 32), np.int32),
            out,
            0,
            bounds,
            0,
        )
        if why == DROPPED:
            return None
        return Partition(self.total, self.k, out[:stayed].copy(), bounds[: clusters + 1].copy())


def partition(table: Coded, columns: Iterable[int], k: int, *, enough: int | None = None) -> Partition | None:
    """The groups of at least k rows under these columns; `None` as soon as `enough` rows are exposed.

    Columns with many values go first: they leave little for the others to split.
    """
    current: Partition | None = Partition.whole(table.rows, k)
    if enough is not None and current is not None and current.exposed >= enough:
        return None
    for codes, size in _joined(table, sorted(columns, key=table.sizes.__getitem__, reverse=True)):
        if current is None or len(current.rows) == 0:
            break
        current = current.refined(codes, size, enough=enough)
    return current


def _joined(table: Coded, columns: Iterable[int]) -> Iterator[tuple[Ints, int]]:
    """Codes of the columns; several with few values become one column, as long as rows outnumber codes."""
    most = max(table.rows, 1 << 12)
    codes, size = np.zeros(0, np.int32), 1
    for j in columns:
        if table.sizes[j] <= 1:
            continue
        if size > 1 and size * table.sizes[j] <= most:
            codes, size = codes * np.int32(table.sizes[j]) + table.codes[j], size * table.sizes[j]
            continue
        if size > 1:
            yield codes, size
        codes, size = table.codes[j], table.sizes[j]
    if size > 1:
        yield codes, size

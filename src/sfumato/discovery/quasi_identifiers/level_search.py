"""The search for small sets, size by size: every pair and triple that could still be minimal is tried."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sfumato.discovery.quasi_identifiers.partition import Partition
from sfumato.discovery.quasi_identifiers.reduced import Bits, ReducedTable
from sfumato.discovery.quasi_identifiers.tree_search import KeepGoing
from sfumato.kernels.sets.partitions import split_by_each

LARGEST_SET = 3
"""Columns of the largest sets that are searched level by level."""
Pairs = NDArray[np.bool_]


class LevelSearch:
    """All minimal sets of at most three columns under which at least t rows are exposed.

    Where t is small, most splits stop after a few rows, which makes trying cheaper than reasoning.
    Sets are found in order of size: when size s is done, none of size s or less is missing.
    """

    def __init__(self, table: ReducedTable, *, k: int, t: int, max_size: int) -> None:
        self.table, self.k, self.t = table, k, t
        self.max_size = min(max_size, LARGEST_SET)
        self.sizes_done = 0
        self.steps = 0
        self._sets: list[tuple[int, ...]] = []
        self._alone = np.zeros(table.columns, bool)
        self._together: Pairs = np.zeros((table.columns, table.columns), bool)
        self._count = np.zeros(table.size, np.int32)
        self._local = np.empty(max(table.rows, 32), np.int32)
        self._out = np.empty(table.rows, np.int32)
        self._bounds = np.empty(table.rows // k + 2, np.int32)

    @property
    def found(self) -> int:
        return len(self._sets)

    @property
    def smallest(self) -> int | None:
        """The size of the smallest set found so far."""
        return len(self._sets[0]) if self._sets else None

    def sets(self) -> Bits:
        """What has been found so far: a set of columns per row."""
        bits = np.zeros((len(self._sets), self.table.columns), bool)
        for row, columns in zip(bits, self._sets, strict=True):
            row[list(columns)] = True
        return bits

    def run(self, keep_going: KeepGoing) -> bool:
        """Search until the end (true) or until told to stop (false)."""
        steps = (self._singles, self._pairs, self._triples)
        for step in islice(steps, self.sizes_done, self.max_size):
            for _ in step():
                if not keep_going(self.found):
                    return False
            self.sizes_done += 1
        return True

    def _singles(self) -> Iterator[None]:
        columns = np.arange(self.table.columns, dtype=np.int32)
        self._alone = self._exposing(Partition.whole(self.table.rows, self.k), columns)
        self._sets += [(int(j),) for j in np.flatnonzero(self._alone)]
        yield None

    def _pairs(self) -> Iterator[None]:
        for i in self._open_columns():
            others = np.flatnonzero(~self._alone[:i]).astype(np.int32)
            if len(others) == 0:
                continue
            hit = others[self._exposing(self._group(Partition.whole(self.table.rows, self.k), i), others)]
            self._together[i, hit] = self._together[hit, i] = True
            self._sets += [(int(j), i) for j in hit]
            yield None

    def _triples(self) -> Iterator[None]:
        for i in self._open_columns():
            first = self._group(Partition.whole(self.table.rows, self.k), i)
            for j in np.flatnonzero(~self._alone[:i] & ~self._together[i, :i])[::-1].tolist():
                open_pairs = ~self._alone[:j] & ~self._together[i, :j] & ~self._together[j, :j]
                others = np.flatnonzero(open_pairs).astype(np.int32)
                if len(others) == 0:
                    continue
                hit = others[self._exposing(self._group(first, j), others)]
                self._sets += [(int(c), j, i) for c in hit]
                yield None

    def _open_columns(self) -> list[int]:
        """Columns that are no answer alone; those that split most go first and leave least to split."""
        columns: list[int] = np.flatnonzero(~self._alone)[::-1].tolist()
        return columns

    def _group(self, groups: Partition, column: int) -> Partition:
        refined = groups.refined(self.table.codes[column], self.table.size)
        assert refined is not None  # noqa: S101  (nothing was asked to stop it)
        return refined

    def _exposing(self, groups: Partition, columns: NDArray[np.int32]) -> Pairs:
        """Which of these columns, added to what made the groups, expose t rows."""
        left = self.t - groups.exposed
        exposing: Pairs = split_by_each(
            groups.rows,
            groups.bounds,
            self.table.codes,
            columns,
            self.k,
            left,
            self._count,
            self._local,
            self._out,
            self._bounds,
        )
        self.steps += 512 * len(columns) + 8 * len(groups.rows) * int(np.count_nonzero(~exposing))
        return exposing

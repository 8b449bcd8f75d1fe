"""The search for small sets, size by size: every pair and triple that could still be minimal is tried."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sfumato.discovery.quasi_identifiers.partition import Partition
from sfumato.discovery.quasi_identifiers.reduced import ReducedTable
from sfumato.discovery.quasi_identifiers.tree_search import Fits, KeepGoing, Sets
from sfumato.kernels.sets.partitions import split_by_each

LARGEST_SET = 3
"""Columns of the largest sets that are searched level by level."""
CELLS_AT_ONCE = 1 << 23
"""Cells, rows times columns, that are looked at between two looks at the limits, if a column has no more."""
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
        self.found = 0
        self._found: list[NDArray[np.int32]] = []
        self._alone = np.zeros(table.columns, bool)
        self._together: Pairs = np.zeros((table.columns, table.columns), bool)
        self._count = np.zeros(table.size, np.int32)
        self._local = np.empty(max(table.rows, 32), np.int32)
        self._out = np.empty(table.rows, np.int32)
        self._bounds = np.empty(table.rows // k + 2, np.int32)

    @property
    def smallest(self) -> int | None:
        """The size of the smallest set found so far."""
        return self._found[0].shape[1] if self._found else None

    def words(self) -> Sets:
        """What has been found so far: a set per row, a bit per column."""
        words = np.zeros((self.found, max(1, -(-self.table.columns // 64))), np.uint64)
        start = 0
        for sets in self._found:
            rows = np.arange(start, start + len(sets))
            for column in sets.T:
                words[rows, column // 64] |= np.uint64(1) << (column % 64).astype(np.uint64)
            start += len(sets)
        return words

    def _add(self, hit: NDArray[np.int32], *others: int) -> None:
        """Notes sets: each of these columns, with the others."""
        if len(hit):
            sets = np.empty((len(hit), 1 + len(others)), np.int32)
            sets[:, 0], sets[:, 1:] = hit, others
            self._found.append(sets)
            self.found += len(hit)

    def run(self, keep_going: KeepGoing, *, fits: Fits = lambda *_: True) -> bool:
        """Search until the end (true) or until told to stop, or memory would not suffice (false)."""
        steps = (self._singles, self._pairs, self._triples)
        for step in islice(steps, self.sizes_done, self.max_size):
            for _ in step():
                held = 8 * self.found * max(1, -(-self.table.columns // 64))
                if not keep_going(self.found) or not fits(held, held):
                    return False
            self.sizes_done += 1
        return True

    def _singles(self) -> Iterator[None]:
        everybody = Partition.whole(self.table.rows, self.k)
        for some in self._portions(everybody, np.arange(self.table.columns, dtype=np.int32)):
            hit = some[self._exposing(everybody, some)]
            self._alone[hit] = True
            self._add(hit)
            yield None

    def _pairs(self) -> Iterator[None]:
        for i in self._open_columns():
            others = np.flatnonzero(~self._alone[:i]).astype(np.int32)
            if len(others) == 0:
                continue
            groups = self._group(Partition.whole(self.table.rows, self.k), i)
            for some in self._portions(groups, others):
                hit = some[self._exposing(groups, some)]
                self._together[i, hit] = self._together[hit, i] = True
                self._add(hit, i)
                yield None

    def _triples(self) -> Iterator[None]:
        for i in self._open_columns():
            first = self._group(Partition.whole(self.table.rows, self.k), i)
            for j in np.flatnonzero(~self._alone[:i] & ~self._together[i, :i])[::-1].tolist():
                open_pairs = ~self._alone[:j] & ~self._together[i, :j] & ~self._together[j, :j]
                others = np.flatnonzero(open_pairs).astype(np.int32)
                if len(others) == 0:
                    continue
                groups = self._group(first, j)
                for some in self._portions(groups, others):
                    self._add(some[self._exposing(groups, some)], j, i)
                    yield None

    def _portions(self, groups: Partition, columns: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
        """Yields some of the columns at a time, so that limits are looked at soon enough on long tables."""
        many = max(1, CELLS_AT_ONCE // max(1, len(groups.rows)))
        for start in range(0, len(columns), many):
            yield columns[start : start + many]

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

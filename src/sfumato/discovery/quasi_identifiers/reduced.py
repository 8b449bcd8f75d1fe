"""The reduced table that searches work on: no constants, look-alike columns joined, rare values marked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.discovery.quasi_identifiers.coded import Coded, Codes
from sfumato.discovery.quasi_identifiers.partition import partition
from sfumato.kernels.sets.partitions import join_alike, mark_rare


@dataclass(frozen=True, eq=False)
class ReducedTable:
    """Columns that differ in how they group rows, for one k; those that group most weakly come first.

    Codes of values held by fewer than k rows are -1: whoever has one is exposed already. `members[j]`
    lists the columns of the table that column j stands for. Constant columns stand for nothing: they are
    in no minimal set.
    """

    codes: Codes
    size: int
    members: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, table: Coded, k: int) -> ReducedTable:
        """Reduce a table; its columns stand for `members`."""
        codes = np.ascontiguousarray(table.codes)
        marked = np.empty(codes.shape, np.int32)
        shapes = mark_rare(codes, np.array(table.sizes, np.int64), k, marked)
        order = np.argsort(-shapes[:, 3], kind="stable")
        places, columns, size = join_alike(marked, shapes, order)
        members: list[list[int]] = [[] for _ in range(columns)]
        for j, place in enumerate(places.tolist()):
            if place >= 0:
                members[place].append(j)
        return cls(marked[:columns], max(size, 1), tuple(map(tuple, members)))

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    @property
    def columns(self) -> int:
        return int(self.codes.shape[0])


def without_duplicates(table: Coded) -> tuple[Coded, int]:
    """Equal rows once, and how many rows that leaves out."""
    alike = partition(table, range(len(table.names)), 2)
    if alike is None or len(alike.rows) == 0:
        return table, 0
    surplus = np.ones(len(alike.rows), bool)
    surplus[alike.bounds[:-1]] = False
    keep = np.ones(table.rows, bool)
    keep[alike.rows[surplus]] = False
    return table.take(np.flatnonzero(keep)), int(np.count_nonzero(surplus))

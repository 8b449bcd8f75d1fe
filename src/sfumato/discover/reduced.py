"""A table made ready for a search: constants gone, look-alike columns joined, rare values marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from sfumato.discover.coded import Coded, Codes
from sfumato.discover.partition import partition


@dataclass(frozen=True, eq=False)
class Reduced:
    """Columns that differ in how they group rows, for one k; those that group most weakly come first.

    Codes of values held by fewer than k rows are -1: whoever has one is exposed already. `members[j]`
    lists the columns of the table that column j stands for. Constant columns stand for nothing: they are
    in no minimal set.
    """

    codes: Codes
    size: int
    members: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, table: Coded, k: int) -> Reduced:
        """Reduce a table; answers about it come back through `expand`."""
        marked: list[Codes] = []
        members: list[list[int]] = []
        weights: list[tuple[int, int]] = []
        size = 1
        alike: dict[tuple[int, int, int], list[int]] = {}
        for j in range(len(table.names)):
            counts = np.bincount(table.codes[j], minlength=max(table.sizes[j], 1))
            if np.count_nonzero(counts) <= 1:
                continue
            frequent = counts >= k
            label = np.where(frequent, np.cumsum(frequent) - 1, -1).astype(np.int32)
            codes = label[table.codes[j]]
            kept = counts[frequent]
            groups, rows, pairs = len(kept), int(kept.sum()), int((kept * kept).sum())
            twin = _twin(codes, groups, (marked[i] for i in alike.get((groups, rows, pairs), [])))
            if twin is not None:
                members[alike[groups, rows, pairs][twin]].append(j)
                continue
            alike.setdefault((groups, rows, pairs), []).append(len(marked))
            marked.append(codes)
            members.append([j])
            weights.append((-pairs, j))
            size = max(size, groups)
        order = sorted(range(len(marked)), key=weights.__getitem__)
        reduced = np.empty((len(marked), table.rows), np.int32)
        for place, j in enumerate(order):
            reduced[place] = marked[j]
        return cls(reduced, size, tuple(tuple(members[j]) for j in order))

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    @property
    def columns(self) -> int:
        return int(self.codes.shape[0])

    def expand(self, sets: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
        """Sets of reduced columns as sets of the table's columns: every choice among look-alikes."""
        for chosen in sets:
            for choice in product(*(self.members[j] for j in chosen)):
                yield tuple(sorted(choice))


def _twin(codes: Codes, groups: int, others: Iterable[Codes]) -> int | None:
    """Which of the others groups the rows in the same way."""
    from sfumato.kernels.partitions import same_partition  # noqa: PLC0415

    for i, other in enumerate(others):
        if same_partition(codes, other, np.full(max(groups, 1), -1, np.int32)):
            return i
    return None


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

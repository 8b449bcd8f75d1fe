"""A buffer of packed rows: as they come, then equal ones once with a count, then on disk."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.system.memory import SMALLEST_BUFFER, Memory, coarser_start
from sfumato.table.columns import safe_name
from sfumato.table.dictionary import Dictionary
from sfumato.table.microdata import Counts, Packing, Words, sort_and_count
from sfumato.table.spill import Spill, StoredArray, StoredLines

Number = TypeVar("Number", bound=np.generic)

NumberTable = NDArray[np.int64]
"""For every number of a dictionary, another number."""

Equivalence = Callable[[int, Dictionary], NumberTable | None]
"""For every number of a column's dictionary, the first number that is equivalent; `None`: each its own."""

LARGEST_JOINT_TABLE = 1 << 16
"""Neighbouring columns are looked up together where they have no more combinations than this."""

BYTES_TO_JOIN_COUNTED, BYTES_TO_JOIN_NEW = 2, 6
"""Bytes that joining rows takes for each byte of those already counted, and of the new ones."""


@dataclass(frozen=True, eq=False)
class Chunk(StoredLines):
    """Some rows under a packing of their own; where `counted`, the last line says how often each occurs."""

    packing: Packing
    counted: bool = False

    def part(self, start: int, stop: int) -> Chunk:
        """Some of the rows."""
        lines = self.lines
        part = lines.part(start, stop) if isinstance(lines, StoredArray) else lines[:, start:stop]
        return Chunk(part, self.packing, self.counted)

    def load(self) -> tuple[Words, Counts | None]:
        lines = self.lines.read() if isinstance(self.lines, StoredArray) else self.lines
        return (lines[:-1], lines[-1]) if self.counted else (lines, None)


class RowBuffer:
    """Takes packed rows until the room is used up; then equal rows become one with a count.

    What is still too large after that is stored in `spill`, where there is one; otherwise it stays, and where
    a limit was set, the call ends. `equivalence` says which numbers of a column may be merged.
    """

    def __init__(
        self,
        dictionaries: Sequence[Dictionary],
        memory: Memory,
        equivalence: Equivalence | None,
        spill: Spill | None,
    ) -> None:
        self.chunks: list[Chunk] = []
        self.merged: list[NumberTable | None] = [None for _ in dictionaries]
        self._dictionaries, self._memory, self._alike, self._spill = dictionaries, memory, equivalence, spill
        self._room, self._fresh = memory.room, 0

    def add(self, packing: Packing, words: Words) -> None:
        """Takes packed rows over; they had better be `on_own_pages`, for they are held for long."""
        self.chunks.append(Chunk(words, packing))
        self._fresh += words.nbytes
        if self._fresh > self._room:
            self._merge_equal()

    def _merge_equal(self) -> None:
        """Merge equal rows; store them, or make sure that they may stay."""
        here = [chunk for chunk in self.chunks if not isinstance(chunk.lines, StoredArray)]
        self.chunks = [chunk for chunk in self.chunks if isinstance(chunk.lines, StoredArray)]
        packing = Packing(tuple(d.size for d in self._dictionaries))
        tables = [self._representatives(j, d) for j, d in enumerate(self._dictionaries)]
        words, counts = sort_and_count(*repacked(here, packing, tables))
        lines = np.concatenate((words, counts[None]))
        del words, counts
        merged = Chunk(lines, packing, counted=True)
        if self._spill is not None and merged.bytes * 2 > self._room:
            merged = Chunk(self._spill.store(lines), packing, counted=True)
        elif self._spill is None:
            wide = max(self._dictionaries, key=lambda d: d.size)
            self._memory.check(
                merged.bytes * BYTES_TO_JOIN_COUNTED + SMALLEST_BUFFER * BYTES_TO_JOIN_NEW,
                f"counting {merged.length:,} different rows",
                coarser_start(safe_name(wide.name)),
            )
        self.chunks.append(merged)
        self._fresh, self._room = 0, self._room_beside(merged)

    def _room_beside(self, merged: Chunk) -> int:
        """How many new rows to take until the next time: as many again, if there is room to join them."""
        wanted = max(self._memory.room, merged.bytes)
        if self._memory.limit is None:
            return wanted
        return min(
            wanted,
            max(
                SMALLEST_BUFFER,
                (self._memory.left - merged.bytes * BYTES_TO_JOIN_COUNTED) // BYTES_TO_JOIN_NEW,
            ),
        )

    def _representatives(self, column: int, dictionary: Dictionary) -> NumberTable:
        first = self._alike(column, dictionary) if self._alike else None
        table = np.arange(dictionary.size) if first is None else first
        before = self.merged[column]
        if before is not None:
            table[: len(before)] = table[before]
        if first is not None or before is not None:
            self.merged[column] = table
        return table


def first_of_each(groups: NDArray[np.integer]) -> NumberTable | None:
    """For every number the first one of its group; `None` if all groups differ.

    >>> first_of_each(np.array([7, 5, 7, 5])).tolist()
    [0, 1, 0, 1]
    """
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return None if len(first) == len(groups) else first[group].astype(np.int64)


def repacked(
    chunks: list[Chunk],
    packing: Packing,
    tables: Sequence[NDArray[np.integer]],
    columns: Sequence[int] | None = None,
) -> tuple[Words, Counts | None]:
    """The rows of some chunks under one packing: column i is what `tables[i]` has for column `columns[i]`.

    Uses up the chunks, from the last to the first, so that never all of them are held twice.
    """
    columns = range(len(tables)) if columns is None else columns
    end = sum(chunk.length for chunk in chunks)
    packed = np.zeros((packing.words, end), np.int64)
    counts = np.ones(end, np.int64) if any(chunk.counted for chunk in chunks) else None
    moved = [t.astype(np.int64) << shift for t, (_, shift, _) in zip(tables, packing.places, strict=True)]
    lookups_of: dict[Packing, list[_Lookup]] = {}
    while chunks:
        chunk = chunks.pop()
        words, weights = chunk.load()
        start = end - chunk.length
        if chunk.packing not in lookups_of:
            lookups_of = {chunk.packing: _lookups(chunk.packing, packing, moved, columns)}
        for lookup in lookups_of[chunk.packing]:
            packed[lookup.target, start:end] |= lookup.find(words)
        if weights is not None and counts is not None:
            counts[start:end] = weights
        end = start
    return packed, counts


def _lookups(
    before: Packing, after: Packing, moved: Sequence[NumberTable], columns: Sequence[int]
) -> list[_Lookup]:
    """What to look up. Neighbours that stay neighbours share a look-up while their joint table is small."""
    lookups: list[_Lookup] = []
    for i, j in enumerate(columns):
        word, shift, bits = before.places[j]
        lookup = _Lookup(word, shift, bits, after.places[i][0], moved[i])
        if lookups and lookups[-1].borders(lookup):
            lookup = lookups.pop().joined(lookup)
        lookups.append(lookup)
    return lookups


@dataclass(frozen=True, eq=False)
class _Lookup:
    """The codes at `bits` bits of word `source`, and what they become in word `target`."""

    source: int
    shift: int
    bits: int
    target: int
    table: NumberTable

    def borders(self, lower: _Lookup) -> bool:
        side_by_side = (self.source, self.target, self.shift) == (
            lower.source,
            lower.target,
            lower.shift + lower.bits,
        )
        return side_by_side and 1 << (self.bits + lower.bits) <= LARGEST_JOINT_TABLE

    def joined(self, lower: _Lookup) -> _Lookup:
        """One table for two codes side by side."""
        both = _filled(self.table, self.bits)[:, None] | _filled(lower.table, lower.bits)[None, :]
        return _Lookup(self.source, lower.shift, self.bits + lower.bits, self.target, both.ravel())

    def find(self, words: Words) -> NumberTable:
        numbers = words[self.source] >> self.shift
        numbers &= (1 << self.bits) - 1
        codes: NumberTable = self.table.take(numbers)
        return codes


def _filled(table: NumberTable, bits: int) -> NumberTable:
    """The table with room for every code of so many bits."""
    full = np.zeros(1 << bits, np.int64)
    full[: len(table)] = table[: len(full)]
    return full


def on_own_pages(shape: tuple[int, ...], kind: np.dtype[Number]) -> NDArray[Number]:
    """An array of zeros whose memory goes back to the system as soon as it is given up."""
    size = int(np.prod(shape)) * kind.itemsize
    return np.ndarray(shape, kind, buffer=mmap.mmap(-1, max(1, size)))

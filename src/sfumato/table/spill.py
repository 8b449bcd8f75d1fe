"""Arrays that memory has no room for, stored in a private folder that is gone afterwards."""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.system.disk import private_folder
from sfumato.system.errors import NotEnoughMemory
from sfumato.system.memory import SMALLEST_BUFFER, Memory, coarser_start
from sfumato.table.cell_text import safe_name
from sfumato.table.dictionary import Dictionary
from sfumato.table.microdata import Counts, Packing, Words, sort_and_count

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class StoredArray:
    """Lines of `width` whole numbers in a file; of every line, `length` numbers from `start` on."""

    file: Path
    lines: int
    width: int
    start: int
    length: int

    def part(self, start: int, stop: int) -> StoredArray:
        """Some columns of it."""
        stop = min(stop, self.length)
        return StoredArray(self.file, self.lines, self.width, self.start + start, max(0, stop - start))

    def read(self) -> Longs:
        lines = np.empty((self.lines, self.length), np.int64)
        with self.file.open("rb", buffering=0) as file:
            for line, numbers in enumerate(lines):
                file.seek((line * self.width + self.start) * numbers.itemsize)
                if file.readinto(numbers.data.cast("B")) != numbers.nbytes:
                    raise NotEnoughMemory("the spill folder lost what was in it", remedy="Try again.")
        return lines


@dataclass(frozen=True, eq=False)
class StoredLines:
    """Lines of numbers, in memory or on disk; `bytes` is what they take in memory."""

    lines: Longs | StoredArray

    @property
    def length(self) -> int:
        return self.lines.length if isinstance(self.lines, StoredArray) else self.lines.shape[1]

    @property
    def bytes(self) -> int:
        return 0 if isinstance(self.lines, StoredArray) else self.lines.nbytes


@dataclass(eq=False)
class Spill:
    """A folder that is made when it is first needed; `memory` says where, and how much is held instead."""

    memory: Memory = field(default_factory=Memory)
    written: int = 0
    _stack: ExitStack = field(default_factory=ExitStack)
    _folder: Path | None = None

    def store(self, numbers: Longs) -> StoredArray:
        """Put an array away."""
        try:
            if self._folder is None:
                self._folder = self._stack.enter_context(private_folder(self.memory.spill))
            self.written += 1
            file = self._folder / f"{self.written}.codes"
            with file.open("wb") as out:
                for line in numbers:
                    out.write(np.ascontiguousarray(line).data)
        except OSError as error:
            raise NotEnoughMemory(
                f"the spill folder cannot take what memory has no room for ({error.strerror})",
                remedy="Name a folder with more room with --spill, or allow more with --memory.",
            ) from None
        return StoredArray(file, len(numbers), numbers.shape[1], 0, numbers.shape[1])

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        self._folder = None


# Sorted runs of packed keys, each key once with its count, in memory or on disk.

KEYS_AT_A_TIME = 1 << 20
"""Keys that a merge of several runs yields at a time, about."""


class Runs:
    """Packed keys that are added in any order and come out sorted.

    What is added becomes a run: its distinct keys, sorted, with their counts. Runs that outgrow the room in
    memory are joined, and put away if they are still too large.
    """

    def __init__(self, spill: Spill) -> None:
        self.rows = 0
        self._spill = spill
        self._room = spill.memory.room
        self._held: list[_Run] = []
        self._away: list[_Run] = []

    def add(self, packed: Words, counts: Counts | None = None) -> None:
        """More keys; one-word keys without counts are sorted in place."""
        if not packed.shape[1]:
            return
        self.rows += packed.shape[1] if counts is None else int(counts.sum())
        self._held.append(_Run.of(*sort_and_count(packed, counts)))
        if len(self._held) > 1 and sum(run.bytes for run in self._held) > self._room:
            self._join()

    def _join(self) -> None:
        """One run of all that is in memory; it stays there if it became small."""
        before = sum(run.bytes for run in self._held)
        joined = list(_merged(self._held))
        whole = _Run.of(*(np.concatenate(parts, axis=-1) for parts in zip(*joined, strict=True)))
        self._held = []
        if whole.bytes * 2 < max(before, self._room):
            self._held.append(whole)
        else:
            self._away.append(_Run(self._spill.store(whole.read(0, whole.length))))

    def blocks(self) -> Iterator[tuple[Words, Counts]]:
        """All keys in ascending order, each once, and their counts, some at a time."""
        return _merged([*self._away, *self._held])

    def expanded(self, rows: int) -> Iterator[Words]:
        """All keys in ascending order, each as often as it counts: `rows` at a time, the rest at the end."""
        for parts in self.repeated(rows):
            yield _joined([np.repeat(words, times, axis=1) for words, times in parts])

    def repeated(self, rows: int) -> Iterator[list[tuple[Words, Counts]]]:
        """The same as keys and how often each is repeated, which add up to `rows` at a time."""
        parts: list[tuple[Words, Counts]] = []
        filled = 0
        for words, counts in self.blocks():
            ends = np.cumsum(counts)
            done, total = 0, int(ends[-1])
            while done < total:
                take = min(rows - filled, total - done)
                parts.append(_part_of(words, counts, ends, done, done + take))
                done, filled = done + take, filled + take
                if filled == rows:
                    yield parts
                    parts, filled = [], 0
        if parts:
            yield parts


class _Run(StoredLines):
    """Lines of words and one of counts."""

    @classmethod
    def of(cls, words: Words, counts: Counts) -> _Run:
        return cls(np.concatenate((words, counts[None])))

    def read(self, start: int, stop: int) -> Words:
        lines = self.lines
        return lines.part(start, stop).read() if isinstance(lines, StoredArray) else lines[:, start:stop]


def _merged(runs: list[_Run]) -> Iterator[tuple[Words, Counts]]:
    """The keys of all runs, in order, equal ones together.

    Of every run a window is looked at. All keys up to the smallest last key of the windows can be handed on:
    no run has another one of them further down.
    """
    span = max(1, KEYS_AT_A_TIME // max(1, len(runs)))
    read = [0] * len(runs)
    windows = [run.read(0, 0) for run in runs]
    while True:
        for i, run in enumerate(runs):
            if not windows[i].shape[1] and read[i] < run.length:
                windows[i] = run.read(read[i], read[i] + span)
                read[i] += windows[i].shape[1]
        more = [_key(w, -1) for w, run, at in zip(windows, runs, read, strict=True) if at < run.length]
        reach = [_reach(w, min(more)) if more else w.shape[1] for w in windows]
        ready = [w[:, :end] for w, end in zip(windows, reach, strict=True) if end]
        if not ready:
            return
        windows = [w[:, end:] for w, end in zip(windows, reach, strict=True)]
        if len(ready) == 1:
            yield ready[0][:-1], ready[0][-1]
        else:
            lines = np.concatenate(ready, axis=1)
            yield sort_and_count(lines[:-1], lines[-1])


def _key(lines: Words, column: int) -> tuple[int, ...]:
    return tuple(lines[:-1, column].tolist())


def _reach(lines: Words, key: tuple[int, ...]) -> int:
    """How many of the sorted keys are at most this one."""
    if len(lines) == 2:
        return int(np.searchsorted(lines[0], key[0], side="right"))
    return bisect_right(range(lines.shape[1]), key, key=lambda column: _key(lines, column))


def _part_of(words: Words, counts: Counts, ends: Counts, start: int, stop: int) -> tuple[Words, Counts]:
    """The keys of rows `start .. stop-1`, where each is repeated as often as it counts, and how often."""
    first, last = np.searchsorted(ends, (start, stop - 1), side="right")
    times = counts[first : last + 1].copy()
    times[-1] -= ends[last] - stop
    times[0] -= start - (ends[first] - counts[first])
    return words[:, first : last + 1], times


def _joined(parts: list[Words]) -> Words:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


# A buffer of packed rows: as they come, then equal ones once with a count, then on disk.


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

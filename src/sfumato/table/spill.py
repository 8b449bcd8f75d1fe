"""Arrays that memory has no room for, stored in a private folder that is gone afterwards."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from sfumato.system.disk import private_folder
from sfumato.system.errors import NotEnoughMemory
from sfumato.system.memory import Memory
from sfumato.table.microdata import Counts, Words, sort_and_count

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

"""Several small codes in one integer key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

WORD_BITS = 63
"""Bits used of a 64-bit word: keys stay non-negative when seen as signed."""

Words = NDArray[np.int64]


@dataclass(frozen=True)
class Packing:
    """Where each column's code sits in the key; schemas wider than 63 bits take several words.

    The first column is the most significant, so that sorting keys sorts rows column by column.

    >>> packing = Packing((3, 500))
    >>> words = packing.pack([np.array([0, 2, 1]), np.array([7, 499, 0])])
    >>> packing.unpack(words, 1).tolist()
    [7, 499, 0]
    """

    sizes: tuple[int, ...]

    @cached_property
    def places(self) -> tuple[tuple[int, int, int], ...]:
        """(word, shift, bits) of every column."""
        bits = [max(1, int(size - 1).bit_length()) for size in self.sizes]
        word_of, word, used = [], 0, 0
        for width in bits:
            if used + width > WORD_BITS:
                word, used = word + 1, 0
            word_of.append(word)
            used += width
        places, left = [], dict.fromkeys(range(word + 1), 0)
        for column in reversed(range(len(bits))):
            w = word_of[column]
            places.append((w, left[w], bits[column]))
            left[w] += bits[column]
        return tuple(reversed(places))

    @property
    def words(self) -> int:
        """How many 64-bit words a key takes."""
        return max((word for word, _, _ in self.places), default=0) + 1

    def pack(self, columns: Sequence[NDArray[np.integer]]) -> Words:
        """One key per row, an array of shape (words, rows)."""
        rows = len(columns[0]) if columns else 0
        packed = np.zeros((self.words, rows), dtype=np.int64)
        for codes, (word, shift, _) in zip(columns, self.places, strict=True):
            packed[word] |= codes.astype(np.int64) << shift
        return packed

    def unpack(self, packed: Words, column: int) -> NDArray[np.int32]:
        """The codes of one column."""
        word, shift, bits = self.places[column]
        codes: NDArray[np.int64] = (packed[word] >> shift) & ((1 << bits) - 1)
        return codes.astype(np.int32)


BLOCK_ROWS = 1 << 16
"""Rows handled at a time where memory matters."""


def sorted_keys(packed: Words) -> Words:
    """The keys in ascending order; one-word keys are sorted in place."""
    if len(packed) == 1:
        packed[0].sort()
        return packed
    return packed[:, np.lexsort(packed[::-1])]


def sort_and_count(packed: Words, counts: NDArray[np.int64] | None = None) -> tuple[Words, NDArray[np.int64]]:
    """The distinct keys in ascending order, and how often each occurs.

    One-word keys without counts are sorted in place and may share memory with the result.
    """
    if counts is None:
        keys = sorted_keys(packed)
        return _run_lengths(keys, _first_of_equals(keys))
    order = np.argsort(packed[0]) if len(packed) == 1 else np.lexsort(packed[::-1])
    keys, counts = packed[:, order], counts[order].astype(np.int64, copy=False)
    del order
    return _run_sums(keys, counts, _first_of_equals(keys)) if len(counts) else (keys, counts)


def _first_of_equals(keys: Words) -> NDArray[np.bool_]:
    """Which of keys in order differ from the one before."""
    rows = keys.shape[1]
    fresh = np.ones(rows, dtype=bool)
    for start in range(1, rows, BLOCK_ROWS):
        span = slice(start, min(rows, start + BLOCK_ROWS))
        before = slice(span.start - 1, span.stop - 1)
        np.not_equal(keys[0, span], keys[0, before], out=fresh[span])
        for line in keys[1:]:
            fresh[span] |= line[span] != line[before]
    return fresh


def _run_sums(
    keys: Words, counts: NDArray[np.int64], fresh: NDArray[np.bool_]
) -> tuple[Words, NDArray[np.int64]]:
    """Compress sorted keys and their counts in place."""
    done = 0
    for start in range(0, len(fresh), BLOCK_ROWS):
        here, some = np.flatnonzero(fresh[start : start + BLOCK_ROWS]), counts[start : start + BLOCK_ROWS]
        before = int(here[0]) if len(here) else len(some)
        if before:
            counts[done - 1] += some[:before].sum()
        if len(here):
            counts[done : done + len(here)] = np.add.reduceat(some, here)
            keys[:, done : done + len(here)] = keys[:, here + start]
            done += len(here)
    return _tight(keys, done), counts[:done] if done * 4 > len(counts) * 3 else counts[:done].copy()


def _run_lengths(keys: Words, fresh: NDArray[np.bool_]) -> tuple[Words, NDArray[np.int64]]:
    """Compress sorted keys in place; beside them the number of rows in each run."""
    rows, distinct = len(fresh), int(np.count_nonzero(fresh))
    lengths = np.empty(distinct, np.int64)
    done = 0
    for start in range(0, rows, BLOCK_ROWS):
        here = np.flatnonzero(fresh[start : start + BLOCK_ROWS])
        lengths[done : done + len(here)] = here + start
        keys[:, done : done + len(here)] = keys[:, here + start]
        done += len(here)
    for start in range(0, distinct, BLOCK_ROWS):
        stop = min(distinct, start + BLOCK_ROWS)
        after = lengths[stop] if stop < distinct else rows
        lengths[start:stop] = np.diff(lengths[start:stop], append=after)
    return _tight(keys, distinct), lengths


def _tight(keys: Words, distinct: int) -> Words:
    """The first keys, without the memory of the others where that is worth a copy."""
    tight = keys[:, :distinct]
    return tight if distinct * 4 > keys.shape[1] * 3 and len(keys) == 1 else tight.copy()

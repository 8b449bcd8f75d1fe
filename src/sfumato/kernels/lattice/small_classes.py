"""Rows as bits, 64 in a word: which rows hold a node, and whether enough rows hold several nodes at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.sets.bitsets import ones

Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Words = NDArray[np.uint64]


@njit(cache=True)
def mark_rows(codes: Small, low: int, high: int, marks: Words) -> None:
    """Set the bits of the rows whose codes are from `low` up to `high`, and clear all others."""
    for w in range(len(marks)):
        word = np.uint64(0)
        for i in range(64 * w, min(64 * w + 64, len(codes))):
            if low <= codes[i] < high:
                word |= np.uint64(1) << np.uint64(i & 63)
        marks[w] = word


@njit(cache=True)
def have_enough(marks: Words, lines: Ints, counts: Ints, least: int) -> tuple[bool, int]:
    """Return whether the rows that all these lines of bits mark count `least` together, and the words seen.

    There is at least one line; it is fastest to have the one with the fewest rows first.
    """
    total, words = 0, marks.shape[1]
    for w in range(words):
        common = marks[lines[0], w]
        for q in range(1, len(lines)):
            if common == 0:
                break
            common &= marks[lines[q], w]
        while common != 0:
            total += counts[64 * w + _lowest(common)]
            if total >= least:
                return True, w + 1
            common &= common - np.uint64(1)
    return False, words


@njit(cache=True)
def first_row(marks: Words, lines: Ints) -> int:
    """Return the first row that all these lines of bits mark; -1 if there is none."""
    for w in range(marks.shape[1]):
        common = marks[lines[0], w]
        for q in range(1, len(lines)):
            common &= marks[lines[q], w]
        if common != 0:
            return 64 * w + _lowest(common)
    return -1


@njit(cache=True)
def _lowest(word: int) -> int:
    """The place of the lowest bit of a word that is not 0."""
    return ones((word & (~word + np.uint64(1))) - np.uint64(1))

"""Overlaps of histograms: compiled loops over pairs of sets that share a block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

NO_OVERLAP = np.iinfo(np.int64).max


@njit(cache=True)
def least_overlaps(
    start: Longs,
    block: Ints,
    count: Longs,
    begin: Longs,
    other: Ints,
    other_count: Longs,
    others: int,
) -> tuple[Longs, Ints, Longs, Ints, Longs]:
    """Of every set the smallest positive overlap with a set of the other side, and with which.

    Set a holds entries `start[a] .. start[a+1]-1`, each in a `block` with a `count`. The other side's entries
    are sorted by block: those of block b are `begin[b] .. begin[b+1]-1`, entry i belongs to set `other[i]`.
    The overlap of two sets is the sum over their common blocks of the smaller count. Returns for both sides
    the least overlap (NO_OVERLAP where there is none) and its partner, and how many partners each set has.
    """
    sets = len(start) - 1
    least, with_whom = np.full(sets, NO_OVERLAP, np.int64), np.full(sets, -1, np.int32)
    back, back_whom = np.full(others, NO_OVERLAP, np.int64), np.full(others, -1, np.int32)
    partners = np.zeros(sets, np.int64)
    sums = np.zeros(others, np.int64)
    touched = np.empty(others, np.int32)
    for a in range(sets):
        used = 0
        for i in range(start[a], start[a + 1]):
            b = block[i]
            if b < 0:
                continue
            for j in range(begin[b], begin[b + 1]):
                o = other[j]
                if sums[o] == 0:
                    touched[used] = o
                    used += 1
                sums[o] += min(count[i], other_count[j])
        partners[a] = used
        for t in range(used):
            o = touched[t]
            value = sums[o]
            sums[o] = 0
            if value < least[a] or (value == least[a] and o < with_whom[a]):
                least[a], with_whom[a] = value, o
            if value < back[o]:
                back[o], back_whom[o] = value, a
    return least, with_whom, back, back_whom, partners

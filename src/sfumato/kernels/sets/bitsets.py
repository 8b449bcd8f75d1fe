"""Sets of small numbers as rows of 64-bit words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Words = NDArray[np.uint64]

_ONE = np.uint64(1)
_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_H1 = np.uint64(0x0101010101010101)


@njit(cache=True, inner=True, borrows=True)
def ones(x: np.uint64) -> int:
    """How many bits are set."""
    x -= (x >> _ONE) & _M1
    x = (x & _M2) + ((x >> np.uint64(2)) & _M2)
    x = (x + (x >> np.uint64(4))) & _M4
    return int((x * _H1) >> np.uint64(56))


@njit(cache=True, inner=True, borrows=True)
def holds(words: Words, i: int) -> bool:
    """Whether i is in the set."""
    return bool((words[i >> 6] >> np.uint64(i & 63)) & _ONE != np.uint64(0))


@njit(cache=True, inner=True, borrows=True)
def put(words: Words, i: int) -> None:
    """Add i to the set."""
    words[i >> 6] |= _ONE << np.uint64(i & 63)


@njit(cache=True, inner=True, borrows=True)
def copy(words: Words, source: Words) -> None:
    """Make the set equal to another one."""
    for w in range(len(words)):
        words[w] = source[w]


@njit(cache=True, inner=True, borrows=True)
def below(words: Words, other: Words) -> bool:
    """Whether the set is contained in the other one."""
    for w in range(len(words)):  # noqa: SIM110
        if words[w] & ~other[w] != np.uint64(0):
            return False
    return True


@njit(cache=True, inner=True, borrows=True)
def take_first(words: Words) -> int:
    """Remove and return the smallest member, -1 if there is none."""
    for w in range(len(words)):
        x = words[w]
        if x != np.uint64(0):
            lowest = x & (~x + _ONE)
            words[w] = x ^ lowest
            return 64 * w + ones(lowest - _ONE)
    return -1


@njit(cache=True)
def keys_by_rank(
    words: Words, ranks: NDArray[np.int64], choices: NDArray[np.int64]
) -> tuple[Words, NDArray[np.int64], int]:
    """Keys of sets, one per row of `words`: ascending keys are sets by their members of lowest rank.

    Where two sets differ first in the order of ranks, the one that has the member comes first. Returns the
    keys, the sizes of the sets, and how many sets they are if every member stands for so many `choices`:
    modulo 2 to the 64.
    """
    keys = np.full(words.shape, ~np.uint64(0), np.uint64)
    sizes = np.zeros(len(words), np.int64)
    total = 0
    for i in range(len(words)):
        several = 1
        for w in range(words.shape[1]):
            x = words[i, w]
            sizes[i] += ones(x)
            while x != np.uint64(0):
                lowest = x & (~x + _ONE)
                x ^= lowest
                member = 64 * w + ones(lowest - _ONE)
                several *= choices[member]
                rank = ranks[member]
                keys[i, rank >> 6] ^= _ONE << np.uint64(63 - (rank & 63))
        total += several
    return keys, sizes, total

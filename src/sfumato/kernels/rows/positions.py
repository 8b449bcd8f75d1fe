"""The positions of sorted rows among the sorted keys that they begin with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Longs = NDArray[np.int64]


@njit(cache=True)
def _compare(keys: Longs, at: int, rows: Longs, row: int, shift: int) -> int:
    """-1, 0 or 1: the key before, at or after what the row begins with."""
    last = len(keys) - 1
    for word in range(last + 1):
        key, begins = keys[word, at], rows[word, row]
        if word == last:
            begins >>= shift
        if key != begins:
            return -1 if key < begins else 1
    return 0


@njit(cache=True)
def locate(
    rows: Longs, weights: Longs, shift: int, keys: Longs, left: NDArray[np.integer], owner: NDArray[np.int32]
) -> bool:
    """Find every row's key, and take its weight from what is left of that key.

    `rows` and `keys` are sorted, one column each; a row begins with a key if their first words are equal, the
    last of them but for the lowest `shift` bits of the row. False if some row has no key, or a key has no
    more left. Where no `weights` are given, each row weighs 1.
    """
    count, at = keys.shape[1], 0
    for row in range(rows.shape[1]):
        if at < count and _compare(keys, at, rows, row, shift) < 0:
            low, step = at, 1
            while low + step < count and _compare(keys, low + step, rows, row, shift) < 0:
                low += step
                step *= 2
            at = min(low + step, count)
            while at - low > 1:
                middle = (low + at) // 2
                if _compare(keys, middle, rows, row, shift) < 0:
                    low = middle
                else:
                    at = middle
        if at == count or _compare(keys, at, rows, row, shift) != 0:
            return False
        left[at] -= weights[row] if len(weights) else 1
        if left[at] < 0:
            return False
        owner[row] = at
    return True

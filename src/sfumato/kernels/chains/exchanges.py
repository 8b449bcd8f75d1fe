"""Exchanges between people of a world: a compiled loop over pairs who meet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.chains.sorted_numbers import first_place
from sfumato.kernels.compiled import njit

Longs = NDArray[np.int64]
Keys = NDArray[np.uint64]
Flags = NDArray[np.bool_]


@njit(cache=True)
def _entry_with(key: int, keys: Keys, owners: Longs) -> int:
    """The first entry with a key; -1 where there is none."""
    at = first_place(keys, key)
    if at < len(keys) and keys[at] == key:
        return int(owners[at])
    return -1


@njit(cache=True)
def make_exchanges(
    met: Longs,
    entry: Longs,
    passed: Flags,
    sums: Longs,
    drawn: Keys,
    known: tuple[Keys, Keys, Longs],
) -> None:
    """Moves people who meet, `met[0]` and `met[1]`, `met[2]` and `met[3]` and so on, to other entries.

    Pair i passes on what the releases `passed[i]` show of both. Entry e has the sum `sums[e, j]` in release j
    (-1: none) and there the random number `drawn[e, j]`; its key is what these add up to. `known` holds the
    keys of all entries, then the same sorted, with the entry of each. An exchange is made in `entry` where
    both people find an entry that has exactly the sums they would have.
    """
    key, keys, owners = known
    releases = sums.shape[1]
    for i in range(len(passed)):
        a, b = met[2 * i], met[2 * i + 1]
        one, other = entry[a], entry[b]
        change = np.uint64(0)
        for j in range(releases):
            passed[i, j] &= (sums[one, j] >= 0) == (sums[other, j] >= 0)
            if passed[i, j]:
                change += drawn[other, j] - drawn[one, j]
        if change == 0:  # both would stay where they are
            continue
        new_one = _entry_with(key[one] + change, keys, owners)
        if new_one < 0:
            continue
        new_other = _entry_with(key[other] - change, keys, owners)
        if new_other < 0:
            continue
        right = True  # a key that two rows share would break a count
        for j in range(releases):
            mine, theirs = (other, one) if passed[i, j] else (one, other)
            if sums[new_one, j] != sums[mine, j] or sums[new_other, j] != sums[theirs, j]:
                right = False
                break
        if right:
            entry[a], entry[b] = new_one, new_other

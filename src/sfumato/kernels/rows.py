"""Grouping of packed keys by hashing, with part of each key replaced on the way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Keys = NDArray[np.int64]
Ints = NDArray[np.int64]
Small = NDArray[np.int32]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def regroup(
    keys: Keys, counts: Ints, word: Ints, shift: Ints, mask: Ints, offset: Ints, lift: Small
) -> tuple[Small, Keys, Ints]:
    """Replace some fields of every key, then merge equal keys and add up their counts.

    Keys have shape (rows, words). Field f sits in `word[f]` at `shift[f]` under `mask[f]`; its code x
    becomes `lift[offset[f] + x]`. Returns the group of every row, and the key and the sum of every group;
    groups are numbered by first appearance.
    """
    if keys.shape[1] == 1:
        group_of, key, sums = _regroup_narrow(keys.reshape(-1), counts, shift, mask, offset, lift)
        return group_of, key.reshape(-1, 1), sums
    wide: tuple[Small, Keys, Ints] = _regroup_wide(keys, counts, word, shift, mask, offset, lift)
    return wide


@njit(cache=True)
def _slots(rows: int) -> tuple[int, Small]:
    """An empty hash table for so many rows, at most half full: its bits, its slots."""
    bits = 4
    while (1 << bits) < 2 * rows:
        bits += 1
    return bits, np.full(1 << bits, -1, np.int32)


@njit(cache=True, inner=False)
def _regroup_narrow(
    keys: Ints, counts: Ints, shift: Ints, mask: Ints, offset: Ints, lift: Small
) -> tuple[Small, Ints, Ints]:
    """Keys of one word: twice as fast."""
    rows = len(keys)
    bits, slots = _slots(rows)
    last, drop = len(slots) - 1, np.uint64(64 - bits)
    group_of = np.empty(rows, np.int32)
    out = np.empty(rows, np.int64)
    sums = np.empty(rows, np.int64)
    groups = 0
    for i in range(rows):
        key = keys[i]
        for f in range(len(shift)):
            code = (key >> shift[f]) & mask[f]
            key ^= (code ^ lift[offset[f] + code]) << shift[f]
        slot = np.int64((np.uint64(key) * _GOLDEN) >> drop)
        group = slots[slot]
        while group >= 0 and out[group] != key:
            slot = (slot + 1) & last
            group = slots[slot]
        if group < 0:
            group = groups
            slots[slot] = group
            out[group] = key
            sums[group] = 0
            groups += 1
        sums[group] += counts[i]
        group_of[i] = group
    return group_of, out[:groups].copy(), sums[:groups].copy()


@njit(cache=True, inner=False)
def _regroup_wide(
    keys: Keys, counts: Ints, word: Ints, shift: Ints, mask: Ints, offset: Ints, lift: Small
) -> tuple[Small, Keys, Ints]:
    """Keys of several words; the key at hand stands behind the last group."""
    rows, words = keys.shape
    bits, slots = _slots(rows)
    last, drop = len(slots) - 1, np.uint64(64 - bits)
    group_of = np.empty(rows, np.int32)
    out = np.empty((rows, words), np.int64)
    sums = np.empty(rows, np.int64)
    groups = 0
    for i in range(rows):
        out[groups] = keys[i]
        for f in range(len(word)):
            w = word[f]
            code = (keys[i, w] >> shift[f]) & mask[f]
            out[groups, w] ^= (code ^ lift[offset[f] + code]) << shift[f]
        mixed = np.uint64(0)
        for w in range(words):
            mixed = (mixed ^ (mixed >> np.uint64(29)) ^ np.uint64(out[groups, w])) * _GOLDEN
        slot = np.int64(mixed >> drop)
        group = slots[slot]
        while group >= 0 and not np.array_equal(out[group], out[groups]):
            slot = (slot + 1) & last
            group = slots[slot]
        if group < 0:
            group = groups
            slots[slot] = group
            sums[group] = 0
            groups += 1
        sums[group] += counts[i]
        group_of[i] = group
    return group_of, out[:groups].copy(), sums[:groups].copy()


@njit(cache=True)
def tally_fields(
    keys: Keys, counts: Ints, word: Ints, shift: Ints, mask: Ints, offset: Ints, length: int
) -> Ints:
    """For every field f and code x, the sum of the counts of the keys that hold x, at `offset[f] + x`."""
    sums = np.zeros(length, np.int64)
    for i in range(keys.shape[0]):
        for f in range(len(word)):
            sums[offset[f] + ((keys[i, word[f]] >> shift[f]) & mask[f])] += counts[i]
    return sums


@njit(cache=True)
def cross_tabulate(
    group_of: Small, values: Small, counts: Ints, groups: int, width: int
) -> tuple[Ints, Small, Ints]:
    """Sums per (group, value) as compressed rows: start of each group, values ascending, sums."""
    rows = len(group_of)
    by_value = np.zeros(width + 1, np.int64)
    by_group = np.zeros(groups + 1, np.int64)
    for i in range(rows):
        by_value[values[i] + 1] += 1
        by_group[group_of[i] + 1] += 1
    for v in range(width):
        by_value[v + 1] += by_value[v]
    for g in range(groups):
        by_group[g + 1] += by_group[g]
    order = np.empty(rows, np.int64)
    for i in range(rows):
        order[by_value[values[i]]] = i
        by_value[values[i]] += 1
    start = np.zeros(groups + 1, np.int64)
    value_of = np.empty(rows, np.int32)
    sums = np.empty(rows, np.int64)
    filled = by_group[:-1].copy()
    for at in range(rows):
        i = order[at]
        g = group_of[i]
        if filled[g] > by_group[g] and value_of[filled[g] - 1] == values[i]:
            sums[filled[g] - 1] += counts[i]
        else:
            value_of[filled[g]] = values[i]
            sums[filled[g]] = counts[i]
            filled[g] += 1
    end = 0
    for g in range(groups):
        start[g] = end
        for at in range(by_group[g], filled[g]):
            value_of[end] = value_of[at]
            sums[end] = sums[at]
            end += 1
    start[groups] = end
    return start, value_of[:end].copy(), sums[:end].copy()

"""Every node of a lattice of levels, depth first; each node's groups are merged from those of a finer one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Truth = NDArray[np.bool_]
Floats = NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

SMALLEST, GROUPS, SQUARES, KEPT, KEPT_SMALLEST, KEPT_SQUARES, GONE, COVERED = range(8)
"""What `figures` holds of a node, in this order; the last of these once per field."""


@njit(cache=True)
def walk(
    depth: int,
    node: int,
    keys: Ints,
    sums: Ints,
    order: Ints,
    place: Ints,
    levels: Ints,
    lift: Small,
    keeps: Truth,
    scratch: Ints,
    figures: Ints,
    bits: Floats,
) -> int:
    """Fill in what is known of every node from here on; how many there are.

    `keys` and `sums` are the groups of `node`, whose fields `order[depth:]` are at their lowest level. Field
    f sits at shift `place[f, 0]` under mask `place[f, 1]`. Raised to level i, its code x becomes
    `lift[levels[f, i] + x]` (-1: there is no such level), and the node's number grows by `place[f, 2]`.
    Groups whose sum s has `keeps[s]` are kept, the others go. `scratch` has a line of weights, those of
    field f from `place[f, 3]` on, and a line to count in.
    """
    if depth == len(order):
        _summarize(node, sums, keeps, figures)
        if figures[node, GONE]:
            _look_at_gone(node, keys, sums, place, keeps, scratch, figures, bits)
        return 1
    f = order[depth]
    done = 0
    for level in range(levels.shape[1]):
        if levels[f, level] < 0:
            break
        if level:
            keys, sums = _merge(keys, sums, place[f, 0], place[f, 1], lift[levels[f, level] :])
        here = node + level * place[f, 2]
        done += walk(depth + 1, here, keys, sums, order, place, levels, lift, keeps, scratch, figures, bits)
    return done


@njit(cache=True)
def _merge(keys: Ints, sums: Ints, shift: int, mask: int, lift: Small) -> tuple[Ints, Ints]:
    """Replace the code x of one field by `lift[x]`, then merge equal keys and add up their sums."""
    rows = len(keys)
    bits = 4
    while (1 << bits) < 2 * rows:
        bits += 1
    slots = np.full(1 << bits, -1, np.int32)
    last, drop = len(slots) - 1, np.uint64(64 - bits)
    merged, added = np.empty(rows, np.int64), np.empty(rows, np.int64)
    groups = 0
    for i in range(rows):
        key = keys[i]
        code = (key >> shift) & mask
        key ^= (code ^ lift[code]) << shift
        slot = np.int64((np.uint64(key) * _GOLDEN) >> drop)
        group = slots[slot]
        while group >= 0 and merged[group] != key:
            slot = (slot + 1) & last
            group = slots[slot]
        if group < 0:
            slots[slot] = groups
            merged[groups] = key
            added[groups] = sums[i]
            groups += 1
        else:
            added[group] += sums[i]
    return merged[:groups], added[:groups]


@njit(cache=True)
def _summarize(node: int, sums: Ints, keeps: Truth, figures: Ints) -> None:
    """The smallest sum, the groups and their squares; the same of the kept groups; the sums gone."""
    smallest = sums[0] if len(sums) else np.int64(0)
    squares, kept, kept_smallest, kept_squares, gone = 0, 0, np.int64(0), 0, 0
    for size in sums:
        smallest = min(smallest, size)
        squares += size * size
        if keeps[size]:
            kept_smallest = min(kept_smallest, size) if kept else size
            kept += 1
            kept_squares += size * size
        else:
            gone += size
    figures[node, SMALLEST] = smallest
    figures[node, GROUPS] = len(sums)
    figures[node, SQUARES] = squares
    figures[node, KEPT] = kept
    figures[node, KEPT_SMALLEST] = kept_smallest
    figures[node, KEPT_SQUARES] = kept_squares
    figures[node, GONE] = gone


@njit(cache=True)
def _look_at_gone(
    node: int,
    keys: Ints,
    sums: Ints,
    place: Ints,
    keeps: Truth,
    scratch: Ints,
    figures: Ints,
    bits: Floats,
) -> None:
    """Per field, of the groups that go: Σ sum · weight of the code, and the bits of knowing the code."""
    weight, tally = scratch[0], scratch[1]
    tally[:] = 0
    for i in range(len(keys)):
        if not keeps[sums[i]]:
            for f in range(len(place)):
                tally[place[f, 3] + ((keys[i] >> place[f, 0]) & place[f, 1])] += sums[i]
    whole = np.log2(figures[node, GONE])
    for f in range(len(place)):
        total, spread = 0, 0.0
        stop = place[f + 1, 3] if f + 1 < len(place) else len(tally)
        for v in range(place[f, 3], stop):
            if tally[v]:
                total += tally[v] * weight[v]
                spread += tally[v] * (whole - np.log2(tally[v]))
        figures[node, COVERED + f] = total
        bits[node, f] = spread

"""Cutting segments of rows at medians and along trees: compiled loops for recursive partitioning.

Rows carry their codes packed in 64-bit words and are moved themselves, so that every segment is a
contiguous range of `key` (words by rows) and `tag` (row number above 32 bits of weight).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

HEAVY = 0x7FFFFFFF
"""The weight of a row fits in 31 bits."""


class Layout(NamedTuple):
    """Where each column's code sits, and what its values mean.

    Column j is at `(key[word[j]] >> shift[j]) & mask[j]`. `scale[j]` makes spans of leaves comparable
    across columns. For unordered columns, `above[j]` says where in `ancestor` its table starts: first the
    leaf's ancestor at depth 0, for every leaf, then at depth 1, and so on (the leaf itself where it ends
    sooner). `low`, `high` and `depth` of the nodes of column j start at `base[j]`.
    """

    word: Longs
    shift: Longs
    mask: Longs
    ordered: NDArray[np.bool_]
    scale: tuple[NDArray[np.float64], NDArray[np.float64]]
    leaves: Longs
    above: Longs
    ancestor: Ints
    base: Longs
    low: Ints
    high: Ints
    height: Longs


@njit(cache=True)
def cover(layout: Layout, j: int, low: int, high: int) -> tuple[int, int]:
    """The lowest node of column j above the leaves low .. high, and its depth."""
    depth = layout.height[j]
    while True:
        at = layout.above[j] + depth * layout.leaves[j]
        if layout.ancestor[at + low] == layout.ancestor[at + high]:
            node = layout.ancestor[at + low]
            while depth > 0 and layout.ancestor[at - layout.leaves[j] + low] == node:
                depth -= 1
                at -= layout.leaves[j]
            return node, depth
        depth -= 1


@njit(cache=True)
def covers(layout: Layout, low: Ints, high: Ints) -> None:
    """Widen the ranges of the unordered columns to the lowest node that covers them, in place."""
    for j in range(low.shape[1]):
        if not layout.ordered[j]:
            for s in range(len(low)):
                node, _ = cover(layout, j, low[s, j], high[s, j])
                low[s, j] = layout.low[layout.base[j] + node]
                high[s, j] = layout.high[layout.base[j] + node] - 1


@njit(cache=True)
def _bounds(layout: Layout, key: Longs, first: int, last: int, low: Ints, high: Ints) -> None:
    """Tighten the bounds of a segment to the codes that occur."""
    for j in range(len(low)):
        if low[j] == high[j]:
            continue
        line, field = key[layout.word[j]], layout.mask[j] << layout.shift[j]
        least, most = field, np.int64(0)
        for p in range(first, last):
            code = line[p] & field
            least = min(least, code)
            most = max(most, code)
        low[j], high[j] = least >> layout.shift[j], most >> layout.shift[j]


@njit(cache=True)
def _widest(layout: Layout, low: Ints, high: Ints, tried: NDArray[np.bool_]) -> int:
    """The column, of those not tried, with the widest span; -1 if every one is a single value."""
    best, widest = -1, 0.0
    above, below = layout.scale
    for j in range(len(low)):
        if low[j] == high[j] or tried[j]:
            continue
        span = np.int64(high[j] - low[j])
        if not layout.ordered[j]:
            node, _ = cover(layout, j, low[j], high[j])
            span = np.int64(layout.high[layout.base[j] + node] - layout.low[layout.base[j] + node]) - 1
        width = (span * above[j]) / below[j]
        if best < 0 or width > widest:
            best, widest = j, width
    return best


@njit(cache=True)
def _median(
    layout: Layout, j: int, key: Longs, tag: Longs, first: int, last: int, span: tuple[int, int], total: int
) -> tuple[int, int, int]:
    """The weighted median code of a segment, and the weight before it and up to it."""
    line, shift, mask = key[layout.word[j]], layout.shift[j], layout.mask[j]
    low, high = span
    before = np.int64(0)
    if high - low < 4 * (last - first):
        weights = np.zeros(high - low + 1, np.int64)
        for p in range(first, last):
            weights[((line[p] >> shift) & mask) - low] += tag[p] & HEAVY
        for v in range(high - low + 1):
            if 2 * (before + weights[v]) >= total:
                return low + v, before, before + weights[v]
            before += weights[v]
    codes = np.empty(last - first, np.int64)
    for p in range(first, last):
        codes[p - first] = (((line[p] >> shift) & mask) << 32) | (tag[p] & HEAVY)
    codes.sort()
    i = 0
    while True:
        v, upto = codes[i] >> 32, before
        while i < len(codes) and codes[i] >> 32 == v:
            upto += codes[i] & HEAVY
            i += 1
        if 2 * upto >= total:
            return v, before, upto
        before = upto


@njit(cache=True)
def _balance(
    layout: Layout, j: int, key: Longs, tag: Longs, first: int, last: int, median: int, left: int, total: int
) -> tuple[int, int]:
    """How many of the rows at the median go left so that the two sides differ least, and the weight left.

    Rows with equal keys stand side by side and stay together.
    """
    line, shift, mask = key[layout.word[j]], layout.shift[j], layout.mask[j]
    taken, best_taken, best_left = 0, 0, left
    previous = -1
    for p in range(first, last):
        if (line[p] >> shift) & mask != median:
            continue
        same = previous >= 0
        if same:
            for w in range(len(key)):
                same = same and key[w, p] == key[w, previous]
        if not same and min(left, total - left) >= min(best_left, total - best_left):
            best_taken, best_left = taken, left
        left += tag[p] & HEAVY
        taken += 1
        previous = p
    if min(left, total - left) >= min(best_left, total - best_left):
        best_taken, best_left = taken, left
    return best_taken, best_left


@njit(cache=True)
def _part_in_two(
    layout: Layout, j: int, key: Longs, tag: Longs, first: int, last: int, cut: tuple[int, int], spare: Longs
) -> int:
    """Move the rows below the cut, and so many of those at it, to the left; order is kept. Where right starts."""
    value, take = cut
    shift, mask, line = layout.shift[j], layout.mask[j], layout.word[j]
    words = len(key)
    left, right = first, 0
    for p in range(first, last):
        code = (key[line, p] >> shift) & mask
        goes = code < value
        if take > 0 and code == value:
            goes = True
            take -= 1
        here = np.int64(goes)
        for w in range(words):
            spare[w, right] = key[w, p]
            key[w, left] = key[w, p]
        spare[words, right] = tag[p]
        tag[left] = tag[p]
        left += here
        right += 1 - here
    for p in range(left, last):
        for w in range(words):
            key[w, p] = spare[w, p - left]
        tag[p] = spare[words, p - left]
    return left


@njit(cache=True)
def _part_by_child(
    layout: Layout,
    j: int,
    key: Longs,
    tag: Longs,
    first: int,
    last: int,
    span: tuple[int, int],
    least: int,
    slot: Longs,
    spare: Longs,
    starts: Longs,
) -> int:
    """Group the rows by the child of their lowest common node; the number of groups, 0 if one is too light.

    Writes where each group starts. `slot` is all -1 before and after.
    """
    _, depth = cover(layout, j, span[0], span[1])
    at = layout.above[j] + (depth + 1) * layout.leaves[j]
    shift, mask, line = layout.shift[j], layout.mask[j], layout.word[j]
    groups, words = 0, len(key)
    weight, size = np.zeros(8, np.int64), np.zeros(8, np.int64)
    for p in range(first, last):
        node = layout.ancestor[at + ((key[line, p] >> shift) & mask)]
        g = slot[node]
        if g < 0:
            if groups == len(weight):
                weight = np.append(weight, np.zeros(groups, np.int64))
                size = np.append(size, np.zeros(groups, np.int64))
            g = slot[node] = groups
            groups += 1
        weight[g] += tag[p] & HEAVY
        size[g] += 1
    heavy = True
    for g in range(groups):
        heavy = heavy and weight[g] >= least
    if heavy:
        place = np.empty(groups, np.int64)
        running = 0
        for g in range(groups):
            place[g] = running
            starts[g] = first + running
            running += size[g]
        for p in range(first, last):
            g = slot[layout.ancestor[at + ((key[line, p] >> shift) & mask)]]
            for w in range(words):
                spare[w, place[g]] = key[w, p]
            spare[words, place[g]] = tag[p]
            place[g] += 1
    for p in range(first, last):
        slot[layout.ancestor[at + ((key[line, p] >> shift) & mask)]] = -1
    if not heavy:
        return 0
    for p in range(first, last):
        for w in range(words):
            key[w, p] = spare[w, p - first]
        tag[p] = spare[words, p - first]
    return groups


@njit(cache=True)
def propose(
    layout: Layout,
    key: Longs,
    tag: Longs,
    first: Longs,
    last: Longs,
    low: Ints,
    high: Ints,
    tried: NDArray[np.bool_],
    fresh: NDArray[np.bool_],
    least: int,
    relaxed: bool,
    slot: Longs,
    spare: Longs,
    starts: Longs,
) -> Longs:
    """For each segment the first admissible split of its widest columns, carried out on the rows.

    Tightens the bounds `low`, `high` of fresh segments, marks the columns used or given up in `tried`, and
    writes to `starts`, one after the other, where the parts of each segment start. Returns how many parts
    each segment has; 1 if no column has a split whose parts weigh `least` each.
    """
    parts = np.ones(len(first), np.int64)
    used = 0
    for s in range(len(first)):
        a, b = first[s], last[s]
        if fresh[s]:
            _bounds(layout, key, a, b, low[s], high[s])
        total = np.int64(0)
        for p in range(a, b):
            total += tag[p] & HEAVY
        starts[used] = a
        while total >= 2 * least:
            j = _widest(layout, low[s], high[s], tried[s])
            if j < 0:
                break
            tried[s, j] = True
            span = (low[s, j], high[s, j])
            if layout.ordered[j]:
                median, before, upto = _median(layout, j, key, tag, a, b, span, total)
                cut, left = (median + 1, 0), upto
                if relaxed:
                    take, left = _balance(layout, j, key, tag, a, b, median, before, total)
                    cut = (median, take)
                elif min(before, total - before) > min(upto, total - upto):
                    cut, left = (median, 0), before
                if min(left, total - left) >= least:
                    starts[used + 1] = _part_in_two(layout, j, key, tag, a, b, cut, spare)
                    parts[s] = 2
                    break
            else:
                groups = _part_by_child(layout, j, key, tag, a, b, span, least, slot, spare, starts[used:])
                if groups > 0:
                    parts[s] = groups
                    break
        used += parts[s]
    return parts

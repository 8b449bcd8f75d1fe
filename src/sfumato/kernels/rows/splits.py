"""Splitting groups of rows along a tree: compiled loops for searches that refine classes step by step.

Rows are ordered once per column by their code; the rows below a tree node are then one range of that
order, and the rows below each of its children a sub-range, since codes number the leaves left to right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@njit(cache=True)
def order_by_code(
    word: Longs, weight: Longs, shift: int, mask: int, size: int, repeated: int
) -> tuple[Ints, Longs, Longs, Longs, Longs]:
    """Row numbers sorted by the code packed in `word` (stable), where each code's rows start, and the weight
    of all rows before.

    Of so many `repeated` rows, those of a weight above 1, also the places in that order (not sorted), and
    what they weigh beyond 1.
    """
    start = np.zeros(size + 1, np.int64)
    before = np.zeros(size + 1, np.int64)
    for i in range(len(word)):
        code = (word[i] >> shift) & mask
        start[code + 1] += 1
        before[code + 1] += weight[i]
    for code in range(size):
        start[code + 1] += start[code]
        before[code + 1] += before[code]
    place = start.copy()
    order = np.empty(len(word), np.int32)
    heavy, beyond = np.empty(repeated, np.int64), np.empty(repeated, np.int64)
    found = 0
    for i in range(len(word)):
        code = (word[i] >> shift) & mask
        if found < repeated and weight[i] > 1:
            heavy[found] = place[code]
            beyond[found] = weight[i] - 1
            found += 1
        order[place[code]] = i
        place[code] += 1
    return order, start, before, heavy, beyond


@njit(cache=True)
def split(
    order: Ints,
    bounds: Longs,
    class_of: Ints,
    weight: Longs,
    slot: Longs,
    stamp: int,
    part: Ints,
    parent: Ints,
    branch: Ints,
    size: Longs,
) -> int:
    """Number the pairs (branch, class) that occur, branch by branch, and add up their weights.

    Branch b holds the rows `order[bounds[b] : bounds[b+1]]`. Writes the pair of every row to `part` and
    the class, branch and size of every pair to `parent`, `branch` and `size`; returns how many pairs there
    are. `slot[class]` holds a stamp above its low 32 bits and the pair below, so it never needs clearing as
    long as stamps grow. An empty `weight` means 1 each.
    """
    unit = len(weight) == 0
    first = bounds[0]
    pairs = 0
    for b in range(len(bounds) - 1):
        sign = np.int64(stamp + b) << 32
        for p in range(bounds[b], bounds[b + 1]):
            row = order[p]
            c = class_of[row]
            seen = slot[c]
            if (seen >> 32) << 32 == sign:
                pair = seen - sign
            else:
                pair = np.int64(pairs)
                slot[c] = sign + pair
                parent[pair] = c
                branch[pair] = b
                size[pair] = 0
                pairs += 1
            size[pair] += 1 if unit else weight[row]
            part[p - first] = pair
    return pairs


@njit(cache=True)
def relabel(order: Ints, first: int, part: Ints, label: Ints, class_of: Ints) -> None:
    """Give every row of a range the label of its part."""
    for i in range(len(part)):
        class_of[order[first + i]] = label[part[i]]


@njit(cache=True)
def rows_by_part(order: Ints, first: int, part: Ints, parts: int) -> tuple[Ints, Longs]:
    """The row numbers of a range, grouped by part (stable), and where each part starts."""
    start = np.zeros(parts + 1, np.int64)
    for i in range(len(part)):
        start[part[i] + 1] += 1
    for q in range(parts):
        start[q + 1] += start[q]
    place = start.copy()
    member = np.empty(len(part), np.int32)
    for i in range(len(part)):
        q = part[i]
        member[place[q]] = order[first + i]
        place[q] += 1
    return member, start


@njit(cache=True)
def distinct_per_group(member: Ints, start: Longs, label: Ints, seen: Longs, stamp: int) -> Longs:
    """How many different labels the rows of each group carry; `seen[label]` holds the last stamp."""
    distinct = np.zeros(len(start) - 1, np.int64)
    for g in range(len(start) - 1):
        for i in range(start[g], start[g + 1]):
            who = label[member[i]]
            if seen[who] != stamp + g:
                seen[who] = stamp + g
                distinct[g] += 1
    return distinct


@njit(cache=True)
def tally_per_group(
    member: Ints, start: Longs, code: Ints, weight: Longs, label: Ints, sizes: tuple[int, int]
) -> tuple[Longs, Ints, Longs]:
    """How often each code occurs in each group, as compressed rows, codes ascending.

    With `label` (not empty), each label counts once per group and code, and weights do not matter.
    `sizes` bounds the codes and the labels.
    """
    codes, labels = sizes
    groups = len(start) - 1
    begin = np.zeros(groups + 1, np.int64)
    value = np.empty(len(member), np.int32)
    count = np.empty(len(member), np.int64)
    dense = np.zeros(codes, np.int64)
    used = 0
    for g in range(groups):
        rows = member[start[g] : start[g + 1]]
        if len(label) > 0:
            keys = np.empty(len(rows), np.int64)
            for i in range(len(rows)):
                keys[i] = np.int64(code[rows[i]]) * labels + label[rows[i]]
            keys.sort()
            for i in range(len(keys)):
                if i > 0 and keys[i] == keys[i - 1]:
                    continue
                v = keys[i] // labels
                if used > begin[g] and value[used - 1] == v:
                    count[used - 1] += 1
                else:
                    value[used] = v
                    count[used] = 1
                    used += 1
        elif len(rows) * 4 >= codes:
            for row in rows:
                dense[code[row]] += weight[row]
            for v in range(codes):
                if dense[v] > 0:
                    value[used] = v
                    count[used] = dense[v]
                    dense[v] = 0
                    used += 1
        else:
            keys = np.empty(len(rows), np.int64)
            for i in range(len(rows)):
                keys[i] = np.int64(code[rows[i]]) << 32 | i
            keys.sort()
            for i in range(len(keys)):
                v = keys[i] >> 32
                w = weight[rows[keys[i] & 0xFFFFFFFF]]
                if used > begin[g] and value[used - 1] == v:
                    count[used - 1] += w
                else:
                    value[used] = v
                    count[used] = w
                    used += 1
        begin[g + 1] = used
    return begin, value[:used].copy(), count[:used].copy()

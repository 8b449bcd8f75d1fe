"""What segments of moved rows hold, counted where the rows stand: nothing is looked up by row number."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.compiled import njit
from sfumato.kernels.rows.layout import WEIGHT_MASK, Ints, Longs

FEW_ROWS = 32
"""Codes of so many rows are put in order one by one."""


@njit(cache=True, borrows=True)
def _put_in_order(value: Ints, count: Longs, begin: int, used: int, code: int, weight: int) -> int:
    """Adds a code to those of a segment, which stand ascending from `begin` up to `used`; where they end."""
    at = used
    while at > begin and value[at - 1] > code:
        at -= 1
    if at > begin and value[at - 1] == code:
        count[at - 1] += weight
        return used
    for i in range(used, at, -1):
        value[i], count[i] = value[i - 1], count[i - 1]
    value[at], count[at] = code, weight
    return used + 1


@njit(cache=True)
def tally_segments(
    line: Longs, tag: Longs, first: Longs, last: Longs, place: tuple[int, int], codes: int
) -> tuple[Longs, Ints, Longs]:
    """How often each code occurs in each segment, as compressed rows, codes ascending.

    Segment s is the rows `first[s] .. last[s]-1`. Their code, below `codes`, stands in `line` at `place`: a
    shift and a mask; their weight in `tag`.
    """
    shift, mask = place
    room, longest = np.int64(1), np.int64(0)  # a code that does not occur is written, too, and written over
    for s in range(len(first)):
        rows = last[s] - first[s]
        room += min(rows, codes)
        if rows * 4 < codes:
            longest = max(longest, rows)
    begin = np.zeros(len(first) + 1, np.int64)
    value, count = np.empty(room, np.int32), np.empty(room, np.int64)
    even, odd = np.zeros(codes, np.int64), np.zeros(codes, np.int64)
    keys = np.empty(longest if longest > FEW_ROWS else 0, np.int64)
    used = 0
    for s in range(len(first)):
        word, weight = line[first[s] : last[s]], tag[first[s] : last[s]]
        rows = len(word)
        if rows * 4 >= codes:
            for i in range(0, rows - 1, 2):  # neighbours often hold the same code: two sums do not wait
                even[(word[i] >> shift) & mask] += weight[i] & WEIGHT_MASK
                odd[(word[i + 1] >> shift) & mask] += weight[i + 1] & WEIGHT_MASK
            if rows % 2:
                even[(word[rows - 1] >> shift) & mask] += weight[rows - 1] & WEIGHT_MASK
            for v in range(codes):
                held = even[v] + odd[v]
                even[v], odd[v] = 0, 0
                value[used], count[used] = v, held
                used += held > 0
        elif rows <= FEW_ROWS:
            for i in range(rows):
                code = (word[i] >> shift) & mask
                used = _put_in_order(value, count, begin[s], used, code, weight[i] & WEIGHT_MASK)
        else:
            some = keys[:rows]
            for i in range(rows):
                some[i] = ((word[i] >> shift) & mask) << 32 | i
            some.sort()
            for key in some:
                used = _put_in_order(
                    value, count, begin[s], used, key >> 32, weight[key & 0xFFFFFFFF] & WEIGHT_MASK
                )
        begin[s + 1] = used
    return begin, value[:used].copy(), count[:used].copy()

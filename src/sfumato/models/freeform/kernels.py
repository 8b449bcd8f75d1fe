"""Depth-first slices of a coded table: rows that agree in more and more columns, at any height of a tree.

Every column is a *level*. Its codes are dense and in preorder, so the rows below a tree node are an interval
of codes: `mark` m of the level covers the codes `low[m] .. high[m]-1`, and `chain` lists for each code the
marks above it, from the top down. A slice chooses one mark per level. Instead of building a key for every
choice, the rows of a slice are sorted by the next level's code and cut into intervals, so memory stays at
one row number per row and level.

Every row adds its count to some *bins* (those listed for its `kind`). A slice with `total` rows of which
`held` are in a bin is compared by the ratio held / total, exactly; total and threshold denominators are
below 2**31.5, so products of two fit 64 bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

FIRST, BEST, EVERY = 0, 1, 2
SHORT_SLICE = 24
"""Up to so many rows insertion is the fastest sort."""


@njit(cache=True)
def visit_slices(  # noqa: PLR0917  # compiled code takes arrays, not objects
    codes: Int32s,
    counts: Int64s,
    level_start: Int64s,
    chain_start: Int64s,
    chain: Int32s,
    low: Int32s,
    high: Int32s,
    kinds: Int32s,
    bin_start: Int64s,
    bins: Int32s,
    above: Int64s,
    below: Int64s,
    mode: int,
    whole: bool,
    capacity: int,
) -> tuple[int, int, Int32s, Int64s, Int64s, Int32s]:
    """Visit the slices of a table of shape (levels, rows).

    `mode` FIRST: stop at the first slice in which a bin's ratio exceeds above[bin] / below[bin]. BEST: the
    largest ratio of every bin, among equal ones the largest total, among those the first. EVERY: all slices
    of full depth and bins that exceed, `capacity` at most. `whole` says whether the table itself, with no
    mark chosen, is a slice to be judged.

    Returns how many were found (one more than `capacity` if there are more), how many rows were visited,
    and of each found the bin, the rows held, the total, and the mark per level (-1: none chosen).
    """
    levels, rows = codes.shape
    size = len(above)
    room = size if mode == BEST else capacity
    found_bin = np.full(max(1, room), -1, np.int32)
    found_held = np.zeros(max(1, room), np.int64)
    found_total = np.ones(max(1, room), np.int64)
    found_mark = np.full((max(1, room), levels), -1, np.int32)
    count, visited = 0, 0
    inside = np.zeros(size, np.int64)
    touched = np.empty(size, np.int32)
    order = np.empty((levels + 1, rows), np.int32)
    length = np.zeros(levels + 1, np.int64)
    place = np.zeros(levels + 1, np.int64)
    link = np.zeros(levels + 1, np.int64)
    mark = np.full(levels, -1, np.int32)
    widest = 1
    for level in range(levels):
        widest = max(widest, level_start[level + 1] - level_start[level])
    tally = np.zeros(widest + 1, np.int64)
    for i in range(rows):
        order[levels, i] = i
    level, start, stop = -1, 0, rows
    source = levels
    while True:
        # Judge the slice order[source, start:stop], in which mark[0..level] are chosen.
        visited += stop - start
        total, hit = 0, 0
        for at in range(start, stop):
            row = order[source, at]
            weight = counts[row]
            total += weight
            for k in range(bin_start[kinds[row]], bin_start[kinds[row] + 1]):
                b = bins[k]
                if inside[b] == 0:
                    touched[hit] = b
                    hit += 1
                inside[b] += weight
        judged = (level >= 0 or whole) and (mode != EVERY or level == levels - 1)
        deeper = False
        for h in range(hit):
            b = touched[h]
            x = inside[b]
            if mode == BEST:
                if judged:
                    left, right = x * found_total[b], found_held[b] * total
                    if found_bin[b] < 0 or left > right or (left == right and total > found_total[b]):
                        found_bin[b], found_held[b], found_total[b] = b, x, total
                        found_mark[b, :] = -1
                        found_mark[b, : level + 1] = mark[: level + 1]
                certain = found_bin[b] >= 0 and found_held[b] == found_total[b] and found_total[b] >= x
                deeper = deeper or not certain
            else:
                deeper = True
                if judged and x * below[b] > above[b] * total:
                    if count == capacity:
                        return count + 1, visited, found_bin, found_held, found_total, found_mark
                    found_bin[count], found_held[count], found_total[count] = b, x, total
                    found_mark[count, :] = -1
                    found_mark[count, : level + 1] = mark[: level + 1]
                    count += 1
                    if mode == FIRST:
                        return count, visited, found_bin, found_held, found_total, found_mark
            inside[b] = 0
        if deeper and level + 1 < levels:
            level += 1
            width = level_start[level + 1] - level_start[level]
            _sort(order, source, start, stop, level, codes, tally, width)
            length[level], place[level] = stop - start, 0
            link[level] = chain_start[level_start[level] + codes[level, order[level, 0]]]
        # Go to the next slice: the next mark above the row at hand, or the next run of rows.
        while level >= 0:
            if place[level] >= length[level]:
                level -= 1
                continue
            code = codes[level, order[level, place[level]]]
            if link[level] < chain_start[level_start[level] + code + 1]:
                break
            place[level] = _beyond(order, codes, level, place[level], length[level], code + 1)
            if place[level] < length[level]:
                code_next = codes[level, order[level, place[level]]]
                at = chain_start[level_start[level] + code_next]
                while at < chain_start[level_start[level] + code_next + 1] and low[chain[at]] <= code:
                    at += 1
                link[level] = at
        if level < 0:
            break
        m = chain[link[level]]
        link[level] += 1
        mark[level] = m
        source, start = level, place[level]
        stop = _beyond(order, codes, level, start, length[level], high[m])
    if mode == BEST:
        count = size
    return count, visited, found_bin, found_held, found_total, found_mark


@njit(cache=True)
def _beyond(order: Int32s, codes: Int32s, level: int, start: int, stop: int, code: int) -> int:
    """The first place at or after `start` whose row has at least this code; steps double, then halve."""
    step, at = 1, start
    while at + step < stop and codes[level, order[level, at + step]] < code:
        at += step
        step *= 2
    end = min(stop, at + step)
    if codes[level, order[level, at]] >= code:
        return at
    while end - at > 1:
        middle = (at + end) // 2
        if codes[level, order[level, middle]] < code:
            at = middle
        else:
            end = middle
    return end


@njit(cache=True)
def _sort(
    order: Int32s, source: int, start: int, stop: int, level: int, codes: Int32s, tally: Int64s, width: int
) -> None:
    """The rows of a slice, sorted by the code of a level, stably."""
    rows = stop - start
    if rows <= SHORT_SLICE:
        for i in range(rows):
            row = order[source, start + i]
            code = codes[level, row]
            at = i
            while at > 0 and codes[level, order[level, at - 1]] > code:
                order[level, at] = order[level, at - 1]
                at -= 1
            order[level, at] = row
        return
    if width > 16 * rows:
        keys = np.empty(rows, np.int64)
        for i in range(rows):
            keys[i] = np.int64(codes[level, order[source, start + i]]) * rows + i
        keys.sort()
        for i in range(rows):
            order[level, i] = order[source, start + keys[i] % rows]
        return
    tally[: width + 1] = 0
    for i in range(start, stop):
        tally[codes[level, order[source, i]] + 1] += 1
    for code in range(width):
        tally[code + 1] += tally[code]
    for i in range(start, stop):
        row = order[source, i]
        code = codes[level, row]
        order[level, tally[code]] = row
        tally[code] += 1

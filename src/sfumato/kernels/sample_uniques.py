"""Minimal sample uniques: the smallest sets of columns that make each row unique, counted up to a size.

Sets are visited in the order of their bit masks, largest column first along the path, so that all
subsets of a set come before it. A row is newly unique under a set if it still shared its values under the
set without its smallest column; the combination is minimal if that is so for every other column, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.hitting_sets import Words, holds, put
from sfumato.kernels.partitions import Int32s

Int64s = NDArray[np.int64]


@njit(cache=True)
def _place(path: Int32s, depth: int, without: int, choose: Int64s, first: Int64s) -> int:
    """Where the set of the path, without one of its members, is stored: sets of a size by their rank."""
    size = depth if without == 0 else depth - 1
    rank = first[size]
    nth = size
    for d in range(1, depth + 1):
        if d != without:
            rank += choose[path[d], nth]
            nth -= 1
    return int(rank)


@njit(cache=True)
def _credit(row: int, depth: int, smaller: Int64s, unique: Words, per_row: Int32s) -> int:
    """Count a set for a row that it makes unique, unless the row is unique without one of its columns.

    That it is not unique without the last column is known; `smaller` says where the others are stored.
    """
    for d in range(1, depth):
        if holds(unique[smaller[d]], row):
            return 0
    per_row[row, depth - 1] += 1
    return 1


@njit(cache=True)
def _split(
    rows: Int32s,
    at: int,
    bounds: Int32s,
    b_at: int,
    clusters: int,
    codes: Int32s,
    count: Int32s,
    local: Int32s,
    out_at: int,
    out_b_at: int,
) -> tuple[int, int]:
    """Split clusters by codes, as `refine` does with a floor of 2; unique rows go to the end of the space.

    Returns the number of clusters and of rows in them; the unique rows follow up to the number of all rows.
    """
    parts = 0
    rows_kept = 0
    end = out_at + bounds[b_at + clusters]
    bounds[out_b_at] = 0
    for i in range(clusters):
        start = at + bounds[b_at + i]
        length = bounds[b_at + i + 1] - bounds[b_at + i]
        for p in range(length):
            code = codes[np.uint32(rows[start + p])]
            local[p] = code
            count[np.uint32(code)] += 1
        for p in range(length):
            code = local[p]
            times = count[code]
            if times == 1:
                count[code] = 0
                end -= 1
                rows[end] = rows[start + p]
                continue
            if times > 1:
                count[code] = -rows_kept - 1
                rows_kept += times
                parts += 1
                bounds[out_b_at + parts] = rows_kept
            rows[out_at - count[code] - 1] = rows[start + p]
            count[code] -= 1
        for p in range(length):
            count[local[p]] = 0
    return parts, rows_kept


@njit(cache=True)
def count_minimal_uniques(  # noqa: PLR0917
    codes: Int32s,
    sizes: Int64s,
    top: int,
    max_size: int,
    choose: Int64s,
    first: Int64s,
    unique: Words,
    per_row: Int32s,
    per_column: Int64s,
    rows: Int32s,
    bounds: Int32s,
    count: Int32s,
    local: Int32s,
) -> None:
    """Visit all sets whose largest column is `top`, and add up what they make unique.

    Columns with many values should come first: they are then mostly split by, and seldom split.

    `unique` has one row of bits per set below the largest size, placed by `first[size]` and rank. `rows`
    holds all rows and has room for one more partition per size. `per_row[i, s-1]` and `per_column[c, s-1]`
    count minimal combinations of s columns.
    """
    total = codes.shape[1]
    path = np.zeros(max_size + 1, np.int32)
    at = np.zeros(max_size + 1, np.int64)
    b_at = np.zeros(max_size + 1, np.int64)
    clusters = np.zeros(max_size + 1, np.int64)
    rows_kept = np.zeros(max_size + 1, np.int64)
    clusters[0], rows_kept[0] = 1, total
    smaller = np.zeros(max_size + 1, np.int64)
    depth = 1
    path[1] = top
    while depth > 0:
        parent = depth - 1
        column = codes[path[depth]]
        size = sizes[path[depth]]
        for d in range(1, depth):
            smaller[d] = _place(path, depth, d, choose, first)
        credited = 0
        if depth == max_size:
            # The largest sets need no partition of their own: count, and look for codes that occur once.
            for i in range(clusters[parent]):
                start = at[parent] + bounds[b_at[parent] + i]
                length = bounds[b_at[parent] + i + 1] - bounds[b_at[parent] + i]
                if length > 4 * size:
                    # Four counters per code, so that equal codes in a row do not wait for each other.
                    for p in range(start, start + length):
                        place = np.uint32(column[np.uint32(rows[np.uint64(p)])]) << np.uint32(2)
                        count[place | np.uint32(p & 3)] += 1
                    once = False
                    for code in range(size):
                        times = (
                            count[4 * code] + count[4 * code + 1] + count[4 * code + 2] + count[4 * code + 3]
                        )
                        count[4 * code] = times
                        once |= times == 1
                    if once:
                        for p in range(start, start + length):
                            if count[4 * column[rows[p]]] == 1:
                                credited += _credit(rows[p], depth, smaller, unique, per_row)
                    count[: 4 * size] = 0
                    continue
                for p in range(length):
                    code = column[np.uint32(rows[start + p])]
                    local[p] = code
                    count[np.uint32(code)] += 1
                for p in range(length):
                    times = count[local[p]]
                    count[local[p]] = 0
                    if times == 1:
                        credited += _credit(rows[start + p], depth, smaller, unique, per_row)
        else:
            at[depth] = at[parent] + rows_kept[parent]
            b_at[depth] = b_at[parent] + clusters[parent] + 1
            source = (rows, at[parent], bounds, b_at[parent], clusters[parent])
            split = _split(*source, column, count, local, at[depth], b_at[depth])
            clusters[depth], rows_kept[depth] = split
            here = unique[_place(path, depth, 0, choose, first)]
            if depth > 1:
                here[:] = unique[_place(path, depth, depth, choose, first)]
            for p in range(at[depth] + rows_kept[depth], at[depth] + rows_kept[parent]):
                put(here, rows[p])
                credited += _credit(rows[p], depth, smaller, unique, per_row)
        for d in range(1, depth + 1):
            per_column[path[d], depth - 1] += credited
        if depth < max_size and path[depth] > 0:
            depth += 1
            path[depth] = 0
            continue
        while depth > 1 and path[depth] + 1 == path[depth - 1]:
            depth -= 1
        if depth == 1:
            break
        path[depth] += 1

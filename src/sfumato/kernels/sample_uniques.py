"""Which smallest combinations of columns make each row unique, counted over all sets up to a size.

Sets are visited in the order of their bit masks, largest column first along the path, so that all
subsets of a set come before it. A row is newly unique under a set if it still shared its values under the
set without its smallest column; the combination is minimal if that is so for every other column, too.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.bitsets import Words, holds
from sfumato.kernels.partitions import Ints, refine

Longs = NDArray[np.int64]


@njit(cache=True)
def _place(path: Ints, depth: int, without: int, choose: Longs, first: Longs) -> int:
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
def _credit(
    row: int,
    path: Ints,
    depth: int,
    smaller: Longs,
    unique: Words,
    per_row: Ints,
    per_column: Longs,
) -> None:
    """Count the path for a row that it makes unique, unless the row is unique without one of its columns.

    That it is not unique without the last column is known; `smaller` says where the others are stored.
    """
    for d in range(1, depth):
        if holds(unique[smaller[d]], row):
            return
    per_row[row, depth - 1] += 1
    for d in range(1, depth + 1):
        per_column[path[d], depth - 1] += 1


@njit(cache=True)
def count_minimal_uniques(  # noqa: PLR0917
    codes: Ints,
    sizes: Longs,
    top: int,
    max_size: int,
    choose: Longs,
    first: Longs,
    unique: Words,
    per_row: Ints,
    per_column: Longs,
    rows: Ints,
    bounds: Ints,
    count: Ints,
    local: Ints,
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
    kept = np.zeros(max_size + 1, np.int64)
    clusters[0], kept[0] = 1, total
    smaller = np.zeros(max_size + 1, np.int64)
    depth = 1
    path[1] = top
    while depth > 0:
        parent = depth - 1
        column = codes[path[depth]]
        for d in range(1, depth):
            smaller[d] = _place(path, depth, d, choose, first)
        if depth == max_size:
            # The largest sets need no partition of their own: count, and look for codes that occur once.
            for i in range(clusters[parent]):
                start = at[parent] + bounds[b_at[parent] + i]
                length = bounds[b_at[parent] + i + 1] - bounds[b_at[parent] + i]
                for p in range(length):
                    code = column[rows[start + p]]
                    local[p] = code
                    count[code] += 1
                if length > 2 * sizes[path[depth]]:
                    once = False
                    for code in range(sizes[path[depth]]):
                        once |= count[code] == 1
                    if not once:
                        count[: sizes[path[depth]]] = 0
                        continue
                for p in range(length):
                    times = count[local[p]]
                    count[local[p]] = 0
                    if times == 1:
                        row = rows[start + p]
                        _credit(row, path, depth, smaller, unique, per_row, per_column)
        else:
            at[depth] = at[parent] + kept[parent]
            b_at[depth] = b_at[parent] + clusters[parent] + 1
            clusters[depth], kept[depth], _ = refine(
                rows,
                at[parent],
                bounds,
                b_at[parent],
                clusters[parent],
                column,
                2,
                total + 1,
                total + 1,
                count,
                local,
                rows,
                at[depth],
                bounds,
                b_at[depth],
            )
            here = unique[_place(path, depth, 0, choose, first)]
            if kept[depth] == kept[parent]:
                for w in range(len(here)):
                    here[w] = np.uint64(0)
                if depth > 1:
                    here[:] = unique[_place(path, depth, depth, choose, first)]
            else:
                for w in range(len(here)):
                    here[w] = ~np.uint64(0)
                for p in range(at[depth], at[depth] + kept[depth]):
                    here[rows[p] >> 6] &= ~(np.uint64(1) << np.uint64(rows[p] & 63))
                for p in range(at[parent], at[parent] + kept[parent]):
                    if holds(here, rows[p]):
                        _credit(rows[p], path, depth, smaller, unique, per_row, per_column)
        if depth < max_size and path[depth] > 0:
            depth += 1
            path[depth] = 0
            continue
        while depth > 1 and path[depth] + 1 == path[depth - 1]:
            depth -= 1
        if depth == 1:
            break
        path[depth] += 1

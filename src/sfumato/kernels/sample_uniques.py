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
def count_minimal_uniques(
    codes: Ints,
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

    `unique` has one row of bits per set below the largest size, placed by `first[size]` and rank, and one
    row more for the sets of the largest size. `rows` holds all rows and has room for one more partition per
    size. `per_row[i, s-1]` and `per_column[c, s-1]` count minimal combinations of s columns.
    """
    total = codes.shape[1]
    words = unique.shape[1]
    path = np.zeros(max_size + 1, np.int32)
    at = np.zeros(max_size + 1, np.int64)
    b_at = np.zeros(max_size + 1, np.int64)
    clusters = np.zeros(max_size + 1, np.int64)
    kept = np.zeros(max_size + 1, np.int64)
    clusters[0], kept[0] = 1, total
    depth = 1
    path[1] = top
    while depth > 0:
        parent = depth - 1
        at[depth] = at[parent] + kept[parent]
        b_at[depth] = b_at[parent] + clusters[parent] + 1
        if kept[parent] > 0 or depth < max_size:
            clusters[depth], kept[depth], _ = refine(
                rows,
                at[parent],
                bounds,
                b_at[parent],
                clusters[parent],
                codes[path[depth]],
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
            last = unique.shape[0] - 1
            here = unique[last if depth == max_size else _place(path, depth, 0, choose, first)]
            for w in range(words):
                here[w] = ~np.uint64(0)
            for p in range(at[depth], at[depth] + kept[depth]):
                here[rows[p] >> 6] &= ~(np.uint64(1) << np.uint64(rows[p] & 63))
            for p in range(at[parent], at[parent] + kept[parent]):
                row = rows[p]
                if not holds(here, row):
                    continue
                minimal = True
                for d in range(1, depth):
                    if holds(unique[_place(path, depth, d, choose, first)], row):
                        minimal = False
                        break
                if minimal:
                    per_row[row, depth - 1] += 1
                    for d in range(1, depth + 1):
                        per_column[path[d], depth - 1] += 1
        if depth < max_size and path[depth] > 0:
            depth += 1
            path[depth] = 0
            continue
        while depth > 1 and path[depth] + 1 == path[depth - 1]:
            depth -= 1
        if depth == 1:
            break
        path[depth] += 1

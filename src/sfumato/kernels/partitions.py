"""Stripped partitions: rows that still share their values with enough others, cluster by cluster.

A partition lies in a flat array of row numbers from `at` on; cluster i covers the offsets
`bounds[b_at + i] .. bounds[b_at + i + 1]`, and `bounds[b_at]` is 0. Clusters below the floor `k` are
not kept: their rows have left for good. A negative code is a value that fewer than k rows hold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Int32s = NDArray[np.int32]

WHOLE = 0
"""Every row was looked at."""
DROPPED = 1
"""Stopped: enough rows have left."""
KEPT = 2
"""Stopped: enough rows have stayed."""

SHORT = 12
"""Parts of clusters of so many rows come in the order of codes, those of longer ones in that of rows."""


@njit(cache=True, borrows=True)
def refine(  # noqa: PLR0917
    rows: Int32s,
    at: int,
    bounds: Int32s,
    b_at: int,
    clusters: int,
    codes: Int32s,
    k: int,
    drop_limit: int,
    keep_limit: int,
    count: Int32s,
    local: Int32s,
    out: Int32s,
    out_at: int,
    out_bounds: Int32s,
    out_b_at: int,
) -> tuple[int, int, int]:
    """Split every cluster by the codes of its rows; keep the parts of at least k rows.

    Stops once `drop_limit` rows have left or `keep_limit` have stayed. `count` is zero on entry and on
    exit and has room for every code; `local` has room for twice the longest cluster. Returns the number
    of clusters, the number of rows kept, and why it stopped.
    """
    parts = 0
    rows_kept = 0
    out_bounds[out_b_at] = 0
    for i in range(clusters):
        start = at + bounds[b_at + i]
        length = bounds[b_at + i + 1] - bounds[b_at + i]
        if length <= SHORT:
            used = 0
            for p in range(start, start + length):
                row = rows[p]
                code = codes[row]
                if code < 0:
                    continue
                q = used
                while q > 0 and local[2 * q - 2] > code:
                    local[2 * q] = local[2 * q - 2]
                    local[2 * q + 1] = local[2 * q - 1]
                    q -= 1
                local[2 * q] = code
                local[2 * q + 1] = row
                used += 1
            p = 0
            while p < used:
                q = p + 1
                while q < used and local[2 * q] == local[2 * p]:
                    q += 1
                if q - p >= k:
                    for s in range(p, q):
                        out[out_at + rows_kept] = local[2 * s + 1]
                        rows_kept += 1
                    parts += 1
                    out_bounds[out_b_at + parts] = rows_kept
                p = q
        else:
            for p in range(length):
                code = codes[rows[start + p]]
                local[p] = code
                if code >= 0:
                    count[code] += 1
            # Counts become places: the next free offset, shifted below zero to tell them from counts.
            for p in range(length):
                code = local[p]
                if code < 0:
                    continue
                c = count[code]
                if c > 0:
                    if c >= k:
                        count[code] = -rows_kept - 1
                        rows_kept += c
                        parts += 1
                        out_bounds[out_b_at + parts] = rows_kept
                    else:
                        count[code] = 0
                        local[p] = -1
                        continue
                elif c == 0:
                    local[p] = -1
                    continue
                out[out_at - count[code] - 1] = rows[start + p]
                count[code] -= 1
            for p in range(length):
                if local[p] >= 0:
                    count[local[p]] = 0
        if bounds[b_at + i + 1] - rows_kept >= drop_limit:
            return parts, rows_kept, DROPPED
        if rows_kept >= keep_limit:
            return parts, rows_kept, KEPT
    return parts, rows_kept, WHOLE


@njit(cache=True)
def mark_rare(codes: Int32s, sizes: NDArray[np.int64], k: int, out: Int32s) -> NDArray[np.int64]:
    """In every column, codes that fewer than k rows hold become -1, the others are numbered anew.

    Returns for each column how many codes occur, how many are frequent, the rows that hold those, and the
    sum of the squares of their counts.
    """
    columns, rows = codes.shape
    shapes = np.zeros((columns, 4), np.int64)
    count = np.zeros(sizes.max() if columns else 0, np.int32)
    for j in range(columns):
        used, frequent, frequent_rows, squares = 0, 0, 0, 0
        for i in range(rows):
            count[np.uint32(codes[j, i])] += 1
        for code in range(sizes[j]):
            c = int(count[code])
            often = c >= k
            used += c > 0
            frequent_rows += c if often else 0
            squares += c * c if often else 0
            count[code] = frequent if often else -1
            frequent += often
        for i in range(rows):
            out[j, i] = count[np.uint32(codes[j, i])]
        count[: sizes[j]] = 0
        shapes[j, 0], shapes[j, 1], shapes[j, 2], shapes[j, 3] = used, frequent, frequent_rows, squares
    return shapes


@njit(cache=True)
def join_alike(
    codes: Int32s, shapes: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int, int]:
    """Put columns in an order: of those that group the rows alike the first; the others and constants last.

    `codes` and `shapes` are what `mark_rare` makes. Columns with equal sums of squares lie next to each other
    in `order`. Returns for each column the place of the one that stands for it, -1 for a constant; how many
    columns stand for some; and the most codes that one of these has.
    """
    places = np.full(len(codes), -1, np.int64)
    source = np.empty(len(codes), np.int64)
    image = np.empty(shapes[:, 1].max() if len(codes) else 0, np.int32)
    groups, last, most = 0, len(codes), 0
    for j in order:
        alike = groups - 1 if shapes[j, 0] > 1 else -1
        while alike >= 0 and not _same_partition(codes, shapes, source[alike], j, image):
            alike = alike - 1 if shapes[source[alike], 3] == shapes[j, 3] else -1
        if alike < 0 and shapes[j, 0] > 1:
            alike = groups
            groups += 1
            source[alike] = j
            most = max(most, shapes[j, 1])
        else:
            last -= 1
            source[last] = j
        places[j] = alike
    _permute(codes, source)
    return places, groups, most


@njit(cache=True)
def _permute(codes: Int32s, source: NDArray[np.int64]) -> None:
    """Put column `source[i]` in place i, for every i, with room for one column; `source` is used up."""
    spare = np.empty(codes.shape[1], np.int32)
    for start in range(len(source)):
        if source[start] == start:
            continue
        spare[:] = codes[start]
        place = start
        while source[place] != start:
            taken = source[place]
            codes[place] = codes[taken]
            source[place] = place
            place = taken
        codes[place] = spare
        source[place] = place


@njit(cache=True, borrows=True)
def _same_partition(codes: Int32s, shapes: NDArray[np.int64], i: int, j: int, image: Int32s) -> bool:
    """Whether equal codes in one column mean equal codes in the other, and negative codes the same rows.

    `image` has room for every code.
    """
    for s in range(1, 4):
        if shapes[i, s] != shapes[j, s]:
            return False
    image[: shapes[i, 1]] = -1
    for row in range(codes.shape[1]):
        first, second = codes[i, row], codes[j, row]
        if first < 0 or second < 0:
            if first >= 0 or second >= 0:
                return False
            continue
        expected = image[first]
        if expected < 0:
            image[first] = second
        elif expected != second:
            return False
    return True


@njit(cache=True)
def split_by_each(
    rows: Int32s,
    bounds: Int32s,
    codes: Int32s,
    columns: Int32s,
    k: int,
    drop_limit: int,
    count: Int32s,
    local: Int32s,
    out: Int32s,
    out_bounds: Int32s,
) -> NDArray[np.bool_]:
    """For each of these columns, whether splitting by it alone drops at least `drop_limit` rows."""
    whole = (rows, 0, bounds, 0, len(bounds) - 1)
    keep_limit = len(rows) - drop_limit + 1
    dropped = np.zeros(len(columns), np.bool_)
    for i in range(len(columns)):
        limits = (k, drop_limit, keep_limit)
        _, _, why = refine(*whole, codes[columns[i]], *limits, count, local, out, 0, out_bounds, 0)
        dropped[i] = why == DROPPED
    return dropped

"""Sets of rows beside earlier sets of rows: compiled loops for checks that follow a splitting search.

Rows carry a value and, for each earlier labelling, a block. Parts are sets of rows made by one split; they
are numbered branch by branch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.chains.overlaps import NO_OVERLAP
from sfumato.kernels.compiled import njit

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@njit(cache=True)
def values_of_parts(
    member: Ints, start: Longs, value: Ints, weight: Longs, slot: Longs
) -> tuple[Longs, Ints, Longs, Ints]:
    """The values in each part, with their weight and a row that has it; `slot` has one place per value."""
    parts = len(start) - 1
    begin = np.zeros(parts + 1, np.int64)
    values = np.empty(len(member), np.int32)
    count = np.zeros(len(member), np.int64)
    example = np.empty(len(member), np.int32)
    slot[:] = -1
    used = 0
    for p in range(parts):
        for i in range(start[p], start[p + 1]):
            row = member[i]
            v = value[row]
            if slot[v] < begin[p]:
                slot[v] = used
                values[used] = v
                example[used] = row
                used += 1
            count[slot[v]] += weight[row]
        begin[p + 1] = used
    return begin, values[:used].copy(), count[:used].copy(), example[:used].copy()


@njit(cache=True)
def weight_of_blocks(
    order: Ints,
    bounds: Longs,
    block: Ints,
    weight: Longs,
    kind: Ints,
    example: Ints,
    branch: Ints,
    total: Longs,
) -> Longs:
    """The weight of each example's block within its branch, by kind; `total` holds zeros, by block and kind.

    Branch b holds the rows `order[bounds[b] : bounds[b+1]]`; examples are sorted by branch.
    """
    weights = np.zeros((len(example), total.shape[1]), np.int64)
    i = 0
    for b in range(len(bounds) - 1):
        for p in range(bounds[b], bounds[b + 1]):
            row = order[p]
            total[block[row], kind[row]] += weight[row]
        while i < len(example) and branch[i] == b:
            weights[i] = total[block[example[i]]]
            i += 1
        for p in range(bounds[b], bounds[b + 1]):
            total[block[order[p]], kind[order[p]]] = 0
    return weights


@njit(cache=True)
def least_of_parts(
    begin: Longs,
    block: Ints,
    caps: Longs,
    branch: Ints,
    cells: tuple[Longs, Ints, Longs, Ints, Ints],
    rows: tuple[Ints, Longs, Ints],
    sums: Longs,
    enough: int,
) -> tuple[int, int]:
    """The least positive overlap of a part with a cell, over all cells and over those that a row is in.

    Part p holds the entries `begin[p] .. begin[p+1]-1`, each in a block; entry i counts `caps[t, i]` for the
    cells of time t. `cells` holds, by block: where its entries begin, their cell and count; the branch of
    every cell (no entries: no filter), and its time. `rows` holds the members of each part, where they begin,
    and the cell of every row (-1: none). `sums` holds zeros, one per cell. Stops once a cell that a row is in
    has less than `enough`.
    """
    first, cell, size, side, time = cells
    member, start, inside = rows
    least, real = NO_OVERLAP, NO_OVERLAP
    touched = np.empty(len(sums), np.int32)
    for p in range(len(begin) - 1):
        used = 0
        for i in range(begin[p], begin[p + 1]):
            b = block[i]
            for j in range(first[b], first[b + 1]):
                c = cell[j]
                more = min(caps[time[c], i], size[j])
                if more == 0 or (len(side) > 0 and side[c] != branch[p]):
                    continue
                if sums[c] == 0:
                    touched[used] = c
                    used += 1
                sums[c] += more
        for i in range(start[p], start[p + 1]):
            c = inside[member[i]]
            if c >= 0:
                real = min(real, sums[c])
        for t in range(used):
            least = min(least, sums[touched[t]])
            sums[touched[t]] = 0
        if real < enough:
            break
    return least, real


@njit(cache=True)
def survivors_of_parts(
    begin: Longs,
    value: Ints,
    block: Ints,
    caps: Longs,
    branch: Ints,
    cells: tuple[Longs, Ints, Longs, Ints, Ints],
    most: int,
) -> tuple[Longs, Ints, Longs]:
    """The records of each value that a part and a cell can share: number of the pair, value, count.

    A pair is numbered part * cells + cell. At most `most` entries are written.
    """
    first, cell, size, side, time = cells
    width = 1
    for c in cell:
        width = max(width, c + 1)
    room = 0
    for p in range(len(begin) - 1):
        for i in range(begin[p], begin[p + 1]):
            room += first[block[i] + 1] - first[block[i]]
    room = min(room, most)
    pair, values, left = np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int64)
    used = 0
    for p in range(len(begin) - 1):
        for i in range(begin[p], begin[p + 1]):
            for j in range(first[block[i]], first[block[i] + 1]):
                more = min(caps[time[cell[j]], i], size[j])
                if more == 0 or (len(side) > 0 and side[cell[j]] != branch[p]):
                    continue
                if used == room:
                    return pair, values, left
                pair[used], values[used], left[used] = np.int64(p) * width + cell[j], value[i], more
                used += 1
    return pair[:used].copy(), values[:used].copy(), left[:used].copy()

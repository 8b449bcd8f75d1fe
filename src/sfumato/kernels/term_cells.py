"""Depth-first search over removed cells: every pattern of removed (set, term) cells is one node of a tree.

A node's tail is what may still be removed below it. In plain order tails ascend; adaptively, each tail is sorted by
how much the removal of a cell helps for its price.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.term_branching import shares
from sfumato.kernels.term_limits import RATIO, ROUNDING, excess, tolerance
from sfumato.kernels.term_options import add_share

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def widest(mass: Floats, c: float) -> int:
    """The largest l for which the largest entry is at most c times the sum of all but the l-1 largest."""
    some = np.sort(mass[mass > 0.0])
    if len(some) == 0:
        return len(mass) + 1
    tail = 0.0
    for j in range(len(some)):
        tail += some[j]
        if c * tail >= some[-1] * (1.0 - ROUNDING):
            return len(some) - j
    return 0


@njit(cache=True, nogil=True)
def _worth(
    mass: Floats, kind: int, c: float, l: int, target: Floats, limit: float, size: float, best: Floats
) -> float:
    """What a search by ratio wants to grow."""
    if kind == RATIO:
        return float(widest(mass, c))
    return float(-excess(mass, kind, c, l, target, limit, size, 0.0, best))


@njit(cache=True, nogil=True)
def search_cells(
    trace: Ints,
    group: Ints,
    bits: Longs,
    counts: Longs,
    begin: Longs,
    price: Longs,
    kind: int,
    c: float,
    l: int,
    target: Floats,
    limit: float,
    slack: float,
    adaptive: bool,
    choice: Ints,
    cost: int,
    nodes: int,
    stop: Ints,
) -> tuple[int, bool]:
    """The cheapest pattern found below `cost`, and whether the whole tree was walked."""
    sets, size = len(bits), float(len(bits))
    cells = int(bits.sum())
    whose, bit = np.empty(cells, np.int32), np.empty(cells, np.int32)
    full = np.empty(sets, np.int32)
    n = 0
    for i in range(sets):
        full[i] = (1 << bits[i]) - 1
        for b in range(bits[i]):
            whose[n], bit[n] = i, 1 << b
            n += 1
    now = full.copy()
    mass, tried = np.empty(len(target)), np.empty(len(target))
    best = np.empty(max(1, min(l, len(target))))
    tail = np.empty((cells + 1, cells), np.int32)
    length, position = np.zeros(cells + 1, np.int64), np.zeros(cells + 1, np.int64)
    keys = np.empty(cells)
    depth, seen, spent, fresh = 0, 0, 0, True
    length[0] = cells
    tail[0] = np.arange(cells)
    while depth >= 0:
        if fresh:
            fresh = False
            seen += 1
            if seen > nodes or stop[0]:
                return cost, False
            shares(trace, group, now, counts, begin, mass)
            value = excess(mass, kind, c, l, target, limit, size, 0.0, best)
            if value <= slack * tolerance(mass, kind, c, limit):
                if spent < cost:
                    cost = spent
                    choice[:] = now
                length[depth] = 0
            elif adaptive and length[depth] > 1:
                here = _worth(mass, kind, c, l, target, limit, size, best)
                for q in range(length[depth]):
                    cell = tail[depth, q]
                    i = whose[cell]
                    old, new = now[i], now[i] & ~bit[cell]
                    tried[:] = mass
                    if counts[begin[i] + old] > 0:
                        add_share(trace[i], group, old, -1.0 / counts[begin[i] + old], tried)
                        for j in range(len(tried)):
                            if abs(tried[j]) < 1e-12:
                                tried[j] = 0.0
                    if counts[begin[i] + new] > 0:
                        add_share(trace[i], group, new, 1.0 / counts[begin[i] + new], tried)
                    paid = price[begin[i] + new] - price[begin[i] + old]
                    keys[q] = -(_worth(tried, kind, c, l, target, limit, size, best) - here) / paid
                    if stop[0]:
                        return cost, False
                ranked = np.argsort(keys[: length[depth]], kind="mergesort")
                tail[depth, : length[depth]] = tail[depth, : length[depth]][ranked]
        if position[depth] < length[depth]:
            cell = tail[depth, position[depth]]
            i = whose[cell]
            more = price[begin[i] + (now[i] & ~bit[cell])] - price[begin[i] + now[i]]
            position[depth] += 1
            if spent + more < cost:
                now[i] &= ~bit[cell]
                spent += more
                left = length[depth] - position[depth]
                tail[depth + 1, :left] = tail[depth, position[depth] : length[depth]]
                depth += 1
                length[depth], position[depth] = left, 0
                fresh = True
            continue
        depth -= 1
        if depth >= 0:
            cell = tail[depth, position[depth] - 1]
            i = whose[cell]
            spent -= price[begin[i] + now[i]] - price[begin[i] + (now[i] | bit[cell])]
            now[i] |= bit[cell]
    return cost, True

"""Depth-first search over removed cells: every pattern of removed (set, term) cells is one node of a tree.

A node's tail is what may still be removed below it. In plain order tails ascend; adaptively, each tail is
sorted by how much the removal of a cell helps for its price.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.term_sets.branches import keeps
from sfumato.kernels.term_sets.limits import ROUNDING, ConvexLimit, excess, room_for
from sfumato.kernels.term_sets.subsets import SetArrays

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True, inner=True)
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
def _worth(mass: Floats, limit: ConvexLimit, size: float, best: Floats) -> float:
    """What a search by ratio wants to grow: the l that is reached; else, less of the largest excess."""
    if len(limit.c) == 1 and len(limit.most) == 0:
        return float(widest(mass, limit.c[0]))
    return float(-excess(mass, limit, limit.target, size, np.zeros(len(limit.most)), best)[0])


@njit(cache=True, nogil=True)
def _without(sets: SetArrays, i: int, old: int, new: int, mass: Floats, out: Floats) -> None:
    """The mass when set i has the smaller subset `new` in place of `old`."""
    out[:] = mass
    before, after = sets.whole[sets.begin[i] + old], sets.whole[sets.begin[i] + new]
    if after == 0:
        return
    trace, group, gain = sets.trace[i], sets.group, 1.0 / after
    loss = 1.0 / before if before > 0 else 0.0
    last, counted = -1, False
    for r in range(len(trace)):
        if trace[r] & new == new:
            j = group[r]
            if j != last:
                out[j] += gain * sets.value[j]
                last, counted = j, False
            if not counted and trace[r] & old == old:
                out[j] -= loss * sets.value[j]
                counted = True


@njit(cache=True, nogil=True)
def _affordable(sets: SetArrays, tail: Ints, whose: Ints, bit: Ints, now: Ints, room: int) -> int:
    """Move the cells that may cost less than `room` to the front of a tail; their number.

    As a set gets shorter, removals get dearer throughout, or cheaper: what costs too much now and as the last
    one of all does so in the whole branch.
    """
    left = 0
    for cell in tail:
        i = whose[cell]
        at = sets.begin[i]
        more = sets.price[at + (now[i] & ~bit[cell])] - sets.price[at + now[i]]
        if min(more, sets.price[at] - sets.price[at + bit[cell]]) < room:
            tail[left] = cell
            left += 1
    return left


@njit(cache=True, nogil=True, inner=True)
def search_cells(
    sets: SetArrays, limit: ConvexLimit, adaptive: bool, choice: Ints, cost: int, nodes: int, stop: Ints
) -> tuple[int, bool]:
    """The cheapest pattern found below `cost`, and whether the whole tree was walked."""
    many, size = len(choice), float(len(choice))
    cells = int(sets.bits.sum())
    whose, bit = np.empty(cells, np.int32), np.empty(cells, np.int32)
    now = np.empty(many, np.int32)
    n = 0
    for i in range(many):
        now[i] = (1 << sets.bits[i]) - 1
        for b in range(sets.bits[i]):
            whose[n], bit[n] = i, 1 << b
            n += 1
    mass, tried, best = np.empty(limit.target.shape[1]), np.empty(limit.target.shape[1]), room_for(limit)
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
            if keeps(sets, limit, now, mass, best):
                if spent < cost:
                    cost = spent
                    choice[:] = now
                length[depth] = 0
            else:
                length[depth] = _affordable(sets, tail[depth, : length[depth]], whose, bit, now, cost - spent)
            if adaptive and length[depth] > 1:
                here = _worth(mass, limit, size, best)
                for q in range(length[depth]):
                    cell = tail[depth, q]
                    i = whose[cell]
                    old, new = now[i], now[i] & ~bit[cell]
                    _without(sets, i, old, new, mass, tried)
                    more = sets.price[sets.begin[i] + new] - sets.price[sets.begin[i] + old]
                    keys[q] = (here - _worth(tried, limit, size, best)) / more
                    if stop[0]:
                        return cost, False
                ranked = np.argsort(keys[: length[depth]], kind="mergesort")
                tail[depth, : length[depth]] = tail[depth, : length[depth]][ranked]
        if position[depth] < length[depth]:
            cell = tail[depth, position[depth]]
            i = whose[cell]
            at = sets.begin[i]
            more = sets.price[at + (now[i] & ~bit[cell])] - sets.price[at + now[i]]
            position[depth] += 1
            if spent + more < cost:  # a cheaper pattern may have been found meanwhile
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
            at = sets.begin[i]
            spent -= sets.price[at + now[i]] - sets.price[at + (now[i] | bit[cell])]
            now[i] |= bit[cell]
    return cost, True

"""The largest set of points no two of which are comparable (Dilworth), by matching in bit rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.sets.bitsets import holds, ones, put

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Truth = NDArray[np.bool_]

_NONE = np.uint64(0)
_ONE = np.uint64(1)


@njit(cache=True)
def below_rows(packed: Words, guard: Words) -> Words:
    """Row u holds the points that u is below.

    `packed` has the coordinates of every point in fields of a few words, the topmost bit of each field, in
    `guard`, clear: u ≤ v in every field iff no guard bit is borrowed from in v - u.
    """
    points, words = packed.shape
    rows = np.zeros((points, (points + 63) >> 6), np.uint64)
    for u in range(points):
        for v in range(points):
            less = u != v
            for w in range(words):
                less &= (((packed[v, w] | guard[w]) - packed[u, w]) & guard[w]) == guard[w]
            if less:
                put(rows[u], v)
    return rows


@njit(cache=True)
def largest_antichain(below: Words) -> Truth:
    """Which points are in it; `below[u]` holds the points above u, transitively.

    A largest matching of lower to upper copies of the points leaves as many points unmatched as there are
    chains in the least cover. Copies reached from unmatched lower ones along alternating paths do not depend
    on the matching; the points whose lower copy is reached and whose upper copy is not are the answer.
    """
    points, words = below.shape
    upper = np.full(points, -1, np.int64)
    lower = np.full(points, -1, np.int64)
    path, edge = np.empty(points, np.int64), np.empty(points, np.int64)
    fresh = np.empty(words, np.uint64)
    improved = True
    while improved:
        improved = False
        _everything(fresh, points)
        for u in range(points):
            if lower[u] < 0 and _augment(u, below, fresh, lower, upper, path, edge):
                improved = True
    _everything(fresh, points)
    reached = np.zeros(points, np.bool_)
    for u in range(points):
        if lower[u] < 0:
            reached[u] = True
            _augment(u, below, fresh, lower, upper, path, edge)
    for v in range(points):
        if not holds(fresh, v):
            reached[upper[v]] = True
    for v in range(points):
        reached[v] &= holds(fresh, v)
    return reached


@njit(cache=True)
def _everything(fresh: Words, points: int) -> None:
    fresh[:] = _NONE
    for v in range(points):
        put(fresh, v)


@njit(cache=True)
def _augment(
    start: int, below: Words, fresh: Words, lower: Ints, upper: Ints, path: Ints, edge: Ints
) -> bool:
    """Look for an alternating path from a free lower copy to a free upper one, and turn it over.

    Upper copies that are seen leave `fresh`: what did not help once will not help in this round.
    """
    top = 0
    path[0] = start
    while top >= 0:
        u, v = path[top], -1
        for w in range(below.shape[1]):
            x = below[u, w] & fresh[w]
            if x != _NONE:
                lowest = x & (~x + _ONE)
                fresh[w] ^= lowest
                v = 64 * w + ones(lowest - _ONE)
                break
        if v < 0:
            top -= 1
            continue
        edge[top] = v
        if upper[v] < 0:
            for at in range(top + 1):
                lower[path[at]] = edge[at]
                upper[edge[at]] = path[at]
            return True
        top += 1
        path[top] = upper[v]
    return False

"""Earth mover's distances of many classes to one distribution, in whole numbers of 64 bits.

Classes are compressed rows: the values of class c are `values[start[c] : start[c + 1]]`, with `counts` beside
them and `size[c]` their sum. `target` counts the distribution, `total` everything in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Floats = NDArray[np.float64]

LEAST_SLOPE = 1e-3
"""Below this slope a bound would suffer from rounding, and is not drawn."""
ROUNDING = 1 + 1e-6
"""Sums of up to a million shares, divided by such a slope, are off by less than this factor."""
MOST_LINES = 30


@njit(cache=True)
def equal_costs(
    start: Int64s, values: Int32s, counts: Int64s, size: Int64s, target: Int64s, total: int
) -> Int64s:
    """Sum, per class, what its values have more than the distribution gives them."""
    cost = np.zeros(len(size), np.int64)
    for c in range(len(size)):
        for at in range(start[c], start[c + 1]):
            surplus = counts[at] * total - size[c] * target[values[at]]
            if surplus > 0:
                cost[c] += surplus
    return cost


@njit(cache=True, inline="always")
def _count_below(
    first: int,
    last: int,
    values: Int32s,
    counts: Int64s,
    tree: tuple[Int32s, Int32s, Int32s],
    inside: Int64s,
    touched: Int32s,
) -> int:
    """Adds what one class, whose values stand from `first` up to `last`, has below each node of a tree.

    `inside` must be zero everywhere; it receives the counts, and `touched` the nodes that have some, in the
    order in which they are met. Returns how many those are.
    """
    leaves, parent, _ = tree
    count = 0
    for at in range(first, last):
        node = leaves[values[at]]
        while node >= 0:
            if inside[node] == 0:
                touched[count] = node
                count += 1
            inside[node] += counts[at]
            node = parent[node]
    return count


@njit(cache=True)
def hierarchical_costs(
    start: Int64s,
    values: Int32s,
    counts: Int64s,
    size: Int64s,
    tree: tuple[Int32s, Int32s, Int32s],
    below: Int64s,
    total: int,
) -> Int64s:
    """Sum, per class, |surplus| x climb over all nodes of a tree.

    `tree` is the node of each value, the parent of each node (of the root: -1) and how much higher it
    stands; `below` counts the distribution below each node. Only nodes above values of a class are visited:
    all others lack what the distribution holds there.
    """
    climb = tree[2]
    whole = np.int64(0)
    for node in range(len(below)):
        whole += climb[node] * below[node]
    cost = np.empty(len(size), np.int64)
    inside = np.zeros(len(below), np.int64)
    touched = np.empty(len(below), np.int32)
    for c in range(len(size)):
        count = _count_below(start[c], start[c + 1], values, counts, tree, inside, touched)
        cost[c] = size[c] * whole
        for i in range(count):
            node = touched[i]
            expected = size[c] * below[node]
            cost[c] += climb[node] * (abs(inside[node] * total - expected) - expected)
            inside[node] = 0
    return cost


@njit(cache=True)
def most_kept(
    start: Int64s,
    values: Int32s,
    counts: Int64s,
    size: Int64s,
    tree: tuple[Int32s, Int32s, Int32s],
    height: int,
    shares: Floats,
    t: float,
) -> Int64s:
    """Bound, per class, the size of a part of it whose distance from the distribution is at most t.

    `tree` is as above; the climbs from every leaf to the root add up to `height`. `shares` bounds the
    distribution below each node. A part of m with c[v] below node v, whose share of the distribution is q[v],
    is 1 - sum of u[v] min(c[v] / m, q[v]) away, where u[v] is the climb over the height. So
    (1 - t) m <= sum of u[v] min(c[v], m q[v]), also with all that the class has below v for c[v], and with
    either side of each min: every choice gives a line that bounds m. Lines are drawn, each by the bound
    before it, until they gain nothing.
    """
    climb = tree[2]
    most = size.copy()
    inside = np.zeros(len(shares), np.int64)
    touched = np.empty(len(shares), np.int32)
    for c in range(len(size)):
        count = _count_below(start[c], start[c + 1], values, counts, tree, inside, touched)
        bound = float(size[c])
        for _ in range(MOST_LINES):
            slope, fixed = 1.0 - t, 0.0
            for i in range(count):
                node = touched[i]
                weight = climb[node] / height
                if inside[node] > bound * shares[node]:
                    slope -= weight * shares[node]
                else:
                    fixed += weight * inside[node]
            if slope < LEAST_SLOPE or fixed / slope * ROUNDING >= bound:
                break
            bound = fixed / slope * ROUNDING
        most[c] = min(size[c], int(bound))
        for i in range(count):
            inside[touched[i]] = 0
    return most

"""Earth mover's distances of many classes to one distribution, in whole numbers of 64 bits.

Classes are compressed rows: the values of class c are `values[start[c] : start[c + 1]]`, with `counts` beside
them and `size[c]` their sum. `target` counts the distribution, `total` everything in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Ints = NDArray[np.int64]
Small = NDArray[np.int32]


@njit(cache=True)
def equal_costs(start: Ints, values: Small, counts: Ints, size: Ints, target: Ints, total: int) -> Ints:
    """Sum, per class, what its values have more than the distribution gives them."""
    cost = np.zeros(len(size), np.int64)
    for c in range(len(size)):
        for at in range(start[c], start[c + 1]):
            surplus = counts[at] * total - size[c] * target[values[at]]
            if surplus > 0:
                cost[c] += surplus
    return cost


@njit(cache=True)
def hierarchical_costs(
    start: Ints,
    values: Small,
    counts: Ints,
    size: Ints,
    tree: tuple[Small, Small, Small],
    held: Ints,
    total: int,
) -> Ints:
    """Sum, per class, |surplus| x climb over all nodes of a tree.

    `tree` is the node of each value, the parent of each node (of the root: -1) and how much higher it
    stands; `held` counts the distribution below each node. Only nodes above values of a class are visited:
    all others lack what the distribution holds there.
    """
    leaves, parent, climb = tree
    whole = np.int64(0)
    for node in range(len(held)):
        whole += climb[node] * held[node]
    cost = np.empty(len(size), np.int64)
    inside = np.zeros(len(held), np.int64)
    touched = np.empty(len(held), np.int32)
    for c in range(len(size)):
        count = 0
        for at in range(start[c], start[c + 1]):
            node = leaves[values[at]]
            while node >= 0:
                if inside[node] == 0:
                    touched[count] = node
                    count += 1
                inside[node] += counts[at]
                node = parent[node]
        cost[c] = size[c] * whole
        for i in range(count):
            node = touched[i]
            expected = size[c] * held[node]
            cost[c] += climb[node] * (abs(inside[node] * total - expected) - expected)
            inside[node] = 0
    return cost

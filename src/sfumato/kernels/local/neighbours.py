"""Key groups that have a cheap box in common, found by sorting in several orders."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.local.key_classes import NOBODY, Forest, joined_cost

Small = NDArray[np.int32]
Longs = NDArray[np.int64]


@njit(cache=True)
def add_neighbours(
    forest: Forest, leaf: Small, order: NDArray[np.int64], reach: int, near: Small, cost: Longs
) -> None:
    """Looks `reach` places either way in an order of the groups and keeps the cheapest in `near`.

    `near[g]` holds other groups by rising price of the common box, the smaller number first among equals,
    NOBODY where there are no more; `cost[g]` holds those prices.
    """
    last = near.shape[1] - 1
    for place in range(len(order)):
        group = order[place]
        for other in range(place + 1, min(len(order), place + reach + 1)):
            beside = order[other]
            bound = max(cost[group, last], cost[beside, last])
            price = joined_cost(forest, leaf[group], leaf[beside], bound)
            if price <= bound:
                _insert(near[group], cost[group], beside, price)
                _insert(near[beside], cost[beside], group, price)


@njit(cache=True, borrows=True)
def _insert(near: Small, cost: Longs, group: int, price: int) -> None:
    """Puts a group into a sorted list of fixed length, once."""
    last = len(near) - 1
    if price > cost[last] or (price == cost[last] and near[last] != NOBODY and near[last] <= group):
        return
    place = last
    while place > 0 and (price < cost[place - 1] or (price == cost[place - 1] and group < near[place - 1])):
        place -= 1
    if place > 0 and near[place - 1] == group:
        return
    for i in range(last, place, -1):
        near[i], cost[i] = near[i - 1], cost[i - 1]
    near[place], cost[place] = group, price


class NodeLevels(NamedTuple):
    """The levels of all columns: what leaf `rank` of column j is at level l is
    `nodes[first[j] + rank * heights[j] + l]`; the last level is the same for all."""

    nodes: Small
    first: Longs
    heights: Longs


@njit(cache=True)
def count_meetings(near: Small, rank: Small, levels: NodeLevels) -> Longs:
    """How often groups and those near them meet at each combination of levels, the last column's fastest.

    Group g holds leaf `rank[g, j]` in column j. Two groups meet at the lowest levels at which they look
    alike.
    """
    counts = np.zeros(np.prod(levels.heights), np.int64)
    for group in range(len(near)):
        for i in range(near.shape[1]):
            other = near[group, i]
            if other == NOBODY:
                break
            place = 0
            for j in range(rank.shape[1]):
                one = levels.first[j] + np.int64(rank[group, j]) * levels.heights[j]
                two = levels.first[j] + np.int64(rank[other, j]) * levels.heights[j]
                level = 0
                while (
                    level < levels.heights[j] - 1 and levels.nodes[one + level] != levels.nodes[two + level]
                ):
                    level += 1
                place = place * levels.heights[j] + level
            counts[place] += 1
    return counts

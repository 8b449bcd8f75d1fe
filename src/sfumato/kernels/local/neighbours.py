"""Key groups that have a cheap box in common, found by sorting in several orders."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.local.key_classes import NOBODY, Forest, joined_cost

Small = NDArray[np.int32]
Longs = NDArray[np.int64]


class NodeRows(NamedTuple):
    """Groups in the first of their orders, with what they are at every level of every column but the last.

    Row r is group `number[r]`, and `nodes[r]` has its nodes, column by column from the leaf up. `above[i]` is
    the last level of a column, the same for all, where entry i is the one below it, and NOBODY elsewhere.
    """

    number: Small
    nodes: Small
    above: Small


class OtherOrders(NamedTuple):
    """Further orders of the rows: `rows[o, p]` is at place p of order o, and `places[o]` is the inverse."""

    rows: Small
    places: Small


@njit(cache=True)
def nearest_groups(groups: NodeRows, orders: OtherOrders, price: Longs, reach: int, kept: int) -> Small:
    """Per group the `kept` cheapest of those at most `reach` places from it in some order, as `near` says.

    What `add_neighbours` finds, group by group: the price of the common box is what a row loses on its way
    up through all levels at which the two differ. Price and number of a group have to fit 63 bits together.
    """
    count, width = groups.nodes.shape
    bits = 0
    while (1 << bits) < count:
        bits += 1
    near = np.full((count, kept), NOBODY, np.int32)
    best = np.empty(kept, np.int64)
    met_by = np.full(count, NOBODY, np.int32)
    beside = np.empty((2 * reach + 1) * (1 + len(orders.rows)), np.int32)
    rise = np.empty(width, np.int64)
    for row in range(count):
        here = groups.nodes[row]
        for i in range(width):
            up = here[i + 1] if groups.above[i] == NOBODY else groups.above[i]
            rise[i] = price[up] - price[here[i]]
        found = _rows_beside(orders, row, reach, met_by, beside)
        held = 0
        for n in range(found):
            there, cost = groups.nodes[beside[n]], np.int64(0)
            for i in range(width):
                cost += rise[i] & -np.int64(here[i] != there[i])  # no branch: many at once
            key = (cost << bits) | np.int64(groups.number[beside[n]])
            if held == kept and key > best[kept - 1]:
                continue
            held = min(held + 1, kept)
            place = held - 1
            while place > 0 and best[place - 1] > key:
                best[place] = best[place - 1]
                place -= 1
            best[place] = key
        mine, names = groups.number[row], (1 << bits) - 1
        for i in range(held):
            near[mine, i] = best[i] & names
    return near


@njit(cache=True, borrows=True)
def _rows_beside(orders: OtherOrders, row: int, reach: int, met_by: Small, beside: Small) -> int:
    """Writes every other row that is near in some order, once; returns how many.

    `met_by` says for which row each was written last.
    """
    count, found = len(met_by), 0
    met_by[row] = row
    for other in range(max(0, row - reach), min(count, row + reach + 1)):
        if other != row:
            met_by[other] = row
            beside[found] = other
            found += 1
    for o in range(len(orders.rows)):
        place = orders.places[o, row]
        for p in range(max(0, place - reach), min(count, place + reach + 1)):
            other = orders.rows[o, p]
            beside[found] = other
            found += int(met_by[other] != row)
            met_by[other] = row
    return found


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


@njit(cache=True)
def count_meetings(near: Small, groups: NodeRows, steps: Longs, size: int) -> Longs:
    """How often groups and those near them meet at each of `size` combinations of levels.

    Two groups meet at the lowest levels at which they look alike: the number of the combination is the sum
    of `steps` over the entries in which they differ.
    """
    counts = np.zeros(size, np.int64)
    row_of = np.empty(len(near), np.int32)
    for row in range(len(near)):
        row_of[groups.number[row]] = row
    for row in range(len(near)):
        here, others = groups.nodes[row], near[groups.number[row]]
        for n in range(len(others)):
            if others[n] == NOBODY:
                break
            there, place = groups.nodes[row_of[others[n]]], np.int64(0)
            for i in range(len(steps)):
                place += steps[i] & -np.int64(here[i] != there[i])
            counts[place] += 1
    return counts

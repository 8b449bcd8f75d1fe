"""Neighbours of key groups, and the level vectors at which neighbours meet."""

from __future__ import annotations

from math import prod

import numpy as np

from sfumato.core.microdata import Codes, Counts
from sfumato.core.progress import Progress, silent
from sfumato.kernels.local.key_classes import NOBODY
from sfumato.kernels.local.neighbours import (
    NodeRows,
    OtherOrders,
    add_neighbours,
    count_meetings,
    nearest_groups,
)
from sfumato.protection.distinct_rows import distinct_rows
from sfumato.protection.row_order import row_order
from sfumato.protection.searches.key_groups import KeyGroups

REACH = 8
"""Places that are looked at either way in each order of the groups."""
MOST_ORDERS = 100
"""Orders of the groups that are looked through: one for every column, as far as that goes."""
KEPT = 24
"""Neighbours that are kept of a group."""
NEIGHBOURS = "local: neighbours"
"""What local recoding does first, as progress calls it."""
FEWEST_IN_COMMON = 1 << 62
MOST_ENTRIES_AT_ONCE = 48
"""Numbers of 32 bits per group, for its nodes and its places, that all orders at once may take."""
MOST_KEYS = 1 << 63
"""Keys of a price and the number of a group are less."""
MOST_VECTORS_COUNTED = 1 << 22
"""Combinations of levels up to which each has a count of its own."""


def neighbours_of(groups: KeyGroups, *, progress: Progress = silent) -> Codes:
    """Returns per group others whose common box with it is cheap, by rising price; NOBODY where fewer.

    Groups are sorted column by column, the dear columns first, and once more with each column moved to the
    end: those who differ in one column only are then side by side. In tables of very many columns not all
    are moved.
    """
    columns = groups.leaf.shape[1]
    orders = [
        [*(j for j in range(columns) if j != last), last]
        for last in (columns - 1, *range(min(columns, MOST_ORDERS) - 1))
    ]
    find = _group_by_group if _fit_at_once(groups, len(orders)) else _order_by_order
    near = find(groups, orders, progress)
    progress(NEIGHBOURS, len(orders), len(orders))
    return near


def _fit_at_once(groups: KeyGroups, orders: int) -> bool:
    """Whether all orders and the nodes of all groups take little memory, and a key has room for any price."""
    entries = sum(len(levels) - 1 for levels in groups.levels) + 2 * orders
    dearest = sum(int(groups.forest.price[levels[-1]].max()) for levels in groups.levels)
    return entries <= MOST_ENTRIES_AT_ONCE and (dearest + 1) * 2 * len(groups) <= MOST_KEYS


def _group_by_group(groups: KeyGroups, orders: list[list[int]], progress: Progress) -> Codes:
    """The neighbours of one group after the other, from all orders at once."""
    first = row_order(groups.leaf[:, orders[0]]).astype(np.int32)
    leaf = groups.leaf[first]
    rows = np.empty((len(orders) - 1, len(groups)), np.int32)
    places = np.empty_like(rows)
    for i, order in enumerate(orders[1:]):
        progress(NEIGHBOURS, i, len(orders))
        rows[i] = row_order(leaf[:, order])
        places[i, rows[i]] = np.arange(len(groups), dtype=np.int32)
    progress(NEIGHBOURS, len(orders) - 1, len(orders))
    return nearest_groups(
        _node_rows(groups, first), OtherOrders(rows, places), groups.forest.price, REACH, KEPT
    )


def _order_by_order(groups: KeyGroups, orders: list[list[int]], progress: Progress) -> Codes:
    """The neighbours of all groups in one order after the other: where all orders would need much memory."""
    near = np.full((len(groups), KEPT), NOBODY, np.int32)
    cost = np.full((len(groups), KEPT), FEWEST_IN_COMMON, np.int64)
    for number, order in enumerate(orders):
        progress(NEIGHBOURS, number, len(orders))
        places = row_order(groups.leaf[:, order])
        add_neighbours(groups.forest, groups.leaf, places, REACH, near, cost)
    return near


def meeting_levels(groups: KeyGroups, near: Codes) -> tuple[Codes, Counts]:
    """Returns the level vectors of the lowest boxes that neighbours share, and how often each occurs."""
    heights = [len(levels) for levels in groups.levels]
    if prod(heights) > MOST_VECTORS_COUNTED or sum(heights) - len(heights) > MOST_ENTRIES_AT_ONCE:
        return _meeting_levels_of_pairs(groups, near)
    rows = _node_rows(groups, row_order(groups.leaf).astype(np.int32))
    steps = [prod(heights[j + 1 :]) for j, height in enumerate(heights) for _ in range(height - 1)]
    counts = count_meetings(near, rows, np.array(steps, np.int64), prod(heights))
    found = np.flatnonzero(counts)
    return np.stack(np.unravel_index(found, heights), axis=1).astype(np.int32), counts[found]


def _meeting_levels_of_pairs(groups: KeyGroups, near: Codes) -> tuple[Codes, Counts]:
    """The same, pair by pair: where combinations of levels are too many to have a count each."""
    pair = near >= 0
    one = np.repeat(np.arange(len(groups)), pair.sum(axis=1))
    two = near[pair]
    vectors = np.empty((len(one), groups.leaf.shape[1]), np.int32)
    for j, levels in enumerate(groups.levels):
        rank = _ranks(groups, j)
        a, b, level = rank[one], rank[two], np.zeros(len(one), np.int32)
        for step in range(len(levels) - 1):
            level[levels[step][a] != levels[step][b]] = step + 1
        vectors[:, j] = level
    found, place = distinct_rows(vectors)
    return found, np.bincount(place, minlength=len(found)).astype(np.int64)


def _node_rows(groups: KeyGroups, number: Codes) -> NodeRows:
    """Returns what groups are at every level but the last, in this order of the groups."""
    ends = np.cumsum([len(levels) - 1 for levels in groups.levels])
    nodes, above = np.empty((len(groups), ends[-1]), np.int32), np.full(ends[-1], NOBODY, np.int32)
    for j, (levels, end) in enumerate(zip(groups.levels, ends.tolist(), strict=True)):
        if len(levels) > 1:
            of_leaf = np.ascontiguousarray(levels[:-1].T)
            nodes[:, end + 1 - len(levels) : end] = of_leaf[_ranks(groups, j)[number]]
            above[end - 1] = levels[-1, 0]
    return NodeRows(number, nodes, above)


def _ranks(groups: KeyGroups, column: int) -> Codes:
    """Returns which leaf of a column each group holds, by its place."""
    leaves, leaf = groups.levels[column][0], groups.leaf[:, column]
    place = np.empty(int(leaves[-1]) + 1 - int(leaves[0]), np.int32)
    place[leaves - leaves[0]] = np.arange(len(leaves), dtype=np.int32)
    found: Codes = place[leaf - leaves[0]]
    return found

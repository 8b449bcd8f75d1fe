"""Neighbours of key groups, and the level vectors at which neighbours meet."""

from __future__ import annotations

from math import prod

import numpy as np

from sfumato.core.microdata import Codes, Counts
from sfumato.core.progress import Progress, silent
from sfumato.kernels.local.key_classes import NOBODY
from sfumato.kernels.local.neighbours import NodeLevels, add_neighbours, count_meetings
from sfumato.protection.distinct_rows import distinct_rows
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
MOST_VECTORS_COUNTED = 1 << 22
"""Combinations of levels up to which each has a count of its own."""


def neighbours_of(groups: KeyGroups, *, progress: Progress = silent) -> Codes:
    """Returns per group others whose common box with it is cheap, by rising price; NOBODY where fewer.

    Groups are sorted column by column, the dear columns first, and once more with each column moved to the
    end: those who differ in one column only are then side by side. In tables of very many columns not all
    are moved.
    """
    count, columns = groups.leaf.shape
    near = np.full((count, KEPT), NOBODY, np.int32)
    cost = np.full((count, KEPT), FEWEST_IN_COMMON, np.int64)
    orders = min(columns, MOST_ORDERS)
    for number, last in enumerate((columns - 1, *range(orders - 1))):
        progress(NEIGHBOURS, number, orders)
        order = [j for j in range(columns) if j != last] + [last]
        places = np.lexsort([groups.leaf[:, j] for j in reversed(order)])
        add_neighbours(groups.forest, groups.leaf, places, REACH, near, cost)
    progress(NEIGHBOURS, orders, orders)
    return near


def meeting_levels(groups: KeyGroups, near: Codes) -> tuple[Codes, Counts]:
    """Returns the level vectors of the lowest boxes that neighbours share, and how often each occurs."""
    heights = [len(levels) for levels in groups.levels]
    if prod(heights) > MOST_VECTORS_COUNTED:
        return _meeting_levels_of_pairs(groups, near)
    rank = np.stack([_ranks(groups, j) for j in range(len(heights))], axis=1)
    first = np.cumsum([0, *(levels.size for levels in groups.levels)])[:-1]
    levels = NodeLevels(
        np.concatenate([levels.T.ravel() for levels in groups.levels]),
        first.astype(np.int64),
        np.array(heights, np.int64),
    )
    counts = count_meetings(near, rank, levels)
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


def _ranks(groups: KeyGroups, column: int) -> Codes:
    """Returns which leaf of a column each group holds, by its place."""
    return np.searchsorted(groups.levels[column][0], groups.leaf[:, column]).astype(np.int32)

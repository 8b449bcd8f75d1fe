"""People whose value was corrected between two releases: how many candidates they keep.

Whoever knows that somebody in class q of the first release and p of the second has another value now looks
for a row that went out of one value there and came into another one here. At most y people can have gone out
of value s, if the spare exchange covers what the gaps of s, and of the other values of p, do not.
"""

from __future__ import annotations

import numpy as np

from sfumato.chains.departures import MANY, Component, LivingChain
from sfumato.core.chain import ClassTable
from sfumato.core.leavers import Leavers
from sfumato.core.microdata import Codes, Counts
from sfumato.kernels.chains.overlaps import NO_OVERLAP


def corrected_candidates(chain: LivingChain) -> int:
    """The fewest candidates of anybody whose value may have been corrected; NO_OVERLAP where nobody's can."""
    first, second = chain.releases
    met = Component.of(chain.trees, first, second)
    if chain.leavers is Leavers.UNKNOWN:
        spare = np.full(met.count, MANY, np.int64)
    else:
        _, spare = met.shared_in(chain.shared[0, 1], chain.leavers)
    gap = met.held_one - met.held_other
    one = _Side(first, met.join_one, np.maximum(0, gap)[met.key_one])
    other = _Side(second, met.join_other, np.maximum(0, -gap)[met.key_other])
    return min(_fewest(one, other, spare), _fewest(other, one, spare))


class _Side:
    """One of two releases: the component of every class, and how many rows of each entry the other lacks."""

    def __init__(self, table: ClassTable, join: Codes, gap: Counts) -> None:
        self.table, self.join, self.gap = table, join, gap
        self.free = np.minimum(table.counts, gap)
        self.sizes = table.sizes
        self.all_free = np.zeros(len(table), np.int64)
        np.add.at(self.all_free, table.owner, self.free)


def _fewest(one: _Side, other: _Side, spare: Counts) -> int:
    """The fewest candidates of a pair of classes, looked for among the rows of the first."""
    mine, theirs = _pairs(one.join, other.join)
    start, length = one.table.start, np.diff(one.table.start)
    pair = np.repeat(np.arange(len(mine)), length[mine])
    begin = np.repeat(start[mine] - (np.cumsum(length[mine]) - length[mine]), length[mine])
    entry = begin + np.arange(len(pair))
    same, free = _of_value(other, theirs[pair], one.table.values[entry])
    others, others_free = other.sizes[theirs[pair]] - same, other.all_free[theirs[pair]] - free
    r = spare[one.join[mine[pair]]] if len(pair) else np.zeros(0, np.int64)
    low, high = np.minimum(one.gap[entry], others_free), np.maximum(one.gap[entry], others_free)
    most = np.where(low + r <= high, low + r, (r + low + high) // 2)
    left = np.minimum(np.minimum(one.table.counts[entry], others), most)
    sums = np.zeros(len(mine), np.int64)
    np.add.at(sums, pair, left)
    return int(sums[sums > 0].min(initial=NO_OVERLAP))


def _pairs(one: Codes, other: Codes) -> tuple[Codes, Codes]:
    """Every pair of classes of the same component."""
    order = np.argsort(other, kind="stable")
    low, high = np.searchsorted(other[order], one), np.searchsorted(other[order], one, side="right")
    mine = np.repeat(np.arange(len(one)), high - low)
    begin = np.repeat(low - (np.cumsum(high - low) - (high - low)), high - low)
    return mine.astype(np.int32), order[begin + np.arange(len(mine))].astype(np.int32)


def _of_value(side: _Side, classes: Codes, values: Codes) -> tuple[Counts, Counts]:
    """How many rows classes hold of values, and how many of these the other release lacks."""
    width = 1 + int(max(side.table.values.max(initial=0), values.max(initial=0)))
    known = side.table.owner.astype(np.int64) * width + side.table.values
    asked = classes.astype(np.int64) * width + values
    if not len(known):
        return np.zeros(len(asked), np.int64), np.zeros(len(asked), np.int64)
    at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    there = known[at] == asked
    return np.where(there, side.table.counts[at], 0), np.where(there, side.free[at], 0)

"""One release or two, by formula.

Classes of two releases that can hold the same person form blocks: within one, and for one matching value,
anybody of the first release may be any record of the second, as far as counts go. So of class q of the first
and class p of the second at most the smaller of both counts are the same people, and of p at most as many are
new as there are more people in the block than before; both are reached.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.judge.chain.remembered_release import Numbers, ReleaseTable
from sfumato.judge.chain.world_equations import blocks, no_world

LARGEST = 50_000_000
"""Pairs of entries that are looked at together at most."""


def candidates_of_two(releases: Sequence[ReleaseTable]) -> Numbers:
    """Returns the number of candidates of every target of one release, or of two."""
    if len(releases) == 1:
        return _per_class(releases[0], releases[0].count)
    first, second = releases
    one, other, count = blocks(first, second)
    before, after = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.add.at(before, one, first.count)
    np.add.at(after, other, second.count)
    if np.any(after < before):
        raise no_world()
    new = _per_class(second, np.minimum(second.count, (after - before)[other]))
    return np.concatenate([_of_both(first, second, one, other, count), new[new > 0]])


def _of_both(first: ReleaseTable, second: ReleaseTable, one: Numbers, other: Numbers, count: int) -> Numbers:
    """Returns the candidates of people who are in both, pair by pair of classes, a few at a time."""
    order = np.argsort(other, kind="stable")
    begin = np.searchsorted(other[order], np.arange(count + 1))
    lengths = np.diff(begin)[one]
    found, start = [], 0
    edges = np.searchsorted(first.owner, np.arange(len(first) + 1))
    reach = np.concatenate(([0], np.cumsum(lengths)))[edges]
    while start < len(first):
        stop = max(start + 1, int(np.searchsorted(reach, reach[start] + LARGEST, side="right")) - 1)
        some = np.arange(edges[start], edges[stop])
        left = np.repeat(some, lengths[some])
        ahead = np.repeat(begin[one[some]] - (np.cumsum(lengths[some]) - lengths[some]), lengths[some])
        right = order[ahead + np.arange(len(left))]
        pair = first.owner[left] * max(1, len(second)) + second.owner[right]
        distinct, which = np.unique(pair, return_inverse=True)
        sums = np.zeros(len(distinct), np.int64)
        np.add.at(sums, which.ravel(), np.minimum(first.count[left], second.count[right]))
        found.append(sums)
        start = stop
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _per_class(table: ReleaseTable, counts: Numbers) -> Numbers:
    sums = np.zeros(len(table), np.int64)
    np.add.at(sums, table.owner, counts)
    return sums

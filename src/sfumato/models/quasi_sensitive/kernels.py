"""One class of sets, from its terms to the subsets that are kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.term_sets.branches import (
    NEAR_TIES,
    branch,
    cost_of,
    greedy,
    keeps,
    polish,
    raise_multipliers,
)
from sfumato.kernels.term_sets.cells import search_cells
from sfumato.kernels.term_sets.limits import ConvexLimit, room_for
from sfumato.kernels.term_sets.reach import out_of_reach
from sfumato.kernels.term_sets.subsets import SetArrays, alternatives, closed, containing, traces

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

PLAIN, ADAPTIVE, EXACT = 0, 1, 2
FEW_SETS = 64
"""Up to so many sets a start is sought set by set; with more the multipliers find one as good."""
MOST_POLISHED = 40
"""Subsets of a set that are looked at when something is given back."""


class Query(NamedTuple):
    """Sets of terms: set i holds `term[start[i]:start[i+1]]`, with the bits `atom`; equal sets are `same`.

    Each term that is removed costs `own`, beside what its set costs by the number of terms.
    """

    start: Longs
    atom: Ints
    term: Ints
    same: Ints
    own: Longs


class Holders(NamedTuple):
    """Reference rows: `rows[first[t]:first[t+1]]` hold the term t; row r belongs to `group[r]`, ascending.

    Group g has the whole number `value[g]`, its part of what a set shares out.
    """

    first: Longs
    rows: Ints
    group: Ints
    value: Longs


@njit(cache=True, nogil=True, inner=True)
def prices(start: Longs, atom: Ints, own: Longs, bits: Longs, begin: Longs, table: Longs) -> Longs:
    """What it costs to keep each subset: `table[w, v]` for v of w terms that are gone, and their own cost."""
    price = np.zeros(begin[-1], np.int64)
    many, paid = np.zeros(32, np.int64), np.zeros(32, np.int64)
    for i in range(len(bits)):
        many[:] = 0
        paid[:] = 0
        for e in range(start[i], start[i + 1]):
            many[atom[e]] += 1
            paid[atom[e]] += own[e]
        width = start[i + 1] - start[i]
        for s in range(1 << bits[i]):
            left = more = 0
            for b in range(bits[i]):
                if s >> b & 1:
                    left += many[b]
                else:
                    more += paid[b]
            price[begin[i] + s] = table[width, width - left] + more
    return price


@njit(cache=True, nogil=True, inner=True)
def prepare(query: Query, holders: Holders, table: Longs, closed_only: bool) -> SetArrays:
    """Everything about the subsets of some sets that a search needs."""
    start, atom = query.start, query.atom
    many = len(start) - 1
    bits, begin = np.zeros(many, np.int64), np.zeros(many + 1, np.int64)
    for i in range(many):
        for e in range(start[i], start[i + 1]):
            bits[i] = max(bits[i], atom[e] + 1)
        begin[i + 1] = begin[i] + (1 << bits[i])
    trace = traces(start, atom, query.term, holders.first, holders.rows, len(holders.group))
    entry, mask, owner, weight = alternatives(trace, holders.group)
    counts, whole = np.empty(begin[many], np.int64), np.empty(begin[many], np.int64)
    for i in range(many):
        span = slice(entry[i], entry[i + 1])
        counts[begin[i] : begin[i + 1]] = containing(mask[span], weight[span], bits[i])
        for e in range(entry[i], entry[i + 1]):
            weight[e] *= holders.value[owner[e]]
        whole[begin[i] : begin[i + 1]] = containing(mask[span], weight[span], bits[i])
    first, options = np.zeros(many + 1, np.int64), np.empty(begin[many] if closed_only else 0, np.int32)
    if closed_only:
        for i in range(many):
            some = closed(counts[begin[i] : begin[i + 1]], bits[i])
            options[first[i] : first[i] + len(some)] = some
            first[i + 1] = first[i] + len(some)
    price = prices(start, atom, query.own, bits, begin, table)
    options = options[: first[many]].copy()
    return SetArrays(
        trace,
        holders.group,
        holders.value,
        bits,
        begin,
        counts,
        whole,
        price,
        entry,
        mask,
        owner,
        weight,
        options,
        first,
        query.same,
    )


@njit(cache=True, nogil=True)
def solve(
    query: Query,
    holders: Holders,
    table: Longs,
    limit: ConvexLimit,
    method: int,
    rounds: int,
    nodes: int,
    stop: Ints,
) -> tuple[Ints, int, int, bool, bool]:
    """The subsets kept, their cost, a lower bound on any cost, whether they keep the limit, and whether the
    answer is proved: nothing is cheaper, or nothing keeps the limit.
    """
    sets = prepare(query, holders, table, method == EXACT)
    many = len(sets.bits)
    choice, total = np.zeros(many, np.int32), 0
    for i in range(many):
        choice[i] = (1 << sets.bits[i]) - 1
        total += sets.price[sets.begin[i]]
    mass, best = np.empty(limit.target.shape[1]), room_for(limit)
    if keeps(sets, limit, choice, mass, best):
        return choice, 0, 0, True, True
    cost = total + 1
    if method != EXACT:
        cost, done = search_cells(sets, limit, method == ADAPTIVE, choice, cost, nodes, stop)
        return choice, cost, cost if done else 0, cost <= total, done
    reached = many <= FEW_SETS and greedy(sets, limit, choice)
    if not reached:
        choice[:] = 0
        reached = keeps(sets, limit, choice, mass, best)
    if reached:
        if many <= FEW_SETS:
            polish(sets, limit, choice, MOST_POLISHED)
        cost = cost_of(sets, choice)
    reduced = np.empty(len(sets.options))
    bound, cost = raise_multipliers(sets, limit, choice, cost, rounds, reduced, stop)
    if bound >= cost - NEAR_TIES:
        return choice, cost, cost, cost <= total, True
    cost, done = branch(sets, limit, reduced, bound, choice, cost, nodes, stop)
    floor = cost if done else min(cost, max(0, int(np.ceil(bound - 1e-6))))
    return choice, cost, floor, cost <= total, done


@njit(cache=True, nogil=True)
def unreachable(
    query: Query, holders: Holders, table: Longs, limit: ConvexLimit, rounds: int, stop: Ints
) -> bool:
    """Whether no subsets keep the limit, as far as that can be told without a search."""
    return out_of_reach(prepare(query, holders, table, True), limit, rounds, stop)

"""One class of sets, from its terms to the subsets that are kept."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.term_branching import branch, greedy, polish, raise_multipliers, shares
from sfumato.kernels.term_cells import search_cells
from sfumato.kernels.term_limits import excess, tolerance
from sfumato.kernels.term_options import alternatives, closed, containing, traces

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

PLAIN, ADAPTIVE, EXACT = 0, 1, 2
FEW = 64
"""Up to so many sets a start is sought set by set; with more the multipliers find one as good."""
POLISHED = 40
"""Subsets of a set that are looked at when something is given back."""


@njit(cache=True, nogil=True)
def prices(start: Longs, atom: Ints, bits: Longs, begin: Longs, table: Longs) -> Longs:
    """What it costs to keep each subset: `table[w, v]` for v of w terms that are gone."""
    found = np.zeros(begin[-1], np.int64)
    many = np.zeros(32, np.int64)
    for i in range(len(bits)):
        many[:] = 0
        for e in range(start[i], start[i + 1]):
            many[atom[e]] += 1
        width = start[i + 1] - start[i]
        for s in range(1 << bits[i]):
            left = 0
            for b in range(bits[i]):
                if s >> b & 1:
                    left += many[b]
            found[begin[i] + s] = table[width, width - left]
    return found


@njit(cache=True, nogil=True)
def solve(
    start: Longs,
    atom: Ints,
    term: Ints,
    same: Ints,
    first_holder: Longs,
    holders: Ints,
    group: Ints,
    table: Longs,
    method: int,
    kind: int,
    c: float,
    l: int,
    target: Floats,
    limit: float,
    slack: float,
    rounds: int,
    nodes: int,
    stop: Ints,
) -> tuple[Ints, int, int, bool, bool]:
    """The subsets kept, their cost, a lower bound on any cost, whether they keep the limit, and whether the
    answer is proved: nothing is cheaper, or nothing keeps the limit.
    """
    sets = len(start) - 1
    bits, begin = np.zeros(sets, np.int64), np.zeros(sets + 1, np.int64)
    for i in range(sets):
        for e in range(start[i], start[i + 1]):
            bits[i] = max(bits[i], atom[e] + 1)
        begin[i + 1] = begin[i] + (1 << bits[i])
    trace = traces(start, atom, term, first_holder, holders, len(group))
    entry, mask, owner, weight = alternatives(trace, group)
    counts = np.empty(begin[sets], np.int64)
    for i in range(sets):
        span = slice(entry[i], entry[i + 1])
        counts[begin[i] : begin[i + 1]] = containing(mask[span], weight[span], bits[i])
    price = prices(start, atom, bits, begin, table)
    full, total = np.zeros(sets, np.int32), 0
    for i in range(sets):
        full[i] = (1 << bits[i]) - 1
        total += price[begin[i]]
    mass, best = np.empty(len(target)), np.empty(max(1, min(l, len(target))))
    size = float(sets)
    choice = full.copy()
    shares(trace, group, choice, counts, begin, mass)
    if excess(mass, kind, c, l, target, limit, size, 0.0, best) <= slack * tolerance(mass, kind, c, limit):
        return choice, 0, 0, True, True
    if method != EXACT:
        choice[:] = 0
        cost, done = search_cells(
            trace,
            group,
            bits,
            counts,
            begin,
            price,
            kind,
            c,
            l,
            target,
            limit,
            slack,
            method == ADAPTIVE,
            choice,
            total + 1,
            nodes,
            stop,
        )
        return choice, cost, cost if done else 0, cost <= total, done
    first, listed = np.zeros(sets + 1, np.int64), np.empty(begin[sets], np.int32)
    for i in range(sets):
        some = closed(counts[begin[i] : begin[i + 1]], bits[i])
        listed[first[i] : first[i] + len(some)] = some
        first[i + 1] = first[i] + len(some)
    options = listed[: first[sets]].copy()
    reached = sets <= FEW and greedy(
        trace,
        group,
        bits,
        counts,
        begin,
        price,
        entry,
        mask,
        owner,
        weight,
        options,
        first,
        kind,
        c,
        l,
        target,
        limit,
        slack,
        choice,
    )
    if not reached:
        choice[:] = 0
        shares(trace, group, choice, counts, begin, mass)
        value = excess(mass, kind, c, l, target, limit, size, 0.0, best)
        reached = value <= slack * tolerance(mass, kind, c, limit)
    cost = total + 1
    if reached and sets <= FEW:
        polish(
            trace,
            group,
            counts,
            begin,
            price,
            options,
            first,
            kind,
            c,
            l,
            target,
            limit,
            slack,
            choice,
            POLISHED,
        )
    if reached:
        cost = 0
        for i in range(sets):
            cost += price[begin[i] + choice[i]]
    reduced = np.empty(len(options))
    bound, cost = raise_multipliers(
        trace,
        group,
        bits,
        counts,
        begin,
        price,
        entry,
        mask,
        owner,
        weight,
        options,
        first,
        kind,
        c,
        l,
        target,
        limit,
        slack,
        choice,
        cost,
        rounds,
        reduced,
        stop,
    )
    if bound >= cost - 0.5:
        return choice, cost, cost, cost <= total, True
    cost, done = branch(
        trace,
        group,
        counts,
        begin,
        price,
        options,
        first,
        same,
        kind,
        c,
        l,
        target,
        limit,
        slack,
        reduced,
        bound,
        choice,
        cost,
        nodes,
        stop,
    )
    floor = cost if done else min(cost, max(0, int(np.ceil(bound - 1e-6))))
    return choice, cost, floor, cost <= total, done

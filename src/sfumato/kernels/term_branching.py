"""One subset for each of several sets, as cheap as possible, so that a convex limit on their shares is kept.

A set's subset S gives every group that contains it the share 1 / (number of groups that contain S). Costs are
whole numbers. The search: a greedy start; multipliers for the limit, raised until the relaxed problem, which
falls apart into one small minimum per set, is as dear as they can make it; then depth-first over the sets, with
subsets in the order of their reduced cost, until nothing cheaper can be left.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.term_limits import excess, hopeless, tangent, tolerance
from sfumato.kernels.term_options import add_share, sums_over_supersets

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

NEAR_TIES = 0.5
"""Costs are whole: what is not at least one cheaper is not cheaper."""
CELLS = 20_000_000
"""So many shares may be written out for the depth-first search."""


@njit(cache=True, nogil=True)
def shares(trace: Ints, group: Ints, choice: Ints, counts: Longs, begin: Longs, mass: Floats) -> None:
    """The mass of all groups under a choice of subsets; `counts[begin[i] + S]` groups contain S of set i."""
    mass[:] = 0.0
    for i in range(len(choice)):
        number = counts[begin[i] + choice[i]]
        if number > 0:
            add_share(trace[i], group, choice[i], 1.0 / number, mass)


@njit(cache=True, nogil=True)
def greedy(
    trace: Ints,
    group: Ints,
    bits: Longs,
    counts: Longs,
    begin: Longs,
    price: Longs,
    entry: Longs,
    mask: Ints,
    owner: Ints,
    weight: Ints,
    options: Ints,
    first: Longs,
    kind: int,
    c: float,
    l: int,
    target: Floats,
    limit: float,
    slack: float,
    choice: Ints,
) -> bool:
    """Shorten the subset that takes most of the excess away for its price, until the limit is kept."""
    sets, size = len(choice), float(len(choice))
    mass, plane, best = np.empty(len(target)), np.empty(len(target)), np.empty(max(1, min(l, len(target))))
    sums = np.empty(1 << bits.max())
    while True:
        shares(trace, group, choice, counts, begin, mass)
        value, _ = tangent(mass, kind, c, l, target, limit, size, best, plane)
        if value <= slack * tolerance(mass, kind, c, limit):
            return True
        ratio, where, what = 0.0, -1, 0
        for i in range(sets):
            old = choice[i]
            if old == 0:
                continue
            span = slice(entry[i], entry[i + 1])
            sums_over_supersets(mask[span], owner[span], weight[span], plane, bits[i], sums)
            number = counts[begin[i] + old]
            here = sums[old] / number if number > 0 else 0.0
            for o in range(first[i], first[i + 1]):
                s = options[o]
                more = price[begin[i] + s] - price[begin[i] + old]
                if more <= 0 or counts[begin[i] + s] == 0:
                    continue
                gain = (here - sums[s] / counts[begin[i] + s]) / more
                if gain > ratio * (1 + 1e-12):
                    ratio, where, what = gain, i, s
        if where < 0:
            return False
        choice[where] = what


@njit(cache=True, nogil=True)
def polish(
    trace: Ints,
    group: Ints,
    counts: Longs,
    begin: Longs,
    price: Longs,
    options: Ints,
    first: Longs,
    kind: int,
    c: float,
    l: int,
    target: Floats,
    limit: float,
    slack: float,
    choice: Ints,
    tries: int,
) -> None:
    """Give back what need not be gone: cheaper subsets of single sets, cheapest first."""
    mass, best = np.empty(len(target)), np.empty(max(1, min(l, len(target))))
    size = float(len(choice))
    for i in range(len(choice)):
        now = price[begin[i] + choice[i]]
        if now == 0:
            continue
        some = options[first[i] : first[i + 1]]
        order = np.argsort(np.array([price[begin[i] + s] for s in some]), kind="mergesort")
        for o in order[:tries]:
            s = some[o]
            if price[begin[i] + s] >= now:
                break
            old = choice[i]
            choice[i] = s
            shares(trace, group, choice, counts, begin, mass)
            value = excess(mass, kind, c, l, target, limit, size, 0.0, best)
            if value <= slack * tolerance(mass, kind, c, limit):
                break
            choice[i] = old


@njit(cache=True, nogil=True)
def raise_multipliers(
    trace: Ints,
    group: Ints,
    bits: Longs,
    counts: Longs,
    begin: Longs,
    price: Longs,
    entry: Longs,
    mask: Ints,
    owner: Ints,
    weight: Ints,
    options: Ints,
    first: Longs,
    kind: int,
    c: float,
    l: int,
    target: Floats,
    limit: float,
    slack: float,
    choice: Ints,
    cost: int,
    rounds: int,
    reduced: Floats,
    stop: Ints,
) -> tuple[float, int]:
    """A lower bound on what any choice costs that keeps the limit, and the cost of the best choice met.

    A non-negative combination of planes below the excess is at most 0 wherever the limit is kept; adding it
    to the costs can therefore only make such choices cheaper. `reduced` receives, per option, cost plus plane
    under the best combination; `choice` and the cost returned improve where a better one is met.
    """
    sets, size, labels = len(choice), float(len(choice)), len(target)
    plane, multiplier = np.empty(labels), np.zeros(labels)
    mass, best = np.empty(labels), np.empty(max(1, min(l, labels)))
    sums, here = np.empty(1 << bits.max()), np.empty(len(options))
    picked = np.empty(sets, np.int32)
    constant, bound, step, stale = 0.0, -1.0, 1.0, 0
    for _ in range(rounds):
        value, spent = constant, 0
        for i in range(sets):
            span = slice(entry[i], entry[i + 1])
            sums_over_supersets(mask[span], owner[span], weight[span], multiplier, bits[i], sums)
            least, dearest = 1e300, 0
            for o in range(first[i], first[i + 1]):
                s = options[o]
                number = counts[begin[i] + s]
                here[o] = price[begin[i] + s] + (sums[s] / number if number > 0 else 0.0)
                if here[o] < least - 1e-9:
                    least, dearest = here[o], s
            value += least
            picked[i] = dearest
            spent += price[begin[i] + dearest]
        if value > bound + 1e-6:
            bound, stale = value, 0
            reduced[:] = here
        else:
            stale += 1
            if stale % 4 == 3:
                step *= 0.6
        if bound >= cost - NEAR_TIES or step < 1e-3 or stop[0]:
            break
        shares(trace, group, picked, counts, begin, mass)
        beyond, touch = tangent(mass, kind, c, l, target, limit, size, best, plane)
        if beyond <= slack * tolerance(mass, kind, c, limit):
            if spent < cost:
                cost = spent
                choice[:] = picked
            below = -constant
            for j in range(labels):
                below -= multiplier[j] * mass[j]
            shrink = min(0.5, step * 0.5 * max(1.0, cost - value) / max(below, 1e-12))
            multiplier *= 1.0 - shrink
            constant *= 1.0 - shrink
        else:
            length = step * 0.5 * max(1.0, cost - value) / beyond
            multiplier += length * plane
            constant += length * touch
    return bound, cost


@njit(cache=True, nogil=True)
def branch(
    trace: Ints,
    group: Ints,
    counts: Longs,
    begin: Longs,
    price: Longs,
    options: Ints,
    first: Longs,
    same: Ints,
    kind: int,
    c: float,
    l: int,
    target: Floats,
    limit: float,
    slack: float,
    reduced: Floats,
    bound: float,
    choice: Ints,
    cost: int,
    nodes: int,
    stop: Ints,
) -> tuple[int, bool]:
    """Depth-first over the sets; the best cost, and whether nothing cheaper can be left.

    `same[i]` numbers equal sets: their subsets are tried in one order only.
    """
    sets, size = len(choice), float(len(choice))
    least = np.empty(sets)
    for i in range(sets):
        least[i] = reduced[first[i] : first[i + 1]].min()
    room = cost - NEAR_TIES - bound
    if room <= 0:
        return cost, True
    kept = np.zeros(sets, np.int64)
    cells = 0
    for i in range(sets):
        for o in range(first[i], first[i + 1]):
            if reduced[o] - least[i] < room:
                kept[i] += 1
                cells += counts[begin[i] + options[o]]
    if cells > CELLS:
        return cost, False
    order = np.argsort(kept * np.int64(1 << 20) + same, kind="mergesort")
    start = np.zeros(sets + 1, np.int64)
    for k in range(sets):
        start[k + 1] = start[k] + kept[order[k]]
    subset, extra, own = (
        np.empty(start[sets], np.int32),
        np.empty(start[sets]),
        np.empty(start[sets], np.int64),
    )
    place = np.full(len(target), -1, np.int32)
    active = 0
    lists, at = np.empty(cells, np.int32), np.zeros(start[sets] + 1, np.int64)
    used = 0
    for k in range(sets):
        i = order[k]
        ranked = np.argsort(reduced[first[i] : first[i + 1]], kind="mergesort")
        for q in range(kept[i]):
            e, o = start[k] + q, first[i] + ranked[q]
            s = options[o]
            subset[e], extra[e], own[e] = s, reduced[o] - least[i], price[begin[i] + s]
            last = -1
            if counts[begin[i] + s] > 0:
                for r in range(trace.shape[1]):
                    if trace[i, r] & s == s and group[r] != last:
                        last = group[r]
                        if place[last] < 0:
                            place[last] = active
                            active += 1
                        lists[used] = place[last]
                        used += 1
            at[e + 1] = used
    beside, aim = 0.0, np.zeros(max(1, active))
    for j in range(len(target)):
        if place[j] >= 0:
            aim[place[j]] = target[j]
        else:
            beside += target[j] * target[j]
    mass, best = np.zeros((sets + 1, max(1, active))), np.empty(max(1, min(l, len(target))))
    position = start[:-1].copy()
    path, paid = np.zeros(sets + 1), np.zeros(sets + 1, np.int64)
    depth, seen = 0, 0
    while depth >= 0:
        e = position[depth]
        if e >= start[depth + 1] or path[depth] + extra[e] >= cost - NEAR_TIES - bound:
            depth -= 1
            continue
        position[depth] = e + 1
        seen += 1
        if seen > nodes or (seen & 255 == 0 and stop[0]):
            return cost, False
        now, after = mass[depth], mass[depth + 1]
        after[:] = now
        number = at[e + 1] - at[e]
        if number > 0:
            share = 1.0 / number
            for p in range(at[e], at[e + 1]):
                after[lists[p]] += share
        path[depth + 1] = path[depth] + extra[e]
        paid[depth + 1] = paid[depth] + own[e]
        if depth + 1 < sets:
            if paid[depth + 1] < cost and not hopeless(after, kind, c, l, aim, limit, size, best):
                depth += 1
                again = same[order[depth]] == same[order[depth - 1]]
                position[depth] = start[depth] + (e - start[depth - 1] if again else 0)
            continue
        if paid[sets] < cost:
            value = excess(after, kind, c, l, aim, limit, size, beside, best)
            if value <= slack * tolerance(after, kind, c, limit):
                cost = paid[sets]
                for k in range(sets):
                    choice[order[k]] = subset[position[k] - 1]
    return cost, True

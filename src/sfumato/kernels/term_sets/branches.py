"""One subset for each of several sets, as cheap as possible, so that a convex limit on their shares is kept.

A set's subset S gives every group that contains it a share of 1: its value over that of all groups which
contain S. Costs are whole numbers. The search: a greedy start; multipliers for the limit, raised until the
relaxed problem, which falls apart into one small minimum per set, is as dear as they can make it; then
depth-first over the sets, with subsets in the order of their reduced cost, until nothing cheaper can be left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.term_sets.limits import (
    ConvexLimit,
    beyond,
    cannot_keep,
    excess,
    room_for,
    tangent,
)
from sfumato.kernels.term_sets.subsets import SetArrays, add_share, sums_over_supersets

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

NEAR_TIES = 0.5
"""Costs are whole: what is not at least one cheaper is not cheaper."""
MOST_SHARES = 20_000_000
"""So many shares may be written out for the depth-first search."""


@njit(cache=True, nogil=True, inner=True)
def shares(sets: SetArrays, choice: Ints, mass: Floats) -> None:
    """The mass of all groups under a choice of subsets."""
    mass[:] = 0.0
    for i in range(len(choice)):
        whole = sets.whole[sets.begin[i] + choice[i]]
        if whole > 0:
            add_share(sets.trace[i], sets.group, sets.value, choice[i], 1.0 / whole, mass)


@njit(cache=True, nogil=True, inner=True)
def keeps(sets: SetArrays, limit: ConvexLimit, choice: Ints, mass: Floats, best: Floats) -> bool:
    """Whether a choice keeps the limit; `mass` receives what it shares out."""
    shares(sets, choice, mass)
    nothing = np.zeros(len(limit.most))
    return bool(excess(mass, limit, limit.target, float(len(choice)), nothing, best)[2])


@njit(cache=True, nogil=True, inner=True)
def cost_of(sets: SetArrays, choice: Ints) -> int:
    """What a choice costs."""
    cost = 0
    for i in range(len(choice)):
        cost += sets.price[sets.begin[i] + choice[i]]
    return cost


@njit(cache=True, nogil=True, inner=True)
def weigh(sets: SetArrays, i: int, value: Floats, sums: Floats) -> None:
    """For every subset of set i: the sum of `value`, times their own, over the groups that contain it."""
    span = slice(sets.entry[i], sets.entry[i + 1])
    sums_over_supersets(sets.mask[span], sets.owner[span], sets.weight[span], value, sets.bits[i], sums)


@njit(cache=True, nogil=True, inner=True)
def greedy(sets: SetArrays, limit: ConvexLimit, choice: Ints) -> bool:
    """Shorten the subset that takes most of the excess away for its price, until the limit is kept."""
    labels, best = limit.target.shape[1], room_for(limit)
    mass, plane = np.empty(labels), np.empty(labels)
    sums = np.empty(1 << sets.bits.max())
    while True:
        shares(sets, choice, mass)
        _, _, kept = tangent(mass, limit, float(len(choice)), best, plane)
        if kept:
            return True
        ratio, where, what = 0.0, -1, 0
        for i in range(len(choice)):
            old, at = choice[i], sets.begin[i]
            if old == 0:
                continue
            weigh(sets, i, plane, sums)
            whole = sets.whole[at + old]
            here = sums[old] / whole if whole > 0 else 0.0
            for o in range(sets.first[i], sets.first[i + 1]):
                s = sets.options[o]
                more = sets.price[at + s] - sets.price[at + old]
                if more <= 0 or sets.whole[at + s] == 0:
                    continue
                gain = (here - sums[s] / sets.whole[at + s]) / more
                if gain > ratio * (1 + 1e-12):
                    ratio, where, what = gain, i, s
        if where < 0:
            return False
        choice[where] = what


@njit(cache=True, nogil=True, inner=True)
def polish(sets: SetArrays, limit: ConvexLimit, choice: Ints, tries: int) -> None:
    """Give back what need not be gone: cheaper subsets of single sets, cheapest first."""
    mass, best = np.empty(limit.target.shape[1]), room_for(limit)
    for i in range(len(choice)):
        at = sets.begin[i]
        now = sets.price[at + choice[i]]
        if now == 0:
            continue
        some = sets.options[sets.first[i] : sets.first[i + 1]]
        order = np.argsort(np.array([sets.price[at + s] for s in some]), kind="mergesort")
        for o in order[:tries]:
            s = some[o]
            if sets.price[at + s] >= now:
                break
            old = choice[i]
            choice[i] = s
            if keeps(sets, limit, choice, mass, best):
                break
            choice[i] = old


@njit(cache=True, nogil=True, inner=True)
def raise_multipliers(
    sets: SetArrays, limit: ConvexLimit, choice: Ints, cost: int, rounds: int, reduced: Floats, stop: Ints
) -> tuple[float, int]:
    """A lower bound on what any choice costs that keeps the limit, and the cost of the best choice met.

    A non-negative combination of planes below the excess is at most 0 wherever the limit is kept; adding it
    to the costs can therefore only make such choices cheaper. `reduced` receives, per option, cost plus plane
    under the best combination; `choice` and the cost returned improve where a better one is met.
    """
    many, labels = len(choice), limit.target.shape[1]
    plane, multiplier = np.empty(labels), np.zeros(labels)
    mass, best = np.empty(labels), room_for(limit)
    sums, here = np.empty(1 << sets.bits.max()), np.empty(len(sets.options))
    picked = np.empty(many, np.int32)
    constant, bound, step, stale = 0.0, -1.0, 1.0, 0
    for _ in range(rounds):
        value, spent = constant, 0
        for i in range(many):
            at = sets.begin[i]
            weigh(sets, i, multiplier, sums)
            least, chosen = 1e300, 0
            for o in range(sets.first[i], sets.first[i + 1]):
                s = sets.options[o]
                whole = sets.whole[at + s]
                here[o] = sets.price[at + s] + (sums[s] / whole if whole > 0 else 0.0)
                if here[o] < least - 1e-9:
                    least, chosen = here[o], s
            value += least
            picked[i] = chosen
            spent += sets.price[at + chosen]
        if value > bound + 1e-6:
            bound, stale = value, 0
            reduced[:] = here
        else:
            stale += 1
            if stale % 4 == 3:
                step *= 0.6
        if bound >= cost - NEAR_TIES or step < 1e-3 or stop[0]:
            break
        shares(sets, picked, mass)
        surplus, touch, kept = tangent(mass, limit, float(many), best, plane)
        if kept:
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
            length = step * 0.5 * max(1.0, cost - value) / max(surplus, 1e-12)
            multiplier += length * plane
            constant += length * touch
    return bound, cost


@njit(cache=True, nogil=True, inner=True)
def branch(
    sets: SetArrays,
    limit: ConvexLimit,
    reduced: Floats,
    bound: float,
    choice: Ints,
    cost: int,
    nodes: int,
    stop: Ints,
) -> tuple[int, bool]:
    """Depth-first over the sets; the best cost, and whether nothing cheaper can be left.

    The subsets of equal sets are tried in one order only.
    """
    many, size, labels = len(choice), float(len(choice)), limit.target.shape[1]
    begin, first, counts, options = sets.begin, sets.first, sets.counts, sets.options
    least = np.empty(many)
    for i in range(many):
        least[i] = reduced[first[i] : first[i + 1]].min()
    room = cost - NEAR_TIES - bound
    if room <= 0:
        return cost, True
    kept, cells = np.zeros(many, np.int64), 0
    for i in range(many):
        for o in range(first[i], first[i + 1]):
            if reduced[o] - least[i] < room:
                kept[i] += 1
                cells += counts[begin[i] + options[o]]
    if cells > MOST_SHARES:
        return cost, False
    order = np.argsort(kept * np.int64(1 << 20) + sets.same, kind="mergesort")
    start = np.zeros(many + 1, np.int64)
    for k in range(many):
        start[k + 1] = start[k] + kept[order[k]]
    subset, own = np.empty(start[many], np.int32), np.empty(start[many], np.int64)
    extra, part = np.empty(start[many]), np.zeros(start[many])
    place, worth = np.full(labels, -1, np.int32), np.empty(labels)
    lists, at = np.empty(cells, np.int32), np.zeros(start[many] + 1, np.int64)
    used = active = 0
    for k in range(many):
        i = order[k]
        ranked = np.argsort(reduced[first[i] : first[i + 1]], kind="mergesort")
        for q in range(kept[i]):
            e, o = start[k] + q, first[i] + ranked[q]
            s = options[o]
            subset[e], extra[e], own[e] = s, reduced[o] - least[i], sets.price[begin[i] + s]
            last = -1
            if counts[begin[i] + s] > 0:
                part[e] = 1.0 / sets.whole[begin[i] + s]
                for r in range(len(sets.group)):
                    if sets.trace[i, r] & s == s and sets.group[r] != last:
                        last = sets.group[r]
                        if place[last] < 0:
                            place[last], worth[active] = active, sets.value[last]
                            active += 1
                        lists[used] = place[last]
                        used += 1
            at[e + 1] = used
    beside, aim = np.zeros(len(limit.most)), np.zeros((len(limit.most), max(1, active)))
    for q in range(len(limit.most)):
        for j in range(labels):
            if place[j] >= 0:
                aim[q, place[j]] = limit.target[q, j]
            else:
                beside[q] = beyond(beside[q], limit.target[q, j], limit.norm[q])
    mass, best = np.zeros((many + 1, max(1, active))), room_for(limit)
    position = start[:-1].copy()
    path, paid = np.zeros(many + 1), np.zeros(many + 1, np.int64)
    depth = seen = 0
    while depth >= 0:
        e = position[depth]
        if e >= start[depth + 1] or path[depth] + extra[e] >= cost - NEAR_TIES - bound:
            depth -= 1
            continue
        position[depth] = e + 1
        seen += 1
        if seen > nodes or (seen & 255 == 0 and stop[0]):
            return cost, False
        after = mass[depth + 1]
        after[:] = mass[depth]
        for p in range(at[e], at[e + 1]):
            after[lists[p]] += part[e] * worth[lists[p]]
        path[depth + 1] = path[depth] + extra[e]
        paid[depth + 1] = paid[depth] + own[e]
        if paid[depth + 1] >= cost:
            continue
        if depth + 1 < many:
            if not cannot_keep(after, limit, aim, size, best):
                depth += 1
                again = sets.same[order[depth]] == sets.same[order[depth - 1]]
                position[depth] = start[depth] + (e - start[depth - 1] if again else 0)
        elif excess(after, limit, aim, size, beside, best)[2]:
            cost = paid[many]
            for k in range(many):
                choice[order[k]] = subset[position[k] - 1]
    return cost, True

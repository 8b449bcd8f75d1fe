"""One class of sets, from its terms to the subsets that are kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.models.quasi_sensitive.subset_kernels import (
    SetArrays,
    add_share,
    alternatives,
    closed,
    containing,
    sums_over_supersets,
    traces,
)

# Convex limits on sums of shares: how far a vector is beyond them, and a plane below that excess.
#
# Two kinds of conditions, any number of each. A ratio: the largest entry is at most c times the sum of all
# entries but the `skip` largest. A distance of `mass / size` from a target is at most `most`: the squared
# one (norm SQUARED), half the sum of all gaps (HALF_SUM) or the largest gap (LARGEST_GAP). Every excess is
# a convex function of the mass, and so is the largest of them: a tangent plane of the one that is largest
# somewhere never lies above it.

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

ROUNDING = 1e-9
"""Far more than sums of a few thousand shares lose in floating point, relative to their size."""


SQUARED, HALF_SUM, LARGEST_GAP = 0, 1, 2


class ConvexLimit(NamedTuple):
    """Conditions on masses: ratio j has `c[j]` and `skip[j]`, distance j `norm[j]`, `target[j]`, `most[j]`.

    `slack` times what rounding may do is tolerated: 1, or -1 to be on the safe side.
    """

    c: Floats
    skip: Int64s
    target: Floats
    most: Floats
    norm: Int64s
    slack: float


@njit(cache=True, nogil=True, inner=True)
def room_for(limit: ConvexLimit) -> Floats:
    """Scratch space for the largest entries."""
    most = 1
    for count in limit.skip:
        most = max(most, min(count, limit.target.shape[1]))
    return np.empty(most)


@njit(cache=True, nogil=True, inner=True)
def largest(mass: Floats, count: int, best: Floats) -> float:
    """The sum of the `count` largest entries; `best` is scratch space and holds them in ascending order."""
    if count <= 0:
        return 0.0
    best[:count] = 0.0
    for value in mass:
        if value > best[0]:
            i = 1
            while i < count and best[i] < value:
                best[i - 1] = best[i]
                i += 1
            best[i - 1] = value
    return float(best[:count].sum())


@njit(cache=True, nogil=True, inner=True)
def beyond(far: float, gap: float, norm: int) -> float:
    """A distance with one more gap, which is not negative."""
    if norm == SQUARED:
        return far + gap * gap
    return far + 0.5 * gap if norm == HALF_SUM else max(far, gap)


@njit(cache=True, nogil=True, inner=True)
def distance(mass: Floats, target: Floats, size: float, norm: int) -> float:
    """The distance of `mass / size` from a target."""
    total = 0.0
    for j in range(len(mass)):
        total = beyond(total, abs(mass[j] / size - target[j]), norm)
    return total


@njit(cache=True, nogil=True, inner=True)
def excess(
    mass: Floats, limit: ConvexLimit, target: Floats, size: float, beside: Floats, best: Floats
) -> tuple[float, int, bool]:
    """How far the mass is beyond its limit; by which condition, ratios first; and whether it is within all
    conditions, give or take what rounding may have done.

    `target` may leave entries out; `beside` is the distance that those have by themselves.
    """
    worst, which, within = -1e300, -1, True
    for j in range(len(limit.c)):
        top = mass.max()
        value = top + limit.c[j] * (largest(mass, min(limit.skip[j], len(mass)), best) - mass.sum())
        within &= value <= limit.slack * ROUNDING * (1.0 + limit.c[j]) * top
        if value / size > worst:
            worst, which = value / size, j
    for j in range(len(limit.most)):
        far = distance(mass, target[j], size, limit.norm[j])
        far = max(far, beside[j]) if limit.norm[j] == LARGEST_GAP else far + beside[j]
        value = far - limit.most[j]
        within &= value <= limit.slack * ROUNDING * (limit.most[j] + 1e-6)
        if value > worst:
            worst, which = value, len(limit.c) + j
    return worst, which, within


@njit(cache=True, nogil=True, inner=True)
def slope(mass: Floats, target: Floats, size: float, norm: int, plane: Floats) -> float:
    """Write a subgradient of the distance at `mass` to `plane`; its product with the mass is returned."""
    touch, widest, where = 0.0, -1.0, 0
    for j in range(len(mass)):
        gap = mass[j] / size - target[j]
        if norm == SQUARED:
            plane[j] = 2.0 * gap / size
        elif norm == HALF_SUM:
            plane[j] = 0.5 * np.sign(gap) / size
        else:
            plane[j] = 0.0
            if abs(gap) > widest:
                widest, where = abs(gap), j
        touch += plane[j] * mass[j]
    if norm == LARGEST_GAP:
        plane[where] = np.sign(mass[where] / size - target[where]) / size
        touch = plane[where] * mass[where]
    return touch


@njit(cache=True, nogil=True, inner=True)
def tangent(
    mass: Floats, limit: ConvexLimit, size: float, best: Floats, plane: Floats
) -> tuple[float, float, bool]:
    """The excess, the constant of a plane that touches it at `mass` (excess(x) >= plane . x + constant), and
    whether the mass is within."""
    value, which, within = excess(mass, limit, limit.target, size, np.zeros(len(limit.most)), best)
    if which >= len(limit.c):
        touch = slope(mass, limit.target[which - len(limit.c)], size, limit.norm[which - len(limit.c)], plane)
        return value, value - touch, within
    c, left = limit.c[which], min(limit.skip[which], len(mass))
    plane[:] = -c
    if left > 0:
        largest(mass, left, best)
        border = best[0]
        for j in range(len(mass)):
            if mass[j] > border:
                plane[j] += c
                left -= 1
        for j in range(len(mass)):
            if left > 0 and mass[j] == border:
                plane[j] += c
                left -= 1
    plane[np.argmax(mass)] += 1.0
    plane /= size
    return value, 0.0, within


@njit(cache=True, nogil=True, inner=True)
def cannot_keep(mass: Floats, limit: ConvexLimit, target: Floats, size: float, best: Floats) -> bool:
    """Whether the limit is out of reach: no mass can be added so that all shares, at most `size`, keep it."""
    for j in range(len(limit.c)):
        top, c = mass.max(), limit.c[j]
        needed = top + c * largest(mass, min(limit.skip[j], len(mass)), best)
        if needed > c * size * (1.0 + ROUNDING) + ROUNDING * top:
            return True
    for j in range(len(limit.most)):
        total = 0.0
        for i in range(len(mass)):
            gap = mass[i] / size - target[j, i]
            if gap > 0.0:
                total = beyond(total, gap, limit.norm[j])
        if total > limit.most[j] + ROUNDING * (limit.most[j] + 1e-6):
            return True
    return False


# One subset for each of several sets, as cheap as possible, so that a convex limit on their shares is kept.
#
# A set's subset S gives every group that contains it a share of 1: its value over that of all groups which
# contain S. Costs are whole numbers. The search: a greedy start; multipliers for the limit, raised until
# the relaxed problem, which falls apart into one small minimum per set, is as dear as they can make it;
# then depth-first over the sets, with subsets in the order of their reduced cost, until nothing cheaper can
# be left.

Int32s = NDArray[np.int32]

NEAR_TIES = 0.5
"""Costs are whole: what is not at least one cheaper is not cheaper."""
MOST_SHARES = 20_000_000
"""So many shares may be written out for the depth-first search."""


@njit(cache=True, nogil=True, inner=True)
def shares(sets: SetArrays, choice: Int32s, mass: Floats) -> None:
    """The mass of all groups under a choice of subsets."""
    mass[:] = 0.0
    for i in range(len(choice)):
        whole = sets.whole[sets.begin[i] + choice[i]]
        if whole > 0:
            add_share(sets.trace[i], sets.group, sets.value, choice[i], 1.0 / whole, mass)


@njit(cache=True, nogil=True, inner=True)
def keeps(sets: SetArrays, limit: ConvexLimit, choice: Int32s, mass: Floats, best: Floats) -> bool:
    """Whether a choice keeps the limit; `mass` receives what it shares out."""
    shares(sets, choice, mass)
    nothing = np.zeros(len(limit.most))
    return bool(excess(mass, limit, limit.target, float(len(choice)), nothing, best)[2])


@njit(cache=True, nogil=True, inner=True)
def weigh(sets: SetArrays, i: int, value: Floats, sums: Floats) -> None:
    """For every subset of set i: the sum of `value`, times their own, over the groups that contain it."""
    span = slice(sets.entry[i], sets.entry[i + 1])
    sums_over_supersets(sets.mask[span], sets.owner[span], sets.weight[span], value, sets.bits[i], sums)


@njit(cache=True, nogil=True, inner=True)
def greedy(sets: SetArrays, limit: ConvexLimit, choice: Int32s) -> bool:
    """Shorten the subset that takes most of the excess away for its price, until the limit is kept."""
    labels, best = limit.target.shape[1], room_for(limit)
    mass, plane = np.empty(labels), np.empty(labels)
    sums = np.empty(1 << sets.bits.max())
    while True:
        shares(sets, choice, mass)
        _, _, within = tangent(mass, limit, float(len(choice)), best, plane)
        if within:
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
def polish(sets: SetArrays, limit: ConvexLimit, choice: Int32s, tries: int) -> None:
    """Give back what need not be gone: cheaper subsets of single sets, cheapest first."""
    mass, best = np.empty(limit.target.shape[1]), room_for(limit)
    for i in range(len(choice)):
        at = sets.begin[i]
        now = sets.price[at + choice[i]]
        if now == 0:
            continue
        options = sets.options[sets.first[i] : sets.first[i + 1]]
        order = np.argsort(np.array([sets.price[at + s] for s in options]), kind="mergesort")
        for o in order[:tries]:
            s = options[o]
            if sets.price[at + s] >= now:
                break
            old = choice[i]
            choice[i] = s
            if keeps(sets, limit, choice, mass, best):
                break
            choice[i] = old


@njit(cache=True, nogil=True, inner=True)
def raise_multipliers(
    sets: SetArrays, limit: ConvexLimit, choice: Int32s, cost: int, rounds: int, reduced: Floats, stop: Int32s
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
        surplus, touch, within = tangent(mass, limit, float(many), best, plane)
        if within:
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
    choice: Int32s,
    cost: int,
    nodes: int,
    stop: Int32s,
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
    worthwhile, cells = np.zeros(many, np.int64), 0
    for i in range(many):
        for o in range(first[i], first[i + 1]):
            if reduced[o] - least[i] < room:
                worthwhile[i] += 1
                cells += counts[begin[i] + options[o]]
    if cells > MOST_SHARES:
        return cost, False
    order = np.argsort(worthwhile * np.int64(1 << 20) + sets.same, kind="mergesort")
    start = np.zeros(many + 1, np.int64)
    for k in range(many):
        start[k + 1] = start[k] + worthwhile[order[k]]
    subset, own = np.empty(start[many], np.int32), np.empty(start[many], np.int64)
    extra, part = np.empty(start[many]), np.zeros(start[many])
    place, worth = np.full(labels, -1, np.int32), np.empty(labels)
    lists, at = np.empty(cells, np.int32), np.zeros(start[many] + 1, np.int64)
    used = active = 0
    for k in range(many):
        i = order[k]
        ranked = np.argsort(reduced[first[i] : first[i + 1]], kind="mergesort")
        for q in range(worthwhile[i]):
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
    depth = visited = 0
    while depth >= 0:
        e = position[depth]
        if e >= start[depth + 1] or path[depth] + extra[e] >= cost - NEAR_TIES - bound:
            depth -= 1
            continue
        position[depth] = e + 1
        visited += 1
        if visited > nodes or (visited & 255 == 0 and stop[0]):
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


# A bound on how close any choice of subsets comes to a target, computed before any search.
#
# What a set can share out lies between the shares of its subsets. If that were allowed in any proportion,
# the least squared distance from the target would be a smooth convex problem, which Frank and Wolfe's
# method solves with one small minimum per set and round; each round bounds the least distance from below.


@njit(cache=True, nogil=True, inner=True)
def out_of_reach(sets: SetArrays, limit: ConvexLimit, rounds: int, stop: Int32s) -> bool:
    """Whether some distance is proved to be too large whatever is chosen. False proves nothing, except for
    a single set and a single distance."""
    for j in range(len(limit.most)):
        border = limit.most[j] + ROUNDING * (limit.most[j] + 1e-6)
        if len(sets.bits) == 1:
            least = least_of_one(sets, limit.target[j], limit.norm[j])
        elif limit.norm[j] != SQUARED:
            continue
        else:
            least = least_of_mixtures(sets, limit.target[j], border, rounds, stop)
        if least > border:
            return True
    return False


@njit(cache=True, nogil=True, inner=True)
def least_of_one(sets: SetArrays, target: Floats, norm: int) -> float:
    """The least distance of one set's shares. The squared one comes from two sums over its groups:
    |target|² + own shares² - 2 own shares . target there."""
    choice, mass = np.zeros(1, np.int32), np.empty(len(target))
    least = 1e300
    if norm != SQUARED:
        for s in sets.options:
            choice[0] = s
            shares(sets, choice, mass)
            least = min(least, distance(mass, target, 1.0, norm))
        return least
    sums, squares = np.empty(1 << sets.bits[0]), np.empty(1 << sets.bits[0])
    weigh(sets, 0, target, sums)
    weigh(sets, 0, sets.value.astype(np.float64), squares)
    far = 0.0
    for share in target:
        far += share * share
    for s in sets.options:
        whole = float(sets.whole[s])
        least = min(least, far + (squares[s] / whole - 2.0 * sums[s]) / whole if whole > 0 else far)
    return least


@njit(cache=True, nogil=True, inner=True)
def least_of_mixtures(sets: SetArrays, target: Floats, border: float, rounds: int, stop: Int32s) -> float:
    """A bound below the squared distance of every choice; no better than needed to tell it from `border`."""
    many, size = len(sets.bits), float(len(sets.bits))
    choice = np.empty(many, np.int32)
    for i in range(many):
        choice[i] = (1 << sets.bits[i]) - 1
    mass, corner, slope = np.empty(len(target)), np.empty(len(target)), np.empty(len(target))
    sums = np.empty(1 << sets.bits.max())
    shares(sets, choice, mass)
    bound = 0.0
    for _ in range(rounds):
        value = distance(mass, target, size, SQUARED)
        if value <= border or bound > border or stop[0]:
            break
        for j in range(len(target)):
            slope[j] = mass[j] / size - target[j]
        for i in range(many):
            at = sets.begin[i]
            weigh(sets, i, slope, sums)
            least = 1e300
            for s in sets.options[sets.first[i] : sets.first[i + 1]]:
                whole = sets.whole[at + s]
                here = sums[s] / whole if whole > 0 else 0.0
                if here < least:
                    least, choice[i] = here, s
        shares(sets, choice, corner)
        along = across = 0.0
        for j in range(len(target)):
            step = (corner[j] - mass[j]) / size
            along -= slope[j] * step
            across += step * step
        bound = max(bound, value - 2.0 * along)
        if along <= 0.0:
            break
        mass += min(1.0, along / across) * (corner - mass)
    return bound


# Depth-first search over removed cells: every pattern of removed (set, term) cells is one node of a tree.
#
# A node's tail is what may still be removed below it. In plain order tails ascend; adaptively, each tail is
# sorted by how much the removal of a cell helps for its price.


@njit(cache=True, nogil=True, inner=True)
def widest(mass: Floats, c: float) -> int:
    """The largest l for which the largest entry is at most c times the sum of all but the l-1 largest."""
    positive = np.sort(mass[mass > 0.0])
    if len(positive) == 0:
        return len(mass) + 1
    tail = 0.0
    for j in range(len(positive)):
        tail += positive[j]
        if c * tail >= positive[-1] * (1.0 - ROUNDING):
            return len(positive) - j
    return 0


@njit(cache=True, nogil=True)
def _worth(mass: Floats, limit: ConvexLimit, size: float, best: Floats) -> float:
    """What a search by ratio wants to grow: the l that is reached; else, less of the largest excess."""
    if len(limit.c) == 1 and len(limit.most) == 0:
        return float(widest(mass, limit.c[0]))
    return float(-excess(mass, limit, limit.target, size, np.zeros(len(limit.most)), best)[0])


@njit(cache=True, nogil=True)
def _without(sets: SetArrays, i: int, old: int, new: int, mass: Floats, out: Floats) -> None:
    """The mass when set i has the smaller subset `new` in place of `old`."""
    out[:] = mass
    before, after = sets.whole[sets.begin[i] + old], sets.whole[sets.begin[i] + new]
    if after == 0:
        return
    trace, group, gain = sets.trace[i], sets.group, 1.0 / after
    loss = 1.0 / before if before > 0 else 0.0
    last, counted = -1, False
    for r in range(len(trace)):
        if trace[r] & new == new:
            j = group[r]
            if j != last:
                out[j] += gain * sets.value[j]
                last, counted = j, False
            if not counted and trace[r] & old == old:
                out[j] -= loss * sets.value[j]
                counted = True


@njit(cache=True, nogil=True)
def _affordable(sets: SetArrays, tail: Int32s, whose: Int32s, bit: Int32s, now: Int32s, room: int) -> int:
    """Move the cells that may cost less than `room` to the front of a tail; their number.

    As a set gets shorter, removals get dearer throughout, or cheaper: what costs too much now and as the last
    one of all does so in the whole branch.
    """
    left = 0
    for cell in tail:
        i = whose[cell]
        at = sets.begin[i]
        more = sets.price[at + (now[i] & ~bit[cell])] - sets.price[at + now[i]]
        if min(more, sets.price[at] - sets.price[at + bit[cell]]) < room:
            tail[left] = cell
            left += 1
    return left


@njit(cache=True, nogil=True, inner=True)
def search_cells(
    sets: SetArrays, limit: ConvexLimit, adaptive: bool, choice: Int32s, cost: int, nodes: int, stop: Int32s
) -> tuple[int, bool]:
    """The cheapest pattern found below `cost`, and whether the whole tree was walked."""
    many, size = len(choice), float(len(choice))
    cells = int(sets.bits.sum())
    whose, bit = np.empty(cells, np.int32), np.empty(cells, np.int32)
    now = np.empty(many, np.int32)
    n = 0
    for i in range(many):
        now[i] = (1 << sets.bits[i]) - 1
        for b in range(sets.bits[i]):
            whose[n], bit[n] = i, 1 << b
            n += 1
    mass, tried, best = np.empty(limit.target.shape[1]), np.empty(limit.target.shape[1]), room_for(limit)
    tail = np.empty((cells + 1, cells), np.int32)
    length, position = np.zeros(cells + 1, np.int64), np.zeros(cells + 1, np.int64)
    keys = np.empty(cells)
    depth, visited, spent, fresh = 0, 0, 0, True
    length[0] = cells
    tail[0] = np.arange(cells)
    while depth >= 0:
        if fresh:
            fresh = False
            visited += 1
            if visited > nodes or stop[0]:
                return cost, False
            if keeps(sets, limit, now, mass, best):
                if spent < cost:
                    cost = spent
                    choice[:] = now
                length[depth] = 0
            else:
                length[depth] = _affordable(sets, tail[depth, : length[depth]], whose, bit, now, cost - spent)
            if adaptive and length[depth] > 1:
                here = _worth(mass, limit, size, best)
                for q in range(length[depth]):
                    cell = tail[depth, q]
                    i = whose[cell]
                    old, new = now[i], now[i] & ~bit[cell]
                    _without(sets, i, old, new, mass, tried)
                    more = sets.price[sets.begin[i] + new] - sets.price[sets.begin[i] + old]
                    keys[q] = (here - _worth(tried, limit, size, best)) / more
                    if stop[0]:
                        return cost, False
                ranked = np.argsort(keys[: length[depth]], kind="mergesort")
                tail[depth, : length[depth]] = tail[depth, : length[depth]][ranked]
        if position[depth] < length[depth]:
            cell = tail[depth, position[depth]]
            i = whose[cell]
            at = sets.begin[i]
            more = sets.price[at + (now[i] & ~bit[cell])] - sets.price[at + now[i]]
            position[depth] += 1
            if spent + more < cost:  # a cheaper pattern may have been found meanwhile
                now[i] &= ~bit[cell]
                spent += more
                left = length[depth] - position[depth]
                tail[depth + 1, :left] = tail[depth, position[depth] : length[depth]]
                depth += 1
                length[depth], position[depth] = left, 0
                fresh = True
            continue
        depth -= 1
        if depth >= 0:
            cell = tail[depth, position[depth] - 1]
            i = whose[cell]
            at = sets.begin[i]
            spent -= sets.price[at + now[i]] - sets.price[at + (now[i] | bit[cell])]
            now[i] |= bit[cell]
    return cost, True


PLAIN, ADAPTIVE, EXACT = 0, 1, 2
FEW_SETS = 64
"""Up to so many sets a start is sought set by set; with more the multipliers find one as good."""
MOST_POLISHED = 40
"""Subsets of a set that are looked at when something is given back."""


class Query(NamedTuple):
    """Sets of terms: set i holds `term[start[i]:start[i+1]]`, with the bits `atom`; equal sets are `same`.

    Each term that is removed costs `own`, beside what its set costs by the number of terms.
    """

    start: Int64s
    atom: Int32s
    term: Int32s
    same: Int32s
    own: Int64s


class Holders(NamedTuple):
    """Reference rows: `rows[first[t]:first[t+1]]` hold the term t; row r belongs to `group[r]`, ascending.

    Group g has the whole number `value[g]`, its part of what a set shares out.
    """

    first: Int64s
    rows: Int32s
    group: Int32s
    value: Int64s


@njit(cache=True, nogil=True, inner=True)
def prices(start: Int64s, atom: Int32s, own: Int64s, bits: Int64s, begin: Int64s, table: Int64s) -> Int64s:
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
def prepare(query: Query, holders: Holders, table: Int64s, closed_only: bool) -> SetArrays:
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
            subsets = closed(counts[begin[i] : begin[i + 1]], bits[i])
            options[first[i] : first[i] + len(subsets)] = subsets
            first[i + 1] = first[i] + len(subsets)
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
    table: Int64s,
    limit: ConvexLimit,
    method: int,
    rounds: int,
    nodes: int,
    stop: Int32s,
) -> tuple[Int32s, int, int, bool, bool]:
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
        cost = 0
        for i in range(many):
            cost += sets.price[sets.begin[i] + choice[i]]
    reduced = np.empty(len(sets.options))
    bound, cost = raise_multipliers(sets, limit, choice, cost, rounds, reduced, stop)
    if bound >= cost - NEAR_TIES:
        return choice, cost, cost, cost <= total, True
    cost, done = branch(sets, limit, reduced, bound, choice, cost, nodes, stop)
    floor = cost if done else min(cost, max(0, int(np.ceil(bound - 1e-6))))
    return choice, cost, floor, cost <= total, done


@njit(cache=True, nogil=True)
def unreachable(
    query: Query, holders: Holders, table: Int64s, limit: ConvexLimit, rounds: int, stop: Int32s
) -> bool:
    """Whether no subsets keep the limit, as far as that can be told without a search."""
    return out_of_reach(prepare(query, holders, table, True), limit, rounds, stop)

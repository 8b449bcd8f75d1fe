"""A bound on how close any choice of subsets comes to a target, computed before any search.

What a set can share out lies between the shares of its subsets. If that were allowed in any proportion, the
least squared distance from the target would be a smooth convex problem, which Frank and Wolfe's method
solves with one small minimum per set and round; each round bounds the least distance from below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.term_sets.branches import shares, weigh
from sfumato.kernels.term_sets.limits import ROUNDING, SQUARED, ConvexLimit, distance
from sfumato.kernels.term_sets.subsets import SetArrays

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True, inner=True)
def out_of_reach(sets: SetArrays, limit: ConvexLimit, rounds: int, stop: Ints) -> bool:
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
def least_of_mixtures(sets: SetArrays, target: Floats, border: float, rounds: int, stop: Ints) -> float:
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

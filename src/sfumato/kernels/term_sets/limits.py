"""Convex limits on sums of shares: how far a vector is beyond them, and a plane below that excess.

Two kinds of conditions, any number of each. A ratio: the largest entry is at most c times the sum of all
entries but the `skip` largest. A distance of `mass / size` from a target is at most `most`: the squared one
(norm SQUARED), half the sum of all gaps (HALF_SUM) or the largest gap (LARGEST_GAP). Every excess is a convex
function of the mass, and so is the largest of them: a tangent plane of the one that is largest somewhere
never lies above it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

ROUNDING = 1e-9
"""Far more than sums of a few thousand shares lose in floating point, relative to their size."""


SQUARED, HALF_SUM, LARGEST_GAP = 0, 1, 2


class ConvexLimit(NamedTuple):
    """Conditions on masses: ratio j has `c[j]` and `skip[j]`, distance j `norm[j]`, `target[j]`, `most[j]`.

    `slack` times what rounding may do is tolerated: 1, or -1 to be on the safe side.
    """

    c: Floats
    skip: Longs
    target: Floats
    most: Floats
    norm: Longs
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
    worst, which, kept = -1e300, -1, True
    for j in range(len(limit.c)):
        top = mass.max()
        value = top + limit.c[j] * (largest(mass, min(limit.skip[j], len(mass)), best) - mass.sum())
        kept &= value <= limit.slack * ROUNDING * (1.0 + limit.c[j]) * top
        if value / size > worst:
            worst, which = value / size, j
    for j in range(len(limit.most)):
        far = distance(mass, target[j], size, limit.norm[j])
        far = max(far, beside[j]) if limit.norm[j] == LARGEST_GAP else far + beside[j]
        value = far - limit.most[j]
        kept &= value <= limit.slack * ROUNDING * (limit.most[j] + 1e-6)
        if value > worst:
            worst, which = value, len(limit.c) + j
    return worst, which, kept


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
    value, which, kept = excess(mass, limit, limit.target, size, np.zeros(len(limit.most)), best)
    if which >= len(limit.c):
        touch = slope(mass, limit.target[which - len(limit.c)], size, limit.norm[which - len(limit.c)], plane)
        return value, value - touch, kept
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
    return value, 0.0, kept


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

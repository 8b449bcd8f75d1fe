"""Convex limits on sums of shares: how far a vector is beyond its limit, and a plane below that excess.

Two limits, told apart by `kind`. RATIO: the largest entry is at most c times the sum of all entries but the
`skip` largest. DISTANCE: the squared distance of `mass / size` from `target` is at most `most`. Both
excesses are convex functions of the mass, so a tangent plane never lies above them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RATIO, DISTANCE = 0, 1
ROUNDING = 1e-9
"""Far more than sums of a few thousand shares lose in floating point, relative to their size."""


class Limit(NamedTuple):
    """A limit on masses. `slack` times what rounding may do is tolerated: 1, or -1 to be on the safe side."""

    kind: int
    c: float
    skip: int
    target: Floats
    most: float
    slack: float


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def excess(mass: Floats, limit: Limit, target: Floats, size: float, beside: float, best: Floats) -> float:
    """How far the mass is beyond its limit: at most 0 where it is within.

    `target` may leave entries out; `beside` is what those add to the squared distance.
    """
    if limit.kind == RATIO:
        top = largest(mass, min(limit.skip, len(mass)), best)
        return float(mass.max() + limit.c * top - limit.c * mass.sum())
    total = beside
    for j in range(len(mass)):
        gap = mass[j] / size - target[j]
        total += gap * gap
    return float(total - limit.most)


@njit(cache=True, nogil=True)
def within(value: float, mass: Floats, limit: Limit) -> bool:
    """Whether an excess is none, give or take what rounding may have done."""
    if limit.kind == RATIO:
        return bool(value <= limit.slack * ROUNDING * (1.0 + limit.c) * mass.max())
    return bool(value <= limit.slack * ROUNDING * (limit.most + 1e-6))


@njit(cache=True, nogil=True)
def tangent(mass: Floats, limit: Limit, size: float, best: Floats, plane: Floats) -> tuple[float, float]:
    """The excess, and a plane that touches it at `mass`: excess(x) >= plane . x + constant."""
    value = excess(mass, limit, limit.target, size, 0.0, best)
    if limit.kind == RATIO:
        plane[:] = -limit.c
        left = min(limit.skip, len(mass))
        if left > 0:
            border = best[0]
            for j in range(len(mass)):
                if mass[j] > border:
                    plane[j] += limit.c
                    left -= 1
            for j in range(len(mass)):
                if left > 0 and mass[j] == border:
                    plane[j] += limit.c
                    left -= 1
        plane[np.argmax(mass)] += 1.0
        return value, 0.0
    touch = 0.0
    for j in range(len(mass)):
        plane[j] = 2.0 * (mass[j] / size - limit.target[j]) / size
        touch += plane[j] * mass[j]
    return value, value - touch


@njit(cache=True, nogil=True)
def hopeless(mass: Floats, limit: Limit, target: Floats, size: float, best: Floats) -> bool:
    """Whether no mass can be added so that all shares together, at most `size`, keep the limit."""
    if limit.kind == RATIO:
        top = mass.max()
        needed = top + limit.c * largest(mass, min(limit.skip, len(mass)), best)
        return bool(needed > limit.c * size * (1.0 + ROUNDING) + ROUNDING * top)
    total = 0.0
    for j in range(len(mass)):
        gap = mass[j] / size - target[j]
        if gap > 0.0:
            total += gap * gap
    return bool(total > limit.most + ROUNDING * (limit.most + 1e-6))

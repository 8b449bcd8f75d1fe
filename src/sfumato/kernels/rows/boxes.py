"""Boxes that hold a point: many boxes, many points, few different sides; of any kind, or of a box's own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

BLOCK_POINTS = 1 << 16
"""Points that are looked at together."""

_NONE = np.uint64(0)
_ONE = np.uint64(1)


@njit(cache=True)
def boxes_with_points(
    sides: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32], points: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Per box: whether some point p has low <= p[j] < high on each of its sides.

    `sides[b, j]` numbers the side of box b along axis j; side s spans `low[s] .. high[s]-1`. A side number
    belongs to one axis only.
    """
    boxes, axes = sides.shape
    occupied = np.zeros(boxes, np.bool_)
    axis_of = np.full(len(low), -1, np.int32)
    for b in range(boxes):
        for j in range(axes):
            axis_of[sides[b, j]] = j
    for begin in range(0, len(points), BLOCK_POINTS):
        size = min(BLOCK_POINTS, len(points) - begin)
        words = (size + 63) >> 6
        inside = np.zeros((len(low), words), np.uint64)
        for s in range(len(low)):
            j = axis_of[s]
            if j >= 0:
                for i in range(size):
                    p = points[begin + i, j]
                    if low[s] <= p < high[s]:
                        inside[s, i >> 6] |= _ONE << np.uint64(i & 63)
        for b in range(boxes):
            if not occupied[b]:
                for w in range(words):
                    x = ~_NONE
                    for j in range(axes):
                        x &= inside[sides[b, j], w]
                        if x == _NONE:
                            break
                    if x != _NONE and (axes > 0 or size > 0):
                        occupied[b] = True
                        break
    return occupied


@njit(cache=True)
def boxes_with_points_of_kind(
    sides: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    kind: NDArray[np.int64],
    points: NDArray[np.int32],
    start: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Per box: whether some point of its kind lies in it.

    Points of kind g are `points[start[g] : start[g + 1]]`; sides are those of `boxes_with_points`.
    """
    boxes, axes = sides.shape
    occupied = np.zeros(boxes, np.bool_)
    for b in range(boxes):
        for i in range(start[kind[b]], start[kind[b] + 1]):
            inside = True
            for j in range(axes):
                s = sides[b, j]
                if not low[s] <= points[i, j] < high[s]:
                    inside = False
                    break
            if inside:
                occupied[b] = True
                break
    return occupied

"""Ratios of integer arrays, compared exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

CLOSE = 1e-9
"""Ratios that differ by less, relatively, are told apart by their integers."""
_ROOM = 2**63


def exceeding(above: Integers, below: Integers, limit: Fraction) -> NDArray[np.bool_]:
    """Where above / below is more than the limit.

    >>> exceeding(np.array([1, 2]), np.array([3, 3]), Fraction(1, 3)).tolist()
    [False, True]
    """
    left, right = _crosswise(above, below, limit)
    return np.asarray(left > right, dtype=bool)


def equal_to(above: Integers, below: Integers, value: Fraction) -> NDArray[np.bool_]:
    """Where above / below is exactly this value."""
    left, right = _crosswise(above, below, value)
    return np.asarray(left == right, dtype=bool)


def largest(above: Integers, below: Integers) -> tuple[int, Fraction]:
    """The first place with the largest ratio, and that ratio; (-1, 0) where there is none.

    >>> largest(np.array([1, 2, 4]), np.array([3, 3, 6]))
    (1, Fraction(2, 3))
    """
    if not len(above):
        return -1, Fraction(0)
    ratio = above / below
    near = np.flatnonzero(ratio >= ratio.max() * (1 - CLOSE))
    pairs = np.unique(np.stack((above[near], below[near])), axis=1)
    best = max(Fraction(int(a), int(b)) for a, b in pairs.T.tolist())
    return int(near[equal_to(above[near], below[near], best).argmax()]), best


def _crosswise(above: Integers, below: Integers, value: Fraction) -> tuple[Integers, Integers]:
    """The two products whose order is that of the ratio and the value; wider than 64 bits where needed."""
    up, down = value.numerator, value.denominator
    wide = max(int(above.max(initial=0)) * down, int(below.max(initial=0)) * up) >= _ROOM
    if wide:
        return above.astype(object) * down, below.astype(object) * up
    return above * down, below * up

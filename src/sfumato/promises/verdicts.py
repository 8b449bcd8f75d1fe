"""What verdicts have in common: who is in violation, and which class is worst."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.microdata import Counts
from sfumato.core.promise import ClassPromise, Truth
from sfumato.core.verdict import Measure, Verdict

NOTHING = "nothing is published"

NEAR = 1e-12
"""Far more than a product or a quotient of two whole numbers loses in floating point."""

OVERFLOW = 2**63
"""What 64-bit counts must stay below."""


def verdict(
    promise: ClassPromise,
    classes: Classes,
    truth: Truth,
    *,
    limit: Measure,
    worst: int | None,
    measured: Measure | None,
    reason: str = "",
) -> Verdict:
    """Put together what a promise found; a table without classes keeps every promise."""
    broken = ~truth
    return Verdict(
        promise=str(promise),
        holds=bool(truth.all()),
        measured=measured,
        limit=limit,
        worst=worst,
        people=exact_sum(classes.people[broken]),
        classes=int(broken.sum()),
        evidence=promise.evidence,
        reason=reason if len(classes) else NOTHING,
    )


def exact_sum(counts: Counts) -> int:
    """The sum of non-negative counts, also where it exceeds 64 bits.

    >>> exact_sum(np.array([2**62, 2**62, 2**62])) == 3 * 2**62
    True
    """
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def product_less(a: Counts, x: int, b: Counts, y: int) -> Truth:
    """Whether a * x < b * y, element by element, for non-negative whole numbers of any size.

    >>> product_less(np.array([2**62, 5]), 3, np.array([2**62 + 1, 5]), 3).tolist()
    [True, False]
    """
    if max(int(a.max(initial=1)) * x, int(b.max(initial=1)) * y) < OVERFLOW:
        small: Truth = a * x < b * y
        return small
    left, right = a.astype(np.float64) * float(x), b.astype(np.float64) * float(y)
    truth: Truth = left < right
    for i in np.flatnonzero(abs(left - right) <= NEAR * left).tolist():
        truth[i] = int(a[i]) * x < int(b[i]) * y
    return truth


def segment_sums(numbers: NDArray[Any], start: NDArray[np.int64]) -> NDArray[Any]:
    """The sum of each run start[i] .. start[i+1]-1; no run is empty."""
    return np.add.reduceat(numbers, start[:-1])


def largest_ratio(above: NDArray[Any], below: NDArray[Any]) -> tuple[int, Fraction]:
    """The largest of some ratios of whole numbers, exactly, and where it stands first."""
    close = above.astype(np.float64) / below.astype(np.float64)
    found: dict[tuple[int, int], int] = {}
    for i in np.flatnonzero(close >= close.max() * (1 - NEAR)).tolist():
        found.setdefault((int(above[i]), int(below[i])), i)
    exact = {pair: Fraction(*pair) for pair in found}
    largest = max(exact.values())
    return min(i for pair, i in found.items() if exact[pair] == largest), largest

"""What a number of events says about their chance."""

from __future__ import annotations


def upper_limit(wrong: int, leaks: int) -> float:
    """The 99 % upper limit of Clopper and Pearson, by halving."""
    low, high = wrong / leaks, 1.0
    for _ in range(60):
        p = (low + high) / 2
        if _at_most(wrong, leaks, p) > 0.01:
            low = p
        else:
            high = p
    return high


def _at_most(wrong: int, leaks: int, p: float) -> float:
    """The chance of so few in so many."""
    total, term = 0.0, (1 - p) ** leaks
    for i in range(wrong + 1):
        total += term
        term *= (leaks - i) / (i + 1) * p / (1 - p) if p < 1 else 0.0
    return total

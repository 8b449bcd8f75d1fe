"""What a number of events says about their chance."""

from __future__ import annotations

from math import exp, lgamma, log, log1p


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
    """The chance of so few in so many; logarithms, since the first terms are too small for a number."""
    if p >= 1:
        return float(wrong >= leaks)
    if p <= 0:
        return 1.0
    ways = [lgamma(leaks + 1) - lgamma(i + 1) - lgamma(leaks - i + 1) for i in range(wrong + 1)]
    return sum(exp(way + i * log(p) + (leaks - i) * log1p(-p)) for i, way in enumerate(ways))

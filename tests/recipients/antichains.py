"""Antichains by comparing all pairs."""

from __future__ import annotations

from itertools import permutations


def is_antichain(levels):
    """Whether no pattern is at most as general as another in every column."""
    rows = [tuple(row) for row in levels.tolist()]
    return not any(
        all(a <= b for a, b in zip(one, other, strict=True)) for one, other in permutations(rows, 2)
    )

"""Costs of removing terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Counts

EXACT_WIDTH = 36
"""Up to so many terms per row, harmonic sums are whole multiples of a unit that 64 bits hold."""
FINE_UNIT = 1 << 40


def inverse(width: int, gone: int) -> Fraction:
    """Returns the cost where a removal from a row with w terms costs 1/w: its last terms cost the most.

    >>> inverse(3, 1), inverse(3, 2), inverse(3, 3)
    (Fraction(1, 3), Fraction(5, 6), Fraction(11, 6))
    """
    return sum((Fraction(1, w) for w in range(width, width - gone, -1)), Fraction(0))


def each_term(width: int, gone: int) -> Fraction:
    """Returns the cost where every removal costs 1."""
    del width
    return Fraction(gone)


COSTS: Mapping[str, Callable[[int, int], Fraction]] = {"inverse": inverse, "count": each_term}


@dataclass(frozen=True)
class RemovalCosts:
    """Whole costs for rows of up to `widest` terms, in a unit that makes them exact where there is one.

    >>> costs = RemovalCosts("inverse", 3)
    >>> costs.share(costs.table[3, 1], [2, 3])
    Fraction(1, 10)
    """

    cost: str
    widest: int

    def __post_init__(self) -> None:
        if self.cost not in COSTS:
            raise WrongCall("there is no cost of this name.", remedy=f"Pick one of {', '.join(COSTS)}.")

    @property
    def exact(self) -> bool:
        """Whether costs are exact; if not, they are rounded down and nothing is proved by them."""
        return self.cost != "inverse" or self.widest <= EXACT_WIDTH

    @cached_property
    def unit(self) -> int:
        """How many whole units make a cost of 1."""
        if self.cost != "inverse":
            return 1
        return lcm(*range(1, self.widest + 1)) if self.exact else FINE_UNIT

    @cached_property
    def table(self) -> Counts:
        """`table[w, v]`: the cost of removing v of w terms."""
        cost = COSTS[self.cost]
        table = np.zeros((self.widest + 1, self.widest + 1), np.int64)
        for width in range(self.widest + 1):
            for gone in range(width + 1):
                table[width, gone] = int(cost(width, gone) * self.unit)
        return table

    def share(self, spent: int, widths: list[int]) -> Fraction:
        """Returns T: what was spent, as a share of the cost of removing everything; 0 if that is nothing."""
        whole = sum(int(self.table[width, width]) for width in widths)
        return Fraction(int(spent), whole) if whole else Fraction(0)

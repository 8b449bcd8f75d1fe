"""Costs of removing terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb, lcm

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


def pairs(width: int, gone: int) -> Fraction:
    """Returns how many terms and pairs of terms a row no longer shows: the first removals cost the most.

    >>> pairs(3, 1), pairs(3, 2), pairs(3, 3)
    (Fraction(3, 1), Fraction(5, 1), Fraction(6, 1))
    """
    return Fraction(comb(width + 1, 2) - comb(width - gone + 1, 2))


def by_term(width: int, gone: int) -> Fraction:
    """Returns nothing: what a removal costs depends on its term alone."""
    del width, gone
    return Fraction(0)


RARITY = "rarity"
COSTS: Mapping[str, Callable[[int, int], Fraction]] = {
    "inverse": inverse,
    "count": each_term,
    "pairs": pairs,
    RARITY: by_term,
}


@dataclass(frozen=True)
class RemovalCosts:
    """Whole costs for rows of up to `widest` terms, in a unit that makes them exact where there is one.

    `rows_with` says how many rows of the table hold each term, where costs depend on that: removing a term
    from all of them costs 1, however many they are.

    >>> costs = RemovalCosts("inverse", 3)
    >>> costs.share(costs.table[3, 1], [2, 3])
    Fraction(1, 10)
    >>> rare = RemovalCosts("rarity", 2, {"fever": 6, "boils": 2})
    >>> rare.paid(("fever", "boils"), ("boils",)), rare.paid(("fever", "boils"), ("fever",)), rare.unit
    (1, 3, 6)
    """

    cost: str
    widest: int
    rows_with: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.cost not in COSTS:
            raise WrongCall("there is no cost of this name.", remedy=f"Pick one of {', '.join(COSTS)}.")

    @cached_property
    def _common(self) -> int:
        """The least common multiple of how many rows hold a term."""
        return lcm(1, *set(self.rows_with.values()))

    @property
    def exact(self) -> bool:
        """Whether costs are exact; if not, they are rounded down and nothing is proved by them."""
        if self.cost == RARITY:
            return self._common <= FINE_UNIT
        return self.cost != "inverse" or self.widest <= EXACT_WIDTH

    @cached_property
    def unit(self) -> int:
        """How many whole units make a cost of 1."""
        if self.cost == RARITY:
            return self._common if self.exact else FINE_UNIT
        if self.cost != "inverse":
            return 1
        return lcm(*range(1, self.widest + 1)) if self.exact else FINE_UNIT

    @cached_property
    def table(self) -> Counts:
        """`table[w, v]`: the cost of removing v of w terms, whichever they are."""
        cost = COSTS[self.cost]
        table = np.zeros((self.widest + 1, self.widest + 1), np.int64)
        for width in range(self.widest + 1):
            for gone in range(width + 1):
                table[width, gone] = int(cost(width, gone) * self.unit)
        return table

    def own(self, terms: Iterable[str]) -> list[int]:
        """Returns what the removal of each term costs beside that."""
        if self.cost != RARITY:
            return [0 for _ in terms]
        return [max(1, self.unit // self.rows_with[term]) for term in terms]

    def paid(self, terms: Sequence[str], kept: Iterable[str]) -> int:
        """Returns what it costs to keep only these terms of a row."""
        stays = set(kept)
        gone = [term for term in terms if term not in stays]
        return int(self.table[len(terms), len(gone)]) + sum(self.own(gone))

    def whole(self, terms: Sequence[str]) -> int:
        """Returns what it costs to remove every term of a row."""
        return self.paid(terms, ())

    def share(self, spent: int, widths: list[int]) -> Fraction:
        """Returns T where costs depend on numbers alone: what was spent, as a share of the cost of removing
        everything; 0 if that is nothing."""
        whole = sum(int(self.table[width, width]) for width in widths)
        return Fraction(int(spent), whole) if whole else Fraction(0)

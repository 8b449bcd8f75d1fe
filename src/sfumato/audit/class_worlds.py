"""Class lists: every world of one class, where these are few, though those of the whole table are many.

What is drawn of a class is a guess with an error of its own; what is listed has none. Where a class is
recoded by itself, its worlds are kept or excluded for good. In a global recoding a world in which the class
itself does not break is kept as often as another class breaks; that is drawn, and has an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod

import numpy as np

from sfumato.attacks.worlds.class_draws import ClassWorlds, error_of
from sfumato.attacks.worlds.published_boxes import PublishedBoxes
from sfumato.core.microdata import Codes

DRAWS_OF_OTHERS = 60
"""So often other classes are drawn, to see how often one of them breaks."""

MOST_OF_A_CLASS = 2_000
"""A class with more worlds is not listed."""

Broken = frozenset[int]
"""Key columns in which a class may be finer, as far as it is concerned."""


@dataclass(frozen=True, eq=False)
class ListedClass:
    """All worlds of a class, added up: per group of rows that are alike, the weight of every value.

    `before` takes all worlds, `after` those that are kept, `least` as many as may be kept at most, where that
    was drawn. `left` is the part of all that is kept, `share` the mean part of the class that has one value.
    """

    before: list[Counter[int]]
    after: list[Counter[int]]
    least: list[Counter[int]]
    left: Fraction
    share_before: Fraction
    share_after: Fraction

    @property
    def exact(self) -> bool:
        """Whether nothing was drawn."""
        return self.after == self.least

    def chances(self, group: int) -> list[Fraction]:
        """Returns the chance of every value that is left for a row of the group; none if no world is."""
        return list(_shares(self.after[group]).values())

    def surely(self, group: int) -> Fraction:
        """Returns how often the best guess about a row of the group is right, less what was drawn in it."""
        after, least = _shares(self.after[group]), _shares(self.least[group])
        return max((min(after[v], least.get(v, Fraction(0))) for v in after), default=Fraction(0))


Told = tuple[Fraction, Sequence[Counter[int]], Broken]
"""A world: its weight, per group how many rows have which value, and where the class itself may be finer."""


def added_up(worlds: Iterable[Told], kept: Callable[[Broken], tuple[Fraction, Fraction]]) -> ListedClass:
    """Adds worlds up; `kept` says how often others keep columns back that a class lets be finer, and how
    often they do at most."""
    sums: list[list[Counter[int]]] = []
    weights, shares = [Fraction(0)] * 3, [Fraction(0)] * 3
    for weight, groups, broken in worlds:
        if not sums:
            sums = [[Counter() for _ in groups] for _ in range(3)]
        held = sum(groups, Counter())
        share = Fraction(max(held.values(), default=0), max(1, sum(held.values())))
        for i, part in enumerate((Fraction(1), *kept(broken))):
            if not part:
                continue
            weights[i] += weight * part
            shares[i] += weight * part * share
            for into, rows in zip(sums[i], groups, strict=True):
                for value, n in rows.items():
                    into[value] += weight * part * n  # type: ignore[assignment]  # weights need not be whole
    left = weights[1] / weights[0] if weights[0] else Fraction(0)
    means = [shares[i] / weights[i] if weights[i] else Fraction(0) for i in range(3)]
    before, after, least = sums or [[], [], []]
    return ListedClass(before, after, least, left, means[0], means[1])


class OthersKeep:
    """How often classes beside one keep columns back: drawn a fixed number of times, each time for all."""

    def __init__(self, drawn: Sequence[Broken]) -> None:
        """Takes, per draw, the columns that others kept back; none drawn: there are no others."""
        self._drawn = drawn
        self._known: dict[Broken, tuple[Fraction, Fraction]] = {}

    def __call__(self, broken: Broken) -> tuple[Fraction, Fraction]:
        """Returns how often others keep all these columns back, and how often at most."""
        if not broken:
            return Fraction(1), Fraction(1)
        if broken not in self._known:
            often = Fraction(sum(broken <= kept for kept in self._drawn), max(1, len(self._drawn)))
            most = min(Fraction(1), often + error_of(len(self._drawn))) if self._drawn else Fraction(0)
            self._known[broken] = often, most
        return self._known[broken]


def stays_or_not(broken: Broken) -> tuple[Fraction, Fraction]:
    """Where classes are recoded by themselves: a world is kept if the class is left whole."""
    kept = Fraction(int(not broken))
    return kept, kept


def count_of_keys(boxes: PublishedBoxes, c: int, leaves: int) -> int:
    """Returns how many ways there are to give the rows of class c one of so many leaves each; rows with equal
    values are not told apart."""
    groups = boxes.counts[boxes.owner == c].tolist()
    return prod(comb(leaves + n - 1, n) for n in groups)


def listed_keys(draws: ClassWorlds, c: int) -> Iterator[tuple[Fraction, Codes, Codes]]:
    """Yields the worlds of class c: the weight, the leaf ranks of its rows, and their values."""
    boxes = draws.boxes
    ends = zip(boxes.low[c].tolist(), boxes.high[c].tolist(), strict=True)
    leaves = np.array(list(product(*(range(a, b) for a, b in ends))), np.int32)
    mass = np.prod([draws.common(j)[leaves[:, j]] for j in range(len(boxes.keys))], axis=0)
    for weight, which in _multisets(boxes, c, mass.tolist()):
        yield weight, leaves[which], boxes.values_of(c)


def listed_parts(draws: ClassWorlds, c: int, j: int) -> Iterator[tuple[Fraction, Codes, Codes]]:
    """Yields the worlds of class c in key column j alone, a leaf for every finer value."""
    boxes = draws.boxes
    parts, low, high = boxes.parts(c, j), int(boxes.low[c, j]), int(boxes.high[c, j])
    first = low + np.unique(parts, return_index=True)[1].astype(np.int32)
    mass = np.bincount(parts, draws.common(j)[low:high])
    for weight, which in _multisets(boxes, c, mass.tolist()):
        yield weight, first[which], boxes.values_of(c)


def _multisets(boxes: PublishedBoxes, c: int, mass: Sequence[float]) -> Iterator[tuple[Fraction, list[int]]]:
    """Yields every way to give rows of equal values one of these leaves each, with its weight."""
    whole = sum(mass)
    common = [Fraction(m / whole).limit_denominator(10**9) for m in mass]
    groups = boxes.counts[boxes.owner == c].tolist()
    ways = [list(combinations_with_replacement(range(len(mass)), n)) for n in groups]
    for chosen in product(*ways):
        weight = Fraction(1)
        for some in chosen:
            weight *= factorial(len(some)) // prod(map(factorial, Counter(some).values()))
            weight *= prod((common[i] for i in some), start=Fraction(1))
        yield weight, [i for some in chosen for i in some]


def _shares(weights: Counter[int]) -> dict[int, Fraction]:
    total = sum(weights.values(), Fraction(0))
    return {value: Fraction(n) / total for value, n in weights.items()} if total else {}


def affordable(costs: Mapping[int, int], searches: int) -> set[int]:
    """Returns the classes that cost the fewest searches, as many as so many searches pay.

    >>> sorted(affordable({1: 60, 2: 10, 3: 50}, 100))
    [2, 3]
    """
    found, spent = set(), 0
    for c, cost in sorted(costs.items(), key=lambda item: (item[1], item[0])):
        spent += cost
        if spent > searches or cost > MOST_OF_A_CLASS:
            break
        found.add(c)
    return found

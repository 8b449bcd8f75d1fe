"""Key lists: every way in which the rows of one class may hold what is hidden, where there are few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

import numpy as np

from sfumato.attacks.worlds.class_draws import ClassWorlds
from sfumato.attacks.worlds.class_lists import (
    DRAWS_OF_OTHERS,
    MOST_OF_A_CLASS,
    ListedClass,
    OthersKeep,
    Told,
    added_up,
    affordable,
    count_of_keys,
    listed_keys,
    listed_parts,
    stays_or_not,
)
from sfumato.core.microdata import Codes

WholeWorld = tuple[Fraction, Codes, bool]
"""The weight of a world, the leaf ranks of the rows of its class, and whether the class stays as it is."""


@dataclass(frozen=True, eq=False)
class KeyLists:
    """Lists the worlds of single classes, by column where a search recodes whole columns."""

    draws: ClassWorlds
    rng: np.random.Generator
    _told: dict[tuple[int, int], dict[str, Fraction]] = field(default_factory=dict)
    _whole: dict[int, list[WholeWorld]] = field(default_factory=dict)

    def count(self, j: int) -> int:
        """How many classes were listed for key column j."""
        return sum(column == j for _, column in self._told)

    def chosen(self, j: int, drawn: Mapping[int, int], searches: int) -> set[int]:
        """Returns the classes among these with the fewest worlds, as far as so many searches go."""
        hiding = self.draws.boxes.hiding(j)
        return affordable({c: self._cost(c, j) for c in drawn if hiding[c]}, searches)

    def beside(self, j: int, drawn: Mapping[int, int], searches: int) -> list[int]:
        """Returns other classes, the smallest first, as far as so many searches go."""
        hiding = self.draws.boxes.hiding(j)
        costs: dict[int, int] = {}
        for c in np.argsort(self.draws.boxes.sizes, kind="stable").tolist():
            if sum(costs.values()) > searches:
                break
            if hiding[c] and c not in drawn and (cost := self._cost(c, j)) <= MOST_OF_A_CLASS:
                costs[c] = cost
        return sorted(affordable(costs, searches))

    def _cost(self, c: int, j: int) -> int:
        """Returns how many searches the class takes."""
        draws, boxes = self.draws, self.draws.boxes
        if draws.recodes_locally:
            leaves = prod((boxes.high[c] - boxes.low[c]).tolist())
            return count_of_keys(boxes, c, leaves) * (1 + len(draws.known.others))
        return count_of_keys(boxes, c, int(boxes.parts(c, j).max(initial=0)) + 1) + DRAWS_OF_OTHERS

    def told(self, c: int, j: int) -> dict[str, Fraction]:
        """Returns what all worlds of class c tell of key column j: how often a guess is right."""
        if (c, j) not in self._told:
            self._told[c, j] = self._figures(c, j)
        return dict(self._told[c, j])

    def _figures(self, c: int, j: int) -> dict[str, Fraction]:
        before, found = self.draws.commonest(c, j), self._listed(c, j)
        after = max(found.chances(0), default=before)
        return {
            "before": before,
            "after": after,
            "share before": found.share_before,
            "share after": found.share_after or found.share_before,
            "worlds left": found.left,
            "told": Fraction(1),
            "doubt": after - found.surely(0),
            "exact": Fraction(int(found.exact)),
        }

    def _listed(self, c: int, j: int) -> ListedClass:
        draws = self.draws
        if draws.recodes_locally:
            return added_up(self._of_whole(c, j), stays_or_not)
        others: list[frozenset[int]] = []
        if len(draws.finer_together(c, j)):
            kept = [draws.others_keep(c, j, self.rng) for _ in range(DRAWS_OF_OTHERS)]
            others = [frozenset((j,)) if one else frozenset() for one in kept]
        return added_up(self._of_column(c, j), OthersKeep(others))

    def _of_whole(self, c: int, j: int) -> Iterator[Told]:
        """Yields the worlds of a class that is recoded by itself; each is asked for once for all columns."""
        if c not in self._whole:
            worlds = listed_keys(self.draws, c)
            self._whole[c] = [(w, codes, self.draws.stays(c, codes, held)) for w, codes, held in worlds]
        for weight, codes, stays in self._whole[c]:
            yield weight, [self._finer(c, j, codes[:, j])], frozenset(() if stays else (j,))

    def _of_column(self, c: int, j: int) -> Iterator[Told]:
        for weight, codes, held in listed_parts(self.draws, c, j):
            divides = self.draws.divides(c, j, codes, held)
            yield weight, [self._finer(c, j, codes)], frozenset((j,) if divides else ())

    def _finer(self, c: int, j: int, codes: Codes) -> Counter[int]:
        boxes = self.draws.boxes
        return Counter(boxes.parts(c, j)[codes - boxes.low[c, j]].tolist())

"""Value lists: every way to deal out the values of one class to its people, where there are few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sfumato.attacks.worlds.class_lists import (
    DRAWS_OF_OTHERS,
    MOST_OF_A_CLASS,
    ListedClass,
    OthersKeep,
    Told,
    added_up,
    affordable,
    stays_or_not,
)
from sfumato.attacks.worlds.dealt_values import DealtValues
from sfumato.attacks.worlds.value_worlds import ValueWorlds


@dataclass(frozen=True, eq=False)
class ValueLists:
    """Lists the worlds of single classes whose people are known, for one sensitive column."""

    worlds: ValueWorlds
    dealt: DealtValues
    column: int
    rng: np.random.Generator
    _told: dict[int, ListedClass] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many classes were listed."""
        return len(self._told)

    def chosen(self, drawn: Mapping[int, int], searches: int) -> set[int]:
        """Returns the classes among these with the fewest worlds, as far as so many searches go."""
        return affordable({c: self._cost(c) for c in drawn}, searches)

    def beside(self, drawn: Mapping[int, int], searches: int) -> list[int]:
        """Returns other classes, the smallest first, as far as so many searches go."""
        placed = self.worlds.register.placed
        others = [c for c in np.argsort(self.worlds.boxes.sizes, kind="stable").tolist() if c not in drawn]
        costs: dict[int, int] = {}
        for c in others:
            if sum(costs.values()) > searches:
                break
            if placed[c] and (cost := self._cost(c)) <= MOST_OF_A_CLASS:
                costs[c] = cost
        return sorted(affordable(costs, searches))

    def _cost(self, c: int) -> int:
        """Returns how many searches the class takes, or more than are ever made for one."""
        worlds = self.worlds.count_of(c, MOST_OF_A_CLASS)
        if self.dealt.draws.recodes_locally:
            return worlds * (1 + len(self.dealt.draws.known.others))
        return (worlds + DRAWS_OF_OTHERS) * len(self.dealt.hiding(c))

    def told(self, c: int) -> ListedClass:
        """Returns what all worlds of class c tell."""
        if c not in self._told:
            self._told[c] = self._listed(c)
        return self._told[c]

    def _listed(self, c: int) -> ListedClass:
        if self.dealt.draws.recodes_locally:
            return added_up(self._worlds(c), stays_or_not)
        others = OthersKeep(self.dealt.others_keep(c, DRAWS_OF_OTHERS, self.rng))
        return added_up(self._worlds(c), others)

    def _worlds(self, c: int) -> Iterator[Told]:
        boxes, draws = self.worlds.boxes, self.dealt.draws
        held = boxes.held[boxes.owner == c][:, self.column].tolist()
        for ways, spread in self.worlds.of_class(c):
            codes, values = self.worlds.rows_of(c, spread)
            if draws.recodes_locally:
                broken = frozenset(() if draws.stays(c, codes, values) else (0,))
            else:
                broken = frozenset(
                    j for j in self.dealt.hiding(c) if draws.divides(c, j, codes[:, j], values)
                )
            yield Fraction(ways), [_counted(held, row) for row in spread], broken


def _counted(held: list[int], row: tuple[int, ...]) -> Counter[int]:
    """Returns how many people have which value; several combinations of values may share it."""
    found: Counter[int] = Counter()
    for value, n in zip(held, row, strict=True):
        if n:
            found[value] += n
    return found

"""Dealt values: worlds of one class whose people are known, its sensitive values dealt out at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.attacks.worlds.class_draws import ClassWorlds
from sfumato.attacks.worlds.register import Register
from sfumato.core.microdata import Codes


@dataclass(frozen=True, eq=False)
class DealtValues:
    """Deals the values of a class out to the people that a register places in it, and asks the search.

    A world is kept in which a class that is recoded by itself stays as it is. In a global recoding it is kept
    if every column that could be finer is kept from it: by this class, or by another one that would be finer
    with it, whose values are dealt out anew. A class that breaks by the keys of its people alone keeps a
    column back in every world; then nothing is learned from that column.
    """

    draws: ClassWorlds
    register: Register

    def kept(self, c: int, searches: int, rng: np.random.Generator) -> tuple[Codes, int]:
        """Returns the values of the people of class c in the worlds that were kept, and how many were dealt.

        There is one entry per world, person and sensitive column. Worlds are dealt until so many `searches`
        were made, and at least one.
        """
        held, worlds, dealt = self.draws.boxes.values_of(c), [], 0
        spent = self.draws.searches + searches
        while not dealt or (self.draws.searches < spent and dealt < searches):
            dealt += 1
            given = held[rng.permutation(len(held))]
            if self._same(c, given, rng):
                worlds.append(given)
        return np.array(worlds, np.int32).reshape(-1, *held.shape), dealt

    def _same(self, c: int, given: Codes, rng: np.random.Generator) -> bool:
        """Whether the search would have stopped where it did."""
        draws = self.draws
        if draws.recodes_locally:
            return draws.stays(c, self.register.people_of(c), given)
        dealt = {c: given}
        return all(self._kept_back(self._likeliest_first(c, j), j, dealt, rng) for j in self.hiding(c))

    def hiding(self, c: int) -> list[int]:
        """Returns the key columns in which class c hides something."""
        boxes = self.draws.boxes
        return [j for j in range(len(boxes.keys)) if boxes.parts(c, j).any()]

    def others_keep(self, c: int, draws: int, rng: np.random.Generator) -> list[frozenset[int]]:
        """Returns, as often as asked, the key columns that classes beside c keep back, their values dealt
        out anew; nothing where no other class would be finer with c."""
        others = {j: [some for some in self._likeliest_first(c, j) if some != c] for j in self.hiding(c)}
        if not any(others.values()):
            return []
        found = []
        for _ in range(draws):
            dealt: dict[int, Codes] = {}
            found.append(frozenset(j for j, some in others.items() if self._kept_back(some, j, dealt, rng)))
        return found

    def _kept_back(
        self, classes: list[int], j: int, dealt: dict[int, Codes], rng: np.random.Generator
    ) -> bool:
        """Whether one of these classes would break a promise, were key column j finer.

        The values of a class are dealt out when it is first asked for, once for all columns.
        """
        for some in classes:
            if some not in dealt:
                held = self.draws.boxes.values_of(some)
                dealt[some] = held[rng.permutation(len(held))]
            if not self.draws.divides(some, j, self.register.people_of(some)[:, j], dealt[some]):
                return True
        return False

    def _likeliest_first(self, c: int, j: int) -> list[int]:
        """Returns class c and those that would be finer with it, by the fewest people in a part."""
        if (c, j) not in self._order:
            classes = [c, *self.draws.finer_together(c, j).tolist()]
            self._order[c, j] = sorted(classes, key=lambda some: self._smallest_part(some, j))
        return self._order[c, j]

    @cached_property
    def _order(self) -> dict[tuple[int, int], list[int]]:
        return {}

    def _smallest_part(self, c: int, j: int) -> int:
        boxes, codes = self.draws.boxes, self.register.people_of(c)[:, j]
        people = np.bincount(boxes.parts(c, j)[codes - boxes.low[c, j]])
        return int(people[people > 0].min())

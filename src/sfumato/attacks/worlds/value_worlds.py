"""Value worlds: every way in which people whose keys are known may hold the sensitive values of a class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from math import factorial, prod

import numpy as np

from sfumato.attacks.worlds.published_boxes import PublishedBoxes, Republish, publication_of
from sfumato.attacks.worlds.register import Register
from sfumato.core.microdata import Codes

MOST_KEYS = 100
"""With more different keys in a class, its worlds are not listed."""

Spread = tuple[tuple[int, ...], ...]
"""How many people with each key of a class have each of its combinations of values."""


@dataclass(frozen=True, eq=False)
class ValueWorlds:
    """All worlds of the people of a register: within each class its values are dealt out in any way."""

    boxes: PublishedBoxes
    register: Register

    def listed(self, most: int) -> list[list[tuple[int, Spread]]] | None:
        """Returns, per class, all spreads with the ways to deal them; `None` if there are more than `most`
        worlds, a class has more than `MOST_KEYS` keys, or the class of somebody is not known."""
        found, total = [], 1
        if (
            not self.register.complete
            or max(map(len, self.register.by_class.values()), default=0) > MOST_KEYS
        ):
            return None
        for c in range(len(self.boxes.low)):
            spreads = []
            for spread in self.of_class(c):
                spreads.append(spread)
                if total * len(spreads) > most:
                    return None
            found.append(spreads)
            total *= len(spreads)
        return found

    def count_of(self, c: int, most: int) -> int:
        """Returns how many spreads class c has, counted no further than one beyond `most`."""
        if len(self.register.keys_of(c)) > MOST_KEYS:
            return most + 1
        return sum(1 for _ in islice(self.of_class(c), most + 1))

    def of_class(self, c: int) -> Iterator[tuple[int, Spread]]:
        """Yields the spreads of class c, and in how many ways its people can hold them."""
        keys = [self.register.people[i] for i in self.register.keys_of(c)]
        values = self.boxes.counts[self.boxes.owner == c].tolist()
        for spread in _spreads(keys, values):
            ways = prod(
                factorial(n) // prod(map(factorial, row)) for n, row in zip(keys, spread, strict=True)
            )
            yield ways, spread

    @cached_property
    def _held(self) -> list[Codes]:
        return [self.boxes.held[self.boxes.owner == c] for c in range(len(self.boxes.low))]

    def rows_of(self, c: int, spread: Spread) -> tuple[Codes, Codes]:
        """Returns the leaf ranks and the values of the people of class c, one row each."""
        held = np.concatenate([np.repeat(self._held[c], row, axis=0) for row in spread])
        return self.register.people_of(c), held

    def gives_the_same(self, world: tuple[Spread, ...], republish: Republish) -> bool:
        """Whether the search would have published the same table in this world."""
        codes, held = zip(*(self.rows_of(c, spread) for c, spread in enumerate(world)), strict=True)
        recoding = republish(self.boxes.table(list(np.concatenate(codes).T), np.concatenate(held)))
        same = None if recoding is None else publication_of(recoding, len(self.boxes.keys))
        return same == self.boxes.publication


def weigh_values(
    worlds: ValueWorlds, listed: list[list[tuple[int, Spread]]], republish: Republish
) -> tuple[Counter[tuple[int, int, int]], int]:
    """Returns, by class, key and combination of values, how many people have it summed over the worlds in
    which the search would have published the same, and the weight of these worlds."""
    sums: Counter[tuple[int, int, int]] = Counter()
    total = 0
    for chosen in product(*listed):
        world = tuple(spread for _, spread in chosen)
        if not worlds.gives_the_same(world, republish):
            continue
        weight = prod(ways for ways, _ in chosen)
        total += weight
        for c, spread in enumerate(world):
            for i, row in enumerate(spread):
                for v, people in enumerate(row):
                    if people:
                        sums[c, i, v] += weight * people
    return sums, total


def _spreads(rows: list[int], columns: list[int]) -> Iterator[Spread]:
    """Yields all tables of whole numbers with these sums of rows and of columns.

    >>> list(_spreads([1, 1], [1, 1]))
    [((0, 1), (1, 0)), ((1, 0), (0, 1))]
    """
    if not rows:
        yield ()
        return
    for first in _rows(rows[0], columns):
        rest = [have - used for have, used in zip(columns, first, strict=True)]
        for below in _spreads(rows[1:], rest):
            yield (first, *below)


def _rows(total: int, most: list[int]) -> Iterator[tuple[int, ...]]:
    if len(most) == 1:
        if total <= most[0]:
            yield (total,)
        return
    for first in range(max(0, total - sum(most[1:])), min(total, most[0]) + 1):
        for rest in _rows(total - first, most[1:]):
            yield (first, *rest)

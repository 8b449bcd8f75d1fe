"""Value worlds: every way in which people whose keys are known may hold the sensitive values of a class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from math import comb, factorial, prod

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
    """All worlds of the people of a register: within each class its values are dealt out in any way; people
    who were suppressed may have any values that the published table knows, everybody for themselves."""

    boxes: PublishedBoxes
    register: Register

    def listed(self, most: int) -> list[list[tuple[int, Spread]]] | None:
        """Returns, per class, all spreads with the ways to deal them, and last those of suppressed people, if
        there are any. `None` if there are more than `most` worlds, a class has more than `MOST_KEYS` keys, or
        the class of somebody is not known, or a key."""
        found, total = [], 1
        if (
            not self.register.complete
            or max(map(len, self.register.by_class.values()), default=0) > MOST_KEYS
            or bool(np.any(self.register.codes < 0))
            or self._count_of_suppressed() > most
        ):
            return None
        for c in range(len(self.boxes.low) + bool(self.register.gone)):
            spreads = []
            for spread in self.of_class(c) if c < len(self.boxes.low) else self._of_suppressed():
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

    def _count_of_suppressed(self) -> int:
        """Returns how many spreads the people in no class have; one where there are none."""
        values = prod(len(column.taxonomy.leaves) for column in self.boxes.values)
        people = (self.register.people[i] for i in self.register.keys_of(self.register.suppressed))
        return prod(comb(values + n - 1, n) for n in people)

    def _of_suppressed(self) -> Iterator[tuple[int, Spread]]:
        """Yields the spreads of the people in no class, and in how many ways they can hold them."""
        keys = [self.register.people[i] for i in self.register.keys_of(self.register.suppressed)]
        for spread in product(*(_rows(n, [n] * len(self.any_values)) for n in keys)):
            ways = prod(
                factorial(n) // prod(map(factorial, row)) for n, row in zip(keys, spread, strict=True)
            )
            yield ways, spread

    @cached_property
    def any_values(self) -> Codes:
        """Every combination of values that somebody may have of whom nothing is published."""
        leaves = [range(len(column.taxonomy.leaves)) for column in self.boxes.values]
        return np.array(list(product(*leaves)), np.int32).reshape(-1, len(leaves))

    @cached_property
    def held(self) -> list[Codes]:
        """The combinations of values of every class, and last those of the suppressed people, if any."""
        published = [self.boxes.held[self.boxes.owner == c] for c in range(len(self.boxes.low))]
        return [*published, self.any_values] if self.register.gone else published

    def rows_of(self, c: int, spread: Spread) -> tuple[Codes, Codes]:
        """Returns the leaf ranks and the values of the people of class c, one row each."""
        held = np.concatenate([np.repeat(self.held[c], row, axis=0) for row in spread])
        return self.register.people_of(c), held

    def gives_the_same(self, world: tuple[Spread, ...], republish: Republish) -> bool:
        """Whether the search would have published the same table in this world."""
        codes, held = zip(*(self.rows_of(c, spread) for c, spread in enumerate(world)), strict=True)
        rows, dropped = list(np.concatenate(codes).T), self.register.dropped
        recoding = republish(self.boxes.table(rows, np.concatenate(held), dropped=dropped))
        same = None if recoding is None else publication_of(recoding, len(self.boxes.keys))
        return same == self.boxes.publication

    def kept(
        self, listed: list[list[tuple[int, Spread]]], republish: Republish
    ) -> list[tuple[int, tuple[Spread, ...]]]:
        """Returns the worlds in which the search would have published the same, with their weights."""
        found = []
        for chosen in product(*listed):
            world = tuple(spread for _, spread in chosen)
            if self.gives_the_same(world, republish):
                found.append((prod(ways for ways, _ in chosen), world))
        return found


def weigh_values(kept: list[tuple[int, tuple[Spread, ...]]]) -> tuple[Counter[tuple[int, int, int]], int]:
    """Returns, by class, key and combination of values, how many people have it summed over these worlds, and
    the weight of the worlds."""
    sums: Counter[tuple[int, int, int]] = Counter()
    total = 0
    for weight, world in kept:
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
    """Yields all rows of whole numbers with this sum, none above `most`, ascending.

    >>> list(_rows(2, [1, 2, 1]))
    [(0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0)]
    """
    if total > sum(most):
        return
    row, place, left = [0] * len(most), 0, total
    while True:
        for j in reversed(range(place, len(most))):
            row[j] = min(left, most[j])
            left -= row[j]
        yield tuple(row)
        place = len(most) - 1
        while place >= 0 and (not left or row[place] == most[place]):
            left += row[place]
            place -= 1
        if place < 0:
            return
        row[place] += 1
        place, left = place + 1, left - 1

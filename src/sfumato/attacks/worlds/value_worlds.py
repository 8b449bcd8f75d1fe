"""Value worlds: every way in which people whose keys are known may hold the sensitive values of a class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import factorial, prod

import numpy as np

from sfumato.attacks.worlds.published_boxes import PublishedBoxes, Republish, publication_of
from sfumato.core.errors import BadData
from sfumato.core.microdata import Codes

MOST_KEYS = 100
"""With more different keys in a class, its worlds are not listed."""

Spread = tuple[tuple[int, ...], ...]
"""How many people with each key of a class have each of its combinations of values."""


@dataclass(frozen=True, eq=False)
class Register:
    """Everybody's key columns: `codes[i]` are the leaf ranks of a key that `people[i]` people of class
    `owner[i]` have."""

    codes: Codes
    people: tuple[int, ...]
    owner: tuple[int, ...]

    @classmethod
    def of(cls, boxes: PublishedBoxes, codes: Codes) -> Register:
        """Places people, one row of leaf ranks each, in the classes of a published table.

        Raises `BadData` where somebody fits no class or several, or a class has other people than rows.
        """
        keys, often = np.unique(codes, axis=0, return_counts=True)
        fits = np.ones((len(keys), len(boxes.low)), bool)
        for j in range(len(boxes.keys)):
            code = keys[:, j, None]
            fits &= (boxes.low[:, j] <= code) & (code < boxes.high[:, j])
        if np.any(fits.sum(axis=1) != 1):
            raise BadData(
                f"{int(often[fits.sum(axis=1) != 1].sum())} people of the register fit no class, or several",
                remedy="Give the register of the people in this table, and the table that was published.",
            )
        owner = fits.argmax(axis=1)
        inside = np.bincount(owner, often, len(boxes.low)).astype(np.int64)
        if not np.array_equal(inside, boxes.sizes):
            raise BadData(
                f"{int((inside != boxes.sizes).sum())} classes have other people in the register than rows",
                remedy="The register must list everybody in the table once; no row may be suppressed.",
            )
        return cls(keys.astype(np.int32), tuple(often.tolist()), tuple(owner.tolist()))

    def keys_of(self, c: int) -> list[int]:
        """Returns the keys that people of class c have."""
        return self.by_class.get(c, [])

    @cached_property
    def by_class(self) -> dict[int, list[int]]:
        """By class, the keys that its people have."""
        found: dict[int, list[int]] = {}
        for i, owner in enumerate(self.owner):
            found.setdefault(owner, []).append(i)
        return found


@dataclass(frozen=True, eq=False)
class ValueWorlds:
    """All worlds of the people of a register: within each class its values are dealt out in any way."""

    boxes: PublishedBoxes
    register: Register

    def listed(self, most: int) -> list[list[tuple[int, Spread]]] | None:
        """Returns, per class, all spreads with the ways to deal them; `None` if there are more than `most`
        worlds, or a class has more than `MOST_KEYS` keys."""
        found, total = [], 1
        if max(map(len, self.register.by_class.values()), default=0) > MOST_KEYS:
            return None
        for c in range(len(self.boxes.low)):
            spreads = []
            for spread in self._of_class(c):
                spreads.append(spread)
                if total * len(spreads) > most:
                    return None
            found.append(spreads)
            total *= len(spreads)
        return found

    def _of_class(self, c: int) -> Iterator[tuple[int, Spread]]:
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

    def gives_the_same(self, world: tuple[Spread, ...], republish: Republish) -> bool:
        """Whether the search would have published the same table in this world."""
        codes, held = [], []
        for c, spread in enumerate(world):
            for i, row in zip(self.register.keys_of(c), spread, strict=True):
                values = np.repeat(self._held[c], row, axis=0)
                codes.append(np.tile(self.register.codes[i], (len(values), 1)))
                held.append(values)
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
    for first in range(min(total, most[0]) + 1):
        for rest in _rows(total - first, most[1:]):
            yield (first, *rest)

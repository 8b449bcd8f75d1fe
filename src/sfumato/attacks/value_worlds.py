"""Value worlds: every way in which people whose keys are known may hold the sensitive values of a class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from math import comb, factorial, prod

import numpy as np

from sfumato.attacks.class_worlds import (
    DRAWS_OF_OTHERS,
    MOST_OF_A_CLASS,
    ClassWorlds,
    ListedClass,
    OthersKeep,
    WeighedWorld,
    added_up,
    affordable,
    stays_or_not,
)
from sfumato.attacks.known_search import PublishedBoxes, Register, Republish, publication_of
from sfumato.table.microdata import Codes

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
        listed, total = [], 1
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
            listed.append(spreads)
            total *= len(spreads)
        return listed

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
        value_codes = np.concatenate([np.repeat(self.held[c], row, axis=0) for row in spread])
        return self.register.people_of(c), value_codes

    def gives_the_same(self, world: tuple[Spread, ...], republish: Republish) -> bool:
        """Whether the search would have published the same table in this world."""
        codes, value_rows = zip(*(self.rows_of(c, spread) for c, spread in enumerate(world)), strict=True)
        rows, dropped = list(np.concatenate(codes).T), self.register.dropped
        recoding = republish(self.boxes.table(rows, np.concatenate(value_rows), dropped=dropped))
        publication = None if recoding is None else publication_of(recoding, len(self.boxes.keys))
        return publication == self.boxes.publication

    def kept(
        self, listed: list[list[tuple[int, Spread]]], republish: Republish
    ) -> list[tuple[int, tuple[Spread, ...]]]:
        """Returns the worlds in which the search would have published the same, with their weights."""
        consistent = []
        for chosen in product(*listed):
            world = tuple(spread for _, spread in chosen)
            if self.gives_the_same(world, republish):
                consistent.append((prod(ways for ways, _ in chosen), world))
        return consistent


def weigh_values(worlds: list[tuple[int, tuple[Spread, ...]]]) -> tuple[Counter[tuple[int, int, int]], int]:
    """Returns, by class, key and combination of values, how many people have it summed over these worlds, and
    the weight of the worlds."""
    sums: Counter[tuple[int, int, int]] = Counter()
    total = 0
    for weight, world in worlds:
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
        remaining = [have - used for have, used in zip(columns, first, strict=True)]
        for below in _spreads(rows[1:], remaining):
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


# Dealt values: worlds of one class whose people are known, its sensitive values dealt out at random.


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
        value_codes, worlds, dealt = self.draws.boxes.values_of(c), [], 0
        spent = self.draws.searches + searches
        while not dealt or (self.draws.searches < spent and dealt < searches):
            dealt += 1
            deal = value_codes[rng.permutation(len(value_codes))]
            if self._same(c, deal, rng):
                worlds.append(deal)
        return np.array(worlds, np.int32).reshape(-1, *value_codes.shape), dealt

    def _same(self, c: int, deal: Codes, rng: np.random.Generator) -> bool:
        """Whether the search would have stopped where it did."""
        draws = self.draws
        if draws.recodes_locally:
            return draws.stays(c, self.register.people_of(c), deal)
        dealt = {c: deal}
        return all(self._kept_back(self._likeliest_first(c, j), j, dealt, rng) for j in self.hiding(c))

    def hiding(self, c: int) -> list[int]:
        """Returns the key columns in which class c hides something."""
        boxes = self.draws.boxes
        return [j for j in range(len(boxes.keys)) if boxes.parts(c, j).any()]

    def others_keep(self, c: int, draws: int, rng: np.random.Generator) -> list[frozenset[int]]:
        """Returns, as often as asked, the key columns that classes beside c keep back, their values dealt
        out anew; nothing where no other class would be finer with c."""
        others = {j: [owner for owner in self._likeliest_first(c, j) if owner != c] for j in self.hiding(c)}
        if not any(others.values()):
            return []
        undivided = []
        for _ in range(draws):
            dealt: dict[int, Codes] = {}
            undivided.append(
                frozenset(j for j, owners in others.items() if self._kept_back(owners, j, dealt, rng))
            )
        return undivided

    def _kept_back(
        self, classes: list[int], j: int, dealt: dict[int, Codes], rng: np.random.Generator
    ) -> bool:
        """Whether one of these classes would break a promise, were key column j finer.

        The values of a class are dealt out when it is first asked for, once for all columns.
        """
        for owner in classes:
            if owner not in dealt:
                value_codes = self.draws.boxes.values_of(owner)
                dealt[owner] = value_codes[rng.permutation(len(value_codes))]
            if not self.draws.divides(owner, j, self.register.people_of(owner)[:, j], dealt[owner]):
                return True
        return False

    def _likeliest_first(self, c: int, j: int) -> list[int]:
        """Returns class c and those that would be finer with it, by the fewest people in a part."""
        if (c, j) not in self._order:
            classes = [c, *self.draws.finer_together(c, j).tolist()]
            self._order[c, j] = sorted(classes, key=lambda owner: self._smallest_part(owner, j))
        return self._order[c, j]

    @cached_property
    def _order(self) -> dict[tuple[int, int], list[int]]:
        return {}

    def _smallest_part(self, c: int, j: int) -> int:
        boxes, codes = self.draws.boxes, self.register.people_of(c)[:, j]
        people = np.bincount(boxes.parts(c, j)[codes - boxes.low[c, j]])
        return int(people[people > 0].min())


# Value lists: every way to deal out the values of one class to its people, where there are few.


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

    def _worlds(self, c: int) -> Iterator[WeighedWorld]:
        boxes, draws = self.worlds.boxes, self.dealt.draws
        class_values = boxes.held[boxes.owner == c][:, self.column].tolist()
        for ways, spread in self.worlds.of_class(c):
            codes, values = self.worlds.rows_of(c, spread)
            if draws.recodes_locally:
                broken = frozenset(() if draws.stays(c, codes, values) else (0,))
            else:
                broken = frozenset(
                    j for j in self.dealt.hiding(c) if draws.divides(c, j, codes[:, j], values)
                )
            yield Fraction(ways), [_counted(class_values, row) for row in spread], broken


def _counted(values: list[int], row: tuple[int, ...]) -> Counter[int]:
    """Returns how many people have which value; several combinations of values may share it."""
    tally: Counter[int] = Counter()
    for value, n in zip(values, row, strict=True):
        if n:
            tally[value] += n
    return tally

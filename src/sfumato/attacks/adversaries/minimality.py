"""Minimality: sensitive values, guessed by somebody who knows everybody's keys and how the search decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from math import comb, factorial, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.class_worlds import (
    DRAWS_OF_OTHERS,
    LEAST_KEPT,
    MOST_OF_A_CLASS,
    ClassWorlds,
    ListedClass,
    OthersKeep,
    WeighedWorld,
    added_up,
    affordable,
    drawn_people,
    error_of,
    stays_or_not,
)
from sfumato.attacks.known_search import (
    ALL_WORLDS,
    SINGLE_CLASSES,
    KnownSearch,
    PublishedBoxes,
    Register,
    Republish,
    publication_of,
)
from sfumato.models.attack_contract import PublishedTable, format_people
from sfumato.system.verdict import CERTAINTY, VALUES, AttackLimits, Finding
from sfumato.table.microdata import Codes, Counts, Microdata
from sfumato.table.taxonomy import ANY

# Value worlds: every way in which people whose keys are known may hold the sensitive values of a class.

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
            yield _ways(keys, spread), spread

    def _count_of_suppressed(self) -> int:
        """Returns how many spreads the people in no class have; one where there are none."""
        values = prod(len(column.taxonomy.leaves) for column in self.boxes.values)
        people = (self.register.people[i] for i in self.register.keys_of(self.register.suppressed))
        return prod(comb(values + n - 1, n) for n in people)

    def _of_suppressed(self) -> Iterator[tuple[int, Spread]]:
        """Yields the spreads of the people in no class, and in how many ways they can hold them."""
        keys = [self.register.people[i] for i in self.register.keys_of(self.register.suppressed)]
        for spread in product(*(_rows(n, [n] * len(self.any_values)) for n in keys)):
            yield _ways(keys, spread), spread

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


def _ways(people: Sequence[int], spread: Spread) -> int:
    """Returns in how many ways people can hold the values of a spread."""
    return prod(factorial(n) // prod(map(factorial, row)) for n, row in zip(people, spread, strict=True))


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


# Suppressed people: what worlds tell of two of them together, though nobody's own value is told.
#
# Values of people who were suppressed for being alike are as open as before, if no value is rarer than
# another:
# only somebody who knows the value of one learns that of the next.


def two_alike(
    worlds: ValueWorlds, consistent: Sequence[tuple[int, tuple[Spread, ...]]], column: int
) -> dict[str, int | Fraction | str]:
    """Returns how likely two suppressed people have the same value of a sensitive column, before and after,
    for the two of whom it is likeliest; and how many people are suppressed."""
    register, gone = worlds.register, worlds.register.suppressed
    leaves = worlds.any_values[:, column].tolist()
    people = [register.people[key] for key in register.keys_of(gone)]
    alike: Counter[tuple[int, int]] = Counter()
    total = 0
    for weight, world in consistent:
        total += weight
        row_values = [_by_value(leaves, row) for row in world[gone]]
        for i, mine in enumerate(row_values):
            for j in range(i, len(row_values)):
                alike[i, j] += weight * sum(n * (row_values[j][v] - (i == j)) for v, n in mine.items())
    pairs = {
        (i, j): people[i] * (people[j] - (i == j)) for i in range(len(people)) for j in range(i, len(people))
    }
    before = Fraction(1, len(set(leaves)))
    after = [Fraction(alike[pair], total * n) for pair, n in pairs.items() if n and total]
    return {
        "people suppressed": register.gone,
        "two alike before": before,
        "two alike after": max(after, default=before),
    }


def _by_value(leaves: Sequence[int], row: Sequence[int]) -> Counter[int]:
    """Returns how many people have which value, of a row of combinations of values."""
    tally: Counter[int] = Counter()
    for leaf, n in zip(leaves, row, strict=True):
        if n:
            tally[leaf] += n
    return tally


NO_ERROR = Fraction(0)
SUPPRESSED = ", and what they tell of suppressed people"


@dataclass(frozen=True)
class ValueMinimality:
    """A class that was not divided could not be, and who holds which value may have been the reason.

    The adversary has a `register`, everybody's key columns, so only the sensitive values are open: within a
    class they may be dealt out in any way, all equally likely. Those worlds are kept in which the search
    publishes the same table. If the promises do not look at values, all are kept, and nothing is learned.
    Small tables are decided by listing all worlds, larger ones estimated from worlds of single classes.

    Whoever is in the register and in no class was suppressed, and where promises are about values, these may
    have been the reason. They may be any that the table knows, everybody's alike; that is decided on
    small tables only.

    A breach is a chance above what the promises allow, or fewer possible values than they ask for, that the
    table alone does not give.

    Source: Wong, Fu, Wang and Pei, *Minimality attack in privacy preserving data publishing*, 2007.
    Silent on: what several classes tell together, and suppressed people, where worlds are drawn.
    """

    known: KnownSearch
    register: Microdata

    name: ClassVar[str] = "minimality"
    knows: ClassVar[str] = "everybody's key columns, the promises, and how the search decides"
    seeks: ClassVar[str] = "a person's sensitive value"
    succeeds: ClassVar[str] = "a value is guessed with more than the allowed chance"
    threatens: ClassVar[tuple[str, ...]] = ("l-diversity", "confidence-bounding")

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        boxes = PublishedBoxes.read(published, self.known.builds)
        register = Register.of(
            boxes,
            _register_codes(boxes, self.register),
            suppress=self.known.suppress,
            dropped=self.register.dropped,
        )
        worlds = ValueWorlds(boxes, register)
        listed = worlds.listed(self.known.list_up_to) if boxes.complete else None
        if listed is not None:
            return self._listed(worlds, listed, limits)
        if self.known.classes_silent:
            return []
        return [self._single_classes(worlds, column, limits) for column in range(len(boxes.values))]

    def _listed(
        self, worlds: ValueWorlds, listed: list[list[tuple[int, Spread]]], limits: AttackLimits
    ) -> list[Finding]:
        consistent = worlds.kept(listed, self.known.republish)
        sums, total = weigh_values(consistent)
        boxes, register = worlds.boxes, worlds.register
        figures: dict[str, int | Fraction | str] = {
            "method": ALL_WORLDS,
            "worlds": prod(len(spreads) for spreads in listed),
            "impossible": int(not total),
        }
        findings = []
        for column in range(len(boxes.values)):
            published, gone = _Seen(boxes, column, limits), _Seen(boxes, column, limits)
            for c, class_values in enumerate(worlds.held):
                values = class_values[:, column]
                often = boxes.counts[boxes.owner == c] if c < register.suppressed else None
                before = _fractions(np.bincount(values, often).astype(np.int64))
                for i, key in enumerate(register.keys_of(c)):
                    people = register.people[key]
                    after: dict[int, int] = {}
                    for v, leaf in enumerate(values.tolist()):
                        if n := sums[c, i, v]:
                            after[leaf] = after.get(leaf, 0) + n
                    chances = [Fraction(n, total * people) for n in after.values()] if total else []
                    (gone if c == register.suppressed else published).add(people, before, chances or before)
            findings.append(self._finding(published, figures))
            if register.gone:
                alike = two_alike(worlds, consistent, column)
                findings.append(_of_suppressed(self._finding(gone, {**figures, **alike})))
        return findings

    def _single_classes(self, worlds: ValueWorlds, column: int, limits: AttackLimits) -> Finding:
        """Estimates the same from the classes of people who are drawn: all ways to deal out the values of a
        class where these are few, otherwise some."""
        boxes, register, search = worlds.boxes, worlds.register, self.known.of_classes(worlds.boxes)
        rng = np.random.default_rng([search.seed, column])
        draws = ClassWorlds(boxes, search, {})
        drawn = drawn_people(np.where(register.placed, boxes.sizes, 0), rng)
        listing = ValueLists(worlds, DealtValues(draws, register), column, rng)
        listed = listing.chosen(drawn, search.steps // 2)
        others = max(1, len(drawn) - len(listed))
        people, each = sum(drawn.values()), max(2 * LEAST_KEPT, search.steps // 2 // others)
        placed = int(boxes.sizes[register.placed].sum())
        tally, informed, left = _Seen(boxes, column, limits, sample_of=placed), 0, Fraction(0)
        for c, times in drawn.items():
            size = int(boxes.sizes[c])
            before = _fractions(np.bincount(boxes.values_of(c)[:, column]).astype(np.int64))
            who = range(size) if times == size else rng.integers(0, size, times).tolist()
            if c in listed:
                class_list = listing.told(c)
                informed += times
                left += Fraction(times, people) * class_list.left
                for group in register.key_numbers(c)[list(who)].tolist():
                    _add(tally, class_list, group, before)
                continue
            consistent, tries = listing.dealt.kept(c, each, rng)
            informed += times * (len(consistent) >= LEAST_KEPT)
            left += Fraction(times * len(consistent), people * tries)
            learned = LEAST_KEPT <= len(consistent) < tries  # where every world was kept, nothing is learned
            right = _tried(consistent[:, :, column], register.key_numbers(c)) if learned else None
            for person in who:
                chances = before if right is None else [right[person]]
                tally.add(1, before, chances, error=error_of(len(consistent)))
        for c in listing.beside(drawn, search.steps // 2):
            class_list = listing.told(c)
            before = _fractions(np.bincount(boxes.values_of(c)[:, column]).astype(np.int64))
            for group, key in enumerate(register.keys_of(c)):
                _add(tally, class_list, group, before, people=register.people[key], drawn=False)
        figures: dict[str, int | Fraction | str] = {
            "method": "worlds of single classes",
            "people drawn": people,
            "people told of": int(informed),
            "classes listed": listing.count,
            "searches": draws.searches,
            "seed": search.seed,
            "error": error_of(people),
            "worlds left": left,
            "people not placed": int(boxes.sizes[~register.placed].sum()),
        }
        if register.gone:
            figures["people suppressed"] = register.gone
        return self._finding(tally, figures)

    def _finding(self, tally: _Seen, figures: Mapping[str, int | Fraction | str]) -> Finding:
        error = Fraction(figures.get("error", 0))
        about = f" (± {float(error):.3f})" if error else ""
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{tally.name}: the value is guessed right {float(tally.mean_after):.1%} of the"
            f" time{about}, {float(tally.mean_before):.1%} without knowing the search; beyond what is allowed"
            f" for {format_people(tally.beyond)}",
            confidence=tally.best,
            people=tally.beyond,
            breach=tally.exposed > 0 or tally.share_beyond > error,
            columns=(tally.name,),
            details={
                **figures,
                "before": tally.mean_before,
                "after": tally.mean_after,
                "largest gain": tally.gain,
                "limit": tally.limit,
            },
            not_tried="" if figures["method"] == ALL_WORLDS else SINGLE_CLASSES + SUPPRESSED,
        )


def _of_suppressed(finding: Finding) -> Finding:
    """Returns the finding as one about suppressed people, of whom two may be known to be alike."""
    before, after = (float(Fraction(finding.details[f"two alike {when}"])) for when in ("before", "after"))
    alike = f"two of them have the same with a chance of {after:.1%}, {before:.1%} without"
    return replace(finding, sentence=f"suppressed people, {finding.sentence}; {alike}")


class _Seen:
    """People that were looked at: how often the best guess is right, before and after."""

    def __init__(
        self, boxes: PublishedBoxes, column: int, limits: AttackLimits, *, sample_of: int = 0
    ) -> None:
        self.name = boxes.values[column].name
        self.limit, _ = limits.limit(CERTAINTY, self.name)
        self._least, promised = limits.limit(VALUES, self.name)
        self._promised, self._count_values = promised == "promised", not sample_of
        self._scale = Fraction(sample_of)
        self.people, self._beyond, self.exposed = 0, 0, 0
        self._before = self._after = self.best = self.gain = Fraction(0)

    def add(
        self,
        people: int,
        before: list[Fraction],
        after: list[Fraction],
        *,
        error: Fraction = NO_ERROR,
        drawn: bool = True,
        listed: bool = False,
    ) -> None:
        """Counts people with these chances of every value that is possible for them.

        A chance that was estimated is beyond what is allowed where it is so less its `error`. Where all
        worlds were `listed`, that is no estimate, and such people are exposed. Those who were not `drawn`
        count for nothing else.
        """
        was, now = max(before), max(after)
        few = (listed or self._count_values) and self._promised and len(after) < self._least <= len(before)
        beyond = people * (few or now - error > self.limit >= was or now - error == 1 > was)
        self.exposed += beyond if listed else 0
        self.best = max(self.best, now)
        self.gain = max(self.gain, now - error - was)
        if drawn:
            self.people += people
            self._before += people * was
            self._after += people * now
            self._beyond += beyond

    @property
    def share_beyond(self) -> Fraction:
        """The part of those who were drawn of whom more is known than is allowed."""
        return Fraction(self._beyond, max(1, self.people))

    @property
    def beyond(self) -> int:
        """The people of whom more is known than is allowed; of a sample, as many of the whole table."""
        if not self._scale or not self.people:
            return self._beyond
        return max(self.exposed, round(self._scale * self.share_beyond))

    @property
    def mean_before(self) -> Fraction:
        return self._before / max(1, self.people)

    @property
    def mean_after(self) -> Fraction:
        return self._after / max(1, self.people)


def _add(
    tally: _Seen,
    class_list: ListedClass,
    group: int,
    before: list[Fraction],
    *,
    people: int = 1,
    drawn: bool = True,
) -> None:
    """Counts people of a class whose worlds were all listed."""
    after = class_list.chances(group)
    error = max(after) - class_list.surely(group) if after else Fraction(0)
    tally.add(people, before, after or before, error=error, drawn=drawn, listed=class_list.exact)


def _tried(worlds: Codes, key_of: NDArray[np.intp]) -> list[Fraction]:
    """Returns, per person, how often the commonest value of one half of the worlds is right in the other.

    People with equal keys are alike to whoever has the register, so their values are counted together.
    """
    keys, values = int(key_of.max()) + 1, int(worlds.max()) + 1
    right = np.zeros(keys, np.int64)
    for first, second in ((worlds[::2], worlds[1::2]), (worlds[1::2], worlds[::2])):
        counts = np.zeros((keys, values), np.int64)
        np.add.at(counts, (np.broadcast_to(key_of, first.shape), first), 1)
        np.add.at(right, key_of, (second == counts.argmax(axis=1)[key_of]).sum(axis=0))
    trials = np.bincount(key_of) * len(worlds)
    chances = [Fraction(n, m) for n, m in zip(right.tolist(), trials.tolist(), strict=True)]
    return [chances[key] for key in key_of.tolist()]


def _fractions(counts: Counts) -> list[Fraction]:
    total = int(counts.sum())
    return [Fraction(n, total) for n in counts.tolist() if n]


def _register_codes(boxes: PublishedBoxes, register: Microdata) -> Codes:
    """Returns the leaf ranks of everybody in the register, in the order and the trees of the boxes."""
    columns = []
    for column in boxes.keys:
        tree, own = column.taxonomy, register.column(column.name).taxonomy
        nowhere = tree.rank(ANY) if column.name not in boxes.hidden else None
        places = [tree.ranks.get(label, nowhere) for label in own.leaf_labels]
        ranks = np.array([-1 if place is None else place for place in places], np.int32)
        columns.append(ranks[register.codes(column.name)])
    codes: Codes = np.repeat(np.stack(columns, axis=1), register.counts, axis=0)
    return codes

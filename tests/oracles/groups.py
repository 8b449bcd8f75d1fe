"""Blind grouping as a reference program: what is published, with the probability of every fall of its coins.

The program makes *units* from keys alone, sorts them into *kinds* (equal size, equal number of rows), cuts
each kind into *blocks* of equally many neighbouring units, and joins the units of a block that break a
promise, in an order drawn by secret coins. What is published is every group's members and, row by row, their
values as a multiset. `oracles.group_beliefs` computes what that tells.

A person is a number; a *biography* is a string, one letter for the value of each row that the person shows; a
*world* is a tuple of biographies, one per person. Nothing of the project is imported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import NamedTuple

REFUSED = "refused"
"""What is seen of a release that a kind stopped."""

CERTAIN = Fraction(1)


# Coins ----------------------------------------------------------------------------------------------------


class Coins:
    """The secret coins of one run: follows a path of earlier choices, then takes the first of every draw."""

    def __init__(self, path: tuple = ()):
        self.chance = CERTAIN
        self.untried: list[tuple] = []
        self._path = path
        self._taken: list = []

    def pick(self, chances: dict):
        """One of several outcomes, each with its own probability."""
        outcomes = [outcome for outcome, chance in chances.items() if chance]
        step = len(self._taken)
        if step < len(self._path):
            chosen = self._path[step]
        else:
            chosen = 0
            self.untried += [(*self._taken, other) for other in range(1, len(outcomes))]
        self._taken.append(chosen)
        self.chance *= chances[outcomes[chosen]]
        return outcomes[chosen]

    def draw(self, options):
        """One of some things, all equally likely."""
        return self.pick(dict.fromkeys(options, Fraction(1, len(options))))

    def toss(self, chance: Fraction) -> bool:
        return self.pick({True: chance, False: 1 - chance})


def every_outcome(program: Callable[[Coins], object]) -> dict:
    """Outcome -> probability, over every way in which the coins of a program may fall."""
    chances: dict = defaultdict(Fraction)
    paths: list[tuple] = [()]
    while paths:
        coins = Coins(paths.pop())
        outcome = program(coins)
        chances[outcome] += coins.chance
        paths += coins.untried
    return dict(chances)


# Promises: each asks one class, which is the sorted string of its values ----------------------------------


@dataclass(frozen=True)
class Distinct:
    """At least `least` different values: distinct l-diversity."""

    least: int

    def __call__(self, values: str) -> bool:
        return len(set(values)) >= self.least


@dataclass(frozen=True)
class Confidence:
    """At most this share of a class has the value."""

    value: str
    most: Fraction

    def __call__(self, values: str) -> bool:
        return values.count(self.value) <= self.most * len(values)


@dataclass(frozen=True)
class Closeness:
    """At most this far, in total variation, from a distribution that is fixed beforehand: t-closeness."""

    reference: str
    most: Fraction

    def __call__(self, values: str) -> bool:
        apart = [
            abs(
                Fraction(values.count(v), len(values))
                - Fraction(self.reference.count(v), len(self.reference))
            )
            for v in set(values + self.reference)
        ]
        return sum(apart) / 2 <= self.most


# Units, kinds, blocks: from keys alone --------------------------------------------------------------------


def units_from_keys(people: Iterable[int], keys: dict[int, tuple[int, ...]], k: int) -> list[tuple[int, ...]]:
    """Neighbouring units of k to 2k - 1 people: halves along the widest column, as long as halves have k."""
    members = sorted(people)
    if len(members) < 2 * k:
        return [tuple(members)] if len(members) >= k else []
    columns = range(len(keys[members[0]]))
    widest = max(columns, key=lambda c: max(keys[p][c] for p in members) - min(keys[p][c] for p in members))
    members.sort(key=lambda p: (keys[p][widest], keys[p], p))
    middle = len(members) // 2
    return units_from_keys(members[:middle], keys, k) + units_from_keys(members[middle:], keys, k)


def blocks_of(
    units: list[tuple[int, ...]], size: int, coins: Coins
) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Blocks of exactly `size` neighbouring units of one kind; left-over units are drawn, and not shown.

    Fewer than twice as many units are one block.
    """
    if len(units) < 2 * size:
        return (tuple(units),)
    kept = list(units)
    for _ in range(len(units) % size):
        kept.remove(coins.draw(kept))
    return tuple(tuple(kept[start : start + size]) for start in range(0, len(kept), size))


def planned(
    keys: dict[int, tuple[int, ...]],
    shows: dict[int, int],
    *,
    k: int,
    block: int,
    coins: Coins,
    fewest: int = 1,
) -> tuple:
    """The kinds of a release, each a tuple of blocks of units; a kind of too few units is not shown.

    `shows` says how many rows each newcomer shows: people are grouped with people who show as many.
    """
    kinds: dict[tuple[int, int], list[tuple[int, ...]]] = defaultdict(list)
    for rows in sorted(set(shows.values())):
        alike = [person for person, count in shows.items() if count == rows]
        for unit in units_from_keys(alike, keys, k):
            kinds[rows, len(unit)].append(unit)
    return tuple(blocks_of(units, block, coins) for units in kinds.values() if len(units) >= fewest)


# Joining: reads nothing but the classes of units ----------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """What a policy says, and the readings of the rules that are told apart."""

    promises: tuple = ()
    decoys: Fraction = Fraction(1, 20)
    """The chance that a block draws a unit that breaks nothing, which is joined all the same."""
    decoys_in: str = "all"
    """`all` blocks, or only the `quiet` ones, in which no unit breaks a promise."""
    stuck: str = "in turn"
    """Blocks that cannot keep a promise are joined with others one after the other, or all `at once`."""
    spent: str = "reopen"
    """A stuck block finds no block left: `refuse` the release, or `reopen` what earlier ones have joined."""

    def keep(self, classes: tuple[str, ...]) -> bool:
        return _keeps(self.promises, classes)


@lru_cache(maxsize=50_000)
def _keeps(promises: tuple, classes: tuple[str, ...]) -> bool:
    return all(promise(values) for promise in promises for values in classes)


@lru_cache(maxsize=50_000)
def united(units: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """The classes of the people of several units: row by row, sorted."""
    return tuple("".join(sorted("".join(row))) for row in zip(*units, strict=True))


def joined_units(block: tuple, rules: Rules, coins: Coins) -> tuple[int, ...] | None:
    """Which units of a block become one group, by place: none, some, or None if not even all of them can."""
    broken = [place for place, unit in enumerate(block) if not rules.keep(unit)]
    sound = [place for place in range(len(block)) if place not in broken]
    chosen = list(broken)
    if sound and (rules.decoys_in == "all" or not broken) and coins.toss(rules.decoys):
        chosen.append(coins.draw(sound))
    if not chosen:
        return ()
    further = [place for place in range(len(block)) if place not in chosen]
    while further and (len(chosen) == 1 or not rules.keep(united(tuple(block[place] for place in chosen)))):
        chosen.append(coins.draw(further))
        further.remove(chosen[-1])
    if not rules.keep(united(tuple(block[place] for place in chosen))):
        return None
    return tuple(sorted(chosen))


@lru_cache(maxsize=20_000)
def joined_in_block(block: tuple, rules: Rules) -> dict:
    """What `joined_units` does, with probabilities."""
    return every_outcome(lambda coins: joined_units(block, rules, coins))


def joined_blocks(kind: tuple, stuck: list[int], rules: Rules, coins: Coins) -> list[list[int]] | None:
    """Which blocks are joined as wholes, since some of them are stuck; None if the kind stops the release."""

    def kept(blocks: list[int]) -> bool:
        return rules.keep(united(tuple(unit for block in blocks for unit in kind[block])))

    left = list(range(len(kind)))
    clusters: list[list[int]] = []
    while set(stuck) & set(left):
        begun = sorted(set(stuck) & set(left))
        cluster = begun if rules.stuck == "at once" else [coins.draw(begun)]
        left = [block for block in left if block not in cluster]
        while not kept(cluster):
            if left:
                cluster = [*cluster, coins.draw(left)]
                left.remove(cluster[-1])
            elif clusters and rules.spent == "reopen":
                cluster = cluster + clusters.pop(coins.draw(range(len(clusters))))
            else:
                return None
        clusters.append(cluster)
    return clusters


def groups_of_kind(kind: tuple, rules: Rules, coins: Coins) -> object:
    """The groups of a kind, each a tuple of (block, unit) places, or `REFUSED`."""
    joins = [coins.pick(joined_in_block(block, rules)) for block in kind]
    stuck = [place for place, join in enumerate(joins) if join is None]
    clusters = joined_blocks(kind, stuck, rules, coins)
    if clusters is None:
        return REFUSED
    groups = [
        tuple(sorted((block, unit) for block in cluster for unit in range(len(kind[block]))))
        for cluster in clusters
    ]
    whole = {block for cluster in clusters for block in cluster}
    for block, join in enumerate(joins):
        if block not in whole:
            groups += [tuple((block, unit) for unit in join)] if join else []
            groups += [((block, unit),) for unit in range(len(kind[block])) if unit not in join]
    return tuple(sorted(groups))


@lru_cache(maxsize=20_000)
def grouped(kind: tuple, rules: Rules) -> dict:
    """What `groups_of_kind` does, with probabilities; `kind` holds classes, nothing else."""
    return every_outcome(lambda coins: groups_of_kind(kind, rules, coins))


# What is published ----------------------------------------------------------------------------------------


class Group(NamedTuple):
    """What the shadow adversary knows of a group: its members, and the multiset of values of each class."""

    members: tuple[int, ...]
    classes: tuple[str, ...]


def classes_of(members: Iterable[int], world: tuple[str, ...]) -> tuple[str, ...]:
    """Row by row, what some people show."""
    return united(tuple(world[person]) for person in members)


def contents(kind: tuple, world: tuple[str, ...]) -> tuple:
    """What the program reads of a world: the classes of every unit of a kind."""
    return tuple(tuple(classes_of(unit, world) for unit in block) for block in kind)


def published(plan: tuple, rules: Rules, world: tuple[str, ...]) -> dict:
    """Observation -> probability: a frozenset of groups, or `REFUSED`."""
    return _published(plan, rules, tuple(contents(kind, world) for kind in plan))


@lru_cache(maxsize=2_000)
def _published(plan: tuple, rules: Rules, held: tuple) -> dict:
    chances: dict = defaultdict(Fraction)
    for falls in product(*(grouped(kind, rules).items() for kind in held)):
        chance = CERTAIN
        groups: list[Group] = []
        refused = False
        for units_of, classes, (places, probability) in zip(plan, held, falls, strict=True):
            chance *= probability
            if places == REFUSED:
                refused = True
                continue
            for group in places:
                values = united(tuple(classes[block][unit] for block, unit in group))
                groups.append(Group(_members(units_of, group), values))
        chances[REFUSED if refused else frozenset(groups)] += chance
    return dict(chances)


@lru_cache(maxsize=10_000)
def _members(kind: tuple, group: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    return tuple(sorted(person for block, unit in group for person in kind[block][unit]))

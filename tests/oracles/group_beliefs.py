"""All worlds behind published groups, and what is believed after each observation, exactly.

Worlds deal the shown values out to people in every possible way. The adversary knows the keys, the units, the
program and the members of every group, and not the coins: `believed` runs the program on every world, with
all falls of its coins, and collects what is believed of each person. `gaps` compares it with the histograms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from math import lcm
from typing import NamedTuple

from oracles.groups import REFUSED, Rules, published


def dealt(values: str) -> Iterator[tuple[str, ...]]:
    """Every way to deal a multiset of values out to people, each once."""
    left = Counter(values)

    def deal(count: int) -> Iterator[tuple[str, ...]]:
        if not count:
            yield ()
            return
        for value in sorted(left):
            if left[value]:
                left[value] -= 1
                for rest in deal(count - 1):
                    yield (value, *rest)
                left[value] += 1

    yield from deal(len(values))


def worlds_of(*rows: str) -> Iterator[tuple[str, ...]]:
    """Every world in which people's first rows hold one multiset, their second rows another, and so on."""
    for deal in product(*(list(dealt(values)) for values in rows)):
        yield tuple("".join(biography) for biography in zip(*deal, strict=True))


class Belief:
    """What is believed after one observation: each person's biographies, with whole numbers as weights."""

    def __init__(self, people: int):
        self.people: list[dict[str, int]] = [{} for _ in range(people)]
        self.weight = 0

    def about(self, person: int, row: int = 0) -> dict[str, Fraction]:
        """Value -> belief that one shown row of a person has it."""
        return {value: Fraction(w, self.weight) for value, w in self._weights(person, row).items() if w}

    def ever(self, person: int, value: str) -> Fraction:
        """The belief that some row of a person has a value."""
        return Fraction(sum(w for b, w in self.people[person].items() if value in b), self.weight)

    def equals(self, person: int, row: int, values: str) -> bool:
        """Whether the belief about a row is the histogram of a class."""
        weights = self._weights(person, row)
        shares = Counter(values)
        return all(
            weights.get(value, 0) * len(values) == shares[value] * self.weight
            for value in weights.keys() | shares.keys()
        )

    def _weights(self, person: int, row: int) -> dict[str, int]:
        weights: dict[str, int] = {}
        for biography, weight in self.people[person].items():
            weights[biography[row]] = weights.get(biography[row], 0) + weight
        return weights


def believed(
    worlds: Iterable[tuple[str, ...]],
    publish: Callable[[tuple[str, ...]], dict],
    *,
    likely: Callable[[str], int] = lambda _: 1,
    knows: tuple[int, ...] = (),
) -> dict[object, Belief]:
    """Observation -> what an adversary believes who sees it, and who knows the program and all worlds.

    `likely` is a rule on how the rows of one person hang together: the weight of a biography, the same for
    all people. `knows` are people whose biographies the adversary knows; then observations are pairs of what
    is published and these biographies.
    """
    # Worlds that the program cannot tell apart are counted first, as whole numbers; coins come after.
    falls: dict[tuple, dict] = {}
    weights: Counter = Counter()
    tallies: dict[tuple, list[Counter]] = {}
    for world in worlds:
        weight = 1
        for biography in world:
            weight *= likely(biography)
        chances = publish(world)
        same = (id(chances), tuple(world[person] for person in knows))
        if same not in falls:
            falls[same] = chances
            tallies[same] = [Counter() for _ in world]
        weights[same] += weight
        for tally, biography in zip(tallies[same], world, strict=True):
            tally[biography] += weight
    # Only ratios count from here on, so probabilities become whole numbers: fractions are slow.
    scale = lcm(*(chance.denominator for chances in falls.values() for chance in chances.values()))
    beliefs: dict[object, Belief] = {}
    for same, chances in falls.items():
        tally = [tuple(counts.items()) for counts in tallies[same]]
        for observation, chance in chances.items():
            factor = chance.numerator * (scale // chance.denominator)
            seen = (observation, same[1]) if knows else observation
            if seen not in beliefs:
                beliefs[seen] = Belief(len(tally))
            belief = beliefs[seen]
            belief.weight += factor * weights[same]
            for biographies, counts in zip(belief.people, tally, strict=True):
                for biography, count in counts:
                    biographies[biography] = biographies.get(biography, 0) + factor * count
    return {seen: belief for seen, belief in beliefs.items() if belief.weight}


def histogram(values: str) -> dict[str, Fraction]:
    """Value -> its share of a class."""
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


class Gap(NamedTuple):
    """Somebody of whom more is believed than the class says, or less."""

    observation: object
    person: int
    row: int
    belief: dict[str, Fraction]
    shown: dict[str, Fraction]


def gaps(beliefs: dict[object, Belief], groups: Callable = lambda observation: observation) -> list[Gap]:
    """Everybody about whom the belief differs from the histogram of their class: nobody, if all is blind."""
    return [
        Gap(observation, person, row, belief.about(person, row), histogram(values))
        for observation, belief in beliefs.items()
        if observation != REFUSED
        for group in groups(observation)
        for row, values in enumerate(group.classes)
        for person in group.members
        if not belief.equals(person, row, values)
    ]


def exposed(beliefs: dict[object, Belief]) -> list[tuple[object, int, str]]:
    """Everybody about whose value somebody is certain: observation, person, biography."""
    return [
        (observation, person, next(iter(biographies)))
        for observation, belief in beliefs.items()
        for person, biographies in enumerate(belief.people)
        if len([b for b, weight in biographies.items() if weight]) == 1
    ]


class Insight(NamedTuple):
    """What members of groups of several units, who know their own values, believe of each other."""

    members: Fraction
    """The share of people who are in such a group."""
    certain: Fraction
    """Of them, the share that is certain of a value of somebody else, and should not be."""
    most: Fraction
    """The largest belief of one of them in a value of another that the rest of the class holds less often."""
    excess: Fraction
    """By how much, on average over them, the largest belief exceeds the share among the rest of the class."""


def insight(plan: tuple, values: str, rules: Rules) -> Insight:
    """What everybody in turn, knowing their own value, believes of others, against the rest of the class."""
    people = range(len(values))
    units = {unit for kind in plan for block in kind for unit in block}
    total = members = certain = excess = Fraction(0)
    most = Fraction(0)
    for insider in people:
        for (seen, (own,)), belief in believed(
            worlds_of(values), lambda world: published(plan, rules, world), knows=(insider,)
        ).items():
            total += belief.weight
            for group in () if seen == REFUSED else seen:
                if insider not in group.members or group.members in units:
                    continue
                rest = histogram(group.classes[0].replace(own, "", 1))
                over = [
                    (chance, chance - rest.get(value, 0))
                    for person in group.members
                    if person != insider
                    for value, chance in belief.about(person).items()
                ]
                members += belief.weight
                certain += belief.weight * any(chance == 1 and more for chance, more in over)
                excess += belief.weight * max(more for _, more in over)
                most = max([most, *(chance for chance, more in over if more > 0)])
    if not members:
        return Insight(Fraction(0), Fraction(0), most, Fraction(0))
    return Insight(members / total, certain / members, most, excess / members)

"""All worlds behind a published table about people with several rows: the oracle of judging by positions.

A world says who has which value; a person has the same value in every row. Outsiders know everybody's key
values, hence everybody's position, and the values that each class shows. Nothing of the project is imported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product
from math import lcm, prod


def profiles(rows):
    """Person -> multiset of classes; `rows` are (person, class, value)."""
    found = defaultdict(Counter)
    for person, place, _ in rows:
        found[person][place] += 1
    return {person: frozenset(held.items()) for person, held in found.items()}


def shown(rows):
    """Class -> multiset of values: what is published."""
    found = defaultdict(Counter)
    for _, place, value in rows:
        found[place][value] += 1
    return {place: frozenset(held.items()) for place, held in found.items()}


def worlds(rows):
    """Every assignment of one value to each person that publishes the same table."""
    known, told = profiles(rows), shown(rows)
    people, values = sorted(known), sorted({value for _, _, value in rows})
    for choice in product(values, repeat=len(people)):
        value_of = dict(zip(people, choice, strict=True))
        if shown([(who, place, value_of[who]) for who, place, _ in rows]) == told:
            yield value_of


def position_histograms(value_of, known):
    """Position -> how many of its people have each value."""
    found = defaultdict(Counter)
    for who, value in value_of.items():
        found[known[who]][value] += 1
    return found


def accepted(rows, keeps):
    """The worlds that an outsider who knows the rule cannot rule out: every position keeps the promise."""
    known = profiles(rows)
    return [w for w in worlds(rows) if all(map(keeps, position_histograms(w, known).values()))]


def belief(some_worlds, person, weight=lambda _: Fraction(1)):
    """What is believed of a person's value, if worlds weigh so much: value -> share."""
    total, found = Fraction(0), defaultdict(Fraction)
    for world in some_worlds:
        found[world[person]] += weight(world)
        total += weight(world)
    return {value: share / total for value, share in found.items()}


def possible_without_register(rows, profile):
    """The values that somebody with this profile can have, if nobody else's rows are known."""
    told = shown(rows)
    values = {value for _, _, value in rows}
    return {v for v in values if all(dict(told[place]).get(v, 0) >= often for place, often in profile)}


def in_whole_numbers(shares):
    """A belief as a histogram of whole numbers."""
    common = lcm(*(share.denominator for share in shares.values()))
    return Counter({value: int(share * common) for value, share in shares.items() if share})


def distinct(held, least):
    return len(held) >= least


def confident(held, most):
    return max(held.values()) <= most * sum(held.values())


def entropy(held, least):
    n = sum(held.values())
    return n**n * least.denominator**n >= least.numerator**n * prod(c**c for c in held.values())


def recursive(held, least, c):
    falling = sorted(held.values(), reverse=True)
    return bool(falling[least - 1 :]) and falling[0] < c * sum(falling[least - 1 :])

"""All worlds behind a published table about people with several rows: the oracle of judging by positions.

A world says who has which value; a person has the same value in every row. Outsiders know everybody's key
values, hence everybody's position, and the values that each class shows. Nothing of the project is imported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations, product
from math import lcm, log, prod


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
    return [
        w
        for w in worlds(rows)
        if all(keeps(h, Counter(w.values())) for h in position_histograms(w, known).values())
    ]


def mean_shares(some_worlds, weight=lambda _: Fraction(1)):
    """What is believed of a person of whom nothing is known: value -> share among all people."""
    total, found = Fraction(0), defaultdict(Fraction)
    for world in some_worlds:
        for value, people in Counter(world.values()).items():
            found[value] += weight(world) * Fraction(people, len(world))
        total += weight(world)
    return {value: share / total for value, share in found.items()}


def value_worlds(rows):
    """Every way to deal the values of each class out to its rows, people with any values in their rows:
    person -> set of values, with how many ways there are."""
    places = sorted({place for _, place, _ in rows})
    dealt = [Counter(permutations([value for _, p, value in rows if p == place])).items() for place in places]
    owners = [[who for who, p, _ in rows if p == place] for place in places]
    for chosen in product(*dealt):
        held = defaultdict(set)
        for people, (values, _) in zip(owners, chosen, strict=True):
            for who, value in zip(people, values, strict=True):
                held[who].add(value)
        yield dict(held), prod(ways for _, ways in chosen)


def largest_share(held, known):
    """The largest share of the people of a position who have one and the same value."""
    together = defaultdict(list)
    for who, values in held.items():
        together[known[who]].append(values)
    return max(
        Fraction(sum(value in values for values in people), len(people))
        for people in together.values()
        for value in set().union(*people)
    )


def close(held, overall, most):
    """Whether half of the sum of differences between two distributions is at most so much."""
    n, m = sum(held.values()), sum(overall.values())
    every = set(held) | set(overall)
    return sum(abs(Fraction(held[v], n) - Fraction(overall[v], m)) for v in every) / 2 <= most


def alike(held, overall, most, *, enhanced=False):
    """Whether no value has grown by more than so many times, or -ln of what it was."""
    n, m = sum(held.values()), sum(overall.values())
    for value, count in held.items():
        before = Fraction(overall[value], m)
        gain = Fraction(count, n) / before - 1
        if gain > most or (enhanced and gain > 0 and float(gain) > -log(before) + 1e-12):
            return False
    return True


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

"""Judging by positions against all worlds: whoever knows everybody's rows learns no more than is promised.

`SFUMATO_CASES` says how many random tables are tried.
"""

import os
import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from oracles import person_worlds as plain
from sfumato.core.classes import Classes
from sfumato.core.microdata import Column, Microdata, Role
from sfumato.core.positions import positions
from sfumato.core.taxonomy import Taxonomy
from sfumato.promises import (
    AlphaKAnonymity,
    ConfidenceBounding,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)

CASES = int(os.environ.get("SFUMATO_CASES", "40"))
HALF, THIRD = Fraction(1, 2), Fraction(2, 3)

PROMISED = [
    (DistinctLDiversity("s", 2), lambda held: plain.distinct(held, 2)),
    (DistinctLDiversity("s", 3), lambda held: plain.distinct(held, 3)),
    (ConfidenceBounding("s", HALF), lambda held: plain.confident(held, HALF)),
    (ConfidenceBounding("s", THIRD), lambda held: plain.confident(held, THIRD)),
    (AlphaKAnonymity("s", THIRD, 1), lambda held: plain.confident(held, THIRD)),
    (EntropyLDiversity("s", Fraction(3, 2)), lambda held: plain.entropy(held, Fraction(3, 2))),
    (EntropyLDiversity("s", Fraction(2)), lambda held: plain.entropy(held, Fraction(2))),
    (RecursiveLDiversity("s", 2, Fraction(2)), lambda held: plain.recursive(held, 2, Fraction(2))),
]


@dataclass
class Figures:
    """What became of random tables: certified, refused, and refused although nobody learns too much."""

    certified: int = 0
    breached: int = 0
    refused: int = 0
    safe_but_refused: int = 0
    class_by_class: int = 0
    """Certified if every class were judged by itself, and breached."""


def visits(rng, *, people=6, classes=3, values=3):
    """Rows (person, class, value) of people with few different profiles."""
    some = [
        tuple(rng.choices(range(classes), k=rng.choice([1, 2, 2, 3]))) for _ in range(rng.choice([1, 2, 3]))
    ]
    rows = []
    for person in range(rng.randint(2, people)):
        value = rng.randrange(values)
        rows += [(person, place, value) for place in rng.choice(some)]
    return rows


def coded(rows):
    """The same rows as microdata, every class a value of its own."""
    person, place, value = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    columns = [
        Column("class", Role.QUASI, Taxonomy.flat([f"q{i}" for i in range(int(place.max()) + 1)])),
        Column("s", Role.SENSITIVE, Taxonomy.flat([f"v{i}" for i in range(int(value.max()) + 1)])),
    ]
    return Microdata.of_codes(columns, [place, value], person=person).with_profiles()


def keeps(promise, table, *, by_position=True):
    class_of = np.unique(table.codes("class"), return_inverse=True)[1]
    groups = positions(table, class_of) if by_position else class_of
    return bool(promise.holds_on(Classes.of(table, groups)).all())


def breaches(rows, worlds, kept, weight=lambda _: Fraction(1)):
    """How many people are believed to have a value beyond what is promised."""
    people = {who for who, _, _ in rows}
    return sum(not kept(plain.in_whole_numbers(plain.belief(worlds, who, weight))) for who in people)


def symmetric_weight(rows, seed):
    """A prior that tells people of one position not apart: it looks at the histograms of positions alone."""
    known = plain.profiles(rows)

    def weight(world):
        told = plain.position_histograms(world, known)
        key = sorted((sorted(p), sorted(h.items())) for p, h in told.items())
        return Fraction(random.Random(f"{seed}{key}").randint(1, 20))

    return weight


def search(cases, seed=0):
    """Figures of so many random tables under random promises."""
    rng, found = random.Random(seed), Figures()
    for case in range(cases):
        rows = visits(rng)
        promise, kept = rng.choice(PROMISED)
        table = coded(rows)
        alone = keeps(promise, table, by_position=False)
        everything = list(plain.worlds(rows))
        if keeps(promise, table):
            left = plain.accepted(rows, kept)
            assert left, "the true world is accepted"
            found.certified += 1
            for weight in (lambda _: Fraction(1), symmetric_weight(rows, case)):
                found.breached += breaches(rows, left, kept, weight)
        else:
            learned = breaches(rows, everything, kept)
            found.refused += 1
            found.safe_but_refused += not learned
            found.class_by_class += alone and learned > 0
    return found


def test_nobody_learns_more_than_is_promised_from_everybodys_rows(record_property):
    found = search(CASES)
    record_property("figures", str(found))
    print(found)
    assert found.breached == 0
    assert found.certified and found.refused
    assert CASES < 1000 or found.class_by_class, "judging class by class certifies breaches"


def test_the_example_of_two_months():
    rows = [(0, 0, 0), (0, 1, 0)]
    rows += [(1 + i, 0, 1 + i // 2) for i in range(4)]
    rows += [(5 + i, 1, 3 + i // 2) for i in range(4)]
    promise = DistinctLDiversity("s", 3)
    assert keeps(promise, coded(rows), by_position=False), "each month shows three diseases"
    assert not keeps(promise, coded(rows))
    assert plain.possible_without_register(rows, plain.profiles(rows)[0]) == {0}
    assert {world[0] for world in plain.worlds(rows)} == {0}


def test_somebody_with_one_row_is_found_by_the_rows_of_others():
    rows = [("P", "x", 1), ("P", "y", 1), ("Q", "y", 1), ("R", "x", 0), ("R", "y", 0)]
    assert plain.possible_without_register(rows, plain.profiles(rows)["Q"]) == {0, 1}
    assert {world["Q"] for world in plain.worlds(rows)} == {1}, "who knows everybody's rows is certain"


@pytest.mark.parametrize("more, share", [(0, 1), (2, HALF)])
def test_a_share_counts_people_who_have_a_value(more, share):
    flu, hiv, cold = range(3)
    rows = [(who, 0, value) for who in range(2) for value in (flu, hiv)]
    rows += [(2 + who, 0, cold) for who in range(more) for _ in range(2)]
    table = coded(rows)
    classes = Classes.of(table, positions(table, np.zeros(table.distinct, np.int32)))
    assert ConfidenceBounding("s", share).verdict(classes).measured == share
    assert Counter(value for _, _, value in rows)[flu] * 2 <= len(rows), "by rows it would look safe"

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
from sfumato.models.beta_likeness.promise import BasicBetaLikeness, EnhancedBetaLikeness
from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.table.classes import Classes, positions
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow

SOAK = os.environ.get("SFUMATO_HYPOTHESIS") == "soak"
CASES = int(os.environ.get("SFUMATO_CASES", "2500" if SOAK else "40"))
HALF, THIRD = Fraction(1, 2), Fraction(2, 3)

PROMISED = [
    (DistinctLDiversity("s", 2), lambda held, _: plain.distinct(held, 2)),
    (DistinctLDiversity("s", 3), lambda held, _: plain.distinct(held, 3)),
    (ConfidenceBounding("s", HALF), lambda held, _: plain.confident(held, HALF)),
    (ConfidenceBounding("s", THIRD), lambda held, _: plain.confident(held, THIRD)),
    (AlphaKAnonymity("s", THIRD, 1), lambda held, _: plain.confident(held, THIRD)),
    (EntropyLDiversity("s", Fraction(3, 2)), lambda held, _: plain.entropy(held, Fraction(3, 2))),
    (EntropyLDiversity("s", Fraction(2)), lambda held, _: plain.entropy(held, Fraction(2))),
    (RecursiveLDiversity("s", 2, Fraction(2)), lambda held, _: plain.recursive(held, 2, Fraction(2))),
]
COMPARED = [
    (TCloseness("s", Fraction(1, 4)), lambda held, whole: plain.close(held, whole, Fraction(1, 4))),
    (TCloseness("s", HALF), lambda held, whole: plain.close(held, whole, HALF)),
    (BasicBetaLikeness("s", Fraction(1)), lambda held, whole: plain.alike(held, whole, 1)),
    (
        EnhancedBetaLikeness("s", Fraction(2)),
        lambda held, whole: plain.alike(held, whole, 2, enhanced=True),
    ),
]
"""Promises that compare with what all people have, which the rows do not tell."""


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
    """How many people are believed to have a value beyond what is promised, compared with what is believed
    of anybody."""
    people = {who for who, _, _ in rows}
    whole = plain.in_whole_numbers(plain.mean_shares(worlds, weight))
    return sum(not kept(plain.in_whole_numbers(plain.belief(worlds, who, weight)), whole) for who in people)


def symmetric_weight(rows, seed):
    """A prior that tells people of one position not apart: it looks at the histograms of positions alone."""
    known = plain.profiles(rows)

    def weight(world):
        told = plain.position_histograms(world, known)
        key = sorted((sorted(p), sorted(h.items())) for p, h in told.items())
        return Fraction(random.Random(f"{seed}{key}").randint(1, 20))

    return weight


def search(cases, promised, seed=0):
    """Figures of so many random tables under random promises."""
    rng, found = random.Random(seed), Figures()
    for case in range(cases):
        rows = visits(rng)
        promise, kept = rng.choice(promised)
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


@pytest.mark.parametrize("promised", [PROMISED, COMPARED], ids=["counted", "compared"])
def test_nobody_learns_more_than_is_promised_from_everybodys_rows(promised, record_property):
    found = search(CASES, promised)
    record_property("figures", str(found))
    assert found.breached == 0
    assert found.certified and found.refused
    assert CASES < 1000 or found.class_by_class, "judging class by class certifies breaches"


def several_values(rng, *, people=4, classes=2, values=4):
    """Rows (person, class, value) of people who may have another value in every row, eight at most."""
    some = [tuple(rng.choices(range(classes), k=rng.choice([1, 2, 2]))) for _ in range(rng.choice([1, 1, 2]))]
    rows = []
    for person in range(rng.randint(2, people)):
        rows += [(person, place, rng.randrange(values)) for place in rng.choice(some)]
    return rows


def search_having(cases, seed=0):
    """Figures of so many random tables: no value may be had by more than a share of a position's people."""
    rng, found = random.Random(seed), Figures()
    for _ in range(cases):
        rows, limit = several_values(rng), rng.choice([HALF, THIRD])
        promise = rng.choice([ConfidenceBounding("s", limit), AlphaKAnonymity("s", limit, 1)])
        known, worlds = plain.profiles(rows), list(plain.value_worlds(rows))
        certified = keeps(promise, coded(rows))
        left = [(w, n) for w, n in worlds if not certified or plain.largest_share(w, known) <= limit]
        total = sum(n for _, n in left)
        believed = Counter()
        for held, n in left:
            believed.update({(who, value): n for who, values in held.items() for value in values})
        beyond = sum(n > limit * total for n in believed.values())
        found.certified += certified
        found.breached += certified and beyond
        found.refused += not certified
        found.safe_but_refused += not certified and not beyond
    return found


def test_nobody_is_believed_to_have_a_value_beyond_what_is_promised():
    found = search_having(CASES)
    assert found.breached == 0
    assert found.certified and found.refused


def test_the_example_of_two_months():
    rows = [(0, 0, 0), (0, 1, 0)]
    rows += [(1 + i, 0, 1 + i // 2) for i in range(4)]
    rows += [(5 + i, 1, 3 + i // 2) for i in range(4)]
    promise = DistinctLDiversity("s", 3)
    assert keeps(promise, coded(rows), by_position=False), "each month shows three diseases"
    assert not keeps(promise, coded(rows))
    assert plain.possible_without_register(rows, plain.profiles(rows)[0]) == {0}
    fewer = [(0, 0, 0), (0, 1, 0), (1, 0, 1), (2, 0, 2), (3, 1, 3), (4, 1, 4)]
    assert {world[0] for world in plain.worlds(fewer)} == {0}, "in all worlds, with fewer people to deal to"


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

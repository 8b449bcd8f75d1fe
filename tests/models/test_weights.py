"""Classes with rational counts: judged exactly, whatever the size of the numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import beliefs as plain_beliefs
from oracles import class_promises as plain
from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.contract import ClassPromise
from sfumato.models.freeform.promise import Freeform
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.table.classes import ROOM, Classes, WeightedClass, WeightedHistogram
from sfumato.table.taxonomy import Taxonomy

TREE = Taxonomy.grow(["*", "low", "high", "a", "b", "c"], [-1, 0, 0, 1, 1, 2], ordered=True)
KNOWN = {"A": ["a", "b"], "B": ["b", "c"], "C": ["c"]}
HUGE = 10**30

weight = st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=60)
counted = st.dictionaries(st.integers(0, 2), st.integers(1, 9), min_size=1)
held = st.dictionaries(st.integers(0, 2), weight, min_size=1)
OVERALL = np.array([5, 3, 4])


def weighted(weights, overall=OVERALL):
    people = sum(weights.values(), Fraction(0))
    return WeightedClass(people, {"s": WeightedHistogram(TREE, weights, overall)})


@given(held, st.fractions(1, 20, max_denominator=9), st.integers(1, 4))
def test_sizes_and_values(weights, share, least):
    total = sum(weights.values())
    assert KAnonymity(least).keeps_weights(weighted(weights)) == (total >= least)
    assert DistinctLDiversity("s", least).keeps_weights(weighted(weights)) == (len(weights) >= least)
    confidence = 1 / share
    most = max(weights.values()) / total
    assert ConfidenceBounding("s", confidence).keeps_weights(weighted(weights)) == (most <= confidence)
    both = AlphaKAnonymity("s", confidence, least).keeps_weights(weighted(weights))
    assert both == (most <= confidence and total >= least)
    falling = sorted(weights.values(), reverse=True)
    recursive = RecursiveLDiversity("s", least, share).keeps_weights(weighted(weights))
    assert recursive == (falling[0] < share * sum(falling[least - 1 :]))


@given(counted, st.integers(1, 3), st.integers(1, 99))
def test_entropy_goes_by_shares(counts, least, below):
    weights = {v: Fraction(n, below) for v, n in counts.items()}
    found = EntropyLDiversity("s", least).keeps_weights(weighted(weights))
    assert found == plain.entropy_holds(counts, Fraction(least))


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
@given(
    counts=counted,
    t=st.fractions(0, 1, max_denominator=12),
    below=st.integers(1, 99),
)
def test_closeness_goes_by_shares(distance, counts, t, below):
    weights = {v: Fraction(n, below) for v, n in counts.items()}
    overall = dict(enumerate(OVERALL.tolist()))
    far = plain.distance_of(TREE, counts, overall, distance)
    assert TCloseness("s", t, distance).keeps_weights(weighted(weights)) == (far <= t)


@given(
    st.dictionaries(st.integers(0, 2), st.integers(1, 5), min_size=1),
    st.integers(1, 3),
    st.fractions(Fraction(1, 4), 4, max_denominator=8),
    st.integers(1, 99),
)
def test_beliefs_go_by_shares(counts, least, limit, below):
    known = list(KNOWN.items())
    rows = [[TREE.leaf_labels[v]] for v, n in counts.items() for _ in range(n)]
    weights = {v: Fraction(n, below) for v, n in counts.items()}
    diverse = QuasiSensitiveDiversity("s", KNOWN, least, limit).keeps_weights(weighted(weights))
    assert diverse == plain_beliefs.diverse(known, rows, limit, least)
    before = plain_beliefs.prior(known, rows, "uniform")
    close = QuasiSensitiveCloseness("s", KNOWN, limit / 4, "uniform").keeps_weights(weighted(weights))
    assert close == (plain_beliefs.squared_distance(known, rows, before) <= (limit / 4) ** 2)


BORDER = [
    ConfidenceBounding("s", Fraction(1, 2)),
    EntropyLDiversity("s", 2),
    TCloseness("s", Fraction(1, 6)),
    TCloseness("s", Fraction(1, 12), "hierarchical"),
    QuasiSensitiveDiversity("s", {"A": ["a"], "B": ["b"]}, 2, 1),
]


@pytest.mark.parametrize("promise", BORDER, ids=str)
def test_the_border_is_exact_beyond_64_bits(promise):
    overall = np.array([2, 1, 0])
    even = {0: Fraction(HUGE, 7), 1: Fraction(HUGE, 7)}
    assert promise.keeps_weights(weighted(even, overall)) is True
    odd = {0: Fraction(HUGE - 1, 7), 1: Fraction(HUGE, 7)}
    assert promise.keeps_weights(weighted(odd, overall)) is False


class OfAnotherPackage(ClassPromise):
    """At most half of a class holds one value: judged on whole numbers, and said to be a cone."""

    name, cone, sensitive, least_people = "half", True, ("s",), 3

    def holds_on(self, classes):
        h = classes.histograms["s"]
        most = np.zeros(len(classes), np.int64)
        np.maximum.at(most, h.owner, h.counts)
        return (2 * most <= classes.people) & (classes.people >= 3)

    def verdict(self, classes):
        raise NotImplementedError

    def __str__(self):
        return "half"


def test_a_cone_of_another_package_is_judged_on_a_multiple():
    promise = OfAnotherPackage()
    assert promise.keeps_weights(weighted({0: Fraction(7, 4), 1: Fraction(7, 4)})) is True
    assert promise.keeps_weights(weighted({0: Fraction(9, 4), 1: Fraction(7, 4)})) is False
    assert promise.keeps_weights(weighted({0: Fraction(1), 1: Fraction(1)})) is False
    assert promise.keeps_weights(weighted({0: Fraction(HUGE), 1: Fraction(HUGE)})) is None


def test_what_is_no_cone_says_that_it_cannot_tell():
    class NoCone(OfAnotherPackage):
        cone = False

    assert NoCone().keeps_weights(weighted({0: Fraction(2), 1: Fraction(2)})) is None
    assert not hasattr(Freeform(Fraction(1, 2)), "keeps_weights")


@given(held, st.integers(1, 50))
def test_a_multiple_in_whole_numbers_has_the_same_shares(weights, least):
    whole = weighted(weights).in_whole_numbers(least=least)
    assert isinstance(whole, Classes) and whole.people[0] >= least
    found = whole.histograms["s"].of_class(0)
    total = sum(weights.values())
    assert {v: Fraction(n, int(whole.people[0])) for v, n in found.items()} == {
        v: w / total for v, w in weights.items()
    }
    assert weighted({0: Fraction(ROOM)}).in_whole_numbers() is None

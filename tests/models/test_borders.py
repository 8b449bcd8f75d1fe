"""Where rounding would decide: exactly at a threshold, and at the end of 64 bits."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from oracles import class_promises as plain
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.t_closeness.promise import TCloseness, heights
from sfumato.system.verdict import CERTAINTY
from sfumato.table.taxonomy import Taxonomy

HUGE = (2**31 - 1, 2**31, 2**31 + 1, 2**53 + 1, 2**61 + 1)


def flat(leaves: int) -> Taxonomy:
    return Taxonomy.flat([f"v{i}" for i in range(leaves)], ordered=True)


@pytest.mark.parametrize("least", range(2, 51))
def test_uniform_classes_have_exactly_their_entropy(least):
    taxonomy = flat(60)
    counts = (1, 2, 3, 7, 10, 1000, 2**31 + 1, 2**62 // 60)
    classes = plain.classes_of(taxonomy, [dict.fromkeys(range(least), c) for c in counts])
    assert EntropyLDiversity("s", least).holds_on(classes).all()
    assert EntropyLDiversity("s", least).verdict(classes).measured == least
    assert not EntropyLDiversity("s", least + Fraction(1, 10**15)).holds_on(classes).any()


def test_an_uneven_class_can_have_exactly_the_entropy_of_four_values():
    """(4, 1, 1, 1, 1): half the people weigh 1 bit, the other half 3 bits, 2 bits on average."""
    taxonomy = flat(5)
    for factor in (1, 3, 10**6, 2**58 + 3):
        classes = plain.classes_of(taxonomy, [{0: 4 * factor, **dict.fromkeys(range(1, 5), factor)}])
        verdict = EntropyLDiversity("s", 4).verdict(classes)
        assert verdict.holds and verdict.measured == 4
        assert not EntropyLDiversity("s", 4 + Fraction(1, 10**20)).holds_on(classes).any()
        assert EntropyLDiversity("s", 4 - Fraction(1, 10**20)).holds_on(classes).all()


@pytest.mark.parametrize("n", HUGE)
def test_one_person_more_or_less_among_very_many(n):
    taxonomy = flat(2)
    even, odd = {0: n, 1: n}, {0: n, 1: n - 1}
    classes = plain.classes_of(taxonomy, [even, odd], overall=np.array([2 * n, 2 * n - 1]) // 2)
    assert EntropyLDiversity("s", 2).holds_on(classes).tolist() == [True, False]
    assert RecursiveLDiversity("s", 2, Fraction(n, n - 1)).holds_on(classes).tolist() == [True, False]
    assert RecursiveLDiversity("s", 2, Fraction(n + 1, n)).holds_on(classes)[0]
    assert RecursiveLDiversity("s", 2, Fraction(n, n - 1)).verdict(classes).measured == Fraction(n, n - 1)
    assert KAnonymity(2**31 - 1).holds_on(classes).all()
    assert DistinctLDiversity("s", 2).holds_on(classes).all()


@pytest.mark.parametrize("n", HUGE)
@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_a_distance_of_one_person_among_very_many(n, distance):
    taxonomy = flat(2)
    reference = {"v0": n, "v1": n}
    classes = plain.classes_of(taxonomy, [{0: n, 1: n - 1}])
    away = Fraction(n, 2 * n - 1) - Fraction(1, 2)
    for t in (away, away + Fraction(1, 2**120), away - Fraction(1, 2**120)):
        promise = TCloseness("s", t, distance, reference)
        assert promise.holds_on(classes).tolist() == [away <= t]
        assert promise.verdict(classes).measured == away


def test_people_in_violation_add_up_beyond_64_bits():
    people = np.array([2**62, 2**62, 2**62, 2**62])
    taxonomy = flat(2)
    classes = plain.classes_of(taxonomy, [{0: 2**62}] * 4, overall=np.array([2**62, 0]))
    assert classes.people.tolist() == people.tolist()
    assert DistinctLDiversity("s", 2).verdict(classes).people == 2**64


def test_recursive_at_the_border_is_broken():
    classes = plain.classes_of(flat(3), [{0: 4, 1: 2, 2: 2}])
    assert not RecursiveLDiversity("s", 2, 1).holds_on(classes).any()
    assert RecursiveLDiversity("s", 2, Fraction(100001, 100000)).holds_on(classes).all()
    assert not RecursiveLDiversity("s", 3, 2).holds_on(classes).any()
    assert not RecursiveLDiversity("s", 4, 1000).holds_on(classes).any(), "fewer than l values"


def test_decimal_thresholds_mean_the_fraction():
    classes = plain.classes_of(flat(10), [{0: 1}, dict.fromkeys(range(1, 10), 1)])
    assert TCloseness("s", "0.9").holds_on(classes).tolist() == [True, True]
    assert TCloseness("s", "0.1").holds_on(classes).tolist() == [False, True]
    assert TCloseness("s", 0.1).t == TCloseness("s", "10%").t == Fraction(1, 10)


def test_an_empty_class_keeps_nothing_and_an_empty_table_everything():
    promises = [
        KAnonymity(1),
        DistinctLDiversity("s", 1),
        EntropyLDiversity("s", 1),
        RecursiveLDiversity("s", 1, 2),
        *(TCloseness("s", 1, d) for d in ("equal", "ordered", "hierarchical")),
    ]
    with_hole = plain.classes_of(flat(2), [{0: 1}, {}, {0: 1, 1: 1}])
    nothing = plain.classes_of(flat(2), [])
    for promise in promises:
        assert promise.holds_on(with_hole).tolist() == [True, False, True], str(promise)
        assert promise.verdict(with_hole).worst == 1
        verdict = promise.verdict(nothing)
        assert verdict.holds and verdict.reason == "nothing is published" and verdict.measured is None


def test_one_value_only_has_distance_zero():
    for distance in ("equal", "ordered", "hierarchical"):
        assert (
            TCloseness("s", Fraction(1, 2**200), distance).holds_on(plain.classes_of(flat(1), [{0: 5}])).all()
        )
        for taxonomy in (flat(1), Taxonomy.grow(["*"], [-1])):
            classes = plain.classes_of(taxonomy, [{0: 5}, {0: 1}])
            assert TCloseness("s", 0, distance).verdict(classes).measured == 0


def test_heights_come_from_the_levels_where_a_tree_is_uneven_or_a_level_is_skipped():
    """No level publishes b: it stands as high as its parent C. v3 hangs from the root and is still a leaf."""
    taxonomy = Taxonomy.grow(
        ["*", "C", "b", "v0", "v1", "v2", "v3"],
        [-1, 0, 1, 2, 2, 1, 0],
        levels=np.array([[3, 4, 5, 6], [1, 1, 1, 6], [1, 1, 1, 6], [0, 0, 0, 0]]),
    )
    assert dict(zip(taxonomy.labels, heights(taxonomy).tolist(), strict=True)) == {
        "*": 3,
        "C": 1,
        "b": 1,
        "v0": 0,
        "v1": 0,
        "v2": 0,
        "v3": 0,
    }
    groups = [{0: 3, 2: 1}, {1: 2, 3: 1}, {3: 2}, {0: 1, 1: 1, 2: 1, 3: 2}]
    expected = [plain.distance_of(taxonomy, g, plain.added(groups), "hierarchical") for g in groups]
    classes = plain.classes_of(taxonomy, groups)
    for i, away in enumerate(expected):
        truth = TCloseness("s", away, "hierarchical").holds_on(classes).tolist()
        assert truth == [other <= away for other in expected]
        assert truth[i]
    assert TCloseness("s", 1, "hierarchical").verdict(classes).measured == max(expected)


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_in_a_flat_tree_heights_say_nothing_and_an_empty_step_to_the_root_counts_as_a_step(distance):
    groups = [{0: 3, 1: 1}, {1: 2, 2: 2}]
    chain = Taxonomy.grow(["*", "*", "v0", "v1", "v2"], [-1, 0, 1, 1, 1])
    plain_flat = plain.classes_of(flat(3), groups)
    with_chain = plain.classes_of(chain, groups)
    measured = TCloseness("s", 1, distance).verdict(plain_flat).measured
    if distance == "hierarchical":
        assert measured == TCloseness("s", 1, "equal").verdict(plain_flat).measured
        assert TCloseness("s", 1, distance).verdict(with_chain).measured == measured / 2
    else:
        assert TCloseness("s", 1, distance).verdict(with_chain).measured == measured


@pytest.mark.parametrize(
    ("least", "c"), [(1, Fraction(2, 3)), (1, Fraction(3)), (2, Fraction(2)), (3, Fraction(4))]
)
def test_no_class_that_is_recursively_diverse_is_surer_than_the_limit_it_states(least, c):
    promise = RecursiveLDiversity("s", least, c)
    (most,) = (bound.value for bound in promise.limits() if bound.measure is CERTAINTY)
    shapes = [dict(enumerate(counts)) for counts in product(range(1, 7), repeat=3)]
    classes = plain.classes_of(flat(3), shapes)
    kept = [
        Fraction(max(s.values()), sum(s.values()))
        for s, ok in zip(shapes, promise.holds_on(classes), strict=True)
        if ok
    ]
    assert kept and max(kept) <= most

"""Every promise against the same promise in fractions and loops, on random small tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import class_promises as plain
from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.t_closeness import promise as module
from sfumato.models.t_closeness.promise import TCloseness

pytestmark = pytest.mark.slow

DISTANCES = ("equal", "ordered", "hierarchical")
shares = st.fractions(0, 1, max_denominator=40)


@given(plain.groups(), st.integers(1, 12))
def test_k_anonymity_counts_people(table, k):
    taxonomy, groups = table
    sizes = [sum(g.values()) for g in groups]
    classes, promise = plain.classes_of(taxonomy, groups), KAnonymity(k)
    assert promise.holds_on(classes).tolist() == [n >= k for n in sizes]
    verdict = promise.verdict(classes)
    assert (verdict.measured, verdict.limit) == (min(sizes), k)
    assert verdict.people == sum(n for n in sizes if n < k)
    assert sizes[verdict.worst] == min(sizes)


@given(plain.groups(), st.integers(1, 6))
def test_distinct_l_counts_values(table, least):
    taxonomy, groups = table
    classes, promise = plain.classes_of(taxonomy, groups), DistinctLDiversity("s", least)
    assert promise.holds_on(classes).tolist() == [len(g) >= least for g in groups]
    assert promise.verdict(classes).measured == min(len(g) for g in groups)


@given(plain.groups(), st.one_of(st.integers(1, 6).map(Fraction), st.fractions(1, 6, max_denominator=30)))
def test_entropy_l_is_the_inequality_of_whole_numbers(table, least):
    taxonomy, groups = table
    classes, promise = plain.classes_of(taxonomy, groups), EntropyLDiversity("s", least)
    truth = [plain.entropy_holds(g, least) for g in groups]
    assert promise.holds_on(classes).tolist() == truth
    verdict = promise.verdict(classes)
    assert verdict.holds == all(truth) == (verdict.measured >= least)
    low = Fraction(verdict.measured)
    assert plain.entropy_holds(groups[verdict.worst], low), "the measure is rounded down"
    more = low * (1 + Fraction(1, 2**50))
    assert any(not plain.entropy_holds(g, more) for g in groups), "and by no more than an ulp"


@given(plain.groups(), st.integers(1, 4), st.fractions(Fraction(1, 10), 8, max_denominator=12))
def test_recursive_l_is_a_strict_inequality(table, least, c):
    taxonomy, groups = table
    classes, promise = plain.classes_of(taxonomy, groups), RecursiveLDiversity("s", least, c)
    ratios = [plain.recursive_ratio(g, least) for g in groups]
    truth = [r is not None and r < c for r in ratios]
    assert promise.holds_on(classes).tolist() == truth
    verdict = promise.verdict(classes)
    assert verdict.holds == all(truth)
    assert verdict.measured == (None if None in ratios else max(ratios))
    assert (None in ratios) == ("fewer than" in verdict.reason)


@given(plain.groups(), st.fractions(Fraction(1, 20), 1, max_denominator=20), st.integers(1, 12))
def test_confidence_is_the_share_of_the_commonest_value(table, limit, k):
    taxonomy, groups = table
    shares = [Fraction(max(g.values()), sum(g.values())) for g in groups]
    large = [sum(g.values()) >= k for g in groups]
    classes = plain.classes_of(taxonomy, groups)
    alone, both = ConfidenceBounding("s", limit), AlphaKAnonymity("s", limit, k)
    assert alone.holds_on(classes).tolist() == [s <= limit for s in shares]
    assert both.holds_on(classes).tolist() == [s <= limit and n for s, n in zip(shares, large, strict=True)]
    for promise in (alone, both):
        verdict = promise.verdict(classes)
        assert verdict.measured == max(shares) and verdict.limit == limit
        assert verdict.holds == promise.holds_on(classes).all()
    assert ("fewer than" in verdict.reason) == (not all(large))


@pytest.mark.parametrize("distance", DISTANCES)
@settings(max_examples=60, deadline=None)
@given(table=plain.groups(count=4, largest=4), t=shares)
def test_t_closeness_is_the_least_cost_of_moving_earth(distance, table, t):
    taxonomy, groups = table
    expected = [plain.distance_of(taxonomy, g, plain.added(groups), distance) for g in groups]
    classes = plain.classes_of(taxonomy, groups)
    assert TCloseness("s", t, distance).holds_on(classes).tolist() == [d <= t for d in expected]
    assert TCloseness("s", t, distance).verdict(classes).measured == max(expected)
    for border in expected:  # exactly at the border, and a hair below it
        at, below = TCloseness("s", border, distance), border - Fraction(1, 10**9)
        assert at.holds_on(classes).tolist() == [d <= border for d in expected]
        if below >= 0:
            assert TCloseness("s", below, distance).holds_on(classes).tolist() == [
                d <= below for d in expected
            ]


@pytest.mark.parametrize("distance", DISTANCES)
@settings(max_examples=25, deadline=None)
@given(table=plain.groups(count=3, largest=3), data=st.data())
def test_t_closeness_against_a_reference(distance, table, data):
    taxonomy, groups = table
    leaves = len(taxonomy.leaves)
    drawn = data.draw(st.lists(st.integers(0, 4), min_size=leaves, max_size=leaves).filter(any))
    reference = {v: c for v, c in enumerate(drawn) if c}
    named = {taxonomy.leaf_labels[v]: c for v, c in reference.items()}
    promise = TCloseness("s", Fraction(1, 3), distance, named)
    also = plain.added(groups)
    expected = [plain.distance_of(taxonomy, g, reference, distance, also=also) for g in groups]
    classes = plain.classes_of(taxonomy, groups)
    assert promise.holds_on(classes).tolist() == [d <= promise.t for d in expected]
    assert promise.verdict(classes).measured == max(expected)


@pytest.mark.parametrize("distance", DISTANCES)
@settings(max_examples=40, deadline=None)
@given(table=plain.groups(), t=shares, factor=st.sampled_from([1, 2**29 + 1, 2**58 - 27]))
def test_beyond_64_bits_the_answers_stay_the_same(distance, table, t, factor):
    """Distances do not change when all counts are multiplied."""
    taxonomy, groups = table
    small = plain.classes_of(taxonomy, groups)
    total = int(small.people.sum())
    factor = max(1, min(factor, (2**63 - 1) // total))
    large = plain.classes_of(taxonomy, [{v: c * factor for v, c in g.items()} for g in groups])
    promise = TCloseness("s", t, distance)
    assert promise.holds_on(large).tolist() == promise.holds_on(small).tolist()
    one, other = promise.verdict(small), promise.verdict(large)
    assert (one.measured, one.worst, one.holds) == (other.measured, other.worst, other.holds)
    border = TCloseness("s", one.measured, distance)
    assert border.holds_on(large).all()


@pytest.mark.parametrize("distance", DISTANCES)
@settings(max_examples=60, deadline=None)
@given(table=plain.groups())
def test_integers_python_integers_and_floats_agree(distance, table):
    taxonomy, groups = table
    promise = TCloseness("s", Fraction(0), distance)
    (_, compared), *_ = promise._readings(plain.classes_of(taxonomy, groups))
    formula = module.DISTANCES[distance]
    small, python = formula(compared, np.int64), formula(compared, object)
    assert small.tolist() == python.tolist()
    rough, error = promise._rough(compared)
    scale = promise._scale(compared) * compared.total
    for i, cost in enumerate(python.tolist()):
        exact = Fraction(cost, scale * int(compared.histogram.totals[i]))
        assert abs(Fraction(float(rough[i])) - exact) <= Fraction(error)

"""Families of versions against every family there is."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipients.table_one import table, version
from sfumato.models.contract import Promises
from sfumato.models.registry import make
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.capacity import capacity_of, least_tolerance_for
from sfumato.recipients.patterns import classify
from sfumato.recipients.versions import AvailableVersions, EarlierVersion, ShownDetail
from sfumato.search.contract import Aim
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy
from strategies import tables

pytestmark = pytest.mark.slow

SMALL = tables(rows=8, keys=3, leaves=4, min_rows=3)
RULES = st.builds(
    RecipientRule,
    tolerance=st.sampled_from([Fraction(0), Fraction(1, 5), Fraction(1), Fraction(10)]),
    frame_proof=st.integers(1, 3),
)
METRICS = st.sampled_from(["loss", "height", "discernibility"])


def promised(k):
    return Promises((make("k-anonymity", {"k": k}),))


def made(people, rule, metric, k=1, held=(), suppress=0):
    patterns = classify(people, promised(k), Aim(suppress=Fraction(suppress)))
    return AvailableVersions(patterns, rule, metric, held=held)


def is_safe(people, versions, rule):
    """By every coalition: nobody is framed."""
    shown = ShownDetail(people)
    for i, target in enumerate(versions):
        others = [v for j, v in enumerate(versions) if j != i]
        for size in range(1, rule.frame_proof + 1):
            if any(shown.builds(some, target) for some in combinations(others, size)):
                return False
    return True


@settings(max_examples=80)
@given(SMALL, RULES, METRICS, st.integers(1, 2))
def test_whatever_is_chosen_is_alike_distinct_and_safe(people, rule, metric, k):
    versions = made(people, rule, metric, k)
    chosen = versions.choose(5)
    values = versions.patterns.metric(metric)[versions.patterns.allowed] / versions.patterns.scale(metric)
    for one in chosen:
        assert float(one.quality) <= values.min() * float(1 + rule.tolerance) * (1 + 1e-6) + 1e-12
    assert is_safe(people, [v.cuts for v in chosen], rule)
    again = made(people, rule, metric, k).choose(5)
    assert [v.cuts for v in again] == [v.cuts for v in chosen], "the same input, the same versions"


@settings(max_examples=80)
@given(SMALL, METRICS, st.sampled_from([Fraction(0), Fraction(1, 2)]), st.integers(1, 2), st.integers(1, 3))
def test_on_small_lattices_no_frame_proof_family_is_larger(people, metric, tolerance, k, size):
    versions = made(people, RecipientRule(tolerance=tolerance, frame_proof=size), metric, k)
    window = versions._window()
    if len(window) > 9:
        return
    rule = versions.rule
    cuts = [versions.patterns.cuts(i) for i in window.tolist()]
    families = (some for n in range(len(cuts), 0, -1) for some in combinations(cuts, n))
    best = next((len(some) for some in families if is_safe(people, some, rule)), 0)
    assert versions.most() == best


@settings(max_examples=60)
@given(tables(rows=12, keys=4, leaves=6, min_rows=3), RULES, METRICS, st.data())
def test_a_wider_tolerance_never_serves_fewer(people, rule, metric, data):
    """Any two tolerances, also where families are only searched for, and beside what is held."""
    held = [EarlierVersion(f"r{i}", v.cuts) for i, v in enumerate(made(people, rule, metric).choose(1))]
    versions = made(people, rule, metric, held=held if data.draw(st.booleans()) else ())
    shares = st.fractions(0, 3, max_denominator=50)
    asked = data.draw(st.lists(shares, min_size=2, max_size=6))
    served = {share: versions.most(share) for share in asked}
    assert [served[share] for share in sorted(served)] == sorted(served.values())
    fresh = made(people, rule, metric, held=versions.held)
    assert served == {share: fresh.most(share) for share in sorted(served, reverse=True)}, "in any order"
    widest = [versions.patterns.cuts(i) for i in versions.family(max(asked)).tolist()]
    assert is_safe(people, [h.cuts for h in versions.held] + widest, rule)


def test_a_family_of_a_narrower_tolerance_is_carried_on():
    """Where patterns are many: no two frame a third, on six columns of three levels."""
    tree = Taxonomy.grow(["*", *"ab", *"cdef"], [-1, 0, 0, 1, 1, 2, 2])
    rng = np.random.default_rng(7)
    columns = [Column(f"q{j}", Role.QUASI, tree) for j in range(6)]
    people = Microdata.of_codes(columns, [rng.integers(0, 4, 60).astype(np.int32) for _ in columns])
    versions = made(people, RecipientRule(frame_proof=2), "loss", k=2)
    served = [versions.most(Fraction(share, 100)) for share in range(0, 60, 4)]
    assert served == sorted(served)
    assert served[-1] >= 3


@settings(max_examples=60)
@given(SMALL, RULES, METRICS, st.integers(1, 3))
def test_whoever_comes_later_gets_a_version_beside_the_earlier_ones(people, rule, metric, first):
    start = made(people, rule, metric).choose(first)
    held = [EarlierVersion(f"r{i}", v.cuts) for i, v in enumerate(start)]
    later = made(people, rule, metric, held=held).choose(2)
    assert is_safe(people, [h.cuts for h in held] + [v.cuts for v in later], rule)


@given(SMALL, METRICS)
def test_capacity_left_is_capacity_less_those_served(people, metric):
    rule = RecipientRule(tolerance=Fraction(1))
    versions = made(people, rule, metric)
    family = versions.family()
    held = [EarlierVersion(str(i), versions.patterns.cuts(i)) for i in family[:2].tolist()]
    assert made(people, rule, metric, held=held).most() >= len(family) - len(held)


def test_table_one_serves_two_of_one_height():
    versions = made(table(), RecipientRule(), "height", k=2)
    assert versions.most() == 1, "(0, 1) alone is of the least height"
    wide = made(table(), RecipientRule(tolerance=Fraction(1)), "height", k=2)
    assert [wide.patterns.levels(i) for i in wide.family().tolist()] == [(0, 2), (1, 1)]
    held = [EarlierVersion("U1", version(1, 1))]
    later = made(table(), RecipientRule(tolerance=Fraction(1)), "height", k=2, held=held)
    assert [later.patterns.levels(i) for i in later.family().tolist()] == [(0, 2)]


def test_capacity_is_a_sentence(monkeypatch):
    capacity = capacity_of(made(table(), RecipientRule(), "height", k=2))
    assert capacity.sentence == "this policy serves 1 recipient at this quality"
    monkeypatch.setattr("sfumato.recipients.capacity.TOLERANCES", (Fraction(0), Fraction(1)))
    more = capacity_of(made(table(), RecipientRule(), "height", k=2))
    assert more.sentence == "this policy serves 1 recipient at this quality, 2 at 100 % more loss"
    assert more.exact
    assert least_tolerance_for(made(table(), RecipientRule(), "height", k=2), 2) == 1
    assert least_tolerance_for(made(table(), RecipientRule(), "height", k=2), 3) is None

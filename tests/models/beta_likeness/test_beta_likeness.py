"""β-likeness against its definition, at its borders, and held to every claim it makes."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import class_promises as plain
from sfumato.models.beta_likeness.promise import BasicBetaLikeness, EnhancedBetaLikeness
from sfumato.models.parameters import ReferenceDistribution
from sfumato.models.registry import make
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.system.verdict import Evidence
from sfumato.table.classes import GainLimit, is_below_log
from sfumato.table.taxonomy import Taxonomy
from sfumato.testing.promises import check_promise

pytestmark = pytest.mark.slow

KINDS = (BasicBetaLikeness, EnhancedBetaLikeness)
FLAT = Taxonomy.flat(["a", "b", "c"])
HUGE = 10**40

betas = st.fractions(Fraction(1, 20), 6, max_denominator=20)


def minus_log(share: Fraction) -> Decimal:
    with localcontext(prec=120):
        return Decimal(share.denominator).ln() - Decimal(share.numerator).ln()


def gains(group, overall):
    """Value -> (gain, share in the table), of the values that a class makes likelier."""
    n, everyone = sum(group.values()), sum(overall.values())
    for value, count in group.items():
        p, q = Fraction(overall[value], everyone), Fraction(count, n)
        if q > p:
            yield (q - p) / p, p


def holds(group, overall, beta, *, enhanced):
    """As the definition reads, with 120 digits of the logarithm."""
    found = list(gains(group, overall))
    if any(gain > beta for gain, _ in found):
        return False
    with localcontext(prec=120):
        return not enhanced or all(
            Decimal(gain.numerator) / Decimal(gain.denominator) <= minus_log(p) for gain, p in found
        )


@pytest.mark.parametrize("kind", KINDS)
@given(table=plain.groups(), beta=betas)
def test_as_defined(kind, table, beta):
    taxonomy, groups = table
    overall = plain.added(groups)
    enhanced = kind is EnhancedBetaLikeness
    truth = [holds(group, overall, beta, enhanced=enhanced) for group in groups]
    classes, promise = plain.classes_of(taxonomy, groups), kind("s", beta)
    assert promise.holds_on(classes).tolist() == truth
    verdict = promise.verdict(classes)
    assert verdict.holds == all(truth)
    assert verdict.people == sum(sum(g.values()) for g, kept in zip(groups, truth, strict=True) if not kept)
    assert (verdict.measured <= verdict.limit) == verdict.holds
    if not enhanced:
        most = max((gain for g in groups for gain, _ in gains(g, overall)), default=Fraction(0))
        assert (verdict.measured, verdict.limit) == (most, beta)


@pytest.mark.parametrize("kind", KINDS)
@given(table=plain.groups(count=3, largest=3), beta=betas, data=st.data())
def test_against_a_reference(kind, table, beta, data):
    taxonomy, groups = table
    leaves = len(taxonomy.leaves)
    drawn = data.draw(st.lists(st.integers(0, 4), min_size=leaves, max_size=leaves).filter(any))
    outside = data.draw(st.integers(0, 3))
    named = dict(zip(taxonomy.leaf_labels, drawn, strict=True)) | ({"elsewhere": outside} if outside else {})
    overall = dict(enumerate([*drawn, outside]))
    truth = [
        all(overall[v] for v in group) and holds(group, overall, beta, enhanced=kind is EnhancedBetaLikeness)
        for group in groups
    ]
    promise = kind("s", beta, ReferenceDistribution.of(named))
    classes = plain.classes_of(taxonomy, groups)
    assert promise.holds_on(classes).tolist() == truth
    verdict = promise.verdict(classes)
    assert verdict.holds == all(truth) and verdict.evidence is Evidence.REFERENCE
    assert not promise.relative and promise.limits()[0].reference == promise.reference


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_every_small_table_of_two_classes(kind, beta):
    """All tables of two classes with at most three people per value and class."""
    promise = kind("s", beta)
    for counts in product(range(4), repeat=4):
        groups = [{v: n for v, n in enumerate(half) if n} for half in (counts[:2], counts[2:]) if any(half)]
        overall = plain.added(groups)
        truth = [holds(g, overall, beta, enhanced=kind is EnhancedBetaLikeness) for g in groups]
        assert promise.holds_on(plain.classes_of(FLAT, groups)).tolist() == truth


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", ["1/4", 1, 4])
def test_it_keeps_to_the_seam(kind, beta):
    check_promise(kind("s", beta), tables=150, seed=2)


def test_the_basic_border_is_exact():
    """1 of 5 against 1 of 10 is a gain of 1."""
    classes = plain.classes_of(FLAT, [{0: 1, 1: 4}], overall=np.array([1, 9, 0]))
    assert BasicBetaLikeness("s", 1).holds_on(classes).tolist() == [True]
    assert BasicBetaLikeness("s", Fraction(10**9 - 1, 10**9)).holds_on(classes).tolist() == [False]
    verdict = BasicBetaLikeness("s", 1).verdict(classes)
    assert (verdict.measured, verdict.limit, verdict.worst) == (1, 1, 0)


def test_the_basic_border_is_exact_beyond_floats():
    one, other = 2**61 + 1, 2**61
    classes = plain.classes_of(FLAT, [{0: one, 1: other}], overall=np.array([1, 2, 0]))
    gain = Fraction(3 * one, one + other) - 1
    assert BasicBetaLikeness("s", gain).holds_on(classes).tolist() == [True]
    assert BasicBetaLikeness("s", gain - Fraction(1, 2**100)).holds_on(classes).tolist() == [False]


def test_what_half_the_people_have_may_gain_ln_2():
    """The share 1/2 may grow to (1 + ln 2) / 2 = 0.846573590..., whatever beta is."""
    promise = EnhancedBetaLikeness("s", 100)
    for count, kept in ((846_573, True), (846_574, False)):
        classes = plain.classes_of(FLAT, [{0: count, 1: 10**6 - count}], overall=np.array([1, 1, 0]))
        verdict = promise.verdict(classes)
        assert verdict.holds is kept
        assert verdict.measured == Fraction(count, 500_000) - 1
        assert isinstance(verdict.limit, float) and abs(verdict.limit - 0.6931471805599453) < 1e-15


def test_a_common_value_cannot_become_certain():
    """Three of four have a cold: basic β-likeness lets a class be all of them, the enhanced one does not."""
    groups = [{0: 4}, {0: 2, 1: 2}]
    classes = plain.classes_of(FLAT, groups)
    assert BasicBetaLikeness("s", 1).holds_on(classes).tolist() == [True, True]
    assert EnhancedBetaLikeness("s", 1).holds_on(classes).tolist() == [False, True]
    assert EnhancedBetaLikeness("s", 100).holds_on(plain.classes_of(FLAT, [{0: 5}])).tolist() == [True]


def test_rare_values_are_protected_where_closeness_looks_away():
    """One in a thousand becomes one in ten: half of t = 1/5 away, but a gain of 99."""
    overall = np.array([1, 999, 0])
    classes = plain.classes_of(FLAT, [{0: 1, 1: 9}], overall=overall)
    assert TCloseness("s", Fraction(1, 5)).verdict(classes).measured == Fraction(99, 1000)
    assert BasicBetaLikeness("s", 98).holds_on(classes).tolist() == [False]
    assert BasicBetaLikeness("s", 99).holds_on(classes).tolist() == [True]
    assert EnhancedBetaLikeness("s", 99).holds_on(classes).tolist() == [False]


def test_a_value_that_the_table_lacks_gains_without_end():
    classes = plain.classes_of(FLAT, [{0: 1, 2: 1}], overall=np.array([1, 1, 0]))
    verdict = BasicBetaLikeness("s", 100).verdict(classes)
    assert (verdict.holds, verdict.measured) == (False, None) and "lacks" in verdict.reason


@given(st.integers(1, 30), st.integers(1, 30), st.fractions(Fraction(1, 100), 4, max_denominator=200))
def test_logarithms_are_compared_exactly(one, more, number):
    with localcontext(prec=120):
        log = Decimal(one + more).ln() - Decimal(one).ln()
        below = Decimal(number.numerator) / Decimal(number.denominator) <= log
    assert is_below_log(number, one + more, one) == below


def test_logarithms_are_told_apart_however_near():
    near = Fraction(1, HUGE) - Fraction(1, 2 * HUGE**2)  # ln(1 + x) = x - x²/2 + x³/3 - ...
    assert is_below_log(near, HUGE + 1, HUGE)
    assert not is_below_log(near + Fraction(1, 2 * HUGE**3), HUGE + 1, HUGE)
    assert not is_below_log(Fraction(1, HUGE), 7, 7)


@given(st.integers(1, 200), st.integers(0, 200), betas)
def test_what_is_stated_as_allowed_is_allowed_and_no_more(held, others, beta):
    limit, everyone = GainLimit("s", beta, enhanced=True), held + others
    most = Fraction(limit.most(held, everyone))
    assert limit.allows(most, held, everyone)
    assert most == 0 or not limit.allows(most * (1 + Fraction(1, 2**48)), held, everyone)


def test_policies_name_the_kind_and_enhanced_is_the_default():
    assert make("beta-likeness", {"of": "d", "beta": 2}) == EnhancedBetaLikeness("d", 2)
    basic = make("beta-likeness", {"of": "d", "beta": "3/2", "kind": "basic"})
    assert basic == BasicBetaLikeness("d", Fraction(3, 2))
    assert basic.parameters() == {"of": "d", "beta": "3/2", "kind": "basic"}
    assert str(basic) == "basic beta-likeness of d, beta = 3/2"
    assert basic.judge_data()["parameters"] == {"of": "d", "beta": Fraction(3, 2), "reference": None}

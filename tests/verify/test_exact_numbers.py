"""The judge's exact comparisons, against whole numbers."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.models.l_diversity.judge import entropy_l_diversity
from sfumato.system.verdict import Evidence
from sfumato.verify.cells import sign_of_entropy_margin
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.registry import rule
from sfumato.verify.tally import ValueCounts
from sfumato.verify.trees import UNITS, Scale, ValueTree, build_dates, build_prefix, character_counts


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=6),
    st.fractions(min_value=1, max_value=6, max_denominator=4),
)
def test_entropies_are_compared_exactly(counts, diversity):
    """entropy >= log d where n**n >= d**n times the product of c**c."""
    n = sum(counts)
    left = n**n * diversity.denominator**n
    right = diversity.numerator**n * prod(c**c for c in counts)
    assert sign_of_entropy_margin(counts, diversity) == (left > right) - (left < right)


def test_of_classes_whose_entropies_floats_do_not_tell_apart_the_lower_is_named():
    """Two million people each; one person more for one value, and the entropy falls by 1e-13."""
    tree = ValueTree.of_levels([["flu", "hiv"], ["*", "*"]])
    even, odd = [10**6, 10**6], [10**6, 10**6 + 1]
    for order in ([even, odd], [odd, even]):
        counts = np.array([*order[0], *order[1]], dtype=np.int64)
        spread = ValueCounts(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), counts, tree)
        tally = SimpleNamespace(
            spreads={"s": spread}, people=np.array([sum(order[0]), sum(order[1])]), rows=sum(map(sum, order))
        )
        promise = PromiseData(
            {"promise": "l-diversity", "kind": "entropy", "sentence": "", "parameters": {"of": "s", "l": "2"}}
        )
        told = entropy_l_diversity(tally, promise)
        assert told.holds is False and told.measured < 2


def test_a_promise_about_the_original_is_not_judged_from_what_is_published():
    promise = PromiseData({"promise": "made-up", "sentence": "", "needs_original": True})
    told = rule(SimpleNamespace(spreads={}), promise, by_rows=False)
    assert told.holds is None and "original" in told.reason


def test_one_number_of_characters_is_a_list_of_one():
    assert (
        character_counts(3) == [3] and character_counts("12") == [12] and character_counts([4, 1]) == [4, 1]
    )
    assert [level[0] for level in build_prefix({"prefix": 2}, ["021"]).labels] == ["021", "02*", "*"]


@pytest.mark.parametrize(
    ("unit", "label"),
    [
        ("day", "2024-02-09"),
        ("week", "2024-W06"),
        ("month", "2024-02"),
        ("quarter", "2024-Q1"),
        ("year", "2024"),
        ("decade", "2020-2029"),
    ],
)
def test_a_day_in_every_unit(unit, label):
    assert [level[0] for level in build_dates({"date": [unit]}, ["2024-02-09"]).labels] == [
        "2024-02-09",
        label,
        "*",
    ]
    assert unit in UNITS


def test_a_scale_of_whole_numbers_has_no_place_for_others():
    whole = Scale.of({"intervals": [10], "from": 0, "to": 100})
    assert whole.has(Fraction(5)) and not whole.has(Fraction(11, 2)) and not whole.has(Fraction(100))


def test_evidence_of_earlier_releases_is_not_in_one_file():
    promise = PromiseData({"promise": "made-up", "sentence": "", "evidence": str(Evidence.EARLIER)})
    assert rule(SimpleNamespace(spreads={}), promise, by_rows=False).holds is None

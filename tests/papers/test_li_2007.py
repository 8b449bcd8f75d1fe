"""Li, Li, Venkatasubramanian: t-closeness. The salary and disease tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.table.classes import Classes, histogram
from sfumato.table.taxonomy import Taxonomy

SALARY = Taxonomy.flat([f"{s}K" for s in range(3, 12)], ordered=True)
GROUPS = ["respiratory", "digestive", "infection", "vascular", "stomach", "colon"]
RESPIRATORY = ["flu", "pneumonia", "bronchitis", "pulmonary edema", "pulmonary embolism"]
DIGESTIVE = ["gastric ulcer", "stomach cancer", "gastritis", "colitis", "colon cancer"]
DISEASE = Taxonomy.grow(
    ["*", *GROUPS, *RESPIRATORY, *DIGESTIVE],
    [-1, 0, 0, 1, 1, 2, 2] + [3] * 3 + [4] * 2 + [5] * 3 + [6] * 2,
)
PATIENTS = [
    ("3K", "gastric ulcer"),
    ("4K", "gastritis"),
    ("5K", "stomach cancer"),
    ("6K", "gastritis"),
    ("11K", "flu"),
    ("8K", "bronchitis"),
    ("7K", "bronchitis"),
    ("9K", "pneumonia"),
    ("10K", "stomach cancer"),
]
THREE_DIVERSE = [0, 0, 0, 1, 1, 1, 2, 2, 2]
CLOSE = [0, 2, 0, 1, 1, 1, 2, 0, 2]


def published(groups: list[int]) -> Classes:
    ids, ones = np.array(groups), np.ones(len(groups), np.int64)
    found = {}
    for j, (name, taxonomy) in enumerate((("salary", SALARY), ("disease", DISEASE))):
        codes = np.array([taxonomy.rank(row[j]) for row in PATIENTS], np.int32)
        found[name] = histogram(taxonomy, ids, codes, ones, 3)
    people = np.bincount(ids)
    return Classes(people, people, found)


def measured(of: str, distance: str, groups: list[int], one: int, reference=None) -> Fraction:
    classes = published(groups)
    alone = Classes(
        classes.people[[one]],
        classes.rows[[one]],
        {name: h.pick(np.array([one])) for name, h in classes.histograms.items()},
    )
    return TCloseness(of, Fraction(1), distance, reference).verdict(alone).measured


def test_the_3_diverse_table_tells_low_salaries_and_stomach_diseases():
    classes = published(THREE_DIVERSE)
    assert KAnonymity(3).verdict(classes).holds
    for column in ("salary", "disease"):
        assert DistinctLDiversity(column, 3).verdict(classes).holds
    assert not TCloseness("salary", Fraction(1, 5), "ordered").verdict(classes).holds
    assert not TCloseness("disease", Fraction(2, 5), "hierarchical").verdict(classes).holds


def test_salaries_3_4_5_are_0_375_away_and_6_8_11_are_0_167():
    assert measured("salary", "ordered", THREE_DIVERSE, 0) == Fraction(3, 8)
    assert measured("salary", "ordered", THREE_DIVERSE, 1) == Fraction(1, 6)


@pytest.mark.parametrize(
    ("one", "other", "away"),
    [("flu", "bronchitis", 1), ("flu", "pulmonary embolism", 2), ("flu", "stomach cancer", 3)],
)
def test_diseases_are_as_far_apart_as_their_common_ancestor_is_high(one, other, away):
    h = histogram(DISEASE, np.array([0]), np.array([DISEASE.rank(one)], np.int32), np.array([1]), 1)
    promise = TCloseness("disease", Fraction(1), "hierarchical", {other: 1})
    assert promise.verdict(Classes(h.totals, h.totals, {"disease": h})).measured == Fraction(away, 3)


def test_stomach_diseases_are_0_5_away_and_a_mixed_class_0_278_if_all_six_diseases_are_equally_frequent():
    """The figures printed in the paper compare with six diseases of 1/6 each."""
    evenly = dict.fromkeys({disease for _, disease in PATIENTS}, 1)
    assert measured("disease", "hierarchical", THREE_DIVERSE, 0, evenly) == Fraction(1, 2)
    assert measured("disease", "hierarchical", CLOSE, 0, evenly) == Fraction(5, 18)


def test_compared_with_the_nine_patients_themselves_they_are_0_444_and_0_259_away():
    """In the table three of the diseases occur twice, and the definition compares with the table."""
    assert measured("disease", "hierarchical", THREE_DIVERSE, 0) == Fraction(4, 9)
    assert measured("disease", "hierarchical", CLOSE, 0) == Fraction(7, 27)


def test_the_other_grouping_is_0_167_close_in_salary_and_closer_in_disease():
    before, after = published(THREE_DIVERSE), published(CLOSE)
    assert KAnonymity(3).verdict(after).holds
    assert TCloseness("salary", Fraction(1, 6), "ordered").verdict(after).measured == Fraction(1, 6)
    disease = TCloseness("disease", Fraction(8, 27), "hierarchical")
    assert disease.verdict(after).measured == Fraction(8, 27)
    assert disease.verdict(before).measured == Fraction(4, 9)

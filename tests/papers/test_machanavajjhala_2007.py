"""Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: l-diversity. The inpatient tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy

ZIP = Taxonomy.grow(
    ["*", "130**", "1305*", "1306*", "1485*", "13053", "13068", "14850", "14853"],
    [-1, 0, 1, 1, 0, 2, 3, 4, 4],
)
AGE = Taxonomy.grow(
    ["*", "up to 40", "over 40", "under 30", "3*", "40 and more"]
    + [str(a) for a in (21, 23, 28, 29, 31, 35, 36, 37, 47, 49, 50, 55)],
    [-1, 0, 0, 1, 1, 2] + [3] * 4 + [4] * 4 + [5] * 4,
    ordered=True,
)
NATIONALITY = Taxonomy.flat(["American", "Indian", "Japanese", "Russian"])
CONDITION = Taxonomy.flat(["cancer", "heart disease", "viral infection"])

INPATIENTS = [
    ("13053", "28", "Russian", "heart disease"),
    ("13068", "29", "American", "heart disease"),
    ("13068", "21", "Japanese", "viral infection"),
    ("13053", "23", "American", "viral infection"),
    ("14853", "50", "Indian", "cancer"),
    ("14853", "55", "Russian", "heart disease"),
    ("14850", "47", "American", "viral infection"),
    ("14850", "49", "American", "viral infection"),
    ("13053", "31", "American", "cancer"),
    ("13053", "37", "Indian", "cancer"),
    ("13068", "36", "Japanese", "cancer"),
    ("13068", "35", "American", "cancer"),
]


def under(zip_nodes: list[str], age_nodes: list[str]) -> Classes:
    columns = [
        Column("zip", Role.QUASI, ZIP),
        Column("age", Role.QUASI, AGE),
        Column("nationality", Role.QUASI, NATIONALITY),
        Column("condition", Role.SENSITIVE, CONDITION),
    ]
    codes = [
        np.array([c.taxonomy.rank(row[j]) for row in INPATIENTS], np.int32) for j, c in enumerate(columns)
    ]
    table = Microdata.of_codes(columns, codes)
    cuts = {
        "zip": Cut.of_labels(ZIP, zip_nodes),
        "age": Cut.of_labels(AGE, age_nodes),
        "nationality": Cut.root(NATIONALITY),
    }
    return Classes.of(table, classes_under(table, cuts)[0])


def test_inpatient_table_is_4_anonymous_yet_tells_who_has_cancer():
    published = under(["130**", "1485*"], ["under 30", "3*", "40 and more"])
    assert KAnonymity(4).verdict(published).measured == 4
    assert DistinctLDiversity("condition", 2).holds_on(published).tolist() == [True, False, True]
    verdict = DistinctLDiversity("condition", 2).verdict(published)
    assert (verdict.holds, verdict.measured, verdict.people, verdict.classes) == (False, 1, 4, 1)
    assert not EntropyLDiversity("condition", 2).verdict(published).holds
    assert not RecursiveLDiversity("condition", 2, 3).verdict(published).holds


def test_inpatient_table_under_other_cuts_is_4_anonymous_and_3_diverse():
    published = under(["1305*", "1306*", "1485*"], ["up to 40", "over 40"])
    assert KAnonymity(4).verdict(published).measured == 4
    assert DistinctLDiversity("condition", 3).verdict(published).holds
    # 2, 1, 1 of 4: an entropy of 1.5 bits, 2.83 values' worth, so not entropy 3-diverse
    assert EntropyLDiversity("condition", Fraction(28, 10)).verdict(published).holds
    assert not EntropyLDiversity("condition", 3).verdict(published).holds
    assert RecursiveLDiversity("condition", 3, 2).verdict(published).measured == 2
    assert not RecursiveLDiversity("condition", 3, 2).verdict(published).holds
    assert RecursiveLDiversity("condition", 3, 3).verdict(published).holds

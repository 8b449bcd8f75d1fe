"""Tables that other programs published, audited with a policy that writes no taxonomy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.models.attack_contract import PublishedTable
from sfumato.models.k_anonymity.attack import matched_by_anything
from sfumato.table.microdata import Role
from sfumato.table.source import open_source

AGE = {"columns": {"age": {"role": "quasi"}}, "promises": [{"k-anonymity": {"k": 2}}]}
BINNED = {"columns": {"age": {"role": "quasi", "taxonomy": {"intervals": [20], "from": 0, "to": 100}}}, **{
    "promises": AGE["promises"]
}}  # fmt: skip


@pytest.mark.parametrize(
    "texts",
    [
        ("[20, 40[", "[40, 60["),  # ARX
        ("[20,40)", "[40,60)"),  # sdcMicro, anjana
        ("(20, 40]", "(40, 60]"),  # pandas
        ("(19.999, 40.0]", "(40.0, 60.0]"),
        ("]20;40]", "]40;60]"),
        ("[-inf, 20)", "[20, inf)"),
        ("[-10, 0[", "[0, 10["),
        ("[2001-01-01, 2002-01-01[", "[2002-01-01, 2003-01-01["),
        ("20-39", "40-59"),
        ("20–39", "40–59"),
        ("<20", ">=60"),
        ("<=20", ">20"),
        ("{20, 21, 22}", "{23, 24}"),  # ARX
        ("{a,b}", "{c,d}"),
    ],
)
def test_a_group_of_another_program_is_no_list_of_raw_values(texts):
    audit = sf.audit(pd.DataFrame({"age": [*texts, *texts]}), AGE)
    assert audit.holds is True and audit.objections == ()
    assert sf.audit(pd.DataFrame({"age": [*texts, *texts[:1]]}), AGE).holds is False


@pytest.mark.parametrize("text", ["20, 21", "20;21", "[40, 20]", "20,21,22"])
def test_a_list_of_raw_values_still_decides_nothing(text):
    assert sf.audit(pd.DataFrame({"age": [text, text]}), AGE).holds is None


def test_a_half_open_interval_is_found_in_the_taxonomy_however_its_end_is_written():
    assert sf.audit(pd.DataFrame({"age": ["[20, 40[", "[20, 40["]}), BINNED).holds is True
    assert sf.audit(pd.DataFrame({"age": ["[21, 40[", "[21, 40["]}), BINNED).holds is None
    assert sf.audit(pd.DataFrame({"age": ["(20, 40]", "(20, 40]"]}), BINNED).holds is None


def test_a_set_that_a_taxonomy_names_the_values_of_stays_a_list():
    rule = {"columns": {"job": {"role": "quasi", "taxonomy": {"tree": {"Health": ["Nurse", "Cook"]}}}}}
    audit = sf.audit(pd.DataFrame({"job": ["{Nurse, Cook}"] * 2}), {**rule, "promises": AGE["promises"]})
    assert audit.holds is False


STARRED = pd.DataFrame({"age": ["34", "34", "35", "35", "*", "36"], "sex": ["M", "*", "F", "*", "F", "*"]})
"""Whoever lets `*` match anything finds 2, 2, 3, 2, 3 (with 36 and `*`: itself and `*`, F) and 2 records."""


def matches(rows):
    """The records that each one does not contradict, by plain comparison."""
    return [
        sum(all(a == b or "*" in (a, b) for a, b in zip(row, other, strict=True)) for other in rows)
        for row in rows
    ]


def test_both_readings_of_a_suppressed_cell_are_named_and_counted():
    rule = {"columns": {n: {"role": "quasi"} for n in STARRED}, "promises": [{"k-anonymity": {"k": 2}}]}
    prosecutor, journalist, marketer = sf.attack("linkage", STARRED, rule).findings
    found = matches(STARRED.values.tolist())
    assert min(found) == 2
    for finding in (prosecutor, journalist):
        assert finding.confidence == 1 and "1 time in 1 with * taken for a value" in finding.sentence
        assert finding.details["highest risk if * matches anything"] == Fraction(1, 2)
        assert "1 in 2 if * matches anything" in finding.sentence
    mean = sum(Fraction(1, n) for n in found) / len(found)
    assert marketer.details["success rate if * matches anything"] == mean


def test_a_table_without_a_single_suppressed_cell_has_one_reading():
    rule = {"columns": {n: {"role": "quasi"} for n in STARRED}, "promises": [{"k-anonymity": {"k": 2}}]}
    for table in (STARRED[:1], STARRED.assign(sex="*")[:4]):
        assert not any("anything" in f.sentence for f in sf.attack("linkage", table, rule).findings)


def test_matching_anything_is_counted_as_by_comparing_all_pairs():
    rng = np.random.default_rng(3)
    for _ in range(40):
        shown = rng.integers(0, 3, (int(rng.integers(2, 30)), 3)).astype(str)
        shown[rng.random(shown.shape) < 0.3] = "*"
        table = pd.DataFrame(shown, columns=list("abc")).sort_values(list("abc"))
        published = PublishedTable.read(open_source(table), dict.fromkeys("abc", Role.QUASI))
        counted = matched_by_anything(published)
        every = matches(table.values.tolist())
        if counted is None:
            assert not any(0 < (table[c] == "*").sum() < len(table) for c in table)
            continue
        assert sorted(np.repeat(counted, published.classes.people).tolist()) == sorted(every)

"""Tables that other programs published, audited with a policy that writes no taxonomy."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

import sfumato as sf
from sfumato.models.k_anonymity.attack import Linkage

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

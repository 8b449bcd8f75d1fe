"""No value of the data in any message, whatever goes wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.fake_survey import survey
from sfumato.core.errors import SfumatoError
from sfumato.policy.doctor.policy import examine
from sfumato.policy.draft import draft
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies import rule_from

CANARY = "Kanarienvogel"
SPECS = [
    {"tree": {"A": ["a"]}},
    {"rows": [["a", "*"]]},
    {"intervals": [5], "from": 0, "to": 9},
    {"intervals": [5], "decimal": True},
    {"date": ["year"]},
    {"mask": "right"},
    {"flat": ["a"]},
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: next(iter(spec)))
@given(suffix=st.text(max_size=40))
def test_messages_of_builders(spec, suffix):
    words = {
        "columns": {"c": {"role": "quasi", "taxonomy": spec}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    policy = Policy.from_dict(words)
    value = CANARY + suffix
    try:
        said = repr(policy.codings[0].build([value, value + "x" * 40]))
    except SfumatoError as wrong:
        said = str(wrong) + repr(wrong) + wrong.message + wrong.remedy + wrong.where
    assert CANARY not in said
    for diagnosis in examine(policy, survey(c=[value, None])):
        assert CANARY not in str(diagnosis) + repr(diagnosis)


def test_reprs_of_trees_and_drafts():
    values = [f"{CANARY}{i}" for i in range(60)]
    assert CANARY not in repr(rule_from({"prefix": [3]}).build(values))
    policy = draft(survey(a=values, b=[CANARY, "x"] * 30, c=[f"{i}.5" for i in range(60)]))
    assert CANARY not in repr(policy) + policy.to_yaml()

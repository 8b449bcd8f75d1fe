"""Words of other tools in a policy are answered with what a policy says."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.policy.other_tools import words_elsewhere
from sfumato.system.errors import BadPolicy

COLUMNS = {"age": {"role": "quasi"}, "disease": {"role": "sensitive"}}
PROMISES = [{"k-anonymity": {"k": 2}}]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            {
                "columns": COLUMNS,
                "promises": [{"kAnonymity": {"k": 2}}],
                "protect": {"search": "top-down", "suppress": 0},
                "confirm": {"disease": True},
            },
            "k-anonymity: {k: 5}",
        ),
        (
            {
                "columns": COLUMNS,
                "promises": PROMISES,
                "protect": {"search": "top-down", "suppress": 0},
                "max_sup": 5,
                "confirm": {"disease": True},
            },
            "protect: {suppress: 5%}",
        ),
        (
            {
                "columns": COLUMNS,
                "promises": PROMISES,
                "protect": {"search": "top-down", "suppress": 0},
                "keyVars": ["age"],
                "confirm": {"disease": True},
            },
            "role: quasi",
        ),
        (
            {
                "columns": COLUMNS,
                "promises": PROMISES,
                "protect": {"search": "top-down", "suppress": 0},
                "supp_level": 5,
                "confirm": {"disease": True},
            },
            "where anjana writes 5",
        ),
        (
            {
                "columns": COLUMNS,
                "promises": PROMISES,
                "protect": {"search": "top-down", "suppress": 0},
                "hhId": "home",
                "confirm": {"disease": True},
            },
            "person: COLUMN",
        ),
        (
            {
                "columns": {"age": {"role": "quasi-identifying"}},
                "promises": PROMISES,
                "protect": {"search": "top-down", "suppress": 0},
            },
            "role: quasi",
        ),
        (
            {
                "columns": {"age": {"role": "quasi", "hierarchy": "a.csv"}},
                "promises": PROMISES,
                "protect": {"search": "top-down", "suppress": 0},
            },
            "taxonomy: {file",
        ),
    ],
)
def test_a_word_of_another_tool_gets_a_hint(words, hint):
    with pytest.raises(BadPolicy) as refused:
        sf.Policy.from_dict(words)
    assert hint in refused.value.remedy and "That is a word of" in refused.value.remedy


def test_no_word_of_a_policy_is_taken_for_one_of_another_tool():
    from sfumato.policy.schema import schema

    whole = schema()
    assert not {key.replace("-", "") for key in whole["properties"]} & set(words_elsewhere())

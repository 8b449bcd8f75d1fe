"""The key `spelling` of a column."""

from __future__ import annotations

import pytest

from draft.fake_survey import survey
from sfumato.draft.doctor import examine
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_data
from sfumato.system.errors import BadPolicy
from sfumato.table.spelling import Spelling


def words(role, **more):
    columns = {"zip": {"role": "quasi"}, "disease": {"role": role, **more}}
    return {
        "columns": columns,
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
    }


def test_spellings_are_folded_unless_the_policy_says_otherwise():
    plain = Policy.from_dict(words("sensitive"))
    exact = Policy.from_dict(words("sensitive", spelling="exact"))
    assert plain.columns["disease"].spelling is Spelling.FOLDED
    assert "spelling" not in plain.to_dict()["columns"]["disease"]
    assert exact.to_dict()["columns"]["disease"]["spelling"] == "exact"
    assert Policy.from_dict(exact.to_dict()) == exact
    assert plain.digest != exact.digest
    assert judge_data(plain)["columns"]["disease"]["spelling"] == "folded"
    assert "spelling: exact" in exact.to_yaml()


@pytest.mark.parametrize("role", ["insensitive", "identifier"])
def test_only_sensitive_columns_and_keys_have_spellings(role):
    with pytest.raises(BadPolicy, match="spelling"):
        Policy.from_dict(words(role, spelling="exact"))


def test_an_unknown_word_is_refused():
    with pytest.raises(BadPolicy, match="spelling"):
        Policy.from_dict(words("sensitive", spelling="loose"))


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (
            ["opioids", "alcohol", "none"],
            "Leave a cell empty where nothing is known, or say spelling: exact if",
        ),
        (["flu", "Flu", "cold"], "Write each value in one way, or say spelling: exact if they differ."),
        (["flu", "Flu", "n/a"], "Write each value in one way and leave what is unknown empty, or say"),
    ],
)
def test_the_remedy_is_for_what_was_found(texts, says):
    policy = Policy.from_dict(words("sensitive"))
    found = examine(policy, survey(zip=["1", "2", "3"], disease=texts))
    assert [one.remedy.startswith(says) for one in found if one.name == "folded"] == [True]

"""The key `spelling` of a column."""

from __future__ import annotations

import pytest

from sfumato.core.errors import BadPolicy
from sfumato.core.spelling import Spelling
from sfumato.policy.judge_data import judge_data
from sfumato.policy.policy import Policy


def words(role, **more):
    columns = {"zip": {"role": "quasi"}, "disease": {"role": role, **more}}
    return {"columns": columns, "promises": [{"k-anonymity": {"k": 2}}]}


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

"""The policy key `recipients`."""

from fractions import Fraction

import pytest

from sfumato.policy.policy import Policy
from sfumato.policy.recipients import RecipientRule
from sfumato.system.errors import BadPolicy

KEY = "ab" * 32
WORDS = {
    "columns": {"zip": {"role": "quasi"}, "job": {"role": "insensitive"}},
    "promises": [{"k-anonymity": {"k": 3}}],
    "protect": {"search": "top-down", "suppress": 0},
}


def policy(**rule):
    return Policy.from_dict({**WORDS, "recipients": rule})


def test_what_is_said_is_read_and_written():
    said = {
        "quality": "precision",
        "tolerance": "5%",
        "frame-proof": 2,
        "overriders": [KEY],
    }
    found = policy(**said)
    assert found.recipients == RecipientRule("precision", Fraction(1, 20), 2, (KEY,))
    again = Policy.from_dict(found.to_dict())
    assert again == found
    assert again.digest == found.digest


def test_every_key_is_optional_and_the_rule_counts_in_the_digest():
    assert policy().recipients == RecipientRule()
    assert policy().to_dict()["recipients"] == {}
    plain = Policy.from_dict(WORDS)
    assert plain.recipients is None
    assert "recipients" not in plain.to_dict()
    assert len({plain.digest, policy().digest, policy(tolerance="1%").digest}) == 3


def test_columns_to_match_rows_by_are_counted():
    assert [c.name for c in Policy.from_dict(WORDS).codings] == ["zip"]
    assert [c.name for c in policy().codings] == ["zip", "job"]


@pytest.mark.parametrize(
    ("rule", "protect", "named"),
    [
        ({"quality": "beauty"}, {}, "recipients.quality"),
        ({"frame-proof": 0}, {}, "recipients.frame-proof"),
        ({"tolerance": "11"}, {}, "recipients.tolerance"),
        ({"overriders": ["somebody"]}, {}, "recipients.overriders"),
        ({"overriders": [KEY, KEY]}, {}, "recipients.overriders"),
        ({"nobody": 1}, {}, "recipients.nobody"),
        ({}, {"search": "mondrian"}, "protect.search"),
        ({}, {"search": "local"}, "protect.search"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(rule, protect, named):
    with pytest.raises(BadPolicy) as refused:
        Policy.from_dict({**WORDS, "recipients": rule, "protect": protect})
    assert any(named in str(problem["key"]) for problem in refused.value.problems)


@pytest.mark.parametrize("key", ["coalition", "adversary"])
def test_promises_about_versions_put_together_are_refused_with_the_word_that_works(key):
    with pytest.raises(BadPolicy, match=f"recipients.{key}: is no longer a key") as refused:
        policy(**{key: "pairs"})
    assert "`chain:` with `recipients: {by: marks}`" in refused.value.remedy


SENSITIVE = {**WORDS["columns"], "ill": {"role": "sensitive"}, "batch": {"role": "identifier"}}
HALF = {"confidence-bounding": {"of": "ill", "confidence": "1/2"}}
TWO = {"l-diversity": {"kind": "distinct", "of": "ill", "l": 2}}


def in_a_chain(*promises, recipients=None, **beside):
    words = {
        "columns": SENSITIVE,
        "promises": [*promises, {"continuous": {"k": 2, "since": "batch", **beside}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"ill": True},
    }
    return Policy.from_dict(words if recipients is None else {**words, "recipients": recipients})


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ({"adversary": "register"}, "continuous.adversary"),
        ({"recipients": {}}, None),
        ({"recipients": {"tolerance": "5%"}}, "recipients"),
        ({"recipients": {"frame-proof": 2}}, "recipients"),
        ({"recipients": {"overriders": [KEY]}}, None),
    ],
)
def test_a_chain_of_continuous_has_one_version_for_all(words, place):
    if place is None:
        assert in_a_chain(**words).promises.looks_back
        return
    with pytest.raises(BadPolicy) as refused:
        in_a_chain(**words)
    (problem,) = refused.value.problems
    assert place in str(problem["key"]) and "chain:" in problem["remedy"]


def test_what_is_believed_beside_earlier_releases_is_for_chains_of_groups():
    assert in_a_chain(TWO, survivors=True) and in_a_chain(HALF)
    with pytest.raises(BadPolicy, match="how likely one is") as refused:
        in_a_chain(HALF, survivors=True)
    assert "chain:" in refused.value.remedy

"""The policy key `recipients`."""

from fractions import Fraction

import pytest

from sfumato.draft.doctor import examine
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import Coalition, RecipientRule
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
        "coalition": "pairs",
        "overriders": [KEY],
    }
    found = policy(**said)
    assert found.recipients == RecipientRule(
        "precision", Fraction(1, 20), 2, Coalition.PAIRS, overriders=(KEY,)
    )
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


def test_columns_that_colluders_match_rows_by_are_counted():
    assert [c.name for c in Policy.from_dict(WORDS).codings] == ["zip"]
    assert [c.name for c in policy().codings] == ["zip", "job"]


@pytest.mark.parametrize(
    ("rule", "protect", "named"),
    [
        ({"coalition": "everybody"}, {}, "recipients.coalition"),
        ({"quality": "beauty"}, {}, "recipients.quality"),
        ({"frame-proof": 0}, {}, "recipients.frame-proof"),
        ({"tolerance": "11"}, {}, "recipients.tolerance"),
        ({"overriders": ["somebody"]}, {}, "recipients.overriders"),
        ({"overriders": [KEY, KEY]}, {}, "recipients.overriders"),
        ({"nobody": 1}, {}, "recipients.nobody"),
        ({"coalition": "any"}, {"suppress": "1%"}, "recipients.coalition"),
        ({}, {"search": "mondrian"}, "protect.search"),
        ({}, {"search": "local"}, "protect.search"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(rule, protect, named):
    with pytest.raises(BadPolicy) as refused:
        Policy.from_dict({**WORDS, "recipients": rule, "protect": protect})
    assert any(named in str(problem["key"]) for problem in refused.value.problems)


def test_the_doctor_says_what_recipients_can_do_together():
    assert [a.name for a in examine(policy())] == ["coalition"]
    assert examine(policy(coalition="pairs")) == []


SENSITIVE = {**WORDS["columns"], "ill": {"role": "sensitive"}, "batch": {"role": "identifier"}}
HALF = {"confidence-bounding": {"of": "ill", "confidence": "1/2"}}
TWO = {"l-diversity": {"kind": "distinct", "of": "ill", "l": 2}}
CLOSE = {"t-closeness": {"of": "ill", "t": "1/2"}}


def beside(**words):
    return {"continuous": {"k": 2, "since": "batch", **words}}


@pytest.mark.parametrize(
    ("promises", "rule", "named", "remedy"),
    [
        (
            [HALF],
            {"coalition": "pairs", "adversary": "target"},
            "recipients.adversary",
            "adversary: register",
        ),
        ([beside()], {"coalition": "pairs"}, "continuous.adversary", "adversary: register"),
        (
            [HALF, beside(adversary="register")],
            {"coalition": "any"},
            "continuous.survivors",
            "survivors: true",
        ),
        ([HALF, beside(survivors=True)], None, "continuous.survivors", "adversary: register"),
        ([CLOSE, beside(survivors=True, adversary="register")], None, "continuous.survivors", "reference"),
        ([TWO], {"coalition": "pairs", "adversary": "everybody"}, "recipients.adversary", ""),
    ],
)
def test_what_several_tables_cannot_be_judged_by_is_refused_with_what_can(promises, rule, named, remedy):
    words = {
        "columns": SENSITIVE,
        "promises": promises,
        "protect": {"search": "top-down", "suppress": 0},
        **({} if rule is None else {"recipients": rule}),
    }
    with pytest.raises(BadPolicy) as refused:
        Policy.from_dict(words)
    found = [p for p in refused.value.problems if named in str(p["key"])]
    assert found and remedy in str(found)


@pytest.mark.parametrize(
    ("promises", "rule"),
    [
        ([HALF], {"coalition": "any"}),
        ([TWO], {"coalition": "pairs", "adversary": "target"}),
        ([TWO, beside(survivors=True)], None),
        ([HALF, beside()], None),
        ([HALF, beside(survivors=True, adversary="register")], {"coalition": "pairs"}),
        ([beside()], {"coalition": "pairs", "adversary": "target"}),
        ([CLOSE], {"coalition": "pairs"}),
    ],
)
def test_adversaries_that_fit_what_is_promised_are_read_and_written(promises, rule):
    words = {
        "columns": SENSITIVE,
        "promises": promises,
        "protect": {"search": "top-down", "suppress": 0},
        **({} if rule is None else {"recipients": rule}),
    }
    found = Policy.from_dict(words)
    assert Policy.from_dict(found.to_dict()) == found
    if rule is not None and "adversary" in rule:
        assert found.to_dict()["recipients"]["adversary"] == "target"

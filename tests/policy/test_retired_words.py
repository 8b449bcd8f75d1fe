"""Words that policies no longer have are refused with the reason, never ignored."""

import pytest

import sfumato as sf
from sfumato.system.errors import BadPolicy

SMALL = {"columns": {"zip": {"role": "quasi"}}, "promises": [{"k-anonymity": {"k": 5}}]}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"sfumato": 1}, "sfumato: is no longer a key: there is one form of policies"),
        ({"sfumato": 2}, "sfumato: is no longer a key: there is one form of policies"),
        (
            {"known-search": {"minimality": "1/10"}},
            "known-search: is no longer a key: what adversaries learn",
        ),
        ({"protect": {"stricter": "1/2"}}, "protect.stricter: is no longer a key: it was shown to help"),
        (
            {"recipients": {"coalition": "any"}},
            "recipients.coalition: is no longer a key: what recipients learn who put versions of one table",
        ),
        ({"recipients": {"adversary": "target"}}, "recipients.adversary: is no longer a key"),
        (
            {"promises": [{"continuous": {"k": 2, "adversary": "register"}}]},
            "continuous.adversary: is no longer a key: `continuous` is kept against somebody who knows",
        ),
    ],
)
def test_a_retired_word_is_refused_with_the_reason(words, reason):
    with pytest.raises(BadPolicy, match=reason) as refused:
        sf.Policy.from_dict(SMALL | words)
    assert refused.value.exit_code == 3 and refused.value.remedy.startswith("Leave")

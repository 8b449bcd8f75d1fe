"""An override is valid to the end of its last day, by the calendar, and for what was signed."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from sfumato.releases.ledger.keys import Key
from sfumato.releases.overrides import Override, WeakerOverride, read_override
from sfumato.system.errors import BadData, UsageError


@pytest.fixture
def check(tmp_path):
    """Check an override that ends on the last day of 2026, at a moment."""
    key = Key.make(tmp_path / "berg.key")
    signed = Override("p" * 64, "main", "rescue", 2, "flood", "Berg", "2026-12-31").sign(key)

    def at(*moment, **changes):
        asked = {
            "policy": "p" * 64,
            "chain": "main",
            "names": ["rescue"],
            "overriders": [key.public],
            "ledger_keys": [],
            "now": datetime(*moment, tzinfo=UTC),
        }
        signed.check(**{**asked, **changes})

    return at


@pytest.mark.parametrize("moment", [(2026, 1, 1), (2026, 12, 30), (2026, 12, 31), (2026, 12, 31, 23, 59, 59)])
def test_it_is_valid_until_the_end_of_its_last_day(check, moment):
    check(*moment)


@pytest.mark.parametrize("moment", [(2027, 1, 1), (2027, 1, 1, 0, 0, 1), (2027, 1, 2), (2099, 1, 1)])
def test_it_has_ended_from_the_day_after_on(check, moment):
    with pytest.raises(UsageError, match="ended on 2026-12-31"):
        check(*moment)


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": "q" * 64},
        {"chain": "other"},
        {"names": ["registry"]},
        {"names": []},
        {"overriders": []},
        {"overriders": ["0" * 64]},
    ],
)
def test_it_is_for_what_was_signed_by_one_who_may(check, changes):
    with pytest.raises(UsageError):
        check(2026, 6, 1, **changes)


SMALLER = Override("p" * 64, "main", "rescue", 2, "flood", "Berg", "2026-12-31")
WEAKER = WeakerOverride("p" * 64, "main", "flood", "Berg", "2026-12-31")


def test_what_is_signed_and_written_stays_as_it_was():
    told = {"by": "Berg", "chain": "main", "policy": "p" * 64, "public_key": "", "reason": "flood"}
    until = {"until": "2026-12-31"}
    smaller = json.dumps(
        {**told, **until, "k": 2, "recipient": "rescue"}, sort_keys=True, separators=(",", ":")
    )
    weaker = json.dumps({**told, **until}, sort_keys=True, separators=(",", ":"))
    assert SMALLER.message.decode() == f"sfumato override {smaller}"
    assert WEAKER.message.decode() == f"sfumato override weaker {weaker}"
    assert list(SMALLER.as_dict()) == [
        "sfumato-override",
        *("policy", "chain", "recipient", "k", "reason", "by", "until", "public_key", "signature"),
    ]
    assert list(WEAKER.as_dict())[:3] == ["sfumato-override", "kind", "policy"]


@pytest.mark.parametrize("override", [SMALLER, WEAKER])
def test_an_override_is_read_as_what_it_is(override, tmp_path):
    path = tmp_path / "override.json"
    signed = override.sign(Key.make(tmp_path / "berg.key"))
    path.write_bytes(signed.as_bytes())
    assert read_override(path) == type(override).read(path) == signed
    other = Override if override is WEAKER else WeakerOverride
    with pytest.raises(BadData, match="this is no override"):
        other.read(path)


@pytest.mark.parametrize(
    "change",
    [
        {"k": True},
        {"k": "2"},
        {"by": 3},
        {"by": None},
        {"kind": "other"},
        {"kind": ["weaker"]},
        {"sfumato-override": 2},
    ],
)
def test_a_file_that_holds_something_else_is_no_override(change, tmp_path):
    path = tmp_path / "override.json"
    path.write_text(json.dumps({**SMALLER.as_dict(), **change}))
    with pytest.raises(BadData, match="this is no override"):
        read_override(path)

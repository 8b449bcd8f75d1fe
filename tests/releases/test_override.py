"""An override is valid to the end of its last day, by the calendar, and for what was signed."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from sfumato.releases.ledger.keys import Key
from sfumato.releases.overrides import WeakerOverride
from sfumato.system.errors import BadData, UsageError


@pytest.fixture
def check(tmp_path):
    """Check an override that ends on the last day of 2026, at a moment."""
    key = Key.make(tmp_path / "berg.key")
    signed = WeakerOverride("p" * 64, "main", "flood", "Berg", "2026-12-31").sign(key)

    def at(*moment, **changes):
        asked = {
            "policy": "p" * 64,
            "chain": "main",
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
        {"overriders": []},
        {"overriders": ["0" * 64]},
    ],
)
def test_it_is_for_what_was_signed_by_one_who_may(check, changes):
    with pytest.raises(UsageError):
        check(2026, 6, 1, **changes)


WEAKER = WeakerOverride("p" * 64, "main", "flood", "Berg", "2026-12-31")


def test_what_is_signed_and_written_stays_as_it_was():
    content = {"by": "Berg", "chain": "main", "policy": "p" * 64, "public_key": "", "reason": "flood"}
    weaker = json.dumps({**content, "until": "2026-12-31"}, sort_keys=True, separators=(",", ":"))
    assert WEAKER.message.decode() == f"sfumato override weaker {weaker}"
    assert list(WEAKER.as_dict())[:3] == ["sfumato-override", "kind", "policy"]


def test_an_override_is_read_as_what_it_is(tmp_path):
    path = tmp_path / "override.json"
    signed = WEAKER.sign(Key.make(tmp_path / "berg.key"))
    path.write_bytes(signed.as_bytes())
    assert WeakerOverride.read(path) == signed


@pytest.mark.parametrize(
    "change",
    [
        {"by": 3},
        {"by": None},
        {"kind": "other"},
        {"kind": ""},
        {"kind": ["weaker"]},
        {"sfumato-override": 2},
    ],
)
def test_a_file_that_holds_something_else_is_no_override(change, tmp_path):
    path = tmp_path / "override.json"
    path.write_text(json.dumps({**WEAKER.as_dict(), **change}))
    with pytest.raises(BadData, match="this is no override"):
        WeakerOverride.read(path)

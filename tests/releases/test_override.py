"""An override is valid to the end of its last day, by the calendar, and for what was signed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sfumato.core.errors import WrongCall
from sfumato.releases.ledger.keys import Key
from sfumato.releases.override import Override


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
    with pytest.raises(WrongCall, match="ended on 2026-12-31"):
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
    with pytest.raises(WrongCall):
        check(2026, 6, 1, **changes)

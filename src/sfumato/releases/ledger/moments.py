"""Moments of a ledger: no entry is dated before the one it follows, whatever a clock says."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from sqlalchemy import Connection

from sfumato.releases.ledger import entries
from sfumato.releases.ledger.entry import Entry


def dated(entry: Entry | None) -> datetime | None:
    """Returns when an entry was made, as it says; `None` where it does not say."""
    try:
        moment = datetime.fromisoformat(str(json.loads(entry.body)["at"])) if entry else None
    except (ValueError, KeyError, TypeError):
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def not_before_last(connection: Connection, moment: datetime) -> datetime:
    """Returns the moment, or that of the last entry where the clock stands before it."""
    last = dated(entries.last(connection))
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return aware if last is None else max(aware, last)

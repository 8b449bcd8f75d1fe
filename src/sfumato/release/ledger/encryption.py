"""The encryption of a whole ledger: the keys that open it, and the cleaning of what was erased from it."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import delete

from sfumato.releases.ledger import underway
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.reading_key import ReadingKey
from sfumato.releases.ledger.tables import STAGED

KEY_VARIABLE = "SFUMATO_LEDGER_KEY"
"""Names the file of the key where none is given."""


def opening_key(path: Path | None) -> Path | None:
    """Returns the file of the key that opens what is encrypted, for whoever only reads.

    It is the one at `path`, if there is one, or that which the environment names.
    """
    named = os.environ.get(KEY_VARIABLE)
    return Path(named) if named and not (path is not None and path.exists()) else path


def reading_key(database: LedgerDatabase) -> ReadingKey:
    """Returns the key that opens what is encrypted in a ledger, and signs nothing."""
    with database.reading() as connection:
        return database.vault.reading_key(connection)


def clean(database: LedgerDatabase) -> int:
    """Cleans the database of what was erased, if that is still to be done.

    Returns how often it was to be done.
    """
    with database.reading() as connection:
        rows = underway.checked_rows(connection)
        pending = [row["release"] for row in rows if row["state"] == underway.CLEANING]
    if pending:
        database.clean()
        done = delete(STAGED).where(STAGED.c.release.in_(pending))
        database.write(lambda connection: connection.execute(done) and None)
    return len(pending)

"""The encryption of a whole ledger: the keys that open it, and the cleaning of what was erased from it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from sfumato.releases.ledger import entries
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.keys import Key, ReadingKey, canonical, signed
from sfumato.releases.ledger.tables import STAGED
from sfumato.system.errors import BadLedger
from sfumato.system.json_object import JsonMapping, JsonObject

# Releases under way: rows that come and go, each signed, so that recovery can trust them.

OPEN, ABANDONED, CLEANING = "open", "abandoned", "cleaning"
"""A release is open or given up. Where somebody was erased, freed pages have to be cleaned."""


class Staged(NamedTuple):
    """A release under way: on which machine, in which folder of it, and what it is to become."""

    release: str
    host: str
    folder: Path
    target: str


def sealed(row: JsonMapping, key: Key) -> JsonObject:
    """Returns the row with its signature."""
    return {**row, "seal": key.sign(_message(row))}


def is_sealed(row: JsonMapping, keys: Iterable[str]) -> bool:
    """Whether the row is what one of these keys signed."""
    return any(signed(_message(row), str(row["seal"]), key) for key in keys)


def rows(connection: Connection) -> list[JsonObject]:
    """Returns everything that is under way, on any machine."""
    return [dict(row) for row in connection.execute(select(STAGED).order_by(STAGED.c.release)).mappings()]


def staged(connection: Connection) -> list[Staged]:
    """Returns the releases under way, on any machine; raises where what is said of one was changed."""
    releases = [row for row in checked_rows(connection) if row["state"] != CLEANING]
    return [Staged(row["release"], row["host"], Path(row["folder"]), row["target"]) for row in releases]


def checked_rows(connection: Connection) -> list[JsonObject]:
    """Returns everything that is under way; raises where a row was changed."""
    staged_rows = rows(connection)
    keys = entries.keys(connection) if staged_rows else ()
    if not all(is_sealed(row, keys) for row in staged_rows):
        raise BadLedger(
            "what the ledger says of a release under way was changed", remedy="Run `sfumato ledger verify`."
        )
    return staged_rows


def give_up(connection: Connection, release: str, key: Key) -> None:
    """Notes that a release under way is given up: it can be entered no more."""
    mine = STAGED.c.release == release
    for row in connection.execute(select(STAGED).where(mine)).mappings().all():
        connection.execute(update(STAGED).where(mine).values(sealed({**row, "state": ABANDONED}, key)))


def note_cleaning(connection: Connection, name: str, key: Key) -> None:
    """Notes that pages of the database still hold what was deleted."""
    row = {"release": name, "state": CLEANING, "host": "", "folder": "", "target": ""}
    connection.execute(insert(STAGED).values(sealed(row, key)))


def is_open(connection: Connection, release: str) -> bool:
    """Whether the release is under way, and nobody gave it up."""
    wanted = select(STAGED.c.state).where(STAGED.c.release == release)
    return connection.execute(wanted).scalar() == OPEN


def _message(row: JsonMapping) -> bytes:
    texts = {name: str(value) for name, value in row.items() if name != "seal"}
    return f"sfumato staged {canonical(texts)}".encode()


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
    return database.read(database.vault.reading_key)


def clean(database: LedgerDatabase) -> int:
    """Cleans the database of what was erased, if that is still to be done.

    Returns how often it was to be done.
    """
    pending = [row["release"] for row in database.read(checked_rows) if row["state"] == CLEANING]
    if pending:
        database.clean()
        done = delete(STAGED).where(STAGED.c.release.in_(pending))
        database.write(lambda connection: connection.execute(done) and None)
    return len(pending)

"""Releases under way: rows that come and go, each signed, so that recovery can trust them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, insert, select, update

from sfumato.core.errors import BadLedger
from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.seals import canonical, signed
from sfumato.releases.ledger.tables import STAGED

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
    found = [row for row in checked_rows(connection) if row["state"] != CLEANING]
    return [Staged(row["release"], row["host"], Path(row["folder"]), row["target"]) for row in found]


def checked_rows(connection: Connection) -> list[JsonObject]:
    """Returns everything that is under way; raises where a row was changed."""
    found = rows(connection)
    keys = entries.keys(connection) if found else ()
    if not all(is_sealed(row, keys) for row in found):
        raise BadLedger(
            "what the ledger says of a release under way was changed", remedy="Run `sfumato ledger verify`."
        )
    return found


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

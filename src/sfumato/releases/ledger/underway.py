"""Releases under way: rows that come and go, each signed, so that recovery can trust them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, select

from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.seals import canonical, signed
from sfumato.releases.ledger.tables import STAGED

OPEN, ABANDONED = "open", "abandoned"


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


def is_open(connection: Connection, release: str) -> bool:
    """Whether the release is under way, and nobody gave it up."""
    wanted = select(STAGED.c.state).where(STAGED.c.release == release)
    return connection.execute(wanted).scalar() == OPEN


def _message(row: JsonMapping) -> bytes:
    texts = {name: str(value) for name, value in row.items() if name != "seal"}
    return f"sfumato staged {canonical(texts)}".encode()

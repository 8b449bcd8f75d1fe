"""Queries on the tables of a ledger."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, select

from sfumato.releases.ledger.checkpoint import Head
from sfumato.releases.ledger.keys import DatedKey
from sfumato.releases.ledger.records import KEY, RELEASE, Entry
from sfumato.releases.ledger.tables import ENTRIES, HEAD
from sfumato.releases.ledger.vault import opened_entry, vault_of
from sfumato.releases.names import same_name
from sfumato.system.errors import BadLedger
from sfumato.system.json_object import JsonMapping, JsonObject, read_json

NO_CHAIN = ""
"""Stands for the chain of entries that are no release; the index of chains finds them."""


class SignedHead(NamedTuple):
    """The row that says where the ledger ends, as it is stored."""

    number: int
    hash: str
    signature: str


def head(connection: Connection) -> SignedHead | None:
    """Returns where the ledger says that it ends; `None` if it does not say."""
    row = connection.execute(select(HEAD)).first()
    return None if row is None else SignedHead(row.number, row.hash, row.signature)


def last_entry(connection: Connection, chain: str | None = None) -> Entry | None:
    """Returns the last entry, of all or of a chain."""
    wanted = select(ENTRIES).order_by(ENTRIES.c.number.desc()).limit(1)
    if chain is not None:
        wanted = select(ENTRIES).where(ENTRIES.c.chain == chain).order_by(ENTRIES.c.sequence.desc()).limit(1)
    return _first(connection, wanted)


def last_of_chain(connection: Connection, chain: str) -> Entry | None:
    """Returns the last release of a chain."""
    wanted = select(ENTRIES).where(ENTRIES.c.chain == chain, ENTRIES.c.kind == RELEASE)
    return _first(connection, wanted.order_by(ENTRIES.c.number.desc()).limit(1))


def find(connection: Connection, release: str) -> Entry | None:
    """Returns the entry of a release."""
    return _first(connection, select(ENTRIES).where(ENTRIES.c.release == release))


def of_event(connection: Connection, event: str) -> tuple[Entry, ...]:
    """Returns the entries of an event, which bears the name of its first release; they follow each other."""
    entry = find(connection, event)
    members: list[Entry] = []
    while entry is not None and entry.kind == RELEASE and entry.event == event:
        members.append(entry)
        entry = at(connection, entry.number + 1)
    return tuple(members)


def opened(connection: Connection, row: JsonMapping) -> Entry:
    """Returns the entry of a row; what is encrypted in it stays so where the key is not at hand."""
    return Entry.of(opened_entry(connection, row))


def at(connection: Connection, number: int) -> Entry | None:
    """Returns the entry with this number."""
    return _first(connection, select(ENTRIES).where(ENTRIES.c.number == number))


def _first(connection: Connection, wanted: Select[Any]) -> Entry | None:
    row = connection.execute(wanted).mappings().first()
    return None if row is None else opened(connection, dict(row))


def releases(connection: Connection, chain: str | None, *, memory: bool = True) -> list[Entry]:
    """Returns the releases of a chain, or of all chains, in order of entry.

    Raises `EncryptedLedger` where the key is needed and not at hand.
    """
    read = [column for column in ENTRIES.c if memory or column.name != "memory"]
    wanted = select(*read).where(ENTRIES.c.kind == RELEASE).order_by(ENTRIES.c.number)
    if chain is not None:
        wanted = wanted.where(ENTRIES.c.chain == same_name(chain))
    releases = [opened(connection, {"memory": b"", **row}) for row in connection.execute(wanted).mappings()]
    closed = any(entry.is_closed for entry in releases)
    if closed and (why := vault_of(connection).why_closed(connection)) is not None:
        raise why
    return releases


def key_in_force(connection: Connection) -> str:
    """Returns the public key whose signature counts now."""
    wanted = select(ENTRIES.c.body).where(_of_kind(KEY)).order_by(ENTRIES.c.number.desc()).limit(1)
    return public_key(connection.execute(wanted).scalar())


def keys(connection: Connection) -> tuple[str, ...]:
    """Returns every public key that was ever in force, newest first."""
    wanted = select(ENTRIES.c.body).where(_of_kind(KEY)).order_by(ENTRIES.c.number.desc())
    return tuple(public_key(body) for body in connection.execute(wanted).scalars())


def dated_keys(connection: Connection) -> tuple[DatedKey, ...]:
    """Returns the same with the numbers of the entries that each may have signed; a key signs its successor.

    The key of the first entry signed that one, too.
    """
    named = [(number, str(body.get("public_key", ""))) for number, body in notices(connection, KEY)]
    ends = [number for number, _ in named[1:]] + [None]
    begins = [number + (i > 0) for i, (number, _) in enumerate(named)]
    dated = [DatedKey(key, begin, end) for (_, key), begin, end in zip(named, begins, ends, strict=True)]
    return tuple(reversed(dated))


def notices(connection: Connection, kind: str) -> list[tuple[int, JsonObject]]:
    """Returns the notices of a kind, in order: the number of each and what it says."""
    wanted = select(ENTRIES.c.number, ENTRIES.c.body).where(_of_kind(kind)).order_by(ENTRIES.c.number)
    return [(row.number, _body(row.body)) for row in connection.execute(wanted)]


def _of_kind(kind: str) -> ColumnElement[bool]:
    """The condition for entries of a kind that is no release."""
    return and_(ENTRIES.c.chain == NO_CHAIN, ENTRIES.c.kind == kind)


def public_key(body: object) -> str:
    """Returns the key that an entry of keys names."""
    return str(_body(body).get("public_key", ""))


def identity(connection: Connection) -> str:
    """Returns the name the ledger gave itself in its first entry."""
    return str(
        _body(connection.execute(select(ENTRIES.c.body).where(ENTRIES.c.number == 1)).scalar())["ledger"]
    )


def holds(connection: Connection, head: Head) -> bool:
    """Whether the entry that was the head once is still there."""
    return (
        connection.execute(select(ENTRIES.c.hash).where(ENTRIES.c.number == head.number)).scalar()
        == head.hash
    )


def _body(text: object) -> JsonObject:
    try:
        body = read_json(str(text))
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise BadLedger("an entry of the ledger is damaged", remedy="Run `sfumato ledger verify`.")
    return body


# Moments of a ledger: no entry is dated before the one it follows, whatever a clock says.


def dated(entry: Entry | None) -> datetime | None:
    """Returns when an entry was made, as it says; `None` where it does not say."""
    try:
        moment = datetime.fromisoformat(str(json.loads(entry.body)["at"])) if entry else None
    except (ValueError, KeyError, TypeError):
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def not_before_last(connection: Connection, moment: datetime) -> datetime:
    """Returns the moment, or that of the last entry where the clock stands before it."""
    last = dated(last_entry(connection))
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return aware if last is None else max(aware, last)

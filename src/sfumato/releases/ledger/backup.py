"""Backup and restore: a backup is a ledger of its own, a SQLite file, from whichever database it comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import Connection, insert, select

from sfumato.releases.ledger import checkpoint as seen_head
from sfumato.releases.ledger import database as schema
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.keys import Key, public_key
from sfumato.releases.ledger.ledger import Ledger, checked_head, key_in_force, now
from sfumato.releases.ledger.missing_entries import Anchor, MissingEntries, missing_entries
from sfumato.releases.ledger.notices import append, new_name, notice
from sfumato.releases.ledger.records import LOSS
from sfumato.releases.ledger.tables import ENTRIES, HEAD, PEOPLE, SECRETS
from sfumato.system.errors import BadLedger, UsageError
from sfumato.system.json_object import JsonMapping


def backup(ledger: Ledger, path: str | Path) -> Path:
    """Copies the ledger, as it is at one moment, to a new SQLite file, without the key; returns its path."""
    target = Path(path)
    if os.path.lexists(target):
        raise UsageError("the backup exists already", remedy="Name another file.")
    _require_whole(ledger)
    part = target.with_name(f".{target.name}.part")
    _remove(part)
    try:
        copy = LedgerDatabase(f"sqlite:///{part}")
        _copy(ledger.database, copy)
        copied = Ledger(f"sqlite:///{part}", readonly=True)
        copied.database.vault = ledger.database.vault  # no key lies beside the copy
        _require_whole(copied)
        os.link(part, target)
    finally:
        _remove(part)
    return target


def _remove(part: Path) -> None:
    """Removes a copy that was not finished, with what SQLite may have left beside it."""
    part.with_name(f"{part.name}-journal").unlink(missing_ok=True)
    part.unlink(missing_ok=True)


def restore(
    path: str | Path,
    url: str,
    *,
    key: str | Path | None = None,
    certificates: Sequence[JsonMapping] = (),
    anchors: Sequence[Anchor] = (),
    accept_loss: bool = False,
) -> Ledger:
    """Fills an empty database from a backup and returns the ledger in it: all of it, or nothing.

    A backup is refused if it is damaged, is of another key, or misses entries that are known from a
    certificate, an anchor or what was noted beside the key: the next release could not be judged beside them.
    With `accept_loss` they are entered as lost, in the same transaction. Their chains are closed by that, and
    so is the whole ledger where nobody knows what they were.
    """
    new = LedgerDatabase(url)
    key_path = Path(key) if key else (new.path.with_name(f"{new.path.name}.key") if new.path else None)
    old = Ledger(f"sqlite:///{Path(path)}", key=key_path, readonly=True)
    old.key_path = None  # what was seen is compared below
    _require_whole(old, key=None if key is None else public_key(Path(key)))
    missing = missing_in(old, key_path, certificates=certificates, anchors=anchors)
    if missing.contradicted:
        raise BadLedger(
            f"the backup is of another history: {missing.sentences[-1]}",
            remedy="Two copies of one ledger were written to, or one was made up. Find out which one counts.",
        )
    if missing and not accept_loss:
        raise BadLedger(
            f"the backup ends before entry {missing.to}, which was published; it lacks "
            + "; ".join(missing.sentences),
            remedy="Find a newer backup: the next release cannot be held against what is missing. "
            "--accept-loss restores it all the same, and closes the chains that lost something.",
        )
    _require_key(old, key_path)
    _copy(old.database, new, also=lambda connection: _enter_loss(connection, missing, key_path))
    return Ledger(url, key=key)


def missing_in(
    ledger: Ledger,
    key_path: Path | None,
    *,
    certificates: Sequence[JsonMapping] = (),
    anchors: Sequence[Anchor] = (),
) -> MissingEntries:
    """Returns what a ledger lacks of what is known from outside, and from what was noted beside the key."""
    with ledger.database.reading() as connection:
        noted = seen_head.last_seen(key_path)
        return missing_entries(connection, certificates=certificates, anchors=anchors, noted=noted)


def _require_key(ledger: Ledger, key_path: Path | None) -> None:
    """Raises, before anything is copied, unless the key that continues the ledger is there."""
    if key_path is None:
        raise UsageError("a ledger in PostgreSQL needs a key file", remedy="Name one with --key FILE.")
    with ledger.database.reading() as connection:
        key_in_force(connection, Key.load(key_path), key_path)


def _enter_loss(connection: Connection, missing: MissingEntries, key_path: Path | None) -> None:
    """Enters what is lost, with the key of the ledger."""
    if not missing or key_path is None:
        return
    key = key_in_force(connection, Key.load(key_path), key_path)
    head = checked_head(connection, key.public)
    at = entries.not_before_last(connection, now()).isoformat()
    body = {"at": at, "ledger": entries.identity(connection), **missing.as_dict()}
    loss = notice(connection, new_name(), LOSS, body, head)
    append(connection, loss, key)


def _require_whole(ledger: Ledger, *, key: str | None = None) -> None:
    verification = ledger.verify(key=key)
    if not verification.holds:
        raise BadLedger(f"the ledger is not whole: {verification.faults[0]}", remedy="Nothing was copied.")


def _copy(
    source: LedgerDatabase, target: LedgerDatabase, *, also: Callable[[Connection], None] = lambda _: None
) -> None:
    """Copies all tables in one transaction, in which more may be done; what is encrypted stays so."""
    schema.prepare(target)
    with source.reading() as old, target.writing() as new:
        if entries.head(new) is not None:
            raise UsageError("there is a ledger already", remedy="Restore into an empty database.")
        for table in (ENTRIES, HEAD, PEOPLE, SECRETS):
            order = HEAD.c.one if table is HEAD else table.c.number
            for row in old.execute(select(table).order_by(order)).mappings():
                new.execute(insert(table).values(dict(row)))
        also(new)

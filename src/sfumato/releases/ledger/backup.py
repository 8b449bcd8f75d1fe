"""Backup and restore: a backup is a ledger of its own, a SQLite file, from whichever database it comes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import insert, inspect, select

from sfumato.core.errors import BadLedger, WrongCall
from sfumato.core.json_object import JsonMapping
from sfumato.releases.ledger import entries, schema, seen_head
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.keys import public_key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.tables import ENTRIES, HEAD, PEOPLE


def backup(ledger: Ledger, path: str | Path) -> Path:
    """Copies the ledger, as it is at one moment, to a new SQLite file, without the key; returns its path."""
    target = Path(path)
    if os.path.lexists(target):
        raise WrongCall("the backup exists already", remedy="Name another file.")
    _require_whole(ledger)
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)
    try:
        copy = LedgerDatabase(f"sqlite:///{part}")
        _copy(ledger.database, copy)
        _require_whole(Ledger(f"sqlite:///{part}", readonly=True))
        os.link(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target


def restore(
    path: str | Path,
    url: str,
    *,
    key: str | Path | None = None,
    certificates: Sequence[JsonMapping] = (),
) -> Ledger:
    """Fills an empty database from a backup and returns the ledger in it.

    A backup is refused if it is damaged, is of another key, or misses releases that are known from a
    certificate or from what was noted beside the key: the next release could not be judged beside them.
    """
    old = Ledger(f"sqlite:///{Path(path)}", readonly=True)
    if key is not None:
        old.key_path = Path(key)
    _require_whole(old, certificates=certificates, key=None if key is None else public_key(Path(key)))
    new = LedgerDatabase(url)
    key_path = Path(key) if key else (new.path.with_name(f"{new.path.name}.key") if new.path else None)
    before = seen_head.last_seen(key_path)
    with old.database.reading() as connection:
        if before and not entries.holds(connection, before):
            raise BadLedger(
                f"the backup ends before entry {before.number}, which was published",
                remedy="Find a newer backup; without those entries the next release cannot be judged.",
            )
    _copy(old.database, new)
    return Ledger(url, key=key)


def _require_whole(
    ledger: Ledger, *, certificates: Sequence[JsonMapping] = (), key: str | None = None
) -> None:
    verification = ledger.verify(certificates=certificates, key=key)
    if not verification.holds:
        raise BadLedger(f"the ledger is not whole: {verification.faults[0]}", remedy="Nothing was copied.")


def _copy(source: LedgerDatabase, target: LedgerDatabase) -> None:
    schema.prepare(target)
    with source.reading() as old, target.writing() as new:
        if entries.head(new) is not None:
            raise WrongCall("there is a ledger already", remedy="Restore into an empty database.")
        held = [PEOPLE] if inspect(old).has_table(PEOPLE.name) else []  # not in ledgers of older versions
        for table in (ENTRIES, HEAD, *held):
            order = HEAD.c.one if table is HEAD else table.c.number
            for row in old.execute(select(table).order_by(order)).mappings():
                new.execute(insert(table).values(dict(row)))

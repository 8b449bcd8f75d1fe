"""Borders of the ledger: copies, read-only connections, failures of servers, several versions at once."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import delete
from sqlalchemy.exc import DBAPIError, OperationalError

from faults.made_up import release, release_to_three
from releases.ledger.tampering import change
from sfumato.releases.ledger import backup as copying
from sfumato.releases.ledger import database
from sfumato.releases.ledger import ledger as ledgers
from sfumato.releases.ledger.backup import backup, restore
from sfumato.releases.ledger.database import (
    AccessDenied,
    LedgerDatabase,
    LostDatabase,
    SerializationConflict,
    translated,
)
from sfumato.releases.ledger.entries import dated
from sfumato.releases.ledger.keys import Key, canonical
from sfumato.releases.ledger.ledger import Ledger, key_in_force
from sfumato.releases.ledger.records import Entry
from sfumato.releases.ledger.tables import ENTRIES
from sfumato.system.errors import BadLedger, LedgerConflict, RefusedByHistory, UsageError

pytestmark = pytest.mark.slow


def test_a_copy_that_lacks_something_is_no_backup(filled, tmp_path, monkeypatch):
    honest = copying._copy

    def careless(source, target):
        honest(source, target)
        with target.writing() as connection:
            connection.execute(delete(ENTRIES).where(ENTRIES.c.number == 3))

    monkeypatch.setattr(copying, "_copy", careless)
    with pytest.raises(BadLedger, match="not whole"):
        backup(filled, tmp_path / "backup.db")
    assert not (tmp_path / "backup.db").exists()


def test_a_server_has_no_key_beside_it(filled, tmp_path, monkeypatch):
    copy, copied = backup(filled, tmp_path / "backup.db"), []
    monkeypatch.setattr(copying, "LedgerDatabase", lambda _: SimpleNamespace(path=None))
    monkeypatch.setattr(copying, "_copy", lambda *_, **__: copied.append(True))
    with pytest.raises(UsageError, match="needs a key file"):
        restore(copy, "postgresql://somewhere/ledger")
    assert copied == []


def test_a_reader_cannot_write_whatever_it_asks(filled, url):
    assert filled.history()
    reader = LedgerDatabase(url, readonly=True)
    with pytest.raises(OperationalError, match="readonly"), reader.engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE more (a INTEGER)")


@pytest.mark.parametrize(("patience", "seconds"), [(0.1, 2), (7.9, 7)])
def test_a_server_is_waited_for(monkeypatch, patience, seconds):
    given = {}
    monkeypatch.setattr(database, "create_engine", lambda _, **words: given.update(words))
    LedgerDatabase("postgresql://somewhere/ledger", patience=patience)
    assert given["connect_args"] == {"connect_timeout": seconds, "application_name": "sfumato"}
    assert given["hide_parameters"]


class Recording:
    """A connection that writes down what is done with it."""

    def __init__(self):
        self.done = []

    def execution_options(self, *, isolation_level):
        self.done.append(isolation_level)

    def execute(self, statement, _=None):
        self.done.append(str(statement))

    def commit(self):
        self.done.append("commit")


def test_writers_of_a_server_take_turns(monkeypatch):
    monkeypatch.setattr(database, "create_engine", lambda *_, **__: None)
    connection = Recording()
    LedgerDatabase("postgresql://somewhere/ledger", patience=2)._take_lock(connection)
    assert connection.done == [
        "AUTOCOMMIT",
        "SET lock_timeout = 2000",
        "SELECT pg_advisory_lock(:key)",
        "commit",
        "SERIALIZABLE",
    ]


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("40001", SerializationConflict),
        ("40P01", SerializationConflict),
        ("55P03", LedgerConflict),
        ("28P01", AccessDenied),
        ("42501", AccessDenied),
        ("08006", LostDatabase),
        ("57P01", LostDatabase),
        (None, LostDatabase),
        ("42P01", BadLedger),
    ],
)
def test_failures_of_a_server_in_our_words(state, kind):
    class FromServer(Exception):
        sqlstate = state

    told = translated(DBAPIError("SELECT 1", {}, FromServer("value of a cell")))
    assert type(told) is kind and "value of a cell" not in str(told)


def test_failures_of_a_file_in_our_words():
    assert "damaged" in str(translated(DBAPIError("SELECT 1", {}, sqlite3.DatabaseError("cell"))))


def test_a_later_release_of_its_own_chain_hides_no_other_chain(url, tmp_path):
    ledger = Ledger(url)
    release(ledger, tmp_path / "a1", chain="a", table="1", recipient="us")
    release(ledger, tmp_path / "b1", chain="b", table="2", recipient="us")
    with pytest.raises(RefusedByHistory, match="chain b of this ledger has the same table"):
        release(ledger, tmp_path / "a2", chain="a", table="2", recipient="us")


def test_what_an_entry_remembers_is_not_printed(filled):
    with filled.database.reading() as connection:
        (row,) = connection.execute(ENTRIES.select().where(ENTRIES.c.number == 2)).mappings()
    entry = Entry.of(dict(row))
    assert entry.memory and "memory=" not in repr(entry)


def test_versions_of_one_release_follow_each_other(url, tmp_path):
    ledger = Ledger(url)
    release_to_three(ledger, tmp_path / "three")
    assert ledger.verify().holds
    with ledger.database.reading() as connection:
        every = [Entry.of(dict(row)) for row in connection.execute(ENTRIES.select()).mappings()]
    assert [entry.previous for entry in every[1:]] == [entry.hash for entry in every[:-1]]


def test_a_wrong_key_without_a_file(filled, tmp_path):
    filled.key_path = None
    with filled.database.reading() as connection, pytest.raises(BadLedger, match="not the key"):
        key_in_force(connection, Key.make(tmp_path / "other.key"), filled.key_path)


@pytest.mark.parametrize("harm", ["reader", "no key"])
def test_a_key_is_not_made_where_it_cannot_be_entered(filled, url, tmp_path, harm):
    before = sorted(path.name for path in tmp_path.iterdir())
    ledger = Ledger(url, readonly=True) if harm == "reader" else filled
    ledger.key_path = Path(tmp_path / "ledger.db.key") if harm == "reader" else None
    with pytest.raises(UsageError, match="reading only"):
        ledger.rotate()
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def _dated(at):
    return dated(Entry(1, "", "", 1, "key", "", canonical({"at": at}), "{}", b"", ""))


def test_moments_have_a_zone():
    assert _dated("2024-01-01T12:00:00") == datetime(2024, 1, 1, 12, tzinfo=UTC)
    assert _dated("2024-01-01T12:00:00+02:00") == datetime(
        2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))
    )


def test_a_page_with_a_damaged_row_holds_the_others(filled, monkeypatch):
    honest, broken = Entry.of, []

    def first_fails(row):
        if not broken:
            broken.append(1)
            raise ValueError("damaged")
        return honest(row)

    monkeypatch.setattr(ledgers.Entry, "of", first_fails)
    with filled.database.reading() as connection:
        page = ledgers._page(connection, 1, 50)
    assert sorted(page) == [1, 2, 3, 4, 5] and all(page.values())


def test_a_ledger_without_entries_is_told_of(filled, tmp_path):
    change(tmp_path / "ledger.db", "DELETE FROM entries")
    told = filled.verify()
    assert not told.holds and told.as_dict()["public_key"] == ""

"""The ledger remembers in order, shows what was changed, and never holds a value."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from faults.made_up import release
from releases.ledger.tampering import change
from sfumato.releases.certificate import read_certificate
from sfumato.releases.issue import recover
from sfumato.releases.ledger import checkpoint as seen_head
from sfumato.releases.ledger import ledger as ledgers
from sfumato.releases.ledger.keys import Key, public_key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.records import Entry
from sfumato.releases.ledger.tables import METADATA
from sfumato.system.errors import BadLedger, LedgerConflict

pytestmark = pytest.mark.slow


def test_releases_in_order_with_what_was_remembered(filled):
    assert [(r.chain, r.sequence, r.number, r.memory) for r in filled.history()] == [
        ("main", 1, 2, b"1"),
        ("other", 1, 3, b"2"),
        ("main", 2, 5, b"3"),
    ]
    assert [record.memory for record in filled.history("main")] == [b"1", b"3"]
    assert filled.verify().holds
    assert filled.head.number == 5


def test_time_stands_still_where_the_clock_goes_back(url, tmp_path):
    start = datetime(2026, 11, 15, tzinfo=UTC)
    hours = itertools.count()
    ledger = Ledger(url, clock=lambda: start - timedelta(hours=next(hours)))
    for name in ("a", "b", "c"):
        release(ledger, tmp_path / name)
    records = ledger.history("main")
    assert [record.sequence for record in records] == [1, 2, 3]
    assert records[0].at == records[1].at == records[2].at, "no entry is dated before the one it follows"
    assert ledger.verify().holds


CELLS = [(table.name, column.name) for table in METADATA.tables.values() for column in table.c]


@pytest.mark.parametrize(("table", "column"), CELLS)
def test_a_changed_cell_of_any_row_of_any_table_is_found(filled, tmp_path, table, column):
    """A flipped byte; of an entry the number is told."""
    filled.stage("a" * 32, host="", folder=tmp_path / ".staged-a", target=tmp_path / "a")
    filled.stage("b" * 32, host="elsewhere", folder=tmp_path / ".staged-b", target=tmp_path / "b")
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        rows = connection.execute(f"SELECT rowid, {column} FROM {table} ORDER BY rowid").fetchall()
    connection.close()
    assert len(rows) == {"entries": 5, "staged": 2, "secrets": 2}.get(table, 1)
    key = tmp_path / "ledger.db.key"
    for number, cell in rows:
        place = tmp_path / f"{table}-{column}-{number}.db"
        shutil.copy(tmp_path / "ledger.db", place)
        change(place, f"UPDATE {table} SET {column} = ? WHERE rowid = ?", flipped(cell), number)
        try:
            faults = Ledger(f"sqlite:///{place}", key=key, readonly=True).verify().faults
            without_key = Ledger(f"sqlite:///{place}", readonly=True).verify().faults
        except BadLedger as refused:  # tables of another version are not even looked at
            assert table == "format" and "another version" in refused.message
            continue
        assert faults and without_key
        if table == "entries":
            assert faults[0].number == without_key[0].number == number, (number, faults)
        if table == "entries" and column != "memory" and (column, number) not in UNASKED:
            with pytest.raises(BadLedger):
                Ledger(f"sqlite:///{place}", key=key, readonly=True).history("main")


UNASKED = {("signature", number) for number in (1, 3, 4)}
"""Cells that `verify` asks for, and the history of a chain does not: signatures of other chains and keys."""


@pytest.mark.parametrize("cell", ["'x'", "'3'", "7", "3.5"])
def test_a_memory_that_is_no_bytes_any_more_is_one_fault(filled, tmp_path, cell):
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute(f"UPDATE entries SET memory = {cell} WHERE number = 5")
    connection.close()
    assert [str(fault) for fault in filled.verify().faults] == ["entry 5: what it remembers was changed"]
    with pytest.raises(BadLedger, match="entry 5"):
        filled.history("main")


def test_recovery_does_not_believe_a_row_that_was_changed(filled, tmp_path):
    filled.stage("a" * 32, host="", folder=tmp_path / ".staged-a", target=tmp_path / "a")
    change(tmp_path / "ledger.db", "UPDATE staged SET target = ?", str(tmp_path / "b"))
    with pytest.raises(BadLedger, match="under way was changed"):
        recover(filled)


def test_what_was_staged_before_a_change_of_keys_is_believed(filled, tmp_path):
    filled.stage("a" * 32, host="", folder=tmp_path / ".staged-a", target=tmp_path / "a")
    filled.rotate()
    assert filled.verify().holds
    assert [row.release for row in filled.staged()] == ["a" * 32]


@pytest.mark.parametrize("number", [-1, 0, 1 << 62])
def test_a_number_far_off_is_found_without_counting_up_to_it(filled, tmp_path, number):
    change(tmp_path / "ledger.db", "UPDATE entries SET number = ? WHERE number = 3", number)
    assert filled.verify().faults[0].number in (1, 3)


@pytest.mark.parametrize("column", ["number", "sequence"])
def test_a_number_that_no_ledger_writes_is_refused_in_our_words(filled, tmp_path, column):
    change(tmp_path / "ledger.db", f"UPDATE entries SET {column} = ? WHERE number = 3", 1 << 62)
    with pytest.raises(BadLedger):
        filled.history()
    assert not filled.verify().holds


def flipped(cell):
    """The same, with one bit of the last byte turned."""
    if isinstance(cell, int):
        return cell + 1000
    if isinstance(cell, bytes):
        return cell[:-1] + bytes([cell[-1] ^ 1]) if cell else b"x"
    return cell[:-1] + chr(ord(cell[-1]) ^ 1) if cell else "x"


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("column", ["number", "hash", "signature"])
def test_a_ledger_with_a_changed_head_is_not_opened(tmp_path, column):
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        (cell,) = connection.execute(f"SELECT {column} FROM head").fetchone()
        connection.execute(f"UPDATE head SET {column} = ?", (flipped(cell),))
    connection.close()
    with pytest.raises(BadLedger):
        Ledger(f"sqlite:///{tmp_path}/ledger.db")


def test_a_flipped_byte_anywhere_in_the_file_is_found_or_changes_nothing(filled, tmp_path):
    """Whatever the ledger says afterwards is what it said, or `verify` says no."""
    content = (tmp_path / "ledger.db").read_bytes()
    truth, place, found = filled.history(), tmp_path / "flipped.db", 0
    used = [at for at, byte in enumerate(content) if byte]
    for at in used[:: 3 if os.environ.get("SFUMATO_HYPOTHESIS") == "soak" else 149]:
        place.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        try:
            copy = Ledger(f"sqlite:///{place}", key=filled.key_path, readonly=True)
            whole = copy.verify().holds
        except (BadLedger, LedgerConflict):
            whole = False
        found += not whole
        if whole:
            assert copy.history() == truth
    assert found > 30


def believed(place):
    """Whether a ledger file can be read and `verify` finds nothing wrong with it."""
    try:
        return Ledger(f"sqlite:///{place}", readonly=True).verify().holds
    except BadLedger:
        return False


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("left", [0, 100, 4096, 20_000, -4096, -1])
def test_a_truncated_file_is_not_believed(tmp_path, left):
    """The first so many bytes of it, or all but the last so many; neither read nor written to.

    One byte may be of a signature that only `verify` asks for.
    """
    place = tmp_path / "ledger.db"
    assert believed(place)
    place.write_bytes(place.read_bytes()[:left])
    assert not believed(place)
    if left != -1:
        with pytest.raises(BadLedger):
            Ledger(f"sqlite:///{place}")


def forge(place, number, **changes):
    """Change an entry and hash it again, as somebody could who has the database and not the key."""
    with sqlite3.connect(place) as connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute("SELECT * FROM entries WHERE number = ?", (number,)).fetchone())
    connection.close()
    entry = replace(Entry.of(row), **changes)
    change(
        place,
        f"UPDATE entries SET {', '.join(f'{name} = ?' for name in changes)}, hash = ? WHERE number = ?",
        *changes.values(),
        entry.computed_hash,
        number,
    )


@pytest.mark.parametrize("number", [2, 3, 4])
def test_an_entry_that_was_hashed_again_breaks_the_link_to_the_next_one(filled, tmp_path, number):
    """Its own hash fits, its signature is not looked at when a history is read: the next entry tells."""
    forge(tmp_path / "ledger.db", number, release="f" * 32)
    with pytest.raises(BadLedger, match=f"entry {number + 1} of the ledger is missing or was changed"):
        filled.history("main")
    assert [fault.number for fault in filled.verify().faults] == [number, number + 1]


def test_the_last_entry_hashed_again_is_not_where_the_head_points(filled, tmp_path):
    forge(tmp_path / "ledger.db", 5, release="f" * 32)
    with pytest.raises(BadLedger, match="entry 6 of the ledger is missing or was changed"):
        filled.history("main")
    assert filled.verify().faults[0].number == 5


def test_an_entry_moved_to_another_chain_is_missed(filled, tmp_path):
    """Not read when the chain is read, and found all the same: otherwise a release could be forgotten."""
    change(tmp_path / "ledger.db", "UPDATE entries SET chain = 'elsewhere' WHERE number = 2")
    with pytest.raises(BadLedger, match="entry 2"):
        filled.history("main")


@pytest.mark.parametrize("column", ["release", "chain", "kind", "previous", "body", "kept", "signer", "hash"])
def test_a_text_that_became_bytes_is_a_change(filled, tmp_path, column):
    """SQLite keeps whatever is written into a column; the same letters as bytes are not what was sealed."""
    change(tmp_path / "ledger.db", f"UPDATE entries SET {column} = CAST({column} AS BLOB) WHERE number = 2")
    assert not filled.verify().holds
    with pytest.raises(BadLedger):
        filled.history("main")


def test_a_signature_that_became_bytes_is_a_change(filled, tmp_path):
    change(tmp_path / "ledger.db", "UPDATE entries SET signature = CAST(signature AS BLOB)")
    assert {str(fault).split(": ")[1] for fault in filled.verify().faults} == {"its signature is wrong"}
    with pytest.raises(BadLedger):
        filled.history("main")


def test_a_cut_tail_is_found(filled, tmp_path):
    change(tmp_path / "ledger.db", "DELETE FROM entries WHERE number = 5")
    assert str(filled.verify().faults[0]).startswith("entry 5: the last entries were cut off")
    with pytest.raises(BadLedger):
        filled.history("main")


@pytest.mark.parametrize("noted", [True, False])
def test_an_older_state_that_was_put_back_is_found(url, tmp_path, noted):
    """By what was noted beside the key; or, without that, by any certificate that is newer."""
    ledger = Ledger(url)
    release(ledger, tmp_path / "one")
    shutil.copy(tmp_path / "ledger.db", tmp_path / "older.db")
    release(ledger, tmp_path / "two")
    shutil.copy(tmp_path / "older.db", tmp_path / "ledger.db")
    if not noted:
        seen_head.seen_head_path(ledger.key_path).unlink()
        assert ledger.verify().holds, "nothing in the file itself can tell"
        found = ledger.verify(certificates=[read_certificate(tmp_path / "two" / "certificate.json")])
    else:
        found = ledger.verify()
        with pytest.raises(BadLedger, match="older than it was"):
            Ledger(url)
    assert found.faults[0].number == 3
    assert ledger.verify(certificates=[read_certificate(tmp_path / "one" / "certificate.json")]).holds is (
        not noted
    )


def test_a_new_ledger_by_another_key_is_not_believed(filled, tmp_path):
    other = Ledger(f"sqlite:///{tmp_path}/forged.db")
    release(other, tmp_path / "forged")
    known = public_key(filled.key_path)
    assert filled.verify(key=known).holds
    assert not other.verify(key=known).holds
    with pytest.raises(BadLedger, match="not the key"):
        Ledger(f"sqlite:///{tmp_path}/forged.db", key=filled.key_path)


# -- keys ---------------------------------------------------------------------------------------------------


def test_the_key_is_the_owners_alone(url, tmp_path):
    ledger = Ledger(url)
    assert ledger.key_path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "ledger.db").stat().st_mode & 0o777 == 0o600
    assert "PRIVATE" not in (tmp_path / "ledger.db.key.pub").read_text(encoding="utf-8")
    ledger.key_path.chmod(0o644)
    with pytest.raises(BadLedger, match="others can read"):
        Ledger(url)
    ledger.key_path.unlink()
    with pytest.raises(BadLedger, match="not there"):
        Ledger(url)


def test_a_change_of_keys_is_signed_by_the_old_one(url, tmp_path):
    ledger = Ledger(url)
    old = ledger.public_key
    release(ledger, tmp_path / "one")
    new = ledger.rotate()
    assert new == ledger.public_key != old
    release(Ledger(url), tmp_path / "two")
    found = ledger.verify(key=old)
    assert found.holds
    assert found.public_key == new
    assert [
        read_certificate(tmp_path / n / "certificate.json")["entry"]["signer"] for n in ("one", "two")
    ] == [old, new]
    assert sorted(p.name for p in tmp_path.glob("*.key*")) == [
        "ledger.db.key",
        "ledger.db.key.pub",
        "ledger.db.key.seen",
    ]


def test_a_change_of_keys_that_was_cut_off_is_finished(url, monkeypatch):
    ledger = Ledger(url)
    with monkeypatch.context() as patched:
        patched.setattr(ledgers, "key_in_force", lambda _, key, __: key)
        new = ledger.rotate()  # the entry is there, the file is not yet exchanged
    assert Key.load(ledger.key_path).public != new
    assert Ledger(url).public_key == Key.load(ledger.key_path).public == new


def test_another_process_changed_the_key(url, tmp_path):
    ledger = Ledger(url)
    Ledger(url).rotate()
    release(ledger, tmp_path / "one")
    assert ledger.verify().holds

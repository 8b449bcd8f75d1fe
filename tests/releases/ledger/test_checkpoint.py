"""Checkpoints: entries that were followed before are digested, and nothing that was changed goes unseen."""

from __future__ import annotations

import json
import shutil
import sqlite3
import uuid

import pytest

from releases.ledger.tampering import change
from releases.ledger.test_growth import fill
from releases.ledger.test_ledger import flipped
from sfumato.releases.ledger import checkpoint
from sfumato.releases.ledger.checkpoint import NOWHERE, checkpoint_path, last_checkpoint
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.releases.ledger.records import Entry
from sfumato.releases.ledger.tables import ENTRIES
from sfumato.system.errors import BadLedger

pytestmark = pytest.mark.slow


@pytest.fixture
def noted(tmp_path, monkeypatch):
    """Five releases of one chain, two of others, and a checkpoint at the sixth entry."""
    monkeypatch.setattr(checkpoint, "NOTED_EVERY", 4)
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    fill(ledger, 5, chains=False)
    assert len(ledger.history("main")) == 5
    assert last_checkpoint(ledger.key_path).number == 6
    for chain in ("one", "two"):
        record = ReleaseRecord(uuid.uuid4().hex, chain, "p" * 64, memory=b"kept", table=chain)
        ledger.commit(record, after="", staged=False)
    return ledger


def hashed(monkeypatch, work):
    """How many entries are hashed meanwhile."""
    counted, real = [], Entry.computed_hash

    def computed_hash(entry):
        counted.append(entry.number)
        return real.fget(entry)

    with monkeypatch.context() as patch:
        patch.setattr(Entry, "computed_hash", property(computed_hash))
        work()
    return counted


def test_entries_before_a_checkpoint_are_not_hashed_again(noted, monkeypatch):
    assert hashed(monkeypatch, noted.history) == [7, 8]
    assert hashed(monkeypatch, noted.verify) == list(range(1, 9)), "verify believes nothing"
    reader = Ledger(f"sqlite:///{noted.database.path}", readonly=True)
    assert hashed(monkeypatch, reader.history) == [7, 8]


@pytest.mark.parametrize("column", [column.name for column in ENTRIES.c])
def test_a_changed_cell_of_any_row_is_found(noted, tmp_path, column):
    for number in range(1, 9):
        place = tmp_path / "changed.db"
        shutil.copy(tmp_path / "ledger.db", place)
        for ending in (".key", ".key.followed"):
            shutil.copy(tmp_path / f"ledger.db{ending}", tmp_path / f"changed.db{ending}")
        with sqlite3.connect(place) as connection:
            (cell,) = connection.execute(
                f"SELECT {column} FROM entries WHERE number = ?", [number]
            ).fetchone()
        connection.close()
        change(place, f"UPDATE entries SET {column} = ? WHERE number = ?", flipped(cell), number)
        reader = Ledger(f"sqlite:///{place}", readonly=True)
        if column in ("memory", "signature") and number in (1, 7, 8):  # verify asks for these
            assert reader.history("main") == noted.history("main")
            assert not reader.verify().holds
        else:
            with pytest.raises(BadLedger):
                reader.history("main")


def test_an_entry_that_is_gone_or_came_is_found(noted, tmp_path):
    change(tmp_path / "ledger.db", "DELETE FROM entries WHERE number = 4")
    with pytest.raises(BadLedger, match="entry 4"):
        noted.history("main")


def forged(note, *, key):
    """The same checkpoint with the seal of another key."""
    made = checkpoint.Checkpoint(note["number"], note["digest"])
    return {**note, "signature": key.sign(made.message)}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda note, _: {**note, "number": 5},
        lambda note, _: {**note, "number": 60},
        lambda note, _: {**note, "number": -1},
        lambda note, _: {**note, "digest": "0" * 64},
        lambda note, _: {**note, "signature": ""},
        lambda note, key: forged(note, key=key),
        lambda note, _: {"number": note["number"]},
        lambda *_: [],
    ],
)
def test_a_checkpoint_that_does_not_hold_is_left_aside(noted, tmp_path, monkeypatch, spoil):
    path = checkpoint_path(noted.key_path)
    note = spoil(json.loads(path.read_text()), Key.make(tmp_path / "other.key"))
    path.write_text(json.dumps(note), encoding="utf-8")
    reader = Ledger(f"sqlite:///{tmp_path}/ledger.db", readonly=True)
    assert hashed(monkeypatch, reader.history) == list(range(1, 9))
    assert reader.history() == noted.history()


def test_a_forged_checkpoint_does_not_hide_a_change(noted, tmp_path):
    """Whoever may write the ledger, and beside the key, but has no key, hides nothing."""
    change(tmp_path / "ledger.db", "UPDATE entries SET kept = '{}' WHERE number = 3")
    digest = b""
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        columns = ", ".join(column.name for column in ENTRIES.c if column.name != "memory")
        for row in connection.execute(f"SELECT {columns} FROM entries WHERE number <= 6 ORDER BY number"):
            digest = checkpoint.extended(digest, row)
    connection.close()
    note = forged({"number": 6, "digest": digest.hex()}, key=Key.make(tmp_path / "other.key"))
    checkpoint_path(noted.key_path).write_text(json.dumps(note), encoding="utf-8")
    with pytest.raises(BadLedger, match="entry 3"):
        noted.history("main")


def test_after_a_change_of_keys_everything_is_followed_once_more(noted, monkeypatch):
    noted.rotate()
    assert hashed(monkeypatch, noted.history) == list(range(1, 10))
    assert hashed(monkeypatch, noted.history) == []


def test_no_checkpoint_over_a_signature_that_is_wrong(noted, tmp_path):
    change(tmp_path / "ledger.db", "UPDATE entries SET signature = 'ab' WHERE number = 7")
    checkpoint_path(noted.key_path).unlink()
    assert len(noted.history("main")) == 5
    assert last_checkpoint(noted.key_path) is NOWHERE


def test_a_checkpoint_that_cannot_be_written_harms_nothing(noted, monkeypatch):
    checkpoint_path(noted.key_path).unlink()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "replace_file", full)
    assert len(noted.history("main")) == 5
    assert last_checkpoint(noted.key_path) is NOWHERE

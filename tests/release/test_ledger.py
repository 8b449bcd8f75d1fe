"""The ledger remembers in order, shows what was changed, and never holds a value."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from faults.made_up import prepared, release
from sfumato.release.certificate import read
from sfumato.release.issue import issue
from sfumato.release.ledger import schema, seen
from sfumato.release.ledger.copies import backup, restore
from sfumato.release.ledger.database import Database
from sfumato.release.ledger.keys import Key, public_key
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.ledger.record import Record, remembered
from sfumato.release.ledger.tables import METADATA, REVISION
from sfumato.terms.errors import BadLedger, LedgerConflict, RefusedByHistory, WrongCall


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/ledger.db"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Three releases in two chains, and a change of keys."""
    folder = tmp_path_factory.mktemp("template")
    ledger = Ledger(f"sqlite:///{folder}/ledger.db")
    release(ledger, folder / "one", memory=b"1")
    release(ledger, folder / "two", chain="other", memory=b"2")
    ledger.rotate()
    release(ledger, folder / "three", memory=b"3")
    return folder


@pytest.fixture
def filled(template, url, tmp_path):
    """A copy of it."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return Ledger(url)


def change(path, statement, *values):
    with sqlite3.connect(path) as connection:
        connection.execute(statement, values)
    connection.close()


def test_releases_in_order_with_what_was_remembered(filled):
    assert [(r.chain, r.sequence, r.number, r.memory) for r in filled.history()] == [
        ("main", 1, 2, b"1"),
        ("other", 1, 3, b"2"),
        ("main", 2, 5, b"3"),
    ]
    assert [record.memory for record in filled.history("main")] == [b"1", b"3"]
    assert filled.verify().holds
    assert filled.head.number == 5


def test_order_is_by_number_also_when_the_clock_goes_back(url, tmp_path):
    start = datetime(2026, 11, 15, tzinfo=UTC)
    hours = itertools.count()
    ledger = Ledger(url, clock=lambda: start - timedelta(hours=next(hours)))
    for name in ("a", "b", "c"):
        release(ledger, tmp_path / name)
    records = ledger.history("main")
    assert [record.sequence for record in records] == [1, 2, 3]
    assert records[0].at > records[1].at > records[2].at
    assert ledger.verify().holds


COLUMNS = [column.name for column in METADATA.tables["entries"].c]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("column", COLUMNS)
def test_a_changed_cell_is_found_and_its_entry_named(tmp_path, column):
    for number in range(1, 6):
        place = tmp_path / f"{column}-{number}.db"
        shutil.copy(tmp_path / "ledger.db", place)
        with sqlite3.connect(place) as connection:
            (cell,) = connection.execute(
                f"SELECT {column} FROM entries WHERE number = ?", (number,)
            ).fetchone()
            changed = flipped(cell)
            if changed == cell:
                continue  # the memory of a change of keys is empty
            connection.execute(f"UPDATE entries SET {column} = ? WHERE number = ?", (changed, number))
        connection.close()
        found = Ledger(f"sqlite:///{place}", readonly=True).verify()
        assert not found.holds
        assert found.faults[0].number == number, (number, found.faults)
        if column not in ("memory", "signature"):  # of no use here; `verify` looks at them
            with pytest.raises(BadLedger):
                Ledger(f"sqlite:///{place}", readonly=True).history("main")


def flipped(cell):
    """The same, with one bit of the last byte turned."""
    if isinstance(cell, int):
        return cell + 1000
    if isinstance(cell, bytes):
        return cell[:-1] + bytes([cell[-1] ^ 1]) if cell else cell
    return cell[:-1] + chr(ord(cell[-1]) ^ 1) if cell else "x"


@pytest.mark.parametrize("column", ["number", "hash", "signature"])
def test_a_changed_head_is_found(filled, tmp_path, column):
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        (cell,) = connection.execute(f"SELECT {column} FROM head").fetchone()
        connection.execute(f"UPDATE head SET {column} = ?", (flipped(cell),))
    connection.close()
    assert not filled.verify().holds
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
            copy = Ledger(f"sqlite:///{place}", readonly=True)
            whole = copy.verify().holds
        except (BadLedger, LedgerConflict):
            whole = False
        found += not whole
        if whole:
            assert copy.history() == truth
    assert found > 30


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("size", [0, 100, 4096, 20_000])
def test_a_truncated_file_is_refused(tmp_path, size):
    place = tmp_path / "ledger.db"
    place.write_bytes(place.read_bytes()[:size])
    with pytest.raises(BadLedger):
        assert Ledger(f"sqlite:///{place}", readonly=True).verify().holds
        raise BadLedger("found by verify")
    with pytest.raises(BadLedger):
        Ledger(f"sqlite:///{place}")


def test_an_entry_moved_to_another_chain_is_missed(filled, tmp_path):
    """Not read when the chain is read, and found all the same: otherwise a release could be forgotten."""
    change(tmp_path / "ledger.db", "UPDATE entries SET chain = 'elsewhere' WHERE number = 2")
    with pytest.raises(BadLedger, match="entry 2"):
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
        seen.place(ledger.key_path).unlink()
        assert ledger.verify().holds, "nothing in the file itself can tell"
        found = ledger.verify(certificates=[read(tmp_path / "two" / "certificate.json")])
    else:
        found = ledger.verify()
        with pytest.raises(BadLedger, match="older than it was"):
            Ledger(url)
    assert found.faults[0].number == 3
    assert ledger.verify(certificates=[read(tmp_path / "one" / "certificate.json")]).holds is (not noted)


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
    assert [read(tmp_path / n / "certificate.json")["entry"]["signer"] for n in ("one", "two")] == [old, new]
    assert sorted(p.name for p in tmp_path.glob("*.key*")) == [
        "ledger.db.key",
        "ledger.db.key.pub",
        "ledger.db.key.seen",
    ]


def test_a_change_of_keys_that_was_cut_off_is_finished(url, monkeypatch):
    ledger = Ledger(url)
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "_current", lambda *words: words[-1])
        new = ledger.rotate()  # the entry is there, the file is not yet exchanged
    assert Key.load(ledger.key_path).public != new
    assert Ledger(url).public_key == Key.load(ledger.key_path).public == new


def test_another_process_changed_the_key(url, tmp_path):
    ledger = Ledger(url)
    Ledger(url).rotate()
    release(ledger, tmp_path / "one")
    assert ledger.verify().holds


# -- one writer ---------------------------------------------------------------------------------------------


def test_the_head_moved_meanwhile(url, tmp_path):
    """Somebody else releases between the plan and the commit: nothing is published; it may be tried again."""
    ledger = Ledger(url)

    def meanwhile(step):
        if step == "planned":
            release(Ledger(url), tmp_path / "theirs")

    with pytest.raises(LedgerConflict) as refused:
        release(ledger, tmp_path / "ours", at=meanwhile)
    assert refused.value.exit_code == 4
    assert not (tmp_path / "ours").exists()
    assert release(ledger, tmp_path / "ours").record.sequence == 2


def test_another_chain_does_not_matter(url, tmp_path):
    def meanwhile(step):
        if step == "planned":
            release(Ledger(url), tmp_path / "theirs", chain="other")

    assert release(Ledger(url), tmp_path / "ours", at=meanwhile).record.number == 3


def test_the_same_release_is_entered_once(url, tmp_path):
    ledger = Ledger(url)
    record = Record("a" * 32, "main", "p")
    ledger.stage(record.release, host="", folder=tmp_path / "x", target=tmp_path / "y")
    first = ledger.commit(record, after="")
    assert ledger.commit(record, after="") == first
    assert len(ledger.history()) == 1


def test_a_release_that_was_given_up_cannot_be_entered(url, tmp_path):
    ledger = Ledger(url)
    record = Record("a" * 32, "main", "p")
    ledger.stage(record.release, host="", folder=tmp_path / "x", target=tmp_path / "y")
    assert ledger.settle(record.release) is None
    with pytest.raises(LedgerConflict, match="given up"):
        ledger.commit(record, after="")


def test_history_refuses(url, tmp_path):
    ledger = Ledger(url)
    release(ledger, tmp_path / "one", memory=b"left")

    def check(history, this):
        assert [record.memory for record in history] == [b"left"]
        assert this.files[0].read_text(encoding="utf-8").startswith("zip,disease")
        raise RefusedByHistory("unsafe next to release 1")

    with pytest.raises(RefusedByHistory) as refused:
        release(ledger, tmp_path / "two", checks=[check])
    assert refused.value.exit_code == 5
    assert not (tmp_path / "two").exists()
    assert not list(tmp_path.glob(".staged-*"))


def test_checks_may_add_figures(url, tmp_path):
    release(Ledger(url), tmp_path / "one", checks=[lambda *_: {"FA": 3, "BA": 4}])
    (record,) = Ledger(url, readonly=True).history()
    assert record.figures == {"rows": 200, "k": 5, "loss": 0.5, "FA": 3, "BA": 4}


def test_an_unsafe_file_is_not_released(url, tmp_path):
    def judge(*_):
        raise RefusedByHistory("no")

    unsafe = prepared()
    object.__setattr__(unsafe, "judge", judge)
    with pytest.raises(RefusedByHistory):
        issue(Ledger(url), lambda _: unsafe, into=tmp_path / "one", chain="main")
    assert Ledger(url).history() == ()


def test_a_document_is_remembered_in_its_canonical_form():
    assert remembered({"b": 1, "a": 2}) == b'{"a":2,"b":1}'
    assert remembered(b"raw") == b"raw"
    assert remembered(None) == b""


# -- copies, versions, readers ------------------------------------------------------------------------------


def test_backup_and_restore(filled, tmp_path):
    place = backup(filled, tmp_path / "backup.db")
    assert place.stat().st_mode & 0o777 == 0o600
    with pytest.raises(WrongCall, match="exists"):
        backup(filled, place)
    (tmp_path / "ledger.db").unlink()
    restored = restore(place, f"sqlite:///{tmp_path}/ledger.db")
    assert restored.history() == filled.history()
    assert restored.verify().holds
    with pytest.raises(WrongCall, match="already"):
        restore(place, f"sqlite:///{tmp_path}/ledger.db")


def test_a_backup_that_misses_a_release_is_not_restored(url, tmp_path):
    ledger = Ledger(url)
    release(ledger, tmp_path / "one")
    place = backup(ledger, tmp_path / "backup.db")
    release(ledger, tmp_path / "two")
    (tmp_path / "ledger.db").unlink()
    with pytest.raises(BadLedger, match="ends before entry 3"):
        restore(place, url)
    known = [read(tmp_path / "two" / "certificate.json")]
    with pytest.raises(BadLedger, match="entry 3"):
        restore(place, f"sqlite:///{tmp_path}/elsewhere.db", key=ledger.key_path, certificates=known)
    assert not (tmp_path / "ledger.db").exists()


def test_a_damaged_ledger_is_not_backed_up(filled, tmp_path):
    change(tmp_path / "ledger.db", "UPDATE entries SET memory = x'00' WHERE number = 2")
    with pytest.raises(BadLedger, match="entry 2"):
        backup(filled, tmp_path / "backup.db")
    assert not (tmp_path / "backup.db").exists()


def test_reading_only(filled, url, tmp_path):
    """An auditor needs neither the key nor the right to write."""
    filled.key_path.unlink()
    reader = Ledger(url, readonly=True)
    assert reader.verify().holds
    assert len(reader.history()) == 3
    with pytest.raises(WrongCall, match="reading only"):
        reader.rotate()
    with pytest.raises(WrongCall, match="reading only"):
        reader.unstage("x")
    with pytest.raises(BadLedger, match="no such ledger"):
        Ledger(f"sqlite:///{tmp_path}/nowhere.db", readonly=True)


@pytest.mark.usefixtures("filled")
def test_a_newer_ledger_is_refused(url, tmp_path):
    change(tmp_path / "ledger.db", "UPDATE alembic_version SET version_num = '9999'")
    for readonly in (True, False):
        with pytest.raises(BadLedger, match="version"):
            Ledger(url, readonly=readonly)


def test_an_older_ledger_is_upgraded_and_a_copy_kept(filled, tmp_path):
    """With a made-up next step."""
    steps = tmp_path / "migrations"
    shutil.copytree(schema.MIGRATIONS, steps)
    (steps / "versions" / "0002_more.py").write_text(
        "from alembic import op\nimport sqlalchemy as sa\nrevision = '0002'\ndown_revision = '0001'\n"
        "def upgrade():\n    op.add_column('staged', sa.Column('note', sa.Text))\n",
        encoding="utf-8",
    )
    database = Database(f"sqlite:///{tmp_path}/ledger.db")
    schema.prepare(database, migrations=steps, goal="0002")
    with database.reading() as connection:
        assert schema.revision(connection) == "0002"
    assert Ledger(f"sqlite:///{tmp_path}/ledger.db.before-0002", readonly=True).history() == filled.history()


def test_the_migrations_make_the_tables_that_the_code_uses(tmp_path):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    assert ScriptDirectory(str(schema.MIGRATIONS)).get_heads() == [REVISION]
    database = Database(f"sqlite:///{tmp_path}/ledger.db")
    schema.prepare(database)
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


@pytest.mark.parametrize("url", ["ledger.db", "mysql://host/db", "sqlite://", "sqlite:///:memory:", "::"])
def test_a_url_that_names_no_ledger(url):
    with pytest.raises(WrongCall):
        Ledger(url)


def test_a_password_is_never_shown():
    assert "secret" not in repr(Database("postgresql://me:secret@host/db"))

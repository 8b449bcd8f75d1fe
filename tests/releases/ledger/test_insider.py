"""Somebody who reads the database of a ledger, and has a dictionary of values and of people."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest
from sqlalchemy import select, update

import sfumato as sf
from releases.ledger.dictionary import cells_of, found_by_digest, found_by_name, found_marks
from sfumato.cli.main import run
from sfumato.releases.ledger.backup import backup, restore
from sfumato.releases.ledger.encryption import reading_key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.tables import ENTRIES, PEOPLE, SECRETS
from sfumato.releases.ledger.vault import opened_entry, opened_marks
from sfumato.system.errors import BadLedger, RefusedByHistory
from sfumato.table.release_summary import Imprint
from sfumato.workflows.erase import erase

pytestmark = pytest.mark.slow

WHO = [f"person-{number:03d}" for number in range(24)]
VISITORS = [f"visitor-{number:03d}" for number in range(24)]
OTHERS = [f"person-{number:03d}" for number in range(500, 700)]
ZIPS, DISEASES = (
    [f"7{n % 4}{n % 2}55" for n in range(24)],
    [["qflu", "qcough", "qache"][n % 3] for n in range(24)],
)
LABELS = {*ZIPS, *DISEASES, *(f"{zip_code[:2]}***" for zip_code in ZIPS)}
POLICY = {
    "columns": {
        "id": {"role": "identifier"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "disease": {"role": "sensitive"},
    },
    "person": "id",
    "promises": [{"continuous": {"k": 4, "person": "id"}}],
    "protect": {"search": "top-down", "suppress": 0},
    "confirm": {"disease": True},
}
DATA = pl.DataFrame({"id": WHO, "zip": ZIPS, "disease": DISEASES})


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A ledger with two releases, one with an imprint, one with a tree to trace leaks by."""
    home = tmp_path_factory.mktemp("template")
    made = f"sqlite:///{home}/ledger.db"
    sf.release(DATA, POLICY, ledger=made, into=home / "one")
    others = DATA.with_columns(pl.Series("id", VISITORS))
    handed = {**POLICY, "promises": [{"k-anonymity": {"k": 4}}], "recipients": {"by": "patterns"}}
    sf.release(others, handed, ledger=made, into=home / "handed", to="lab", chain="handed")
    return home


@pytest.fixture
def url(template, tmp_path):
    """A copy of it."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return f"sqlite:///{tmp_path}/ledger.db"


def plain_cells(ledger):
    """What the key opens: the cells of the ledger in plain."""
    with ledger.database.reading() as connection:
        rows = [opened_entry(connection, row) for row in connection.execute(select(ENTRIES)).mappings()]
        marks = [
            opened_marks(connection, row.number, row.marks) for row in connection.execute(select(PEOPLE))
        ]
    cells = [cell for row in rows for cell in row.values()] + marks
    return [cell if isinstance(cell, bytes) else str(cell).encode() for cell in cells]


def in_plain(ledger):
    """Writes the cells of a ledger in plain."""

    def work(connection):
        for row in connection.execute(select(ENTRIES)).mappings().all():
            opened = opened_entry(connection, row)
            cells = {"kept": opened["kept"], "memory": opened["memory"]}
            connection.execute(update(ENTRIES).where(ENTRIES.c.number == row["number"]).values(cells))
        for row in connection.execute(select(PEOPLE)).all():
            marks = opened_marks(connection, row.number, row.marks)
            connection.execute(update(PEOPLE).where(PEOPLE.c.number == row.number).values(marks=marks))

    ledger.write(work)


def test_a_dictionary_finds_nobody_and_no_label_in_the_database_alone(url):
    cells, dictionary = cells_of(url), {*WHO, *VISITORS, *OTHERS, *LABELS}
    assert found_by_name(cells, dictionary) == set()
    assert found_by_digest(cells, [WHO, WHO[:-1]]) == []
    assert found_marks(cells, guesses(url)) == 0


def guesses(url):
    """Marks of nodes by their paths, and of values: for whoever guesses the whole tree, or rows."""
    imprint = Imprint.from_json(Ledger(url, readonly=True).history()[0].memory)
    return [*imprint.keys[0].marks, *imprint.values, *imprint.batches]


def test_the_same_dictionary_finds_everybody_where_cells_are_in_plain(url):
    """So it is no dictionary that would find nothing anyway; and the program has what it needs."""
    cells = plain_cells(Ledger(url, readonly=True))
    found = found_by_name(cells, {*WHO, *VISITORS, *OTHERS, *LABELS})
    assert found >= {*WHO, *VISITORS, *ZIPS} and not found & set(OTHERS)
    assert found_by_digest(cells, [WHO, WHO[:-1], VISITORS]) == [WHO, VISITORS]
    assert found_marks(cells, guesses(url)) == len(guesses(url))


def test_no_key_and_no_secret_is_in_any_cell(url, tmp_path):
    every = b"\n".join(cells_of(url))
    secret = (tmp_path / "ledger.db.key").read_bytes()
    assert not any(line in every for line in secret.splitlines() if line and not line.startswith(b"-----"))
    for one in reading_key(Ledger(url).database).secrets:
        assert one.value not in every and one.value.hex().encode() not in every


def test_the_program_still_knows_people_and_trees(url, tmp_path):
    """The same people in another chain are noticed, and the chain goes on."""
    with pytest.raises(RefusedByHistory, match="the same table"):
        sf.release(DATA, POLICY, ledger=url, into=tmp_path / "two", chain="other")
    sf.release(DATA, POLICY, ledger=url, into=tmp_path / "three")
    assert Ledger(url).verify().holds
    assert found_by_name(cells_of(url), {*WHO, *LABELS}) == set()


def test_cells_in_plain_are_found(url):
    """Whoever has the key and writes them so is found out, by those who have it and by those who do not."""
    ledger = Ledger(url)
    in_plain(ledger)
    assert found_by_name(cells_of(url), {*WHO, *LABELS}) >= set(WHO)
    assert not ledger.verify().holds
    (ledger.key_path).unlink()
    assert not Ledger(url, readonly=True).verify().holds


def test_secrets_that_are_gone_are_not_made_anew(url):
    ledger = Ledger(url)
    ledger.write(lambda connection: connection.execute(SECRETS.delete()) and None)
    for call in (lambda: Ledger(url), lambda: Ledger(url, readonly=True).history()):
        with pytest.raises(BadLedger, match="secrets that the ledger is encrypted under are gone"):
            call()
    assert not Ledger(url, readonly=True).verify().holds


def test_a_change_of_keys_passes_the_secrets_on(url, tmp_path):
    """Old entries are read with the new key, later ones have another secret, the old key opens none."""
    before, old = Ledger(url).history(), (tmp_path / "ledger.db.key").read_bytes()
    reading = tmp_path / "auditor.key"
    reading_key(Ledger(url).database).write(reading)
    ledger = Ledger(url)
    ledger.rotate()
    assert ledger.history() == Ledger(url).history() == before and Ledger(url).verify().holds
    sf.release(DATA, POLICY, ledger=url, into=tmp_path / "two")
    assert len(reading_key(Ledger(url).database).secrets) == 2
    (tmp_path / "old.key").touch(mode=0o600)
    (tmp_path / "old.key").write_bytes(old)
    with pytest.raises(BadLedger, match="not the key that what the ledger keeps is encrypted for"):
        Ledger(url, key=tmp_path / "old.key", readonly=True).history()
    with pytest.raises(BadLedger, match="older than the last change of keys"):
        Ledger(url, key=reading, readonly=True).history()
    assert Ledger(url, key=reading, readonly=True).verify().closed


def test_a_change_of_keys_that_was_cut_off_locks_nobody_out(url, tmp_path):
    """The process died after its entry, before the new key had its name."""
    history = Ledger(url).history()
    key, new = tmp_path / "ledger.db.key", tmp_path / "ledger.db.key.new"
    old = key.read_bytes()
    Ledger(url).rotate()
    key.rename(new)
    key.touch(mode=0o600)
    key.write_bytes(old)
    assert Ledger(url, readonly=True).history() == history
    assert Ledger(url).history() == history and key.read_bytes() != old and not new.exists()


def test_nothing_of_an_erased_person_is_left_under_an_old_envelope(url, tmp_path):
    ledger = Ledger(url)
    with ledger.database.reading() as connection:
        rows = connection.execute(select(ENTRIES.c.memory).where(ENTRIES.c.number == 2)).scalars().all()
        marks = connection.execute(select(PEOPLE.c.marks).where(PEOPLE.c.number.in_([2, -2]))).scalars()
        marks = marks.all()
    envelopes = [bytes(cell) for cell in (*rows, *marks)]
    assert all(cell[-40:] in (tmp_path / "ledger.db").read_bytes() for cell in envelopes)
    erase(WHO[:1], ledger=url, column="id")
    left = (tmp_path / "ledger.db").read_bytes()
    assert not any(cell[-40:] in left for cell in envelopes)
    assert Ledger(url).verify().holds
    (record,) = Ledger(url).history("main")
    assert Imprint.from_json(record.memory).erased == 1
    assert found_by_name(plain_cells(Ledger(url)), WHO[:1]) == set()


def test_a_backup_is_encrypted_and_restored_with_the_key_alone(url, tmp_path):
    history = Ledger(url).history()
    backup(Ledger(url, readonly=True), tmp_path / "copy.db")
    assert found_by_name(cells_of(f"sqlite:///{tmp_path}/copy.db"), {*WHO, *LABELS}) == set()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("copy.db", "ledger.db.key"):
        shutil.copy(tmp_path / name, elsewhere)
    moved = f"sqlite:///{elsewhere}/new.db"
    with pytest.raises(BadLedger, match="the key of the ledger is not there"):
        restore(elsewhere / "copy.db", moved)
    restored = restore(elsewhere / "copy.db", moved, key=elsewhere / "ledger.db.key")
    assert restored.history() == history and restored.verify().holds


@pytest.mark.parametrize("kind", ["missing", "wrong", "open", "no key"])
def test_without_the_right_key_it_is_said_what_to_do(url, tmp_path, kind, capsys):
    """Reading exits 3, as writing without a key does; nothing is a bug of the program."""
    key = tmp_path / "ledger.db.key"
    if kind == "missing":
        key.unlink()
    elif kind == "wrong":
        Ledger(f"sqlite:///{tmp_path}/another.db")
        key.unlink()
        shutil.copy(tmp_path / "another.db.key", key)
    elif kind == "open":
        key.chmod(0o644)
    else:
        key.write_text("{}", encoding="utf-8")
    DATA.write_csv(tmp_path / "leak.csv")
    for words in (["history"], ["trace", str(tmp_path / "leak.csv")], ["ledger", "floor"]):
        assert run([*words, "--ledger", url, "--json"]) == 3
        told = json.loads(capsys.readouterr().out)["error"]
        assert "key" in told["message"] and told["remedy"]
    assert run(["ledger", "verify", "--ledger", url, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["closed"] and "the key is not here" in told["remarks"][-1]


def test_an_auditor_reads_with_a_key_that_signs_nothing(url, tmp_path, monkeypatch, capsys):
    assert run(["ledger", "reading-key", "--ledger", url, "-o", str(tmp_path / "auditor.key")]) == 0
    assert (tmp_path / "auditor.key").stat().st_mode & 0o077 == 0
    (tmp_path / "ledger.db.key").rename(tmp_path / "kept-elsewhere.key")
    monkeypatch.setenv("SFUMATO_LEDGER_KEY", str(tmp_path / "auditor.key"))
    DATA.write_csv(tmp_path / "leak.csv")
    capsys.readouterr()
    assert run(["ledger", "verify", "--ledger", url, "--json"]) == 0
    assert "closed" not in json.loads(capsys.readouterr().out)
    assert run(["history", "--ledger", url]) == 0
    assert run(["ledger", "rotate", "--ledger", url]) == 3
    assert run(["ledger", "reading-key", "--ledger", url, "-o", str(tmp_path / "auditor.key")]) == 3
    monkeypatch.delenv("SFUMATO_LEDGER_KEY")
    asked = ["trace", str(tmp_path / "leak.csv"), "--ledger", url]
    assert run(asked) == 3
    assert run([*asked, "--key", str(tmp_path / "auditor.key")]) == 0

"""Somebody asks to be erased: what the ledger keeps of them, and the releases after that."""

from __future__ import annotations

import base64
import json
import zlib

import pytest
from sqlalchemy import delete, select, update

import sfumato as sf
from sfumato.cli.main import run
from sfumato.releases.issue import RecoveredRelease
from sfumato.releases.ledger.backup import backup, restore
from sfumato.releases.ledger.keys import digest
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.notices import salted_table
from sfumato.releases.ledger.records import ERASURE
from sfumato.releases.ledger.tables import ENTRIES, PEOPLE
from sfumato.releases.ledger.vault import opened_marks, stored_memory
from sfumato.system.errors import BadLedger, LedgerConflict, RefusedByHistory, UsageError
from sfumato.table.keyed_hashes import label_marks
from sfumato.table.release_summary import Imprint
from sfumato.table.source import open_source
from sfumato.workflows.erase import erase
from workflows.test_people_of_a_chain import BY_BATCH, BY_KEY, JUNE, MAY, policy, table

pytestmark = pytest.mark.slow

WHO = "UK3HIV"
TOLD = {**policy(**BY_BATCH), "person": "who"}
"""Batches tell which rows were released, and a key whose they are."""


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/l.db"


@pytest.fixture
def go(tmp_path, url):
    def release(people, keys, name, **more):
        rules = keys if "columns" in keys else policy(**keys)
        return sf.release(table(people), rules, ledger=url, into=tmp_path / name, **more)

    return release


def without(rows, name=WHO):
    return [row for row in rows if row[0] != name]


def traces(folder, name=WHO):
    """The files below a folder that hold a key, its mark, or a packed array with the mark in it."""
    mark = label_marks([name])[0].astype("<u8").tobytes()
    wanted = [name.encode(), mark, mark.hex().encode(), base64.b64encode(mark)[:20]]
    found = [
        path.name
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(word in path.read_bytes() for word in wanted)
    ]
    key = folder / "l.db.key"
    for path in folder.glob("*.db"):
        memories = [r.memory for r in Ledger(f"sqlite:///{path}", key=key, readonly=True).history()]
        packed = [json.loads(memory)["batches"] for memory in memories if memory]
        if any(mark in zlib.decompress(base64.b64decode(text)) for text in packed):
            found.append(f"imprint in {path.name}")
    return found


def test_nothing_of_an_erased_person_is_left(go, url, tmp_path):
    go(MAY, BY_KEY, "may")
    assert traces(tmp_path) == ["imprint in l.db"], "which the key opens"
    found = erase([WHO], ledger=url, data=table(MAY), policy=policy(**BY_KEY))
    assert traces(tmp_path) == []
    assert found.people == 1 and found.releases == (("main", 1),)
    assert f"row {1 + [row[0] for row in MAY].index(WHO)} of the table" in found.remains[0]
    assert Ledger(url, readonly=True).verify().holds


def test_published_counts_are_never_edited(go, url):
    go(MAY, BY_KEY, "may")
    before = Imprint.from_json(Ledger(url, readonly=True).history()[0].memory)
    erase([WHO], ledger=url)
    after = Imprint.from_json(Ledger(url, readonly=True).history()[0].memory)
    assert after.counts.tolist() == before.counts.tolist() and after.rows == len(MAY)
    assert after.digest == before.digest and after.erased == 1
    assert len(after.batches) == len(MAY) - 1


def test_a_chain_ends_where_somebody_is_erased(go, url):
    """The world has their rows, and the table lacks them: as if they had left, which is not judged."""
    go(MAY, BY_KEY, "may")
    erase([WHO], ledger=url)
    for rows in (without(MAY), MAY, [*without(MAY), *JUNE]):
        with pytest.raises(RefusedByHistory, match="1 person was erased from release 1") as refused:
            go(rows, BY_KEY, "june")
        assert "Start a new chain" in refused.value.remedy
    assert Ledger(url, readonly=True).verify().holds


def test_rows_told_by_batches_are_counted_as_erased(go, url):
    go(MAY, TOLD, "may")
    june = MAY + JUNE
    go(june, TOLD, "june")
    gone = [WHO, JUNE[0][0]]
    found = erase(gone, ledger=url, data=table(june), policy=TOLD)
    assert dict(found.releases) == {"main": 2}
    counts = [Imprint.from_json(r.memory).erased for r in Ledger(url, readonly=True).history()]
    assert counts == [1, 2]  # one of them came with June
    with pytest.raises(RefusedByHistory, match="1 person was erased from release 1"):
        go([row for row in june if row[0] not in gone], TOLD, "july")
    assert Ledger(url, readonly=True).verify().holds


def test_rows_told_by_batches_need_the_table(go, url):
    go(MAY, TOLD, "may")
    with pytest.raises(UsageError, match="tells by batches which rows were released"):
        erase([WHO], ledger=url)
    erase([WHO], ledger=url, data=table(MAY), policy=TOLD)
    with pytest.raises(RefusedByHistory, match="of which 1 were erased, and the table has 24"):
        erase([WHO], ledger=url, data=table(MAY), policy=TOLD)


def test_batches_alone_take_the_column_of_keys_from_the_call(go, url):
    go(MAY, BY_BATCH, "may")
    with pytest.raises(UsageError, match="a column that tells people apart"):
        erase([WHO], ledger=url, data=table(MAY), policy=policy(**BY_BATCH))
    found = erase([WHO], ledger=url, data=table(MAY), policy=policy(**BY_BATCH), column="who")
    assert found.releases == (("main", 1),)


def test_rows_are_named_by_their_numbers_where_nobody_has_a_key(go, url, tmp_path, capsys):
    go(MAY, BY_BATCH, "may")
    june = MAY + JUNE
    go(june, BY_BATCH, "june")
    place = {row[0]: 1 + n for n, row in enumerate(june)}
    table(june).write_csv(tmp_path / "june.csv")
    (tmp_path / "policy.yaml").write_text(json.dumps(policy(**BY_BATCH)), encoding="utf-8")
    numbers = tmp_path / "rows.txt"
    asked = ["erase", str(tmp_path / "june.csv"), "-p", str(tmp_path / "policy.yaml"), "--ledger", url]
    asked += ["--rows", str(numbers), "--yes"]
    for wrong, code in (("0\n", 2), ("9999", 2), ("one", 3), ("", 2)):
        numbers.write_text(wrong, encoding="utf-8")
        assert run(asked) == code, capsys.readouterr().err
    new = JUNE[0][0]
    numbers.write_text(f"{place[new]}\n{place[WHO]}\n", encoding="utf-8")
    assert run(asked) == 0
    said = capsys.readouterr().out
    assert "2 people are erased" in said and f"delete rows {place[WHO]}, {place[new]} of the table" in said
    counts = [Imprint.from_json(r.memory).erased for r in Ledger(url, readonly=True).history()]
    assert counts == [1, 2]  # one of them came with June
    with pytest.raises(RefusedByHistory, match="1 person was erased from release 1"):
        go(june, BY_BATCH, "july")
    assert run(asked) == 5  # the table as it was before is not the whole table any more
    assert Ledger(url, readonly=True).verify().holds


def test_numbers_of_rows_stand_for_keys_where_there_are_any(go, url, tmp_path):
    go(MAY, BY_KEY, "may")
    number = 1 + [row[0] for row in MAY].index(WHO)
    found = erase(rows=[number], ledger=url, data=table(MAY), policy=policy(**BY_KEY))
    assert found.people == 1 and traces(tmp_path) == []
    with pytest.raises(UsageError, match="rows are numbers in a table"):
        erase(rows=[1], ledger=url)


def test_whoever_is_not_there_is_not_erased(go, url):
    go(MAY, BY_KEY, "may")
    head = Ledger(url, readonly=True).head
    with pytest.raises(UsageError, match="1 of 2 people are in nothing") as caught:
        erase([WHO, "nobody at all"], ledger=url)
    assert "nobody" not in str(caught.value).replace("nobody else", "")
    assert Ledger(url, readonly=True).head == head
    with pytest.raises(UsageError, match="somebody has to be named"):
        erase([], ledger=url)


def test_no_ledger_is_made_for_an_erasure(tmp_path):
    with pytest.raises(BadLedger, match="no such ledger"):
        erase([WHO], ledger=f"sqlite:///{tmp_path}/typo.db")
    assert list(tmp_path.iterdir()) == []


def test_what_a_release_under_way_may_hold_is_said(go, url, monkeypatch):
    go(MAY, BY_KEY, "may")
    blocked = RecoveredRelease("r", "blocked", "somewhere")
    monkeypatch.setattr("sfumato.workflows.erase.recover", lambda _: (blocked,))
    assert "1 release is under way or blocked" in erase([WHO], ledger=url).remains[-1]


def test_all_chains_forget_and_those_told_by_batches_are_named(go, url, tmp_path):
    go(MAY, BY_KEY, "may")
    go(MAY, TOLD, "other", chain="other", ignore_chains=["main"])
    found = erase([WHO], ledger=url)
    assert dict(found.releases) == {"main": 1, "other": 1}
    assert any("chain other tells by batches" in sentence for sentence in found.remains)
    assert any("in the hands of anybody" in sentence for sentence in found.remains)
    assert traces(tmp_path) == []


def test_a_release_under_way_is_not_entered_after_an_erasure(go, url, tmp_path):
    go(MAY, BY_KEY, "may")

    def meanwhile(*_):
        erase([WHO], ledger=url)

    with pytest.raises(LedgerConflict, match="people were erased while this release was made"):
        go(MAY, BY_KEY, "june", checks=[meanwhile])
    assert not (tmp_path / "june").exists() and traces(tmp_path) == []


def test_a_backup_from_after_an_erasure_restores_without_them(go, url, tmp_path):
    go(MAY, BY_KEY, "may")
    before = backup(Ledger(url, readonly=True), tmp_path / "before.db")
    erase([WHO], ledger=url)
    after = backup(Ledger(url, readonly=True), tmp_path / "after.db")
    assert traces(tmp_path) == ["imprint in before.db"]
    key = tmp_path / "l.db.key"
    restored = restore(after, f"sqlite:///{tmp_path}/again.db", key=key)
    assert restored.verify().remarks == ("1 person erased from what is kept; published counts stay",)
    with pytest.raises(BadLedger, match="the backup ends before entry 3"):
        restore(before, f"sqlite:///{tmp_path}/old.db", key=key)


def test_changed_counts_are_noticed_though_an_erasure_says_otherwise(go, url):
    """Whoever holds the key and edits an imprint under the pretext of an erasure is found out."""
    go(MAY, BY_KEY, "may")
    erase([WHO], ledger=url)
    ledger = Ledger(url)

    def compose(connection):
        words = json.loads(ledger.history()[0].memory)
        edited = json.dumps({**words, "rows": words["rows"] - 1}).encode()
        cell = stored_memory(connection, 2, edited)
        connection.execute(update(ENTRIES).where(ENTRIES.c.number == 2).values(memory=cell))
        told = {"number": 2, "memory": digest(edited), "people": "", "erased": 0}
        return {"ledger": "", "people": 1, "entries": [told]}

    ledger.enter_notice(ERASURE, compose)
    assert "the counts that it remembers were changed" in str(ledger.verify().faults[0])
    with pytest.raises(BadLedger, match="entry 2"):
        ledger.history()


def salts(url):
    with Ledger(url, readonly=True).database.reading() as connection:
        rows = connection.execute(select(PEOPLE).where(PEOPLE.c.number < 0)).all()
        return [opened_marks(connection, row.number, row.marks) for row in rows]


def test_nobody_can_try_which_row_is_missing_from_a_table(go, url):
    """An entry keeps a digest of its table; without its salt, guesses of the erased row cannot be checked."""
    go(MAY, BY_KEY, "may")
    (salt,) = salts(url)
    (record,) = Ledger(url, readonly=True).history()
    plain = open_source(table(MAY)).digest()
    assert record.table == salted_table(plain, salt) != plain
    with pytest.raises(RefusedByHistory, match="the same table"):
        go(MAY, BY_KEY, "again", chain="other")
    erase([WHO], ledger=url)
    assert salts(url) == [] and Ledger(url, readonly=True).verify().holds
    with pytest.raises(RefusedByHistory, match="23 people of this table"):
        go(MAY, BY_KEY, "again", chain="other")


@pytest.mark.parametrize("harm", [delete(PEOPLE), update(PEOPLE).values(marks=b"x" * 16)])
def test_a_salt_that_was_taken_away_is_found(go, url, harm):
    go(MAY, BY_KEY, "may")
    with Ledger(url).database.writing() as connection:
        connection.execute(harm.where(PEOPLE.c.number < 0))
    assert "entry 2" in str(Ledger(url, readonly=True).verify().faults[0])
    with pytest.raises(BadLedger, match="entry 2"):
        go(MAY, BY_KEY, "again", chain="other")


def test_marks_that_were_changed_are_not_sealed_anew(go, url):
    go(MAY, BY_KEY, "may")
    with Ledger(url).database.writing() as connection:
        connection.execute(update(PEOPLE).where(PEOPLE.c.number > 0).values(marks=b"x" * 32))
    with pytest.raises(BadLedger, match="entry 2"):
        erase([WHO], ledger=url)


def test_the_command_takes_keys_from_a_file_and_says_what_is_left(go, url, tmp_path, capsys):
    go(MAY, BY_KEY, "may")
    keys = tmp_path / "keys.txt"
    keys.write_text(f"{WHO}\n\n", encoding="utf-8")
    asked = ["erase", "--ledger", url, "--person-file", str(keys)]
    assert run(asked) == 2
    assert "cannot be undone" in capsys.readouterr().err
    assert run([*asked, "--yes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["entry"], told["people"]) == (3, 1) and len(told["remains"]) == 4
    assert WHO not in json.dumps(told)
    assert run(["history", "--ledger", url]) == 0
    assert "1 person was erased from release 1 of chain main" in capsys.readouterr().out
    assert run(["history", "--ledger", url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["releases"][0]["erased"] == 1
    assert run([*asked, "--yes"]) == 2 and WHO not in capsys.readouterr().err
    assert run(["erase", "--ledger", url, "--person-file", str(tmp_path / "none"), "--yes"]) == 3

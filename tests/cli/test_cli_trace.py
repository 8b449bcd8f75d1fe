"""`sfumato trace`, and `sf.trace` with a ledger: only reads, shows no value, says plainly what is wrong."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import sfumato as sf
from recipients.clinic import POLICY, hand_out
from sfumato.cli.main import run
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.errors import BadInput
from workflows.conftest import Said

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    clinic = hand_out(folder)
    (folder / "policy.yaml").write_text(json.dumps(POLICY), encoding="utf-8")
    clinic.original.write_csv(folder / "original.csv")
    clinic.versions["Birch"].head(40).write_csv(folder / "leak.csv")
    return clinic


@pytest.fixture
def folder(clinic):
    return Path(clinic.url.removeprefix("sqlite:///")).parent


@pytest.fixture
def traced(clinic, folder, capsys):
    def call(*arguments, leak="leak.csv"):
        capsys.readouterr()
        code = run(["trace", str(folder / leak), "--ledger", clinic.url, *map(str, arguments)])
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return call


def test_a_leak_is_traced(traced, folder):
    before = hashlib.sha256((folder / "ledger.db").read_bytes()).digest()
    said = traced()
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("ours, but nobody is charged")
    document = traced("--json").document
    assert document["alone"] == ["Birch"] and document["charged"] == []
    assert hashlib.sha256((folder / "ledger.db").read_bytes()).digest() == before


@pytest.mark.parametrize("share", ["0", "1", "-1/2", "often", "1/0"])
def test_an_error_is_a_share_of_traces(traced, share):
    said = traced("--error", share)
    assert said.code == 2 and "share of traces" in said.err


def test_columns_are_renamed_by_hand(traced, folder):
    text = (folder / "leak.csv").read_text(encoding="utf-8")
    (folder / "other.csv").write_text(text.replace("age,", "years,", 1), encoding="utf-8")
    said = traced("--column", "years=age", "--json", leak="other.csv")
    assert said.document["columns"]["renamed"] == {"age": "years"}
    said = traced("--column", "years", leak="other.csv")
    assert said.code == 2


def test_not_ours_is_an_answer(traced, folder):
    (folder / "raw.csv").write_text("age,zip,job,sex\n33,02110,Nurse,f\n", encoding="utf-8")
    said = traced(leak="raw.csv")
    assert said.code == 0
    assert said.out.startswith("not ours")


def test_values_are_shown_only_when_asked_for(traced, folder):
    text = (folder / "leak.csv").read_text(encoding="utf-8")
    (folder / "strange.csv").write_text(text + "canary,02***,Care,*,flu\n", encoding="utf-8")
    said = traced(leak="strange.csv")
    assert "canary" not in said.out + said.err
    said = traced("--show-values", "--json", leak="strange.csv")
    assert "canary" not in said.out
    assert "age: 'canary'" in said.err


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("empty.csv", "age,zip\n", "no rows"),
        ("nothing.csv", "", "empty"),
        ("others.csv", "colour\nred\n", "no column that can be read as one of ours"),
        ("unknown.csv", 'age,sex\n"[20, 25)",x\nxx,f\n', "no row of the leak can be read"),
        ("lines.jsonl", "{oops\n", "line 1 is no JSON"),
        ("list.json", "[1, 2]", "does not hold records"),
        ("table.docx", "", "names no format"),
    ],
)
def test_bad_leaks(traced, folder, name, text, words):
    (folder / name).write_text(text, encoding="utf-8")
    said = traced("--json", leak=name)
    assert said.code in (2, 3)
    assert words in said.document["error"]["message"]
    assert "red" not in said.out + said.err


def test_bad_ledgers(folder, tmp_path):
    with pytest.raises(BadInput):
        sf.trace(folder / "leak.csv", ledger=f"sqlite:///{tmp_path}/none.db")
    assert not list(tmp_path.iterdir())
    with Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger, pytest.raises(BadInput, match="no patterns"):
        sf.trace(folder / "leak.csv", ledger=ledger)


def test_what_was_changed_in_the_ledger_is_not_believed(tmp_path):
    import sqlite3

    other = hand_out(tmp_path)
    base = sqlite3.connect(tmp_path / "ledger.db")
    base.execute("drop trigger if exists entries_kept")
    base.execute("update entries set memory = x'00' where sequence = 1 and kind = 'release'")
    base.commit()
    base.close()
    with pytest.raises(BadInput, match="changed"):
        sf.trace(other.versions["Alder"], ledger=other.url)

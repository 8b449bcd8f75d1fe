"""`sfumato release`, `history`, `ledger`, `certificate`: the same from the command line and from Python."""

from __future__ import annotations

import json
import sqlite3

import pytest

import sfumato as sf
from sfumato.system.errors import RefusedByHistory, UsageError

pytestmark = pytest.mark.slow


@pytest.fixture
def home(clinic, monkeypatch):
    folder = clinic()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    return folder


RELEASE = ("release", "data.csv", "-p", "policy.yaml", "--into")


def test_the_whole_journey(sfumato, home):
    said = sfumato(*RELEASE, "one")
    assert said.code == 0, said.err
    assert said.out.startswith("release 1 of chain main\n  not protected: disease  every value\n")
    assert "  k-anonymity, k = 2  holds" in said.out
    assert sorted(path.name for path in (home / "one").iterdir()) == [
        "certificate.json",
        "data.csv",
        "dictionary.html",
        "dictionary.json",
        "manifest.json",
    ]
    other = ("--to", "lab", "--chain", "others", "--json")
    assert sfumato(*RELEASE, "two", *other).code == 5, "whoever has release 1 may be the lab"
    document = sfumato(*RELEASE, "two", *other, "--ignore-chain", "main").document
    assert (document["sequence"], document["recipient"], document["figures"]["rows"]) == (1, "lab", 12)
    history = sfumato("history", "--json").document["releases"]
    assert [(entry["chain"], entry["sequence"]) for entry in history] == [("main", 1), ("others", 1)]
    assert sfumato("history").out.splitlines()[1].split() == [
        "chain", "release", "when", "to", "rows", "k", "loss",
    ]  # fmt: skip
    key = ("--key", "ledger.db.key.pub")
    assert sfumato("ledger", "verify", "--certificate", "two/certificate.json", *key).code == 0
    assert sfumato("certificate", "verify", "one/certificate.json", *key, "--json").document["pinned"]
    assert sfumato("ledger", "recover").out == "nothing is under way\n"
    assert sfumato("ledger", "rotate").code == 0
    assert sfumato("certificate", "verify", "one/certificate.json", *key).code == 0, "under its old key"
    assert sfumato("ledger", "backup", "backup.db").code == 0
    assert (
        sfumato(
            "ledger", "restore", "backup.db", "--ledger", "sqlite:///copy.db", "--key", "ledger.db.key"
        ).code
        == 0
    )
    assert sfumato("ledger", "verify", "--ledger", "sqlite:///copy.db").code == 0


def test_parquet_stays_parquet(sfumato, home):
    assert sfumato(*RELEASE, "one", "--format", "parquet").code == 0
    manifest = json.loads((home / "one" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["files"][0]["name"] == "data.parquet"
    assert (manifest["files"][0]["rows"], manifest["files"][0]["columns"]) == (12, ["zip", "disease"])
    assert sfumato("audit", "one/data.parquet", "-p", "policy.yaml").code == 0


def test_what_is_wrong_with_a_ledger_is_named(sfumato, home):
    assert sfumato(*RELEASE, "one").code == 0
    with sqlite3.connect(home / "ledger.db") as connection:
        connection.execute("UPDATE entries SET kept = '{}' WHERE number = 2")
    connection.close()
    said = sfumato("ledger", "verify")
    assert said.code == 1
    assert "entry 2: its content does not match its hash" in said.out
    said = sfumato(*RELEASE, "two")
    assert said.code == 3
    assert not (home / "two").exists()


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        (("--to", "a", "--to", "a"), 2),
        (("--to", "a", "--to", "A"), 2),
        (("--to", "a", "--to", "b"), 1),
        (("--chain", ""), 2),
        (("--format", "docx"), 2),
        (("--ledger", "ledger.db"), 2),
        (("--ledger", "sqlite:///no/folder/ledger.db"), 2),
        (("--key", "nowhere/key"), 3),
    ],
)
def test_wrong_calls(sfumato, home, extra, code):
    assert sfumato(*RELEASE, "one", *extra).code == code
    assert not (home / "one").exists()


def test_dry_run_touches_nothing(sfumato, home):
    before = sorted(path.name for path in home.iterdir())
    said = sfumato("release", "data.csv", "-p", "policy.yaml", "--dry-run", "--json")
    assert said.code == 0, said.err
    assert said.document["published"] is False
    assert said.document["figures"]["rows"] == 12
    assert sorted(path.name for path in home.iterdir()) == before


def test_from_python_with_a_check_of_ones_own(home):
    met = []

    def check(history, record):
        met.append((len(history), record.chain))
        if record.chain == "refused":
            raise RefusedByHistory("not this one")

    def go(name, **more):
        url = f"sqlite:///{home}/ledger.db"
        return sf.release(
            home / "data.csv", home / "policy.yaml", ledger=url, into=home / name, checks=[check], **more
        )

    receipt = go("one", to="lab")
    assert receipt.folder == home / "one"
    assert receipt.record.cuts == {"zip": receipt.record.cuts["zip"]}
    assert all(isinstance(node, int) for node in receipt.record.cuts["zip"])
    with pytest.raises(RefusedByHistory):
        go("two", chain="refused", dry_run=True)
    with pytest.raises(RefusedByHistory):
        go("two", chain="refused")
    assert not (home / "two").exists()
    assert set(met) == {(0, "main"), (0, "refused")}
    assert str(receipt).startswith("release 1 of chain main")
    assert "<div " in receipt._repr_html_()


def test_no_value_is_in_the_ledger_or_beside_the_files(sfumato, clinic, monkeypatch):
    """Names and values of the data are looked for in every byte that is kept; the table itself apart."""
    lines = ["name,zip,disease"] + [
        f"Zz{i}q,7{1 + i % 2}{i % 3},{'qflu' if i % 4 else 'qcough'}" for i in range(12)
    ]
    folder = clinic("\n".join(lines) + "\n")
    monkeypatch.chdir(folder)
    assert sfumato(*RELEASE, "one").code == 0
    kept = [
        path for path in folder.rglob("*") if path.is_file() and path.name not in ("data.csv", "policy.yaml")
    ]
    assert len(kept) == 9
    shown = (folder / "one" / "data.csv").read_bytes()
    for path in kept:
        content = path.read_bytes()
        for value in (b"Zz1q", b"qflu", b"qcough"):
            assert value not in content, path.name
        for value in (b"710", b"722"):  # a dictionary names texts of key columns as the table shows them
            listed = path.name.startswith("dictionary.") and value in shown
            assert listed or b'"%s"' % value not in content, path.name


def test_people_are_counted_through_a_private_witness(sfumato, clinic, monkeypatch):
    folder = clinic(person="name")
    monkeypatch.chdir(folder)
    said = sfumato(*RELEASE, "one")
    assert said.code == 0, said.err
    assert not [path for path in folder.rglob("*") if "witness" in path.name or path.name == "private"]


def test_a_target_that_cannot_be_is_refused_before_a_ledger_is_made(sfumato, home):
    said = sfumato(*RELEASE, "not/there")
    assert (said.code, said.err.splitlines()[0]) == (2, "not: the folder of the target does not exist")
    with pytest.raises(UsageError, match="not: the folder"):
        sf.release("data.csv", "policy.yaml", ledger="sqlite:///ledger.db", into="not/there")
    (home / "taken").mkdir()
    assert sfumato(*RELEASE, "taken").err.startswith("taken: the target exists already")
    assert not list(home.glob("ledger.db*"))


def test_folder_and_figures_are_told_as_they_were_named_and_always_in_one_order(sfumato, home):
    (home / "out").mkdir()
    planned = sfumato(*RELEASE, "out/one", "--dry-run").out.splitlines()
    released = sfumato(*RELEASE, "out/one").out.splitlines()
    assert released[-1] == "in out/one, entry 2 of the ledger"
    figures = next(line for line in planned if line.startswith("rows "))
    assert figures in released
    assert figures.split()[::2] == ["rows", "suppressed", "classes", "k", "loss"]


def test_a_certificate_that_is_not_there_is_named(sfumato, home):
    said = sfumato("certificate", "verify", "out/certificate.json")
    assert said.code == 3
    assert said.err.startswith("out/certificate.json: there is no such file\nName the certificate.json")
    (home / "out").mkdir()
    assert sfumato("certificate", "verify", "out").err.startswith("out: this is a folder")

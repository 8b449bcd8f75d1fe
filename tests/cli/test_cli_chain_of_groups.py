"""A chain of groups from the command line: what is said, and with which exit code."""

from __future__ import annotations

import json

import pytest

from workflows.visitors import FIRST, RETURNED, SECOND, policy, table


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    table(FIRST).write_csv("q1.csv")
    table(FIRST[2:], RETURNED, SECOND).write_csv("q2.csv")
    (tmp_path / "policy.yaml").write_text(json.dumps(policy(by="day")), encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("home")
def test_a_year_of_a_clinic(sfumato):
    words = ("-p", "policy.yaml")
    rehearsed = sfumato("release", "q1.csv", *words, "--dry-run")
    assert (rehearsed.code, rehearsed.out.splitlines()[0]) == (0, "nothing was released")
    assert "40 people are new" in rehearsed.out
    assert sfumato("release", "q1.csv", *words, "--into", "r1").code == 0
    rehearsed = sfumato("release", "q2.csv", *words, "--dry-run", "--json").document
    second = sfumato("release", "q2.csv", *words, "--into", "r2", "--json").document
    assert second["figures"] == rehearsed["figures"]
    assert second["states"][0].startswith("Each row is taken to be about another person")
    assert second["figures"]["left"] == 1
    history = sfumato("history").out.splitlines()
    assert history[0] == "2 releases"
    key = ("--key", "ledger.db.key.pub")
    assert sfumato("ledger", "verify", "--certificate", "r2/certificate.json", *key).code == 0
    verified = sfumato("certificate", "verify", "r2/certificate.json", *key)
    assert verified.code == 0
    assert "bare_row" in verified.out
    assert sfumato("audit", "r1/data.csv", "r2/data.csv", *words).code == 0
    assert sfumato("audit", "r2/data.csv", *words).code == 0


@pytest.mark.usefixtures("home")
def test_what_a_ledger_of_groups_cannot_be_asked(sfumato):
    words = ("-p", "policy.yaml")
    sfumato("release", "q1.csv", *words, "--into", "r1")
    against = ("--against", "sqlite:///ledger.db")
    assert sfumato("attack", "composition", "r1/data.csv", *words, *against).code == 2
    assert sfumato("audit", "r1/data.csv", *words, *against).code == 0
    assert sfumato("audit", "r1/data.csv", *words, *against, "--strict").code == 1
    refused = sfumato("protect", "q2.csv", *words, *against, "--dry-run")
    assert refused.code == 5
    assert "sfumato audit 1.csv 2.csv" in refused.err


def test_owners_call_back_erase_and_end(sfumato, home):
    words = ("-p", "policy.yaml")
    sfumato("release", "q1.csv", *words, "--into", "r1")
    assert sfumato("ledger", "withdraw", "1", "--reason", "a mistake").code == 0
    assert sfumato("ledger", "rotate").code == 0
    assert sfumato("release", "q2.csv", *words, "--into", "r2").code == 0
    erased = sfumato("erase", "--person", "p3", "--ledger", "sqlite:///ledger.db", "--yes")
    assert erased.code == 0
    assert "the next release shows 1 group less, with everybody in them" in erased.out
    assert sfumato("ledger", "backup", "backup.db").code == 0
    assert len(list((home / "backup.db.bases").iterdir())) == 1
    third = sfumato("release", "q2.csv", *words, "--into", "r3")
    assert third.code == 0, third.err
    assert sfumato("ledger", "verify").code == 0
    assert sfumato("ledger", "retire", "main", "--yes").code == 0
    assert list((home / "ledger.db.bases").iterdir()) == []
    assert sfumato("release", "q2.csv", *words, "--into", "r4").code == 5


def test_a_base_that_is_lost_has_a_next_step(sfumato, home):
    words = ("-p", "policy.yaml")
    sfumato("release", "q1.csv", *words, "--into", "r1")
    for path in (home / "ledger.db.bases").iterdir():
        path.unlink()
    lost = sfumato("release", "q2.csv", *words, "--into", "r2")
    assert lost.code == 3
    assert "the base of this chain is not beside the ledger" in lost.err
    assert "Restore it from the backup of the ledger" in lost.err
    assert sfumato("erase", "--person", "p3", "--ledger", "sqlite:///ledger.db", "--yes").code == 0

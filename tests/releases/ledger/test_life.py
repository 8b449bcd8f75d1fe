"""The life of a ledger: keys change, releases are called back, chains end, backups lack something."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from faults.made_up import release, release_to_three
from releases.ledger.tampering import change
from sfumato.cli.main import run
from sfumato.releases.certificate import (
    certificate,
    examine,
    read_certificate,
    read_notice,
)
from sfumato.releases.ledger import erasure as withdrawal
from sfumato.releases.ledger.backup import backup, restore
from sfumato.releases.ledger.erasure import retire, withdraw, withdrawals
from sfumato.releases.ledger.keys import DatedKey, Key, as_text, public_key, public_keys
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.notices import mark_bytes
from sfumato.system.errors import BadData, BadLedger, LedgerConflict, RefusedByHistory, UsageError
from sfumato.system.json_object import document_bytes

pytestmark = pytest.mark.slow

SOMEBODY = bytes(range(16))
"""The mark of a person."""


def certificate_of(folder):
    return read_certificate(Path(folder) / "certificate.json")


# -- keys


def test_old_certificates_verify_by_the_file_of_public_keys(url, tmp_path):
    ledger = Ledger(url)
    release(ledger, tmp_path / "one")
    first = public_key(tmp_path / "ledger.db.key.pub")
    ledger.rotate()
    release(ledger, tmp_path / "two")
    ledger.rotate()
    release(ledger, tmp_path / "three")
    keys = public_keys(tmp_path / "ledger.db.key.pub")
    assert keys == ledger.dated_keys
    assert [(key.first, key.last) for key in keys] == [(6, None), (4, 5), (1, 3)]
    assert keys[-1].public == first
    assert keys[0].public == public_key(tmp_path / "ledger.db.key")
    for name in ("one", "two", "three"):
        assert examine(tmp_path / name / "certificate.json", key=keys).holds is True
        assert run(["certificate", "verify", str(tmp_path / name / "certificate.json"), "--key",
                    str(tmp_path / "ledger.db.key.pub")]) == 0  # fmt: skip
    assert ledger.verify(key=[key.public for key in keys]).holds
    assert ledger.verify(key=[*(key.public for key in keys), "00" * 32]).faults


def test_a_key_that_was_replaced_signs_nothing_more(url, tmp_path):
    """Who stole an old key can date an entry to its time, not make one of later."""
    ledger = Ledger(url)
    release(ledger, tmp_path / "one")
    old = Key.load(tmp_path / "ledger.db.key")
    ledger.rotate()
    entry = ledger.entry(release(ledger, tmp_path / "two").record.release)
    forged = document_bytes(certificate(entry.seal(old)))
    (tmp_path / "two" / "certificate.json").write_bytes(forged)
    (fault,) = examine(tmp_path / "two" / "certificate.json", key=ledger.dated_keys).faults
    assert "cannot have signed" in fault


def test_public_keys_as_text_are_read_back(url, capsys):
    ledger = Ledger(url)
    assert as_text(ledger.dated_keys).startswith("-----BEGIN PUBLIC KEY-----")
    ledger.rotate()
    assert run(["ledger", "keys", "--ledger", url]) == 0
    assert capsys.readouterr().out == as_text(ledger.dated_keys)


@pytest.mark.parametrize(
    "content", [b"", b"entries 1-2\n", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"]
)
def test_a_file_of_no_keys(tmp_path, content):
    (tmp_path / "file.pub").write_bytes(content)
    with pytest.raises(BadLedger, match="no key"):
        public_keys(tmp_path / "file.pub")


def test_borders_of_a_key():
    assert [DatedKey("k", 4, 5).may_have_signed(number) for number in (3, 4, 5, 6)] == [
        False,
        True,
        True,
        False,
    ]
    assert DatedKey("k", 4).may_have_signed(10**9)


# -- withdrawal


def test_a_withdrawal_is_recorded_and_undoes_nothing(filled, tmp_path, url, capsys):
    before = filled.history()
    made = withdraw(filled, "1", reason="two people  were left in", chain="main")
    assert made.reason == "two people were left in"
    assert made.record.release == before[0].release
    assert filled.history() == before
    assert filled.verify().holds
    assert filled.verify().remarks == ("1 release withdrawn, and still counted",)
    assert withdrawals(filled)[before[0].release]["entry"] == made.entry.number
    assert "1 later release beside it" in str(made)
    assert withdraw(filled, before[0].release, reason="two people were left in") == made
    assert filled.head.number == made.entry.number
    with pytest.raises(UsageError, match="withdrawn before, for another reason"):
        withdraw(filled, before[0].release, reason="again")

    def counted(history, _):
        assert [record.release for record in history] == [before[0].release, before[2].release]
        raise RefusedByHistory("held against it")

    with pytest.raises(RefusedByHistory, match="held against it"):
        release(filled, tmp_path / "next", checks=[counted])
    assert run(["history", "--ledger", url]) == 0
    assert "WITHDRAWN" in capsys.readouterr().out


def test_a_release_is_withdrawn_once_by_two_at_once(filled, monkeypatch):
    withdraw(filled, "1", reason="wrong")
    head = filled.head
    monkeypatch.setattr(withdrawal, "_notice", lambda *_: None)  # it was not there yet when we looked
    with pytest.raises(LedgerConflict, match="withdrew this release first"):
        withdraw(filled, "1", reason="wrong")
    assert filled.head == head


def test_versions_of_a_withdrawn_one_are_named(url, tmp_path):
    ledger = Ledger(url)
    release_to_three(ledger, tmp_path / "event")
    release(ledger, tmp_path / "later", recipient="registry")
    made = withdraw(ledger, "2", reason="wrong file")
    told = "\n".join(made.remains)
    assert made.record.recipient == "registry"
    assert "the council, Ärzte" in told
    assert "1 later release" in told
    assert "1 other release" in told, "what the same recipient has"
    assert made.as_dict()["remains"] == list(made.remains)


@pytest.mark.parametrize(
    ("name", "reason", "complaint"),
    [
        ("9", "why", "no such release"),
        ("1", " ", "needs a name"),
        ("1", "a\u202eb", "invisible"),
        ("1", "x" * 1001, "at most"),
    ],
)
def test_no_withdrawal(filled, name, reason, complaint):
    head = filled.head
    with pytest.raises(UsageError, match=complaint):
        withdraw(filled, name, reason=reason)
    assert filled.head == head


def test_the_notice_tells_who_has_the_files(filled, tmp_path, url, capsys):
    told = tmp_path / "notice.json"
    assert run(["ledger", "withdraw", "1", "--reason", "wrong", "--ledger", url, "-o", str(told)]) == 0
    assert run(["ledger", "withdraw", "2", "--reason", "wrong", "--ledger", url, "-o", str(told)]) == 2
    key = str(tmp_path / "ledger.db.key.pub")
    verify = ["certificate", "verify", "--key", key, "--withdrawal", str(told)]
    capsys.readouterr()
    assert run([*verify, str(tmp_path / "one" / "certificate.json")]) == 1
    assert "withdrawn" in capsys.readouterr().out
    assert run([*verify, str(tmp_path / "three" / "certificate.json")]) == 0
    stranger = Key.make(tmp_path / "stranger.key")
    (fault,) = examine(
        tmp_path / "three" / "certificate.json",
        key=filled.dated_keys,
        notices=[_forged(filled, certificate_of(tmp_path / "three"), stranger)],
    ).faults
    assert "the notice of withdrawal is signed by another key" in fault


def _forged(ledger, shown, key):
    entry = ledger.entry(shown["entry"]["release"])
    body = {"at": "2026-11-16", "ledger": "x", "release": entry.release, "hash": entry.hash, "reason": "no"}
    return certificate(replace(entry, kind="withdrawal", body=json.dumps(body)).seal(key))


@pytest.mark.parametrize("harm", ["reason", "kind", "gone", "list"])
def test_a_notice_that_was_changed(filled, tmp_path, harm):
    path = tmp_path / "notice.json"
    notice = certificate(withdraw(filled, "1", reason="wrong").entry)
    if harm == "reason":
        notice["entry"]["body"]["reason"] = "right"
    elif harm == "kind":
        notice["entry"]["kind"] = "release"
    if harm != "gone":
        path.write_bytes(b"[]" if harm == "list" else document_bytes(notice))
    with pytest.raises(BadData):
        read_notice(path)


# -- retirement


def test_a_retired_chain_is_closed_and_its_memory_gone(filled, tmp_path, url):
    made = retire(filled, "main")
    assert made.releases == 2
    assert filled.verify().holds, filled.verify().faults
    assert [(record.chain, record.memory) for record in filled.history()] == [
        ("main", b""), ("other", b"2"), ("main", b"")]  # fmt: skip
    with pytest.raises(RefusedByHistory, match="chain main is closed"):
        release(filled, tmp_path / "next")
    with pytest.raises(UsageError, match="closed already"):
        retire(filled, "main")
    release(filled, tmp_path / "beside", chain="other", memory=b"2")
    assert bytes(range(32)) not in (tmp_path / "ledger.db").read_bytes(), "marks of people are overwritten"
    copy = backup(filled, tmp_path / "copy.db")
    shutil.copy(tmp_path / "ledger.db.key", tmp_path / "again.db.key")
    again = restore(copy, f"sqlite:///{tmp_path}/again.db")
    with pytest.raises(RefusedByHistory, match="chain main is closed"):
        release(again, tmp_path / "next")
    assert examine(tmp_path / "one" / "certificate.json", key=filled.dated_keys).holds is True
    assert run(["history", "--ledger", url]) == 0


def test_people_who_were_forgotten_stand_in_the_way(url, tmp_path):
    ledger, marks = Ledger(url), mark_bytes_of(SOMEBODY)
    release(ledger, tmp_path / "one", people=marks, recipient="press")
    release(ledger, tmp_path / "two", chain="tables", recipient="press")
    retire(ledger, "main")
    retire(ledger, "tables")
    other = mark_bytes_of(bytes(16))
    with pytest.raises(RefusedByHistory, match="cannot be told any more"):
        release(ledger, tmp_path / "three", chain="new", people=other, recipient="press")
    release(ledger, tmp_path / "four", chain="new", people=other, recipient="police")
    release(ledger, tmp_path / "five", chain="third", recipient="press")
    release(
        ledger, tmp_path / "six", chain="fourth", people=other, recipient="press", ignore_chains=("main",)
    )
    assert ledger.verify().holds


def mark_bytes_of(mark):
    return mark_bytes(np.frombuffer(mark, np.uint64).reshape(-1, 2))


@pytest.mark.parametrize("harm", ["memory", "marks", "notice", "other"])
def test_what_was_forgotten_without_a_word_is_still_found(filled, tmp_path, harm):
    if harm != "other":
        retire(filled, "main")
    path = tmp_path / "ledger.db"
    if harm == "memory":
        change(path, "UPDATE entries SET memory = ? WHERE number = 2", b"made up")
    elif harm == "marks":
        change(path, "INSERT INTO people VALUES (5, ?)", b"made up")
    elif harm == "notice":
        change(path, "UPDATE entries SET body = replace(body, '[2,5]', '[2,3,5]') WHERE kind = 'retirement'")
        change(path, "UPDATE entries SET memory = x'' WHERE number = 3")
    else:
        change(path, "UPDATE entries SET memory = x'' WHERE number = 3")
    assert not filled.verify().holds


def test_retiring_asks_first(filled, url, capsys):
    head = filled.head
    assert run(["ledger", "retire", "main", "--ledger", url]) == 2
    assert "cannot be undone" in capsys.readouterr().err
    assert filled.head == head
    assert run(["ledger", "retire", "main", "--ledger", url, "--yes"]) == 0
    assert run(["ledger", "retire", "nothing", "--ledger", url, "--yes"]) == 2

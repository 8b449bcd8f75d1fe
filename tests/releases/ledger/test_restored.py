"""Backups that lack something: it is told, refused, or sealed as lost; and anchors, which tell of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from faults.made_up import release
from sfumato.cli.main import run
from sfumato.releases.certificate import read_certificate
from sfumato.releases.ledger import checkpoint as seen_head
from sfumato.releases.ledger.backup import anchor, backup, missing_in, read_anchor, restore
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.errors import BadData, BadLedger, RefusedByHistory

pytestmark = pytest.mark.slow


def certificate_of(folder):
    return read_certificate(Path(folder) / "certificate.json")


@pytest.fixture
def behind(url, tmp_path):
    """A backup after the first release, and a ledger that went on: one more in its chain, one in another."""
    ledger = Ledger(url)
    release(ledger, tmp_path / "one")
    copy = backup(ledger, tmp_path / "copy.db")
    release(ledger, tmp_path / "two", recipient="press")
    release(ledger, tmp_path / "three", chain="other")
    return ledger, copy


def restored(tmp_path, copy, *, certificates=(), anchors=(), seen=False, accept_loss=True):
    """Restores beside the ledger, with its key and, if `seen`, with what was noted beside it."""
    shutil.copy(tmp_path / "ledger.db.key", tmp_path / "again.db.key")
    if seen:
        shutil.copy(tmp_path / "ledger.db.key.seen", tmp_path / "again.db.key.seen")
    told = [certificate_of(tmp_path / name) for name in certificates]
    url = f"sqlite:///{tmp_path}/again.db"
    return restore(copy, url, certificates=told, anchors=anchors, accept_loss=accept_loss)


def test_what_a_backup_lacks_is_told(behind, tmp_path, capsys):
    ledger, copy = behind
    (tmp_path / "anchor.json").write_text(json.dumps(anchor(ledger).as_dict()))
    asked = ["ledger", "missing", "--ledger", f"sqlite:///{copy}", "--anchor", str(tmp_path / "anchor.json")]
    assert run([*asked, "--certificate", str(tmp_path / "two" / "certificate.json")]) == 1
    told = capsys.readouterr().out
    assert "lacks 2 entries" in told
    assert "entry 3: release 2 of chain main, to press" in told
    assert "entry 4: not known" in told
    assert run(["ledger", "missing", "--ledger", f"sqlite:///{copy}"]) == 0, "nothing tells of more"
    assert run(["ledger", "missing", "--ledger", f"sqlite:///{copy}", "--key", str(ledger.key_path)]) == 1
    assert (
        run(["ledger", "verify", "--ledger", f"sqlite:///{copy}", "--anchor", str(tmp_path / "anchor.json")])
        == 1
    )
    for known in (
        {"anchors": [read_anchor(tmp_path / "anchor.json")]},
        {"seen": True},
        {"certificates": ["two"]},
    ):
        with pytest.raises(BadLedger, match="the backup ends before entry"):
            restored(tmp_path, copy, accept_loss=False, **known)
    assert not (tmp_path / "again.db").exists() or not Ledger(f"sqlite:///{tmp_path}/again.db").history()


def test_a_known_loss_closes_its_chains(behind, tmp_path):
    ledger, copy = behind
    again = restored(tmp_path, copy, certificates=["two", "three"], seen=True)
    told = [certificate_of(tmp_path / name) for name in ("one", "two", "three")]
    found = again.verify(certificates=told, anchors=[anchor(ledger).head])
    assert found.holds, found.faults
    assert found.lost == 2
    assert "lost" in str(found.card())
    assert not missing_in(again, again.key_path, certificates=told)
    for chain in ("main", "other"):
        with pytest.raises(RefusedByHistory, match=f"chain {chain} is closed"):
            release(again, tmp_path / "next", chain=chain)
    with pytest.raises(RefusedByHistory, match="cannot be told any more"):
        release(again, tmp_path / "next", chain="new", recipient="police")
    release(again, tmp_path / "next", chain="new", recipient="police", ignore_chains=("other",))
    assert Ledger(f"sqlite:///{tmp_path}/again.db").verify().holds
    assert seen_head.last_seen(again.key_path) == again.head


def test_an_unknown_loss_closes_the_ledger(behind, tmp_path):
    ledger, copy = behind
    again = restored(tmp_path, copy, certificates=["two"], anchors=[anchor(ledger)])
    with pytest.raises(RefusedByHistory, match="1 entry of it got lost"):
        release(again, tmp_path / "next", chain="new")
    assert again.verify().holds
    assert [record.sequence for record in again.history()] == [1]
    assert seen_head.last_seen(again.key_path) is None


def test_nothing_lost_is_nothing_entered(behind, tmp_path):
    ledger, _ = behind
    again = restored(tmp_path, backup(ledger, tmp_path / "new.db"), certificates=["two", "three"], seen=True)
    assert again.head == ledger.head


def test_a_rolled_back_ledger_is_opened_when_its_loss_is_sealed(behind, tmp_path):
    _, copy = behind
    again = restored(tmp_path, copy, certificates=["two", "three"], seen=True)
    again.close()
    seen_head.seen_head_path(again.key_path).unlink()
    shutil.copy(tmp_path / "ledger.db.key.seen", tmp_path / "again.db.key.seen")
    assert Ledger(f"sqlite:///{tmp_path}/again.db").head.number == 3
    assert seen_head.last_seen(again.key_path).number == 3, "from now on this one counts"


def test_two_histories_are_not_put_together(behind, tmp_path):
    """Who went on writing to a copy has certificates of another history."""
    _, copy = behind
    shutil.copy(tmp_path / "ledger.db.key", tmp_path / "fork.db.key")
    fork = restore(copy, f"sqlite:///{tmp_path}/fork.db")
    release(fork, tmp_path / "forked")
    with pytest.raises(BadLedger, match="another history"):
        restored(tmp_path, backup(fork, tmp_path / "fork-copy.db"), certificates=["two"])
    with pytest.raises(BadLedger, match="another history"):
        restored(tmp_path, copy, certificates=["two", "forked"])


@pytest.mark.parametrize("harm", ["content", "other ledger", "anchor"])
def test_strange_evidence_is_refused(behind, tmp_path, harm):
    _, copy = behind
    stranger = Ledger(f"sqlite:///{tmp_path}/strange.db")
    release(stranger, tmp_path / "strange")
    told = [certificate_of(tmp_path / ("two" if harm == "content" else "strange"))]
    if harm == "content":
        told[0]["entry"]["number"] = 900
    anchors = [anchor(stranger)] if harm == "anchor" else ()
    with pytest.raises(BadData):
        restore(copy, f"sqlite:///{tmp_path}/x.db", certificates=() if anchors else told, anchors=anchors)


def test_the_key_is_looked_for_before_anything_is_copied(behind, tmp_path):
    _, copy = behind
    with pytest.raises(BadLedger, match="key of the ledger is not there"):
        restore(copy, f"sqlite:///{tmp_path}/again.db")
    Key.make(tmp_path / "again.db.key")
    with pytest.raises(BadLedger, match="not the key of the ledger"):
        restore(copy, f"sqlite:///{tmp_path}/again.db")
    assert not (tmp_path / "again.db").exists()


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"sfumato_anchor": 1}', '{"sfumato_anchor": 1, "number": "1"}', "nonsense"]
)
def test_no_anchor(tmp_path, content):
    (tmp_path / "anchor.json").write_text(content)
    with pytest.raises(BadData, match="no anchor"):
        read_anchor(tmp_path / "anchor.json")


def test_an_anchor_of_somebody_elses_making(filled, tmp_path, url, capsys):
    path = tmp_path / "anchor.json"
    assert run(["ledger", "anchor", "--ledger", url, "-o", str(path)]) == 0
    assert run(["ledger", "anchor", "--ledger", url, "-o", str(path)]) == 2, "it is there already"
    assert read_anchor(path).head == filled.head
    path.write_text(json.dumps({**json.loads(path.read_text()), "number": 99}))
    with pytest.raises(BadData, match="not signed"):
        read_anchor(path)
    capsys.readouterr()
    assert run(["ledger", "anchor", "--ledger", url]) == 0
    assert json.loads(capsys.readouterr().out)["hash"] == filled.head.hash

"""One writer, copies, versions, readers."""

from __future__ import annotations

import pytest

from faults.made_up import issue, planned, release
from releases.ledger.tampering import change
from sfumato.releases.certificate import read_certificate
from sfumato.releases.ledger.backup import backup, restore
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.encryption import reading_key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import ReleaseRecord, memory_bytes
from sfumato.system.errors import BadData, BadLedger, LedgerConflict, RefusedByHistory, UsageError

pytestmark = pytest.mark.slow

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
    record = ReleaseRecord("a" * 32, "main", "p")
    ledger.stage(record.release, host="", folder=tmp_path / "x", target=tmp_path / "y")
    first = ledger.commit(record, after="")
    assert ledger.commit(record, after="") == first
    assert len(ledger.history()) == 1


def test_a_release_that_was_given_up_cannot_be_entered(url, tmp_path):
    ledger = Ledger(url)
    record = ReleaseRecord("a" * 32, "main", "p")
    ledger.stage(record.release, host="", folder=tmp_path / "x", target=tmp_path / "y")
    assert ledger.resolve(record.release) == ()
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

    unsafe = planned()
    object.__setattr__(unsafe, "judge", judge)
    with pytest.raises(RefusedByHistory):
        issue(Ledger(url), unsafe, into=tmp_path / "one", chain="main")
    assert Ledger(url).history() == ()


@pytest.mark.parametrize(
    ("meddle", "complaint"),
    [
        (lambda file: file.write_bytes(file.read_bytes() + b"021**,TB\n"), "has another size"),
        (lambda file: file.write_bytes(file.read_bytes().replace(b"flu", b"HIV", 1)), "was changed"),
        (lambda file: file.unlink(), "is missing"),
    ],
    ids=["a row more", "another value", "gone"],
)
def test_a_file_that_changes_while_it_is_judged_is_not_released(url, tmp_path, meddle, complaint):
    """What was judged is what is published, byte by byte."""
    meddled = planned()
    honest = meddled.judge

    def judge(file, private):
        verdicts = honest(file, private)
        meddle(file)
        return verdicts

    object.__setattr__(meddled, "judge", judge)
    with pytest.raises(BadData, match=f"a file changed while it was judged: data.csv {complaint}"):
        issue(Ledger(url), meddled, into=tmp_path / "one", chain="main")
    assert Ledger(url).history() == () and not (tmp_path / "one").exists()


def test_a_document_is_remembered_in_its_canonical_form():
    assert memory_bytes({"b": 1, "a": 2}) == b'{"a":2,"b":1}'
    assert memory_bytes(b"raw") == b"raw"
    assert memory_bytes(None) == b""


# -- copies, versions, readers ------------------------------------------------------------------------------


def test_backup_and_restore(filled, tmp_path):
    place = backup(filled, tmp_path / "backup.db")
    assert place.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="exists"):
        backup(filled, place)
    (tmp_path / "ledger.db").unlink()
    restored = restore(place, f"sqlite:///{tmp_path}/ledger.db")
    assert restored.history() == filled.history()
    assert restored.verify().holds
    with pytest.raises(UsageError, match="already"):
        restore(place, f"sqlite:///{tmp_path}/ledger.db")


def test_a_backup_that_misses_a_release_is_not_restored(url, tmp_path):
    ledger = Ledger(url)
    release(ledger, tmp_path / "one")
    place = backup(ledger, tmp_path / "backup.db")
    release(ledger, tmp_path / "two")
    (tmp_path / "ledger.db").unlink()
    with pytest.raises(BadLedger, match="ends before entry 3"):
        restore(place, url)
    known = [read_certificate(tmp_path / "two" / "certificate.json")]
    with pytest.raises(BadLedger, match="entry 3"):
        restore(place, f"sqlite:///{tmp_path}/elsewhere.db", key=ledger.key_path, certificates=known)
    assert not (tmp_path / "ledger.db").exists()


def test_a_damaged_ledger_is_not_backed_up(filled, tmp_path):
    change(tmp_path / "ledger.db", "UPDATE entries SET memory = x'00' WHERE number = 2")
    with pytest.raises(BadLedger, match="entry 2"):
        backup(filled, tmp_path / "backup.db")
    assert not (tmp_path / "backup.db").exists()


def test_reading_only(filled, url, tmp_path):
    """An auditor verifies without a key, and reads with one that signs nothing; neither needs to write."""
    reading_key(filled.database).write(tmp_path / "auditor.key")
    filled.key_path.unlink()
    closed = Ledger(url, readonly=True)
    assert closed.verify().holds and closed.verify().closed
    with pytest.raises(BadLedger, match="its key is not here"):
        closed.history()
    reader = Ledger(url, key=tmp_path / "auditor.key", readonly=True)
    assert reader.verify().holds and not reader.verify().closed
    assert len(reader.history()) == 3
    with pytest.raises(UsageError, match="reading only"):
        reader.rotate()
    with pytest.raises(UsageError, match="reading only"):
        reader.unstage("x")
    with pytest.raises(BadLedger, match="no such ledger"):
        Ledger(f"sqlite:///{tmp_path}/nowhere.db", readonly=True)


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    "made",
    [
        "UPDATE format SET version = 9999",
        "DELETE FROM format",
        "DROP TABLE format",  # a ledger of 0.1 has no such table
    ],
)
def test_a_ledger_of_another_version_is_refused_and_left_alone(url, tmp_path, made):
    change(tmp_path / "ledger.db", made)
    before = (tmp_path / "ledger.db").read_bytes()
    for readonly in (True, False):
        with pytest.raises(BadLedger, match="made by another version") as refused:
            Ledger(url, readonly=readonly)
        assert refused.value.exit_code == 3
    assert (tmp_path / "ledger.db").read_bytes() == before


@pytest.mark.parametrize("url", ["ledger.db", "mysql://host/db", "sqlite://", "sqlite:///:memory:", "::"])
def test_a_url_that_names_no_ledger(url):
    with pytest.raises(UsageError):
        Ledger(url)


def test_a_password_is_never_shown():
    assert "secret" not in repr(LedgerDatabase("postgresql://me:secret@host/db"))

"""Erasures that are killed, made at once, and made while a release is under way: all of one, or nothing.

The erased key is in no file, nor its mark: they are encrypted. After an erasure no file holds the old
envelopes either, but for the log of a PostgreSQL server, which keeps them for a while.
"""

from __future__ import annotations

import pytest

from faults.erased import enter_people, erase, files_with, files_with_any
from sfumato.releases.issue import recover
from sfumato.releases.ledger.erasure import ERASURE_STEPS
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.errors import LedgerConflict, Unfinished

pytestmark = pytest.mark.slow

COMMITTED = ERASURE_STEPS.index("committed")
ALL_OR_NOTHING = {step: int(i >= COMMITTED) for i, step in enumerate(ERASURE_STEPS)}
NOTES = "out"
"""The folder in which the test itself notes who was erased."""


def erased_ones(folder):
    """The keys that a scenario noted, by the name of its note."""
    return {path.stem: path.read_text().splitlines() for path in (folder / NOTES).glob("*.txt")}


def old_envelopes(folder, step):
    """The ends of what was encrypted before somebody was erased from it, as a scenario noted them."""
    return [bytes.fromhex(line) for line in (folder / NOTES / f"{step}.old").read_text().splitlines()]


def test_killed_at_every_step(stage, tmp_path):
    assert stage("steps", script="erasure_stage.py") == ALL_OR_NOTHING
    for step, people in erased_ones(tmp_path).items():
        assert [files_with(tmp_path, who, besides=[NOTES]) for who in people] == [[]]
        found = files_with_any(tmp_path, old_envelopes(tmp_path, step), besides=[NOTES])
        assert found == ([] if ALL_OR_NOTHING[step] else ["ledger.db"])


def test_killed_at_every_step_with_postgresql(stage, tmp_path, cluster):
    assert stage("steps", script="erasure_stage.py", url=cluster.database("erase_steps")) == ALL_OR_NOTHING
    cluster.sql("CHECKPOINT")
    for step, people in erased_ones(tmp_path).items():
        assert [files_with(cluster.data, who) for who in people] == [[]], "nor in the log of the server"
        found = files_with_any(cluster.data, old_envelopes(tmp_path, step), besides=["pg_wal"])
        assert bool(found) != ALL_OR_NOTHING[step]


def test_several_at_once_and_during_a_release(stage, tmp_path, times):
    count = times(2, 8)
    told = stage("at_once", count, script="erasure_stage.py")
    check_at_once(told, count)
    for who in erased_ones(tmp_path)["people"]:
        assert files_with(tmp_path, who, besides=["people.txt"]) == []


def test_several_at_once_and_during_a_release_with_postgresql(stage, tmp_path, cluster, times):
    count = times(2, 8)
    told = stage("at_once", count, script="erasure_stage.py", url=cluster.database("erase_at_once"))
    check_at_once(told, count)
    cluster.sql("CHECKPOINT")
    for who in erased_ones(tmp_path)["people"]:
        assert files_with(cluster.data, who, besides=["pg_wal"]) == []


def check_at_once(told, count):
    """Everybody is erased once; whoever came second did not know them, or had to wait too long to clean."""
    assert told["left"] == 0
    assert told["codes"].count(2) == count
    assert set(told["codes"]) <= {0, 2, 4}
    assert (told["release"], told["releases"]) in ((4, 1), (0, 2))


def test_what_could_not_be_cleaned_is_cleaned_by_recovery(tmp_path, monkeypatch):
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    enter_people(ledger, ["canary-erased", "others"])

    def busy(_):
        raise LedgerConflict("the ledger is in use by another process")

    with monkeypatch.context() as patched:
        patched.setattr(type(ledger.database), "clean", busy)
        with pytest.raises(Unfinished, match="could not be cleaned"):
            erase(ledger, "canary-erased")
        (told,) = recover(ledger)
        assert (told.release, told.outcome) == ("erasure", "blocked")
    (told,) = recover(ledger)
    assert told.outcome == "cleaned" and recover(ledger) == ()
    assert files_with(tmp_path, "canary-erased") == [] and ledger.verify().holds

"""No room, no rights, no lock: refused, nothing half-done, and the next release works."""

from __future__ import annotations

import sqlite3
import subprocess
import threading

import pytest

from faults.conftest import report
from faults.made_up import check_all, release
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.errors import LedgerConflict, Unfinished, UsageError

pytestmark = pytest.mark.slow


def test_files_must_not_grow(stage):
    told = stage("small_files")
    assert told["1"] == 3
    assert told[str(1 << 20)] == 0


def test_the_disk_is_full(stage, tmp_path):
    """On a small disk of its own where that may be mounted; else a limit on file sizes stands in for it."""
    home = tmp_path / "small"
    home.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(home)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        assert stage("small_files")["1"] == 3
        return
    try:
        told = stage("full_disk", home=home)
    finally:
        subprocess.run(["umount", str(home)], check=True)
    assert told["0"] != 0
    assert told["200000"] == 0


def test_the_target_is_read_only(stage):
    assert stage("read_only") == {"code": 3}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "out").mkdir()
    return f"sqlite:///{tmp_path}/ledger.db", tmp_path / "out"


def lock(url):
    held = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False)
    held.execute("BEGIN IMMEDIATE")
    return held


def test_the_ledger_is_locked_from_the_start(place):
    url, out = place
    ledger = Ledger(url, patience=0.1)
    held = lock(url)
    with pytest.raises(LedgerConflict) as refused:
        release(ledger, out / "one")
    assert list(out.iterdir()) == []
    held.rollback()
    release(ledger, out / "one")
    told = {"code": refused.value.exit_code, "after the next release": check_all(url, None, out)}
    report("SQLite locked from the start", told)
    assert told == {"code": 4, "after the next release": 1}


def test_the_ledger_is_locked_at_the_commit(place):
    """The ledger cannot be asked whether it counts: nothing is thrown away until it can."""
    url, out = place
    ledger, held = Ledger(url, patience=0.1), []
    with pytest.raises(Unfinished) as refused:
        release(ledger, out / "one", at=lambda step: step == "ready" and held.append(lock(url)))
    assert not (out / "one").exists()
    held[0].rollback()
    told = {"code": refused.value.exit_code, "recovered": check_all(url, None, out)}
    release(ledger, out / "one")
    told["after the next release"] = check_all(url, None, out)
    report("SQLite locked at the commit", told)
    assert told == {"code": 4, "recovered": 0, "after the next release": 1}


def test_a_lock_that_is_given_back_in_time_is_waited_for(place):
    url, out = place
    held = []

    def take(step):
        if step == "ready":
            held.append(lock(url))
            threading.Timer(0.3, held[0].rollback).start()

    release(Ledger(url), out / "one", at=take)
    entered = check_all(url, None, out)
    report("SQLite locked at the commit, and given back in time", {"entered": entered})
    assert entered == 1


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_is_there_is_never_replaced(place, kind):
    url, out = place
    target = out / "one"
    {"folder": target.mkdir, "file": target.touch, "link": lambda: target.symlink_to("elsewhere")}[kind]()
    with pytest.raises(UsageError, match="exists already"):
        release(Ledger(url), target)


def test_a_target_that_appears_after_the_commit_is_not_replaced(place):
    """The release counts and waits beside it until somebody makes way."""
    url, out = place
    target = out / "one"

    def appear(step):
        if step == "committed":
            target.mkdir()
            (target / "mine.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(Unfinished, match="cannot be put in place"):
        release(Ledger(url), target, at=appear)
    assert (target / "mine.txt").read_text(encoding="utf-8") == "mine"
    target.rename(out.parent / "aside")
    assert check_all(url, None, out) == 1

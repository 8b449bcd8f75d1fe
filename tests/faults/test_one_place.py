"""One folder for several releases: one gets it, and one that cannot be finished is in nobody's way."""

from __future__ import annotations

import os
from multiprocessing import get_context

import pytest

from faults.made_up import check_all, issue, planned, release, visible
from quick_demo import write_quick_demo
from sfumato.releases.issue import forget, recover, recover_into
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.staging import staged_in
from sfumato.system.errors import BadLedger, LedgerConflict, Unfinished, UsageError

pytestmark = pytest.mark.slow


@pytest.fixture
def ledger(tmp_path):
    (tmp_path / "out").mkdir()
    with Ledger(f"sqlite:///{tmp_path}/ledger.db") as opened:
        yield opened


def _release(url, into, number, codes):
    with Ledger(url) as ledger:
        try:
            release(ledger, into, chain=f"c{number}", table=f"{number}")
            codes.put(0)
        except (UsageError, LedgerConflict) as error:
            codes.put(error.exit_code)


def release_at_once(urls, into):
    """Release into one folder from a process for each ledger named; their exit codes in order."""
    context = get_context("fork")
    codes = context.SimpleQueue()
    processes = [
        context.Process(target=_release, args=(url, into, number, codes)) for number, url in enumerate(urls)
    ]
    for process in processes:
        process.start()
    found = sorted(codes.get() for _ in processes)
    for process in processes:
        process.join()
    return found


@pytest.mark.parametrize("ledgers", [1, 8])
def test_eight_writers_into_one_folder(tmp_path, ledger, times, ledgers):
    out = tmp_path / "out"
    ledger.history()
    names = ["ledger.db", *(f"own{number}.db" for number in range(1, ledgers))]
    urls = [f"sqlite:///{tmp_path}/{names[number % ledgers]}" for number in range(8)]
    for time in range(times(3, 100)):
        first, *others = release_at_once(urls, out / f"r{time}")
        assert first == 0 and set(others) <= {2, 4}
        assert (out / f"r{time}" / "certificate.json").is_file()
        assert not list(out.glob(".staged-*"))
    for url in set(urls):
        with Ledger(url) as one:
            assert recover(one) == ()
            release(one, out / f"next of {url[-6:]}", chain="c1", table="next")
            assert one.verify().holds


def blocked(ledger, out):
    """A release that is in the ledger while something else took its folder; its name."""

    def at(step):
        if step == "committed":
            (out / "q1").mkdir()
            (out / "q1" / "of somebody else").touch()

    with pytest.raises(Unfinished, match="cannot be put in place"):
        release(ledger, out / "q1", at=at)
    (row,) = ledger.staged()
    return row.release


def test_a_blocked_release_stands_in_nobodys_way(tmp_path, ledger):
    out = tmp_path / "out"
    name = blocked(ledger, out)
    release(ledger, out / "other", chain="other", table="other")
    release(ledger, out / "q2", table="q2")
    (found,) = recover(ledger)
    assert (found.release, found.outcome) == (name, "blocked") and found.why
    with pytest.raises(LedgerConflict, match="another release is to become this folder"):
        (out / "q1" / "of somebody else").unlink()
        (out / "q1").rmdir()
        with Ledger(f"sqlite:///{tmp_path}/second.db") as second:
            release(second, out / "q1")
    (found,) = recover(ledger)
    assert found.outcome == "finished" and recover(ledger) == ()
    assert ledger.verify().holds and len(visible(out)) == 3


def test_a_blocked_release_gets_another_name(tmp_path, ledger):
    out = tmp_path / "out"
    name = blocked(ledger, out)
    with pytest.raises(UsageError, match="exists already"):
        recover_into(ledger, name, out / "q1")
    found = recover_into(ledger, name, out / "q1-again")
    assert found.outcome == "finished" and recover(ledger) == ()
    assert (out / "q1-again" / "certificate.json").is_file()
    with pytest.raises(UsageError, match="no such release"):
        recover_into(ledger, name, out / "again")


def test_a_lost_release_is_forgotten_on_request_only(tmp_path, ledger):
    out = tmp_path / "out"
    name = blocked(ledger, out)
    with pytest.raises((Unfinished, BadLedger)):
        forget(ledger, name)
    (row,) = ledger.staged()
    for file in row.folder.iterdir():
        file.unlink()
    row.folder.rmdir()
    assert [one.outcome for one in recover(ledger)] == ["lost"]
    release(ledger, out / "q2", table="q2")
    assert [one.outcome for one in recover(ledger)] == ["lost"]
    assert forget(ledger, name).outcome == "forgotten" and recover(ledger) == ()
    assert len(ledger.history()) == 2 and ledger.verify().holds


def test_what_is_not_in_the_ledger_is_not_put_in_place(tmp_path, ledger):
    folder = staged_in(tmp_path / "out", "e" * 32, becomes="q1")
    folder.mkdir()
    ledger.stage("e" * 32, host="", folder=folder, target=tmp_path / "out" / "q1")
    with pytest.raises(UsageError, match="not in the ledger"):
        recover_into(ledger, "e" * 32, tmp_path / "out" / "q2")
    assert [one.outcome for one in recover(ledger)] == ["rolled back"]


def test_staging_folders_that_were_left_are_recovered(tmp_path, ledger):
    folder = staged_in(tmp_path / "out", "e" * 32, becomes="q1")
    folder.mkdir()
    (folder / "data.csv").touch()
    ledger.stage("e" * 32, host="", folder=folder, target=tmp_path / "out" / "q1")
    release(ledger, tmp_path / "out" / "q1")
    assert not folder.exists() and not ledger.staged()


@pytest.mark.parametrize("length", [255, 256, 1000])
def test_long_names(tmp_path, ledger, length):
    into = tmp_path / "out" / ("n" * length)
    if length <= 255:
        assert release(ledger, into).record.sequence == 1
        assert check_all(f"sqlite:///{tmp_path}/ledger.db", None, tmp_path / "out") == 1
    else:
        with pytest.raises(UsageError, match=f"{length} bytes long") as refused:
            release(ledger, into)
        assert "n" * 41 not in str(refused.value)
        assert not ledger.staged() and not ledger.history()
    release(ledger, tmp_path / "out" / "next", table="next")


def test_a_path_too_long_for_what_is_written_below_it(tmp_path, ledger):
    deep = tmp_path / "out"
    while len(os.fsencode(deep)) < 4095 - 230:
        deep = deep / ("d" * min(200, 4095 - 30 - len(os.fsencode(deep))))
    deep.mkdir(parents=True)
    into = deep / ("n" * (4090 - len(os.fsencode(deep))))
    with pytest.raises((UsageError, OSError)):
        release(ledger, into)
    assert not ledger.history()
    assert [one.outcome for one in recover(ledger)] == []


@pytest.mark.parametrize("into", ["", ".", "..", "/", "x/..", "n" * 300])
def test_odd_targets_by_the_command_line(program, tmp_path, monkeypatch, into):
    write_quick_demo(tmp_path, 300)
    monkeypatch.chdir(tmp_path)
    words = ["release", "hospital.csv", "-p", "policy.yaml", "--into", into, "--to", "us"]
    told = program.run(words)
    assert told.returncode == 2, told.stderr
    assert "Traceback" not in told.stderr and len(told.stderr) < 500


def test_a_name_below_that_is_too_long_is_refused_before_anything_is_entered(tmp_path, ledger):
    with pytest.raises((UsageError, OSError)):
        issue(ledger, planned(place="p" * 256, recipient="p" * 256), into=tmp_path / "out" / "q1")
    assert not ledger.history() and recover(ledger) == ()

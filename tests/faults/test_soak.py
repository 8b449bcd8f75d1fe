"""The soak itself: it goes on where it ended, and takes nothing for fine that is not."""

from __future__ import annotations

import json

import pytest

from faults import soak, soak_verbs
from faults.prepared import Prepared
from faults.soak_releases import Task, Wrong, before_the_program
from faults.soak_studio import Studio
from faults.soak_tasks import Kind, Parsers
from faults.soak_verbs import CANARY, Verb, Verbs

pytestmark = pytest.mark.slow


class Counting(Task):
    """Units that note their numbers; unit 4 fails as often as it is told to."""

    done, failures, closed = [], 0, 0

    def unit(self, number):
        if number == 4 and Counting.failures:
            Counting.failures -= 1
            raise Wrong("a cell was printed")
        Counting.done.append(number)
        return f"fine {number % 2}"

    def close(self):
        Counting.closed += 1


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Run a part of a soak with one task of seven units in two shares, here one after the other."""
    monkeypatch.setattr(soak, "TASKS", {"counting": Kind(Counting, 70, 2)})
    monkeypatch.setattr(soak, "commit", lambda: "abc1234")
    monkeypatch.setattr(soak, "SAVED_EVERY", 0.0)
    monkeypatch.setattr(soak, "side_by_side", one_by_one)
    Counting.done, Counting.failures, Counting.closed = [], 0, 0

    def part(*words):
        files = ["--state", str(tmp_path / "state"), "--report", str(tmp_path / "soak.txt")]
        return soak.main(["--share", "0.1", "--minutes", "1", *files, *words])

    return part


def one_by_one(given, until, work):
    open_shares = [share for share in soak.shares(given.state, given.share) if share.is_open]
    played = [share.play(until, work) for share in open_shares]
    return all(played)


def test_a_soak_goes_on_where_it_failed(play, tmp_path, capsys):
    Counting.failures = 1
    assert play() == 1
    assert "counting, unit 4: Wrong: a cell was printed" in capsys.readouterr().err
    assert not (tmp_path / "soak.txt").exists()
    assert Counting.done == [0, 2, 1, 3, 5], "the other share went on"
    assert play() == 0
    assert Counting.done == [0, 2, 1, 3, 5, 4, 6], "no unit twice, none left out"
    assert Counting.closed == 3
    (line,) = (tmp_path / "soak.txt").read_text(encoding="utf-8").splitlines()
    assert line.endswith('abc1234 soak, counting: {"units": 7, "fine 0": 4, "fine 1": 3}')


def test_a_part_without_time_says_what_is_left(play, tmp_path, capsys):
    assert play("--minutes", "0") == 0
    assert "2 of 2 shares are left: run another part" in capsys.readouterr().err
    assert Counting.done == [] and not (tmp_path / "soak.txt").exists()


def test_a_soak_that_was_killed_does_the_units_after_its_last_note_again(play, tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "SAVED_EVERY", 1e9)
    real = Counting.unit

    def killed(task, number):
        if number == 5:
            raise SystemExit
        return real(task, number)

    monkeypatch.setattr(Counting, "unit", killed)
    with pytest.raises(SystemExit):
        play()
    monkeypatch.setattr(Counting, "unit", real)
    assert play() == 0
    assert Counting.done == [0, 2, 4, 6, 1, 3, 1, 3, 5]
    assert json.loads((tmp_path / "state" / "counting-1.json").read_text())["done"] == 3


@pytest.mark.parametrize(
    "state",
    [
        "",
        "{",
        "[]",
        '{"commit": "abc1234"}',
        '{"commit": "abc1234", "done": 3}',
        '{"commit": "other", "done": 3, "outcomes": {}, "seconds": 1}',
    ],
)
def test_what_another_commit_did_counts_nothing(play, tmp_path, state):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "counting-0.json").write_text(state, encoding="utf-8")
    assert play() == 0
    assert sorted(Counting.done) == list(range(7))


def test_a_share_that_ends_without_a_word_has_failed(tmp_path, monkeypatch, capsys):
    """As by a crash of a library: the process that plays the share is gone."""
    monkeypatch.setattr(soak, "TASKS", {"counting": Kind(Counting, 70, 2)})
    monkeypatch.setattr(soak.sys, "executable", "false")
    words = ["--share", "0.1", "--minutes", "1", "--state", str(tmp_path / "state"), "--jobs", "2"]
    assert soak.main([*words, "--report", str(tmp_path / "soak.txt")]) == 1
    assert "counting-1: 0 of 3, and failed (exit 1)" in capsys.readouterr().err
    assert not (tmp_path / "soak.txt").exists()


def test_units_of_parsers_and_verbs(tmp_path, monkeypatch):
    """A few units of the real tasks; every verb was typed on whole files before."""
    parsers = Parsers(tmp_path / "parsers", None)
    assert all(parsers.unit(number).endswith((" read", " refused")) for number in range(16))
    studio = Studio(tmp_path / "studio", None)
    assert {studio.unit(number).split()[0] for number in range(8)} == {
        "form", "field", "address", "place", "upload", "file",
    }  # fmt: skip
    calls = [verb for verb in soak_verbs.VERBS if verb.name in ("history", "certificate")]
    monkeypatch.setattr(soak_verbs, "VERBS", calls)
    verbs = Verbs(tmp_path / "verbs", None)
    assert {verbs.unit(number).split()[1] for number in range(6)} == {"exit"}
    for wrong in (Verb("histroy --ledger URL"), Verb("history --ledgr URL"), Verb("history", 1)):
        with pytest.raises(Wrong, match="where nothing is damaged"):
            verbs.check_whole(wrong)


@pytest.mark.parametrize(
    ("code", "said", "wrong"),
    [
        (2, "No such option", "exit 2"),
        (70, "a bug", "exit 70"),
        (-6, "", "exit -6"),
        (1, "Traceback (most recent call last)", "a traceback"),
        (3, f"line 7: {CANARY}", "a cell was printed"),
    ],
)
def test_what_is_not_fine(code, said, wrong):
    verb = Verb("audit DATA -p POLICY")
    assert Verbs.judged(None, verb, 3, "line 7 cannot be read", 1.0, 1000) == "audit exit 3"
    with pytest.raises(Wrong, match=wrong):
        Verbs.judged(None, verb, code, said, 1.0, 1000)
    with pytest.raises(Wrong, match="processor time"):
        Verbs.judged(None, verb, 3, "", 11.0, 1000)
    with pytest.raises(Wrong, match="kB"):
        Verbs.judged(None, verb, 3, "", 1.0, 2_100_000)


STARTING = (
    'Traceback (most recent call last):\n  File "/x/typing.py", line 3, in <module>\nKeyboardInterrupt\n'
)
OURS = (
    'Traceback (most recent call last):\n  File "/x/sfumato/cli/main.py", line 3, in run\nKeyboardInterrupt\n'
)


def test_a_traceback_of_ours_is_never_fine():
    assert before_the_program("") and before_the_program(STARTING)
    assert not before_the_program(OURS)
    assert not before_the_program("published out\n")
    assert not before_the_program(STARTING.replace("KeyboardInterrupt", "ValueError"))


def test_a_program_whose_first_call_fails_is_not_prepared():
    """What it had to load was then not loaded, and tests went on without a word."""
    with pytest.raises(RuntimeError, match="ended with 2"):
        Prepared(["no-such-verb"])

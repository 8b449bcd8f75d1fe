"""The real thing, from start to end: `sfumato release` is killed, locked out, and finds no room."""

from __future__ import annotations

import itertools
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from faults.conftest import report
from faults.made_up import check_all, visible
from quick_demo import write_quick_demo
from sfumato.releases.staging import STEPS

pytestmark = pytest.mark.slow

COMMIT = STEPS.index("committed")

TOUCHED = """
import os, resource, signal, sys
from sfumato.cli.main import main
from sfumato.workflows import release
from sfumato.releases.ledger.ledger import Ledger
word, limit = sys.argv[1], int(sys.argv[2])
sys.argv[1:3] = []
honest = release.begin

def at(step):
    if step == word:
        os.kill(os.getpid(), signal.SIGKILL)

release.begin = lambda *words, **options: honest(*words, **{**options, "at": at})
Ledger.__init__.__kwdefaults__["patience"] = 0.1
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
main()
"""
"""The program with a word put in: where it kills itself, how little it waits, how large a file may be."""


@pytest.fixture
def place(tmp_path):
    write_quick_demo(tmp_path, 300)
    (tmp_path / "out").mkdir()
    return tmp_path


def release_words(place, url, number, key=None):
    """Each release is for somebody else, in a chain of its own."""
    words = ["release", place / "hospital.csv", "-p", place / "policy.yaml", "--ledger", url]
    words += ["--chain", f"c{number}", "--to", f"t{number}", "--into", place / "out" / f"r{number}"]
    return [*words, *(["--key", key] if key else [])]


def command(place, url, number, *, key=None):
    """A call of the program."""
    return [str(word) for word in (sys.executable, "-m", "sfumato", *release_words(place, url, number, key))]


def touched(program, place, url, number, *, step="-", limit=0, key=None):
    """Run it; the exit code."""
    return program.run([step, limit, *release_words(place, url, number, key)], TOUCHED).returncode


def at_random_moments(place, url, count, key=None):
    """From the start, or once something has been staged; until so many have met the program at work."""
    out, begun = place / "out", time.monotonic()
    subprocess.run(command(place, url, "first", key=key), check=True, capture_output=True)
    usual, published = time.monotonic() - begun, 1
    chance = random.Random(5)
    told = {"killed": 0, "of these while staged": 0, "of these published": 0, "came too late": 0}
    for number in itertools.count():
        late = number % 2 == 0
        call = command(place, url, number, key=key)
        with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
            begun = time.monotonic()
            while late and not list(out.glob(".staged-*")) and program.poll() is None:
                assert time.monotonic() < begun + 60
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 0.2 if late else usual))
            program.kill()
        staged = bool(list(out.glob(".staged-*")))
        now = check_all(url, key, out)
        assert (out / f"r{number}").exists() == (now > published)
        assert program.returncode in (0, -signal.SIGKILL)
        if program.returncode:
            told["killed"] += 1
            told["of these while staged"] += staged
            told["of these published"] += now - published
        else:
            told["came too late"] += 1
            assert now > published
        assert told["came too late"] <= 2 * count + 10
        if told["killed"] == count:
            return told
        published = now
    raise AssertionError


def test_killed_at_random_moments(place, times):
    count = times(2, 100)
    told = at_random_moments(place, f"sqlite:///{place}/ledger.db", count)
    report("sfumato release killed at random moments, on SQLite", told)
    assert told["killed"] == count


def test_killed_at_random_moments_with_postgresql(place, times, cluster):
    count = times(1, 100)
    told = at_random_moments(place, cluster.database("moments"), count, place / "ledger.key")
    report("sfumato release killed at random moments, on PostgreSQL", told)
    assert told["killed"] == count


def at_every_step(program, place, url, steps, key=None):
    told, published = {}, 0
    for number, step in enumerate(steps):
        assert touched(program, place, url, number, step=step, key=key) == -signal.SIGKILL
        now = check_all(url, key, place / "out")
        told[step], published = now - published, now
    return told


def test_killed_at_every_step(program, place, times):
    steps = times(("entered", "committed"), STEPS)
    told = at_every_step(program, place, f"sqlite:///{place}/ledger.db", steps)
    report("sfumato release killed at every step, on SQLite", told)
    assert told == {step: int(STEPS.index(step) >= COMMIT) for step in steps}


def test_killed_at_every_step_with_postgresql(program, place, times, cluster):
    steps = times(("committed",), STEPS)
    told = at_every_step(program, place, cluster.database("program"), steps, place / "ledger.key")
    report("sfumato release killed at every step, on PostgreSQL", told)
    assert told == {step: int(STEPS.index(step) >= COMMIT) for step in steps}


def test_locked_and_without_room(program, place):
    """Exit codes 4 and 3; nothing is there, and the next release works."""
    url, out = f"sqlite:///{place}/ledger.db", place / "out"
    assert touched(program, place, url, 0) == 0
    held = sqlite3.connect(place / "ledger.db", isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    told = {"locked": touched(program, place, url, 1)}
    held.rollback()
    held.close()
    told["without room"] = touched(program, place, url, 1, limit=2000)
    report("sfumato release with SQLite locked, and without room", told)
    assert told == {"locked": 4, "without room": 3}
    assert [path.name for path in visible(out)] == ["r0"]
    assert check_all(url, None, out) == 1
    assert touched(program, place, url, 1) == 0
    assert check_all(url, None, out) == 2

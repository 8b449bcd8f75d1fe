"""`sfumato release` and `protect` are asked to stop: they do, and say so, or they finish, and say so."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from faults.conftest import report
from faults.made_up import check_all
from quick_demo import write_quick_demo

pytestmark = pytest.mark.slow

STOPPED = """
import logging, os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from sfumato.cli import main as program
from sfumato.workflows import judgement, release
how, number = sys.argv[1], int(sys.argv[2])
sys.argv[1:3] = []
honest_recheck, honest_begin = judgement.recheck, release.begin

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), number)
        time.sleep(0.01)

class HalfMade:
    def __init__(self):
        os.kill(os.getpid(), number)
        time.sleep(10)

    def __del__(self):
        os.write(2, b"taken apart")

def recheck(*words, **options):
    if how == "half made":
        HalfMade()
    if how == "dropped":
        Finalized()
    if how == "compiled text":
        exec("os.kill(os.getpid(), number)\\ntime.sleep(10)")
    if how == "logged":
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        except BaseException:
            logging.getLogger("a.library").error("could not close", exc_info=True)
            raise
    if how == "another error":
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        except KeyboardInterrupt:
            raise RuntimeError("a callback failed")
    return honest_recheck(*words, **options)

def check_address_space():
    if how == "arguments":
        os.kill(os.getpid(), number)
        time.sleep(10)

def at(step):
    if step == how:
        os.kill(os.getpid(), number)

judgement.recheck, program.check_address_space = recheck, check_address_space
release.begin = lambda *words, **options: honest_begin(*words, **{**options, "at": at})
program.main()
"""
"""The program with a signal put in: where an exception is dropped, is logged or becomes another error, where
it leaves something half made, while arguments are read, or at a step."""

LOADING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
number = int(sys.argv.pop(1))

class Asked:
    def find_spec(self, name, *_):
        if name == "typer":
            os.kill(os.getpid(), number)

sys.meta_path.insert(0, Asked())
from sfumato.cli.program import main
main()
"""
"""The program, asked to stop while it is being loaded."""

ENDING = """
import atexit, os, sys
number = int(sys.argv.pop(1))

class Last:
    def __del__(self, kill=os.kill, process=os.getpid()):
        kill(process, number)

last = Last()
atexit.register(os.kill, os.getpid(), number)
from sfumato.cli.program import main
main()
"""
"""The program, asked to stop when it has said everything, and again while the interpreter ends."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@pytest.fixture
def place(tmp_path):
    write_quick_demo(tmp_path, 300)
    (tmp_path / "out").mkdir()
    return tmp_path


def release_words(place, number):
    words = ["release", place / "hospital.csv", "-p", place / "policy.yaml"]
    words += ["--ledger", f"sqlite:///{place}/ledger.db", "--chain", f"c{number}"]
    words += ["--into", place / "out" / f"r{number}", "--to", f"t{number}"]  # others have the same table
    return words


def command(place, number, *start):
    return [str(word) for word in (sys.executable, *start, *release_words(place, number))]


def stopped(program, place, how, number):
    return program.run([how, int(number), *release_words(place, 0)], STOPPED)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "how", ["dropped", "another error", "compiled text", "half made", "logged", "arguments"]
)
def test_a_signal_is_not_lost_and_no_bug(program, place, how, number):
    said = stopped(program, place, how, number)
    assert (said.returncode, said.stdout) == (130, "")
    assert said.stderr == "interrupted; nothing was published\n"
    assert list((place / "out").iterdir()) == []
    assert check_all(f"sqlite:///{place}/ledger.db", None, place / "out") == 0


def test_no_exit_function_meets_what_is_half_made(program, place):
    """Found by a soak: one of a compiled library crashed after the last word, and the exit code was lost."""
    ending = "atexit.register(os.write, 2, b'exit function'); from sfumato.cli.program import main; main()"
    code = STOPPED.replace("program.main()", f"import atexit; {ending}")
    said = program.run(["half made", int(signal.SIGTERM), *release_words(place, 0)], code)
    assert (said.returncode, said.stderr) == (130, "interrupted; nothing was published\n")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_program_is_loaded(number):
    call = [sys.executable, "-c", LOADING, str(int(number)), "--version"]
    said = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (130, "")
    assert said.stderr == "interrupted; nothing was published\n"


def test_what_is_started_with_signals_ignored_ignores_them_while_it_is_loaded():
    ignoring = LOADING.replace("signal.default_int_handler", "signal.SIG_IGN")
    call = [sys.executable, "-c", ignoring, str(int(signal.SIGINT)), "--version"]
    said = subprocess.run(call, capture_output=True, text=True, check=False)
    assert said.returncode == 0 and said.stdout.startswith("sfumato ")


def test_a_signal_while_the_program_ends_changes_nothing(place):
    """Found by a soak: it was published, it said so, and ended by the signal."""
    said = subprocess.run(
        command(place, 0, "-c", ENDING, int(signal.SIGTERM)), capture_output=True, text=True, check=False
    )
    assert said.returncode == 0 and said.stderr.endswith("published " + str(place / "out" / "r0") + "\n")
    call = [sys.executable, "-c", ENDING, str(int(signal.SIGINT)), "certificate", "verify", "nothing.json"]
    said = subprocess.run(call, capture_output=True, text=True, check=False)
    assert said.returncode == 3 and "Traceback" not in said.stderr


@pytest.mark.parametrize("how", ["entered", "committed", "done"])
def test_a_signal_that_comes_too_late_is_told(program, place, how):
    said = stopped(program, place, how, signal.SIGTERM)
    assert said.returncode == 0
    assert "asked to stop too late: this call was finished" in said.stderr
    assert (place / "out" / "r0" / "data.csv").exists()


def test_a_protected_file_is_there_or_not(program, place):
    words = ["protect", place / "hospital.csv", "-p", place / "policy.yaml", "-o", place / "safe.csv"]
    said = program.run(["dropped", int(signal.SIGTERM), *words], STOPPED)
    assert said.returncode == 130
    assert "nothing was published" in said.stderr and "Traceback" not in said.stderr
    assert not (place / "safe.csv").exists()


def test_asked_to_stop_at_random_moments(place, times):
    begun = time.monotonic()
    subprocess.run(command(place, "first", "-m", "sfumato"), check=True, capture_output=True)
    usual, published, chance = time.monotonic() - begun, 1, random.Random(9)
    told = {"stopped": 0, "before it began": 0, "finished": 0}
    for number in range(times(3, 250)):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command(place, number, "-m", "sfumato"), **pipes) as program:
            time.sleep(chance.uniform(0.1, 1.0) * usual)
            os.kill(program.pid, signal.SIGTERM)
            _, err = program.communicate(timeout=120)
        now = check_all(f"sqlite:///{place}/ledger.db", None, place / "out")
        assert "Traceback" not in err
        assert program.returncode in (0, 130, -signal.SIGTERM), err
        assert (program.returncode == 0) == (now > published)
        assert program.returncode != 130 or "nothing was published" in err
        kinds = {0: "finished", 130: "stopped"}
        told[kinds.get(program.returncode, "before it began")] += 1
        published = now
    report("sfumato release asked to stop at random moments, on SQLite", told)

"""The end of the program: nothing that was asked to be done at exit is left out, and no code is changed."""

from __future__ import annotations

import subprocess
import sys

import pytest

START = "import sys\nsys.argv = ['sfumato', *sys.argv[1:]]\nfrom sfumato.cli.program import main\n"


def ended(code, *arguments):
    """A program that does something before the entry point is called, as it ended."""
    call = [sys.executable, "-c", f"{START}{code}\nmain()", *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=False)


CAUGHT = "try:\n    main()\nexcept SystemExit:\n    print('caught')\nsys.exit()"


def test_the_process_ends_before_the_interpreter_is_taken_apart():
    assert ended(CAUGHT, "--version").stdout.splitlines()[1:] == []


def test_a_profiler_or_debugger_sees_the_end():
    for watch in ("setprofile", "settrace"):
        code = f"sys.{watch}(lambda *_: None)\n{CAUGHT}"
        assert ended(code, "--version").stdout.splitlines()[1:] == ["caught"]


def test_what_was_asked_for_at_exit_is_done_and_written():
    code = "import atexit\natexit.register(lambda: print('done'))\nprint('begun')"
    assert ended(code, "--version").stdout.splitlines()[::2] == ["begun", "done"]


@pytest.mark.parametrize("arguments", [("--version",), ("nonsense",), ("protect", "none.csv", "-p", "none")])
def test_the_code_is_that_of_the_run(arguments):
    expected = "import sfumato.cli.main as m; raise SystemExit(m.run(sys.argv[1:]))"
    assert ended("", *arguments).returncode == ended(expected, *arguments).returncode


def test_a_thread_is_waited_for():
    code = (
        "import threading\n"
        "def late():\n    threading.main_thread().join()\n    print('late')\n"
        "threading.Thread(target=late).start()"
    )
    assert ended(code, "--version").stdout.splitlines()[1:] == ["late"]


def test_closed_streams_change_nothing():
    closed = "import atexit\natexit.register(sys.stdout.close)"
    assert ended(closed, "--version").returncode == 0


def test_threads_of_linear_algebra_sleep_until_there_is_work_unless_somebody_said_otherwise():
    told = "import atexit, os\natexit.register(lambda: print(os.environ['OPENBLAS_THREAD_TIMEOUT']))"
    assert ended(told, "--version").stdout.splitlines()[1:] == ["4"]
    said = f"{told}\nos.environ['OPENBLAS_THREAD_TIMEOUT'] = '20'"
    assert ended(said, "--version").stdout.splitlines()[1:] == ["20"]

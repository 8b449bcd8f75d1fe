"""The start and the end of the program.

A signal that comes while it is still being loaded ends it as any later one. At the end nothing is left to
do but what somebody asked to be done then: taking the interpreter apart, object by object, takes as long as
a fifth of a short call, and the system takes back all memory at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from contextlib import suppress
from threading import current_thread
from threading import enumerate as running_threads
from types import FrameType
from typing import NoReturn

from sfumato.cli.streams import open_streams
from sfumato.system.progress import stopping

INTERRUPTED = 130
"""The exit code of a program that was asked to stop, and did."""

OBJECTS_BETWEEN_COLLECTIONS = 250_000
"""A thousand modules make so many objects that stay: looking through them for garbage finds none."""

SHORTEST_WAIT = ("OPENBLAS_THREAD_TIMEOUT", "4")
"""Makes threads of numpy's linear algebra sleep until there is work.

They would look for it without a pause at first, a fiftieth of a second each, and a short call has none.
"""

SAFE_PATH = ("PYTHONSAFEPATH", "1")
"""Keeps every Python that is started from here, such as workers, from modules of the working folder."""


def main() -> NoReturn:
    """The entry point."""
    open_streams()
    for number in stopping():
        signal.signal(number, _stop)
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    os.environ.setdefault(*SHORTEST_WAIT)
    os.environ.setdefault(*SAFE_PATH)
    from sfumato.cli.main import main as run  # noqa: PLC0415  # heavy: what takes the time that is covered here

    try:
        run()
    except SystemExit as ended:
        if isinstance(ended.code, int) and _is_alone():
            _end(ended.code)
        raise


def _is_alone() -> bool:
    """Whether nobody waits for the end of this process: no other thread, no debugger, no profiler."""
    others = [thread for thread in running_threads() if thread is not current_thread() and not thread.daemon]
    return not others and sys.gettrace() is None and sys.getprofile() is None


def _end(code: int) -> NoReturn:
    """Does what was asked to be done at exit, writes what is still to be written, and ends the process.

    After an interrupt nothing more is done: exit functions would meet what was left half made.
    """
    if code != INTERRUPTED:
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed, or nobody reads: the code says how it went
            stream.flush()
    os._exit(code)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """Ends the program at once: nothing is begun yet, and an exception would be printed from anywhere."""
    del number, frame
    with suppress(OSError):  # the terminal may have been closed
        os.write(2, b"interrupted; nothing was published\n")
    os._exit(INTERRUPTED)

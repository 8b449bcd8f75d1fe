"""A run under a limit of address space: watched from outside, because libraries end the program there.

Where an allocation fails, compiled libraries abort, or read where nothing is, before any code of ours runs.
So the run has a process of its own, and the one that was started says what became of it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType

from sfumato.core.errors import NotEnoughMemory
from sfumato.system.memory import address_space, in_words

ENDED_BY = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP)
"""Signals by which libraries end a process that has no memory left."""

GIVEN_UP = 127
"""The exit code of a loader that has no memory left."""


def needs_supervision() -> bool:
    """Whether this process has a limit of address space, on a system that can make a process of a process."""
    return address_space() is not None and hasattr(os, "fork")


def supervised(run: Callable[[], int]) -> int:
    """Runs something in a process of its own and returns its exit code.

    Raises `NotEnoughMemory` where that process was ended as libraries end one without memory. Signals are
    passed on to it.
    """
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = run()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        finally:
            os._exit(code)
    return _exit_code(_wait_for(child))


def _wait_for(child: int) -> int:
    """Returns how a process ended, after passing on what it was asked meanwhile."""

    def pass_on(number: int, frame: FrameType | None) -> None:
        del frame
        os.kill(child, number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number in (signal.SIGINT, signal.SIGQUIT):  # a terminal tells both
        before[number] = signal.signal(number, signal.SIG_IGN)
    try:
        return os.waitpid(child, 0)[1]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    if code == GIVEN_UP or (code < 0 and -code in ENDED_BY):
        limit = address_space()
        allowed = "" if limit is None else f" within {in_words(limit)} of address space"
        raise NotEnoughMemory(
            f"a library ended the program for lack of memory{allowed}",
            remedy="Raise the limit (`ulimit -v`), and bound what is held by --memory instead. "
            "Nothing half-written counts; `sfumato ledger recover` settles a release that was cut off.",
        )
    return code if code >= 0 else 128 - code

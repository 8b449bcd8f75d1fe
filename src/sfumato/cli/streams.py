"""The standard streams: what cannot be written there neither ends the work nor changes what is told of it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from io import TextIOWrapper
from types import FrameType
from typing import ParamSpec, TextIO, TypeVar

from sfumato.system.errors import NotEnoughMemory
from sfumato.system.memory import address_space, in_words

_lost: list[tuple[TextIO, OSError]] = []


def open_streams() -> None:
    """Makes what is written go somewhere, before anything else of this process is opened.

    Where a standard stream is closed, the next file that is opened would get its number, and what libraries
    print. A character that the encoding of a terminal does not have is spelled out.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:  # stdin, stdout, stderr
        os.set_inheritable(handle, True)
    os.close(handle)
    sys.stdout = _steady(sys.stdout, 1)
    sys.stderr = _steady(sys.stderr, 2)


def _steady(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:
        return open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def write(stream: TextIO, text: str) -> None:
    """Writes a text at once; from the first that cannot be written, nothing more goes to this stream."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        _lost.append((stream, error))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        stream.flush()  # what waits would be written at exit


def lost_output() -> OSError | None:
    """Returns why results could not be written; a reader who had enough of them is no reason."""
    for stream, error in _lost:
        if stream is sys.stdout and not isinstance(error, BrokenPipeError):
            return error
    return None


def takes_every_letter(stream: TextIO) -> bool:
    """Whether any text can be written as it is."""
    return (stream.encoding or "utf-8").lower().startswith("utf")


# A run under a limit of address space: watched from outside, because libraries end the program there.
#
# Where an allocation fails, compiled libraries abort, or read where nothing is, before any code of ours
# runs.
# So the run has a process of its own, and the one that was started says what became of it.

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


# Interruptions and closed pipes: Typer would end the program on them by itself; here they pass through.

P = ParamSpec("P")
R = TypeVar("R")


class CarriedError(Exception):
    """Carries its cause past Typer, which would otherwise swallow it."""


def carry_interruptions(verb: Callable[P, R]) -> Callable[P, R]:
    """Returns the same verb, whose interruptions and system errors reach `main` as the cause of an error."""

    @wraps(verb)
    def carrying(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(*args, **kwargs)
        except (KeyboardInterrupt, OSError) as error:
            raise CarriedError from error

    return carrying

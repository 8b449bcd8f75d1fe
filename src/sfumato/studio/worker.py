"""The worker: a process beside the web server that does long work, one job at a time.

Compiled loops keep the interpreter to themselves, so that a server in the same process would not answer
meanwhile; and a process can be stopped at any moment.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from pickle import PicklingError
from typing import TextIO

from sfumato.core.errors import SfumatoError
from sfumato.core.progress import Progress
from sfumato.system.stop_request import STOPPING, stop_request
from sfumato.system.unexpected_error import as_shown

SECONDS_BETWEEN = 0.1
"""Progress is told no more often than this."""

Work = Callable[..., object]
"""A function at the top of a module, called with arguments and `progress`; it returns plain data."""


@dataclass(frozen=True)
class WorkOrder:
    """What is to be done."""

    number: int
    work: Work
    arguments: tuple[object, ...]


@dataclass(frozen=True)
class Step:
    """How far a job is."""

    number: int
    phase: str
    done: int
    total: int | None


@dataclass(frozen=True)
class JobResult:
    """What a job came to: a value, or an error that may be shown."""

    number: int
    value: object = None
    error: SfumatoError | None = None


def serve(orders: Connection, temporary: Path) -> None:
    """Does what comes through the connection until it is closed; prints nothing.

    Temporary files go into a folder of the server, which removes it, since a process that is killed cannot.
    """
    for number in {*STOPPING} - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)  # a terminal tells both, and the server ends this process
    tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
    _silence()
    while True:
        try:
            order = orders.recv()
            result = perform(order, _telling(orders, order.number))
            try:
                orders.send(result)
            except (TypeError, AttributeError, PicklingError) as error:  # no plain data
                orders.send(JobResult(order.number, error=as_shown(error)))
        except (EOFError, BrokenPipeError):
            return


def perform(order: WorkOrder, progress: Progress) -> JobResult:
    """Returns what a job comes to; whatever goes wrong becomes an error without a cell value."""
    stop_request.published = False
    try:
        return JobResult(order.number, order.work(*order.arguments, progress=progress))
    except (EOFError, BrokenPipeError):
        raise
    except BaseException as error:  # a panic of a compiled library is no Exception
        return JobResult(order.number, error=as_shown(error))


def _telling(orders: Connection, number: int) -> Progress:
    last = 0.0

    def tell(phase: str, done: int, total: int | None = None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN or done == total:
            last = now
            orders.send(Step(number, phase, done, total))

    return tell


def _silence() -> None:
    """Sends what libraries print nowhere: it may hold values."""
    if os.environ.get("SFUMATO_DEBUG"):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        _point(stream, nowhere)


def _point(stream: TextIO | None, target: int) -> None:
    if stream is not None:
        os.dup2(target, stream.fileno())

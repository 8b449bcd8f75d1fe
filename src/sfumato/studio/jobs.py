"""Jobs: long work that pages start, look at and stop."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from pickle import PicklingError
from typing import Protocol, TextIO

from sfumato.system.errors import Interrupted, SfumatoError
from sfumato.system.progress import STOPPING, Progress, as_shown, stop_request

# The worker: a process beside the web server that does long work, one job at a time.
#
# Compiled loops keep the interpreter to themselves, so that a server in the same process would not answer
# meanwhile; and a process can be stopped at any moment.

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


MOST_KEPT = 12
"""Results of so many jobs are kept; the oldest go first."""


class JobState(StrEnum):
    """Where a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"


@dataclass
class BackgroundJob:
    """Long work: what it is about, how far it is, and what it came to.

    `kind` is the page it belongs to, and `key` what it was asked about: a page shows a result only where both
    the file and the policy are still those of its key.
    """

    number: int
    kind: str
    key: str
    path: str
    state: JobState = JobState.WAITING
    phase: str = ""
    done: int = 0
    total: int | None = None
    value: object = field(default=None, repr=False)
    error: SfumatoError | None = None

    @property
    def open(self) -> bool:
        """Whether it has not ended yet."""
        return self.state in (JobState.WAITING, JobState.RUNNING)

    @property
    def percent(self) -> int | None:
        """How much of the phase is done, where that is known."""
        return min(100, 100 * self.done // self.total) if self.total else None


Then = Callable[[object], object]
Report = Callable[[Step | JobResult], None]


class Workshop(Protocol):
    """Where work is done; it says through `report` how far it is and what it came to."""

    def begin(self, order: WorkOrder, report: Report) -> None:
        """Starts work and returns at once."""
        ...

    def stop(self) -> None:
        """Ends what is being done, for good."""
        ...


class Jobs:
    """The jobs of a studio, of which one is done at a time, in the order in which they were started.

    What is handed out is how a job stands at that moment: a page that is being made sees one state of it.
    """

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._jobs: dict[int, BackgroundJob] = {}
        self._orders: list[WorkOrder] = []
        self._then: dict[int, Then] = {}
        self._lock = threading.RLock()
        self._last = 0

    def start(
        self, kind: str, key: str, path: str, work: Work, *arguments: object, then: Then | None = None
    ) -> BackgroundJob:
        """Starts work, or returns the job that does it already; `path` is the page that shows its result.

        `then` is called in this process with what the work came to; what it returns is the job's value, and
        what it raises its error. An open job of the same kind about something else is stopped first: its
        result would not be shown.
        """
        with self._lock:
            for job in self._jobs.values():
                if job.kind == kind and job.open:
                    if job.key == key:
                        return replace(job)
                    self.stop(job.number)
            self._last += 1
            job = self._jobs[self._last] = BackgroundJob(self._last, kind, key, path)
            self._orders.append(WorkOrder(job.number, work, arguments))
            if then is not None:
                self._then[job.number] = then
            self._forget()
            self._next()
            return replace(job)

    def find(self, kind: str, key: str) -> BackgroundJob | None:
        """Returns the newest job of a kind about this key."""
        with self._lock:
            matches = [job for job in self._jobs.values() if job.kind == kind and job.key == key]
            return replace(matches[-1]) if matches else None

    def job(self, number: int) -> BackgroundJob | None:
        """Returns the job of this number."""
        with self._lock:
            job = self._jobs.get(number)
            return None if job is None else replace(job)

    def stop(self, number: int) -> None:
        """Stops a job: one that waits does not begin, one that runs ends at once."""
        with self._lock:
            job = self._jobs.get(number)
            if job is None or not job.open:
                return
            running = job.state is JobState.RUNNING
            self._orders = [order for order in self._orders if order.number != number]
            job.state = JobState.REFUSED
            job.error = Interrupted("stopped", remedy="Start it again if you like.")
            if running:
                self._workshop.stop()
                self._next()

    def close(self) -> None:
        """Stops everything."""
        with self._lock:
            self._orders.clear()
            self._workshop.stop()

    def _next(self) -> None:
        if self._orders and not any(job.state is JobState.RUNNING for job in self._jobs.values()):
            order = self._orders.pop(0)
            self._jobs[order.number].state = JobState.RUNNING
            self._workshop.begin(order, self._note)

    def _note(self, message: Step | JobResult) -> None:
        if isinstance(message, JobResult):
            message = self._followed(message)
        with self._lock:
            job = self._jobs.get(message.number)
            if job is None or job.state is not JobState.RUNNING:
                return
            if isinstance(message, Step):
                job.phase, job.done, job.total = message.phase, message.done, message.total
                return
            job.value, job.error = message.value, message.error
            job.state = JobState.DONE if message.error is None else JobState.REFUSED
            self._next()

    def _followed(self, result: JobResult) -> JobResult:
        """Returns the result after what was to happen then; a job that was stopped has no consequences."""
        with self._lock:
            then = self._then.pop(result.number, None)
            job = self._jobs.get(result.number)
            if then is None or result.error is not None or job is None or not job.open:
                return result
        try:
            return JobResult(result.number, then(result.value))
        except Exception as error:  # whatever it is, the page that waits shows it
            return JobResult(result.number, error=as_shown(error))

    def _forget(self) -> None:
        ended = [number for number, job in self._jobs.items() if not job.open]
        for number in ended[: max(0, len(self._jobs) - MOST_KEPT)]:
            del self._jobs[number]


class WorkerProcess:
    """A workshop in a process of its own, started when it is first needed and again after it was stopped.

    Its temporary files are in a folder of ours.
    """

    def __init__(self, temporary: Path) -> None:
        self._temporary = temporary
        self._process: SpawnProcess | None = None
        self._orders: Connection | None = None

    def begin(self, order: WorkOrder, report: Report) -> None:
        orders = self._running()
        threading.Thread(target=_converse, args=(orders, order, report), daemon=True).start()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._orders is not None:
            self._orders.close()
        self._process = self._orders = None

    def warm(self) -> None:
        """Starts the process, so that the first job need not wait for it."""
        self._running()

    def _running(self) -> Connection:
        if self._orders is not None and self._orders.poll():  # nothing but its end comes between two orders
            self.stop()  # a process that has died may still count as alive for a moment
        if self._process is None or self._orders is None or not self._process.is_alive():
            context = multiprocessing.get_context("spawn")  # copies of a process with threads may hang
            ours, theirs = context.Pipe()
            self._process = context.Process(target=serve, args=(theirs, self._temporary), daemon=True)
            self._process.start()
            theirs.close()
            self._orders = ours
        return self._orders


def _converse(orders: Connection, order: WorkOrder, report: Report) -> None:
    """Hands over one order, and passes on what comes back until it is done."""
    try:
        orders.send(order)
        while True:
            message = orders.recv()
            report(message)
            if isinstance(message, JobResult):
                return
    except (EOFError, OSError, TypeError):  # the process was stopped or has died; a closed handle is None
        lost = SfumatoError("the work ended before it was done", remedy="Start it again.")
        report(JobResult(order.number, error=lost))

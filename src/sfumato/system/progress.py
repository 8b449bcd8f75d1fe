"""Progress: the callback by which long work reports how far it is."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from sfumato.system.errors import BadInput, NotEnoughMemory, SfumatoError
from sfumato.system.memory import is_out_of_memory

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


class Progress(Protocol):
    """Receives now and then the phase, how much is done, and out of how much.

    `total` may be an estimate that later calls correct, and `None` where nobody can tell. A phase ends with a
    call in which everything is done.
    """

    def __call__(self, phase: str, done: int, total: int | None = None) -> None: ...


def silent(phase: str, done: int, total: int | None = None) -> None:
    """A progress callback that does nothing."""


@contextmanager
def one_step(progress: Progress, phase: str) -> Iterator[None]:
    """Reports the begin and the end of a phase that cannot be looked into."""
    progress(phase, 0, 1)
    yield
    progress(phase, 1, 1)


# A request to stop: a signal that came in, remembered until it is heeded or it is too late.

STOPPING = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)
"""Signals by which somebody, a terminal that is closed or the system asks a program to end."""


def stopping() -> tuple[signal.Signals, ...]:
    """Returns those of them that this process was not told to ignore, as in the background or by `nohup`."""
    return tuple(number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN)


class StopAsked(KeyboardInterrupt):
    """Raised where a request to stop is heeded.

    A class of our own: Python ends with a signal, not with the exit code it is given, once a plain
    `KeyboardInterrupt` has left a text that it compiled, such as that of a dataclass.
    """


@dataclass
class StopRequest:
    """Whether the program was asked to stop, and whether something is published already.

    An exception alone does not stop a program: what a signal raises inside a finalizer or a callback of
    compiled code is dropped, or becomes another error. So the request is noted, and asked for at every step
    before something is published. From then on it is only noted: what was begun is finished.
    """

    watching: bool = False
    asked: bool = False
    published: bool = False
    held: int = 0
    cut_short: BaseException | None = None
    """What ended the work. It holds whatever was being made at that moment, so that nothing half made is
    taken apart: compiled libraries crash there."""
    folders: set[Path] = field(default_factory=set)
    """Private folders that are there now, noted while requests are held."""

    def watch(self) -> None:
        """Notes signals that ask for the end, unless the program is started so that it ignores them."""
        self.watching = True
        for number in {signal.SIGTERM, *stopping()}:
            signal.signal(number, self._note)
        sys.unraisablehook = _without_interrupts

    def ignore(self) -> None:
        """Ignores signals from now on: what was asked for is done, and the exit code is to say so.

        While an interpreter ends, a signal that is not ignored ends it by that signal.
        """
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)

    def raise_if_asked(self) -> None:
        """Raises `StopAsked` if the program was asked to stop, and nothing is published yet, nor held."""
        if self.asked and not self.published and not self.held:
            raise StopAsked

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Only notes a request meanwhile, and answers it after, unless an error is on its way already.

        For short work that would go on without what was being made, or leave it behind: loading machine code
        calls back, and what is raised there is dropped; a folder that is made is not known by name yet.
        """
        self.held += 1
        try:
            yield
        finally:
            self.held -= 1
        if sys.exc_info()[0] is None:
            self.raise_if_asked()

    def remove_folders(self) -> None:
        """Removes the private folders that are still there, after work was cut short and signals are ignored.

        Whoever made one removes it as a rule; but a signal can come right before they begin to.
        """
        while self.folders:
            shutil.rmtree(self.folders.pop(), ignore_errors=True)

    def note(self) -> None:
        """Notes that a signal came while nothing could be cancelled; only where signals are watched."""
        self.asked = self.asked or self.watching

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.asked = True
        self.raise_if_asked()


stop_request = StopRequest()
"""The request of this process: signals know no other."""


def _without_interrupts(dropped: UnraisableHookArgs) -> None:
    """Says nothing about interrupts that were dropped, as they are noted, nor of what they left half made."""
    if not stop_request.asked and not issubclass(dropped.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)


# Errors that nobody expected, as errors that may be shown: without a cell value.


def as_shown(error: BaseException) -> SfumatoError:
    """Returns anything that went wrong as an error that may be shown."""
    if isinstance(error, SfumatoError):
        return error
    if is_out_of_memory(error):
        return NotEnoughMemory(
            f"the system has no more memory for this program; {what_became()}",
            remedy="Allow it more (`ulimit -v`, a container's limit), use a larger machine, or name a limit "
            "with --memory, within which rows wait on disk.",
        )
    return _from_system(error) if isinstance(error, OSError) else _bug(error)


def what_became() -> str:
    """What is to be said of publishing where something went wrong: it may have happened after that."""
    return "what was to be published is published" if stop_request.published else "nothing was published"


def _from_system(error: OSError) -> BadInput:
    where = Path(os.fsdecode(error.filename)).name if error.filename else ""
    return BadInput(error.strerror or "the system refused to read or write", where=where)


def _bug(error: BaseException) -> SfumatoError:
    """A bug without a cell value: the message of another library may hold some, its type does not."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f"{os.sep}sfumato{os.sep}" in f.filename]
    place = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return SfumatoError(
        f"a bug: {type(error).__name__}{place}; {what_became()}",
        remedy="Please report it. SFUMATO_DEBUG=1 prints a traceback, which may hold values of your data.",
    )

"""Staging folders: hidden folders on this machine, each locked by the process that fills it.

A staging folder beside its target carries the target's mark in its name, so that everybody who looks into the
folder sees which names are spoken for. Whoever makes one holds the lock of the folder above meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from sfumato.system.disk import FolderLock
from sfumato.system.errors import LedgerConflict
from sfumato.system.progress import stop_request

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger

LONGEST_WAIT = 10.0
"""Seconds to wait for others who make staging folders in the same place: each takes a moment."""


def staged_in(parent: Path, event: str, *, becomes: str = "") -> Path:
    """Returns the folder in which a release, with all its versions, is written before it counts.

    `becomes` is the name that the folder gets in the same place.
    """
    return parent / f".staged-{event}{_mark(becomes) if becomes else ''}"


def _mark(name: str) -> str:
    return "-" + hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


def host(ledger: Ledger) -> str:
    """Returns the machine a staging folder is on; nothing for a SQLite ledger, which is on the same one."""
    return "" if ledger.database.path is not None else socket.gethostname()


def make_and_lock(folder: Path) -> FolderLock:
    """Makes the folder and locks it."""
    folder.mkdir(mode=0o700)
    claim = FolderLock.take(folder)
    if claim is None:
        raise LedgerConflict("the staging folder was taken away", remedy="Try again.")
    return claim


def reserve(folder: Path, *, becomes: str) -> FolderLock:
    """Makes and locks a staging folder; raises where another one is to become the same.

    Of several processes that ask at once, exactly one gets the name.
    """
    parent = FolderLock.wait(folder.parent.resolve(), LONGEST_WAIT)  # a lock follows no link
    if parent is None:
        raise LedgerConflict(
            "another process holds the folder of the target",
            where=folder.parent.name,
            remedy="Try again when it is done.",
        )
    try:
        remove_empty(folder.parent)
        for rival in folder.parent.glob(f".staged-*{_mark(becomes)}"):
            raise LedgerConflict(
                "another release is to become this folder, or was when it was cut off",
                where=becomes,
                remedy="Name another folder, or wait; if nothing is under way, run `sfumato ledger recover` "
                f"with the ledger of {rival.name}.",
            )
        return make_and_lock(folder)
    finally:
        parent.release()


def remove_empty(parent: Path) -> None:
    """Removes empty staging folders that a crash left behind before the ledger knew of them."""
    for folder in parent.glob(".staged-*"):
        claim = FolderLock.take(folder)
        if claim is None:
            continue
        try:
            folder.rmdir()
        except OSError:
            pass  # not empty: a ledger knows what it is
        finally:
            claim.release()


# The steps of a release, by name, so that a test can stop the process at each of them.

StepHook = Callable[[str], object]
"""Is called at every step, with its name."""

SignalHandler = Callable[[int, FrameType | None], object] | int | None

STEPS = (
    "begun",  # what was left by a crash is cleaned up, the history is read
    "planned",  # every column's recoding is found
    "occupied",  # the hidden folder is there and held
    "staged",  # the ledger knows of it
    "written",  # the table is in it
    "judged",  # its bytes were read again and every promise holds
    "compared",  # ... and next to all earlier releases
    "ready",  # everything that is needed after the commit is on disk, or in the store
    "entered",  # the entry is in the transaction, not yet committed
    "committed",  # published: from here on recovery goes forward
    "certified",  # the certificate is beside the files
    "visible",  # the folder has its name, or the manifest is in the store
    "done",  # the ledger has forgotten the staging
)

STORE_STEPS = (
    "noted",  # the place below the address is ours
    "uploaded",  # a file is in the store
)
"""Further steps of a release into a store, before it is ready."""


def stopping_when_asked(at: StepHook) -> StepHook:
    """Returns a hook that also stops where that was asked for, at every step before the entry is made."""
    last = STEPS.index("entered")

    def step_then_check(step: str) -> None:
        at(step)
        if step not in STEPS[last:]:
            stop_request.raise_if_asked()

    return step_then_check


def no_hook(step: str) -> None:
    """Does nothing: outside of tests nobody watches the steps."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Only notes Ctrl-C and SIGTERM: between the commit and the last rename there is nothing to cancel."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[signal.Signals, SignalHandler] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, _note)
        yield
    finally:
        for signal_number, handler in before.items():
            signal.signal(signal_number, signal.SIG_DFL if handler is None else handler)


def _note(number: int, frame: object) -> None:  # noqa: ARG001  # the shape of a signal handler
    stop_request.note()

"""The steps of a release, by name, so that a test can stop the process at each of them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from sfumato.system.stop_request import stop_request

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


def heeding(at: StepHook) -> StepHook:
    """Returns a hook that also heeds a request to stop, at every step before the entry is made."""
    last = STEPS.index("entered")

    def step_and_heed(step: str) -> None:
        at(step)
        if step not in STEPS[last:]:
            stop_request.heed()

    return step_and_heed


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
        for held, handler in before.items():
            signal.signal(held, signal.SIG_DFL if handler is None else handler)


def _note(number: int, frame: object) -> None:  # noqa: ARG001  # the shape of a signal handler
    stop_request.note()

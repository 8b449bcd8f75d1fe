"""The steps of a release, by name, so that a test can stop the process at each of them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Step = Callable[[str], object]

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

IN_A_STORE = (
    "noted",  # the place below the address is ours
    "uploaded",  # a file is in the store
)
"""Steps of a release into a store, before it is ready."""


def nothing(step: str) -> None:
    """What happens at a step outside of tests."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait: between the commit and the last rename there is nothing to cancel."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, _later)
        yield
    finally:
        for held, handler in before.items():
            signal.signal(held, signal.SIG_DFL if handler is None else handler)


def _later(number: int, frame: object) -> None:
    """Not now."""

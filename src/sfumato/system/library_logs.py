"""What libraries log or print: not shown where nobody asked for it, since it may quote cells."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STDERR = 2
_printing = threading.Lock()
_saved: list[int] = []
_inside = 0


def silence_library_logs() -> None:
    """Keeps what libraries log off the terminal, unless SFUMATO_DEBUG is set.

    Only of a program that has set up no logging: Python's last resort would print it.
    """
    if logging.lastResort is not None:
        logging.lastResort.addFilter(_is_asked_for)


def _is_asked_for(logged: logging.LogRecord) -> bool:
    del logged
    return bool(os.environ.get("SFUMATO_DEBUG"))


@contextmanager
def without_library_prints() -> Iterator[None]:
    """Keeps off stderr what a library prints by itself, unless SFUMATO_DEBUG is set.

    One that is written in Rust prints why it gives up before anybody can handle it. Nothing else of this
    process gets to stderr in the meantime, from any thread.
    """
    if os.environ.get("SFUMATO_DEBUG"):
        yield
        return
    _hide()
    try:
        yield
    finally:
        _show_again()


def _hide() -> None:
    """Leads stderr nowhere, where it is open and nobody did so before."""
    global _inside  # noqa: PLW0603  # stderr is one for the process
    with _printing:
        _inside += 1
        if _inside > 1:
            return
        try:
            _saved.append(os.dup(STDERR))
        except OSError:  # it is closed
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STDERR)
        os.close(nowhere)


def _show_again() -> None:
    """Leads stderr where it led, once nobody needs it hidden."""
    global _inside  # noqa: PLW0603  # stderr is one for the process
    with _printing:
        _inside -= 1
        if not _inside and _saved:
            saved = _saved.pop()
            os.dup2(saved, STDERR)
            os.close(saved)

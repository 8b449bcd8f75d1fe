"""The standard streams: what cannot be written there neither ends the work nor changes what is told of it."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import TextIO

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

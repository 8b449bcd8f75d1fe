"""What libraries log: not shown where nobody asked for it, since it may quote cells or a traceback."""

from __future__ import annotations

import logging
import os


def silence_library_logs() -> None:
    """Keeps what libraries log off the terminal, unless SFUMATO_DEBUG is set.

    Only of a program that has set up no logging: Python's last resort would print it.
    """
    if logging.lastResort is not None:
        logging.lastResort.addFilter(_is_asked_for)


def _is_asked_for(logged: logging.LogRecord) -> bool:
    del logged
    return bool(os.environ.get("SFUMATO_DEBUG"))

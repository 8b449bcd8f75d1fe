"""The first visit: a browser is handed the token by a file, since anybody can read how it was called."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sfumato.core.errors import WrongCall
from sfumato.studio.page import templates
from sfumato.studio.security import Gate
from sfumato.system.private_folder import private_folder

PATIENCE = 60.0
"""Seconds for which the file waits for the browser."""


@contextmanager
def first_visit(gate: Gate, folder: Path, private: Path) -> Iterator[None]:
    """Opens the browser on a page that sends the token, and removes it once that has come, or did not."""
    with ExitStack() as stack:
        page = _place(folder, private, stack) / "open.html"
        handle = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(templates().get_template("first_visit.html").render(gate=gate))
        threading.Thread(target=_show, args=(gate, page), daemon=True).start()
        yield


def _place(folder: Path, private: Path, stack: ExitStack) -> Path:
    """Returns a private folder whose files a browser can read.

    On Linux, many browsers see their user's own folders and no temporary ones (snap); not every file system
    keeps others out of a folder.
    """
    if sys.platform == "linux":
        try:
            hidden = stack.enter_context(private_folder(folder, hidden=True))
        except WrongCall:  # nothing can be written there
            return private
        if not hidden.stat().st_mode & 0o077:
            return hidden
    return private


def _show(gate: Gate, page: Path) -> None:
    try:
        if webbrowser.open(page.resolve().as_uri()):
            gate.redeemed.wait(PATIENCE)
    finally:
        page.unlink(missing_ok=True)

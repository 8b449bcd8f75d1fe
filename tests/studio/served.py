"""A studio as people start it: the program, its address, and the system's browser."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

from playwright.sync_api import sync_playwright

PATIENCE = 300
"""Seconds to wait for a process, a page or an answer: long, since nothing here is about speed."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP *.example 127.0.0.1",
)
"""Names that end in .example lead to this computer, as they would for somebody who can bend names."""


class Served:
    """A studio that runs: its address with the token, and without."""

    def __init__(self, process, address):
        self.process, self.address = process, address
        self.base = address.partition("/open")[0]
        self.port = int(self.base.rpartition(":")[2])


@contextmanager
def served(folder, *more, environment=None, code=None, opens="--no-browser"):
    """Starts the studio on a folder, by the program or by other code, and ends it as Ctrl-C does."""
    words = [sys.executable, "-m", "sfumato", "studio", str(folder), opens, *more]
    words = words if code is None else [sys.executable, "-c", code]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,  # as a terminal does: signals to its group reach nobody else
    )
    try:
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/open\?token=[\w-]{43}", address), process.stderr.read()
        yield Served(process, address)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        process.stdout.close()
        process.stderr.close()


def stand_in(folder):
    """Returns an environment whose browser is a program that notes how it was called, and its notes."""
    note, program = folder / "called", folder / "browser"
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        f"with open({str(note)!r} + '-', 'w') as file:\n"
        "    file.write('\\n'.join([*sys.argv[1:], *os.environ.values()]))\n"
        f"os.rename({str(note)!r} + '-', {str(note)!r})\n",
        encoding="utf-8",
    )
    program.chmod(0o700)
    return {**os.environ, "BROWSER": f"{program} %s"}, note


def wait_for(happened):
    """Waits until something is so."""
    until = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.02)


@contextmanager
def browser():
    """The system's Chromium."""
    program = next(found for name in BROWSERS if (found := shutil.which(name)))
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        try:
            yield opened
        finally:
            opened.close()

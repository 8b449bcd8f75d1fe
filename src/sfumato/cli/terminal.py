"""Where words go: results to stdout, talk and progress to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sfumato.core.progress import Progress, silent

FAILED = 70
"""The exit code where code of ours, or of a package that adds to it, broke down."""


def say(text: str) -> None:
    """A result, on stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def document(content: dict[str, Any]) -> None:
    """The one JSON document of a call, on stdout."""
    say(json.dumps(content, ensure_ascii=False, indent=2))


def talk(text: str) -> None:
    """A remark, on stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Progress on stderr while somebody watches; silence in pipes and logs."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console  # noqa: PLC0415  # only a terminal needs it
    from rich.progress import Progress as Bars  # noqa: PLC0415

    with Bars(console=Console(stderr=True), transient=True) as bars:
        known: dict[str, Any] = {}

        def show(phase: str, done: int, total: int | None = None) -> None:
            if phase not in known:
                known[phase] = bars.add_task(phase, total=total)
            bars.update(known[phase], completed=done, total=total)

        yield show

"""The terminal: results go to stdout, remarks, warnings and progress to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sfumato.core.progress import Progress, silent
from sfumato.show.visible_text import escaped_json, visible

if TYPE_CHECKING:
    from rich.progress import TaskID

FAILED = 70
"""The exit code where code of ours, or of a package that adds to it, broke down."""


def say(text: str) -> None:
    """Print a result on stdout."""
    sys.stdout.write(visible(text, keep="\n\t") + "\n")
    sys.stdout.flush()


def document(content: Mapping[str, object]) -> None:
    """Print the one JSON document of a call on stdout."""
    sys.stdout.write(escaped_json(json.dumps(content, ensure_ascii=False, indent=2)) + "\n")
    sys.stdout.flush()


def warn(diagnosis: object) -> None:
    """Print a warning about the policy on stderr."""
    talk(str(diagnosis))


def talk(text: str) -> None:
    """Print a remark on stderr."""
    sys.stderr.write(visible(text, keep="\n\t") + "\n")
    sys.stderr.flush()


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Yields what shows progress on stderr, or nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console  # noqa: PLC0415  # only a terminal needs it
    from rich.progress import Progress as Bars  # noqa: PLC0415  # as above

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(phase: str, done: int, total: int | None = None) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total)
            bars.update(tasks[phase], completed=done, total=total)

        yield show

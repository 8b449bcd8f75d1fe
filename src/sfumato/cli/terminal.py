"""The terminal: results go to stdout, remarks, warnings and progress to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from sfumato.cli.streams import takes_every_letter, write
from sfumato.core.progress import Progress, silent
from sfumato.show.card import Card, Printable
from sfumato.show.visible_text import escaped_json, visible

if TYPE_CHECKING:
    from rich.progress import TaskID

FAILED = 70
"""The exit code where code of ours, or of a package that adds to it, broke down."""


class Told(Protocol):
    """A result that is printed as a card or as a document."""

    def as_dict(self) -> Mapping[str, object]: ...


def say(result: str | Card | Printable) -> None:
    """Print a result on stdout; where somebody looks, its card with colours (unless NO_COLOR is set)."""
    if isinstance(result, str) or not sys.stdout.isatty():
        shown = visible(str(result), keep="\n\t")
    else:
        card = result if isinstance(result, Card) else result.card()
        shown = card.on_terminal(colour=not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")
    write(sys.stdout, shown + "\n")


def document(content: Mapping[str, object]) -> None:
    """Print the one JSON document of a call on stdout."""
    text = json.dumps(content, ensure_ascii=not takes_every_letter(sys.stdout), indent=2)
    write(sys.stdout, escaped_json(text) + "\n")


def tell(result: Told, *, as_json: bool) -> None:
    """Print a result on stdout: its card, or its JSON document."""
    if as_json:
        document(result.as_dict())
    else:
        say(result if isinstance(result, Printable) else str(result))


def warn(diagnosis: object) -> None:
    """Print a warning about the policy on stderr."""
    talk(str(diagnosis))


def talk(text: str) -> None:
    """Print a remark on stderr."""
    write(sys.stderr, visible(text, keep="\n\t") + "\n")


def foretell(expected: Sequence[object]) -> None:
    """Print on stderr about how long each search will take."""
    if expected:
        talk("before the search: " + "; ".join(str(one) for one in expected))


def is_terminal() -> bool:
    """Whether somebody looks at stderr."""
    return sys.stderr.isatty()


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Yields what shows progress on stderr, or nothing where stderr is no terminal.

    Every phase has a line: how much of it is done, in percent, and about how long the rest will take.
    """
    if not is_terminal():
        yield silent
        return
    from rich import progress as rich_progress  # noqa: PLC0415  # as above
    from rich.console import Console  # noqa: PLC0415  # only a terminal needs it

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(show_speed=True),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}
        reached: dict[str, int] = {}

        def show(phase: str, done: int, total: int | None = None) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total)
            elif done < reached[phase]:
                bars.reset(tasks[phase], total=total)
            reached[phase] = done
            bars.update(tasks[phase], completed=done, total=total)

        yield show

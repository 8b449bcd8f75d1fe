"""The terminal: results go to stdout, remarks, warnings and progress to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from sfumato.cli.streams import takes_every_letter, write
from sfumato.system.errors import Interrupted, UsageError
from sfumato.system.presentation.cards import Card, escaped_json, visible
from sfumato.system.progress import Progress, silent

if TYPE_CHECKING:
    from rich.progress import TaskID


FAILED = 70
"""The exit code where code of ours, or of a package that adds to it, broke down."""


class JsonResult(Protocol):
    """A result that is printed as a card or as a document."""

    def as_dict(self) -> Mapping[str, object]: ...


@runtime_checkable
class HasCard(Protocol):
    """A result that is shown by its card."""

    def card(self) -> Card: ...


def print_result(result: str | Card | HasCard) -> None:
    """Print a result on stdout; where somebody looks, its card with colours (unless NO_COLOR is set)."""
    if isinstance(result, str) or not sys.stdout.isatty():
        text = visible(str(result), keep="\n\t")
    else:
        card = result if isinstance(result, Card) else result.card()
        text = card.on_terminal(colour=not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")
    write(sys.stdout, text + "\n")


def document(content: Mapping[str, object]) -> None:
    """Print the one JSON document of a call on stdout."""
    text = json.dumps(content, ensure_ascii=not takes_every_letter(sys.stdout), indent=2)
    write(sys.stdout, escaped_json(text) + "\n")


def print_or_json(result: JsonResult, *, as_json: bool) -> None:
    """Print a result on stdout: its card, or its JSON document."""
    if as_json:
        document(result.as_dict())
    else:
        print_result(result.card() if isinstance(result, HasCard) else str(result))


def warn(diagnosis: object) -> None:
    """Print a warning about the policy on stderr."""
    print_note(str(diagnosis))


def print_note(text: str) -> None:
    """Print a remark on stderr."""
    write(sys.stderr, visible(text, keep="\n\t") + "\n")


def print_estimate(expected: Sequence[object]) -> None:
    """Print on stderr about how long each search will take."""
    if expected:
        print_note("before the search: " + "; ".join(str(estimate) for estimate in expected))


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


# Questions on a terminal: asked on stderr, answered on stdin, again until the answer makes sense.

Answer = TypeVar("Answer")


def can_ask() -> bool:
    """Whether somebody is there who sees a question and can answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and is_terminal()


def ask(question: str, read: Callable[[str], Answer], *, usual: str | None = None) -> Answer:
    """Returns the answer to a question as `read` understands it; it raises `UsageError` where it does not.

    An empty answer is the `usual` one. Raises `Interrupted` where no answer comes any more.
    """
    print_note(question)
    while True:
        write(sys.stderr, "> " if usual is None else f"[{usual}] > ")
        line = sys.stdin.readline()
        if not line:
            raise Interrupted("no answer came; nothing was written")
        answer = line.strip() or usual
        if answer is None:
            print_note("Please answer.")
            continue
        try:
            return read(answer)
        except UsageError as wrong:
            print_note(f"{wrong.message}. {wrong.remedy}" if wrong.remedy else f"{wrong.message}.")


def ask_choice(question: str, choices: Mapping[str, str], *, usual: str) -> str:
    """Returns the one of several words that is chosen, by its number or by the word."""
    words = list(choices)
    listed = "\n".join(
        f"  {number}  {words[number - 1]}: {choices[words[number - 1]]}" for number in numbers(words)
    )

    def read(answer: str) -> str:
        if answer in words:
            return answer
        if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(words):
            return words[int(answer) - 1]
        raise UsageError(f"say a number from 1 to {len(words)}, or a word of the list")

    return ask(f"{question}\n{listed}", read, usual=usual)


def numbers(words: Sequence[str]) -> range:
    """The numbers of a list, from 1."""
    return range(1, len(words) + 1)

"""Questions on a terminal: asked on stderr, answered on stdin, again until the answer makes sense."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from sfumato.cli.streams import write
from sfumato.cli.terminal import is_terminal, talk
from sfumato.core.errors import Interrupted, WrongCall

Answer = TypeVar("Answer")


def can_ask() -> bool:
    """Whether somebody is there who sees a question and can answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and is_terminal()


def ask(question: str, read: Callable[[str], Answer], *, usual: str | None = None) -> Answer:
    """Returns the answer to a question as `read` understands it; it raises `WrongCall` where it does not.

    An empty answer is the `usual` one. Raises `Interrupted` where no answer comes any more.
    """
    talk(question)
    while True:
        write(sys.stderr, "> " if usual is None else f"[{usual}] > ")
        line = sys.stdin.readline()
        if not line:
            raise Interrupted("no answer came; nothing was written")
        said = line.strip() or usual
        if said is None:
            talk("Please answer.")
            continue
        try:
            return read(said)
        except WrongCall as wrong:
            talk(f"{wrong.message}. {wrong.remedy}" if wrong.remedy else f"{wrong.message}.")


def ask_choice(question: str, choices: Mapping[str, str], *, usual: str) -> str:
    """Returns the one of several words that is chosen, by its number or by the word."""
    words = list(choices)
    listed = "\n".join(
        f"  {number}  {words[number - 1]}: {choices[words[number - 1]]}" for number in numbers(words)
    )

    def read(said: str) -> str:
        if said in words:
            return said
        if said.isascii() and said.isdigit() and 1 <= int(said) <= len(words):
            return words[int(said) - 1]
        raise WrongCall(f"say a number from 1 to {len(words)}, or a word of the list")

    return ask(f"{question}\n{listed}", read, usual=usual)


def numbers(words: Sequence[str]) -> range:
    """The numbers of a list, from 1."""
    return range(1, len(words) + 1)

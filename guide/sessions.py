"""Blocks of pages, and console sessions that are typed again and compared with what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
TITLE = re.compile(r"\w+ title=(?P<name>[\w-]+\.\w+)")
"""The kind of a block that shows a file, which lies in the folder before anything is typed."""
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
ONCE = re.compile(r"^compiling for this machine.*\n", re.MULTILINE)
"""What is said on stderr when a program runs for the first time, and not again."""
HOLE = "..."
"""Stands in the output of a session for text that is left out."""


@dataclass(frozen=True)
class Typed:
    """One command of a session, and what the page says it prints."""

    command: str
    expected: str

    def fits(self, shown: str) -> bool:
        """Returns whether an output is what the page shows; `...` stands for anything.

        >>> Typed("date", "it is ...\\n").fits("it is noon\\n")
        True
        """
        pattern = ".*".join(re.escape(part) for part in self.expected.split(HOLE))
        return re.fullmatch(pattern, shown, re.DOTALL) is not None


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yields every fenced block of a page: its kind, and its text without the indent."""
    for found in FENCE.finditer(text):
        indent = found["indent"]
        lines = (line.removeprefix(indent) for line in found["text"].splitlines(keepends=True))
        yield found["kind"].strip(), "".join(lines)


def write_files(text: str, folder: Path) -> None:
    """Writes the files that a page shows, those whose blocks have a name with an ending, into a folder."""
    for kind, block in blocks(text):
        if titled := TITLE.fullmatch(kind):
            (folder / titled["name"]).write_text(block, encoding="utf-8")


def session(text: str) -> list[Typed]:
    """Returns the commands of all console blocks of a page, in order."""
    return [
        Typed(command, expected)
        for kind, block in blocks(text)
        if kind == "console"
        for command, expected in COMMAND.findall(block)
    ]


def run(typed: Typed, folder: Path, *, programs: Path, variables: Mapping[str, str] = os.environ) -> str:
    """Types a command in a folder; returns what it prints, with stderr where it fails.

    `programs` is the folder in which `sfumato` and `python` are looked for first.
    """
    done = subprocess.run(
        typed.command,
        shell=True,
        cwd=folder,
        env={**variables, "NO_COLOR": "1", "COLUMNS": "110", "PATH": f"{programs}:{variables['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode == 0 else done.stdout + ONCE.sub("", done.stderr)

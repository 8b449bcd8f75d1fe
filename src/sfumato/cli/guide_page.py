"""The pages of the guide, so that whoever installed the package can open what an error names."""

# ruff: noqa: PLC0415  # a shell waits for every completion

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from pathlib import Path

import typer

PACKED = Path(__file__).parent / "guide_pages"
"""Where a wheel has the pages (`hatch_build.py` puts them there)."""
CLONE = Path(__file__).parents[3] / "docs"
"""Where they are written."""
PARTS = {
    "tutorials": "learn it, from zero",
    "how-to": "do one job",
    "reference": "look something up",
    "explanation": "understand it",
    "limitations.md": "know what it cannot do",
}
"""The folders of the guide, and a page beside them; each with what somebody wants who opens it."""
COMMENT = re.compile(r"^<!-- .* -->\n", re.MULTILINE)


@dataclass(frozen=True)
class GuidePage:
    """One page: its name, which is unique in the guide, and where it lies."""

    name: str
    path: Path
    place: str
    """The path of the page in the repository, which messages name."""

    @property
    def part(self) -> str:
        """What somebody wants who opens the page."""
        return PARTS[self.place.split("/")[1]]

    @property
    def text(self) -> str:
        """What the page says, in Markdown."""
        return COMMENT.sub("", self.path.read_text(encoding="utf-8"))

    @property
    def title(self) -> str:
        """The heading of the page."""
        return self.text.partition("\n")[0].removeprefix("# ")

    def lines_with(self, words: str) -> Iterator[tuple[str, str]]:
        """Yields the lines that hold some words in any case, each with the heading that it stands under."""
        heading = self.title
        for line in self.text.splitlines():
            if line.startswith("#"):
                heading = line.lstrip("# ")
            elif words.casefold() in line.casefold():
                yield heading, line.strip()


def guide_pages() -> dict[str, GuidePage]:
    """Returns the pages by name, part by part; none where neither place has them."""
    root = PACKED if PACKED.is_dir() else CLONE
    pages = {}
    for part in PARTS:
        for path in sorted(root.joinpath(part).rglob("*.md")) or [root / part]:
            if path.is_file():
                pages[path.stem] = GuidePage(path.stem, path, f"docs/{path.relative_to(root).as_posix()}")
    return pages


def page_name(page: str) -> str:
    """Returns the name of a page, however it was asked for.

    >>> page_name("docs/how-to/files.md"), page_name("audit-a-file")
    ('files', 'audit_a_file')
    """
    return page.rpartition("/")[2].removesuffix(".md").replace("-", "_")


# Completion of values in a shell: names of columns, rules, policies, chains, recipients, attacks.
#
# Whatever goes wrong while a line is completed completes nothing: the command itself will say it. No
# database
# on a network is asked, and no cell is shown: a first line that may be somebody's row names no columns.


POLICY_ENDINGS = (".yaml", ".yml", ".json")

Completion = Callable[[typer.Context, str], list[str]]


def _quiet(complete: Callable[[typer.Context, str], Iterable[str]]) -> Completion:
    """Returns a completion that offers what begins as it was typed, and nothing where anything fails."""

    @wraps(complete)
    def offered(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            names = [name for name in complete(ctx, incomplete) if name.isprintable()]
        except Exception:  # a shell is no place for messages
            return []
        return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]

    return offered


@_quiet
def complete_column(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The columns of the file that stands before on the line."""
    from sfumato.inputs import check_header
    from sfumato.table.source import open_source

    del incomplete
    source = open_source(str(ctx.params.get("data") or _first_file()))
    check_header(source, header=bool(ctx.params.get("header")))
    return source.columns


@_quiet
def complete_waiting(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The columns that wait for confirmation in the policy that stands before on the line."""
    from sfumato.policy.policy import Policy

    del incomplete
    chosen = ctx.params.get("columns") or ()
    return [name for name in Policy.load(Path(str(ctx.params["file"]))).waiting if name not in chosen]


@_quiet
def complete_preset(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The names of presets."""
    from sfumato.policy.presets import PRESETS

    del ctx, incomplete
    return PRESETS


@_quiet
def complete_rule(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The names of presets, and `none`."""
    return [*complete_preset(ctx, incomplete), "none"]


@_quiet
def complete_policy(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Files that may be policies, and folders, beside what was typed."""
    del ctx
    typed = incomplete.rpartition("/")[0]
    start = f"{typed}/" if "/" in incomplete else ""
    for path in sorted(Path(start or ".").iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            yield f"{start}{path.name}/"
        elif path.suffix in POLICY_ENDINGS:
            yield f"{start}{path.name}"


@_quiet
def complete_chain(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The chains of a ledger in a file."""
    from sfumato.releases.ledger.ledger import Ledger

    del incomplete
    return [record.chain for record in Ledger(_ledger_file(ctx), readonly=True).history()]


@_quiet
def complete_recipient(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The recipients that a ledger in a file knows."""
    from sfumato.releases.ledger.ledger import Ledger

    del incomplete
    return [
        record.recipient for record in Ledger(_ledger_file(ctx), readonly=True).history() if record.recipient
    ]


@_quiet
def complete_attack(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The names of attacks."""
    from sfumato.models.attack_contract import known

    del ctx, incomplete
    return known()


@_quiet
def complete_page(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The names of the pages of the guide."""

    del ctx, incomplete
    return guide_pages()


def _ledger_file(ctx: typer.Context) -> str:
    """The address of the ledger of a command, if it is a file."""
    parameters = (ctx.params.get(key) for key in ("ledger", "url", "against"))
    words = _words()
    typed = (after for word, after in pairwise(words) if word in ("--ledger", "--against"))
    named = str(next(filter(None, (*typed, *parameters)), "sqlite:///ledger.db"))
    if not named.startswith("sqlite:"):
        raise ValueError("only a ledger in a file is asked while somebody types")
    return named


def _first_file() -> str:
    """The first word of the line that names a file.

    An option that still lacks its value keeps the arguments before it from being read.
    """
    return next(word for word in _words()[1:] if not word.startswith("-") and Path(word).is_file())


def _words() -> list[str]:
    """The words of the line that is being completed, as shells hand it over."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return shlex.split(line)

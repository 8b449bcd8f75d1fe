"""`sfumato help`: the guide in the terminal, without a network and without a clone."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.completion import complete_page
from sfumato.cli.options import AsJson
from sfumato.cli.terminal import document, say
from sfumato.core.errors import WrongCall

if TYPE_CHECKING:
    from sfumato.cli.guide_page import GuidePage

MOST_LINES = 40
"""So many lines of the guide are shown for some words."""


def help_(
    ctx: typer.Context,
    page: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAGE]",
            help="A page, such as files, or the name of a command.",
            autocompletion=complete_page,
        ),
    ] = None,
    find: Annotated[
        str | None,
        typer.Option("--find", metavar="WORDS", help="Show the lines of all pages that hold these words."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a page of the guide, list all pages, or find words in them.

    Every error names a page. The guide comes with the package: nothing is asked of a network.

    Example:  sfumato help files
    """
    from sfumato.cli.guide_page import guide_pages, page_name

    pages = guide_pages()
    asked = None if page is None else pages.get(page_name(page))
    if page is not None and asked is None:
        usage = None if find else _usage(ctx, page.split())
        if usage is None:
            raise WrongCall("there is no such page or command.", remedy="`sfumato help` lists pages.")
        _show(usage, {"name": page, "page": "docs/reference/commands.md", "text": usage}, as_json=as_json)
    elif find is not None:
        _show_found(find, list(pages.values()) if asked is None else [asked], as_json=as_json)
    elif asked is not None:
        content: dict[str, object] = {"name": asked.name, "page": asked.place, "text": asked.text}
        _show(asked.text, content, as_json=as_json)
    else:
        names = [{"name": one.name, "title": one.title, "page": one.place} for one in pages.values()]
        _show(_listing(list(pages.values())), {"pages": names}, as_json=as_json)


def _show_found(words: str, pages: Sequence[GuidePage], *, as_json: bool) -> None:
    """Prints the lines that hold some words, each with its page and heading."""
    lines = [(page.name, *found) for page in pages for found in page.lines_with(words)]
    told = [f"{name}, {heading}: {line}" for name, heading, line in lines[:MOST_LINES]]
    more = [f"and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    keys = ("name", "heading", "line")
    content: dict[str, object] = {"lines": [dict(zip(keys, line, strict=True)) for line in lines]}
    _show("\n".join([*told, *more]) or "no page has these words", content, as_json=as_json)


def _listing(pages: Sequence[GuidePage]) -> str:
    width = max((len(page.name) for page in pages), default=0)
    lines = ["pages of the guide; `sfumato help PAGE` shows one, `sfumato help --find WORDS` finds words"]
    for part, some in groupby(pages, key=lambda page: page.part):
        lines += [f"{part}:", *(f"  {page.name:<{width}}  {page.title}" for page in some)]
    return "\n".join(lines)


def _usage(ctx: typer.Context, words: Sequence[str]) -> str | None:
    """The help text of a command; nothing where there is none of this name."""
    command, below = ctx.find_root().command, ctx.find_root()
    for word in words:
        inner = getattr(command, "commands", {}).get(word)  # only groups have commands
        if inner is None:
            return None
        command = inner
        below = typer.Context(command, parent=below, info_name=word)
    return str(command.get_help(below))


def _show(text: str, content: dict[str, object], *, as_json: bool) -> None:
    """Prints a long text: page by page where somebody looks at it."""
    if as_json:
        document(content)
    elif sys.stdout.isatty():
        from pydoc import pager  # seldom needed, and not quick to load

        pager(text)
    else:
        say(text.rstrip("\n"))

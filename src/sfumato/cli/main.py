"""The program `sfumato`: one verb per stage, and one place where everything that goes wrong ends up."""

# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from typer.core import TyperArgument

import sfumato
from sfumato.cli.attack import AttackCommand, attack, audit, knowledge
from sfumato.cli.declare import declare
from sfumato.cli.demo import demo
from sfumato.cli.discover import discover
from sfumato.cli.doctor import compile_, doctor
from sfumato.cli.guide_page import complete_page, page_name
from sfumato.cli.init import init
from sfumato.cli.ledger import certificate, ledger
from sfumato.cli.options import AsJson, PlainGroup, argument, valued
from sfumato.cli.policy import policy
from sfumato.cli.protect import protect
from sfumato.cli.release import history, override, release
from sfumato.cli.report import compare, report
from sfumato.cli.streams import CarriedError, carry_interruptions, lost_output, needs_supervision, supervised
from sfumato.cli.studio import studio
from sfumato.cli.terminal import document, print_note, print_result
from sfumato.cli.trace import erase, trace
from sfumato.system.errors import (
    BadData,
    BadInput,
    BadLedger,
    BadPolicy,
    BadTaxonomy,
    BrokenPromise,
    Infeasible,
    Interrupted,
    LedgerConflict,
    NotEnoughMemory,
    RefusedByHistory,
    SfumatoError,
    StoreUnavailable,
    Unfinished,
    UsageError,
)
from sfumato.system.memory import check_address_space, is_out_of_memory
from sfumato.system.plugins import compilation, silence_library_logs
from sfumato.system.progress import StopAsked, as_shown, stop_request, what_became

if TYPE_CHECKING:
    from sfumato.cli.guide_page import GuidePage


# `sfumato help`: the guide in the terminal, without a network and without a clone.


MOST_LINES = 40
"""So many lines of the guide are shown for some words."""


def help_(
    ctx: typer.Context,
    page: Annotated[
        str | None,
        argument("[PAGE]", "A page, such as files, or the name of a command.", complete=complete_page),
    ] = None,
    find: Annotated[
        str | None, valued("--find", "WORDS", "Show the lines of all pages that hold these words.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a page of the guide, list all pages, or find words in them.

    Every error names a page. The guide comes with the package: nothing is asked of a network.

    Example:  sfumato help files
    """
    from sfumato.cli.guide_page import guide_pages, page_name

    pages = guide_pages()
    chosen = None if page is None else pages.get(page_name(page))
    if page is not None and chosen is None:
        usage = None if find else _usage(ctx, page.split())
        if usage is None:
            raise UsageError("there is no such page or command.", remedy="`sfumato help` lists pages.")
        _show(usage, {"name": page, "page": "docs/reference/commands.md", "text": usage}, as_json=as_json)
    elif find is not None:
        _show_found(find, list(pages.values()) if chosen is None else [chosen], as_json=as_json)
    elif chosen is not None:
        content: dict[str, object] = {"name": chosen.name, "page": chosen.place, "text": chosen.text}
        _show(chosen.text, content, as_json=as_json)
    else:
        names = [{"name": entry.name, "title": entry.title, "page": entry.place} for entry in pages.values()]
        _show(_listing(list(pages.values())), {"pages": names}, as_json=as_json)


def _show_found(words: str, pages: Sequence[GuidePage], *, as_json: bool) -> None:
    """Prints the lines that hold some words, each with its page and heading."""
    lines = [(page.name, *page_line) for page in pages for page_line in page.lines_with(words)]
    shown_lines = [f"{name}, {heading}: {line}" for name, heading, line in lines[:MOST_LINES]]
    more = [f"and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    keys = ("name", "heading", "line")
    content: dict[str, object] = {"lines": [dict(zip(keys, line, strict=True)) for line in lines]}
    _show("\n".join([*shown_lines, *more]) or "no page has these words", content, as_json=as_json)


def _listing(pages: Sequence[GuidePage]) -> str:
    width = max((len(page.name) for page in pages), default=0)
    lines = ["pages of the guide; `sfumato help PAGE` shows one, `sfumato help --find WORDS` finds words"]
    for part, of_part in groupby(pages, key=lambda page: page.part):
        lines += [f"{part}:", *(f"  {page.name:<{width}}  {page.title}" for page in of_part)]
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
        print_result(text.rstrip("\n"))


# The page of the guide that helps with an error, by the kind of the error.

HELP_PAGES: Mapping[type[SfumatoError], str] = {
    UsageError: "docs/reference/commands.md",
    BadInput: "docs/reference/errors.md",
    BadData: "docs/how-to/files.md",
    BadTaxonomy: "docs/how-to/hierarchies.md",
    BadPolicy: "docs/reference/policy.md",
    BadLedger: "docs/how-to/ledger.md",
    NotEnoughMemory: "docs/how-to/scale.md",
    StoreUnavailable: "docs/how-to/scale.md",
    BrokenPromise: "docs/how-to/audit_a_file.md",
    Infeasible: "docs/how-to/choose_promises.md",
    LedgerConflict: "docs/how-to/ledger.md",
    Unfinished: "docs/how-to/backup.md",
    RefusedByHistory: "docs/explanation/continuous.md",
    SfumatoError: "docs/reference/errors.md",
}
"""Pages by kind; of a kind that is not listed, the page of the kind that it is one of."""


def help_page(error: SfumatoError) -> str | None:
    """Returns the page that helps with an error; none where somebody stopped the program themselves.

    >>> from sfumato.system.errors import NotACut
    >>> help_page(NotACut("two nodes overlap"))
    'docs/how-to/hierarchies.md'
    """
    if error.exit_code == 130:
        return None
    return next(HELP_PAGES[kind] for kind in type(error).__mro__ if kind in HELP_PAGES)


VERBS: Mapping[str, Callable[..., object]] = {
    "init": init,
    "discover": discover,
    "declare": declare,
    "protect": protect,
    "audit": audit,
    "attack": attack,
    "release": release,
    "report": report,
    "override": override,
    "history": history,
    "erase": erase,
    "trace": trace,
    "knowledge": knowledge,
    "studio": studio,
    "demo": demo,
    "doctor": doctor,
    "help": help_,
    "compile": compile_,
    "utility": compare,
}
COMMANDS = {"attack": AttackCommand}
"""Commands that make a part of their help anew whenever it is asked for."""
GROUPS: Mapping[str, typer.Typer] = {"policy": policy, "ledger": ledger, "certificate": certificate}
NAMES = (*VERBS, *GROUPS)
"""All commands, in the order of the help page."""


def program(names: Sequence[str] = NAMES) -> typer.Typer:
    """Returns the program with these commands: Typer takes a while to build each."""
    application = typer.Typer(
        name="sfumato",
        cls=PlainGroup,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog="Exit codes: 0 fine, 1 a promise does not hold, 2 wrong call, 3 bad data or policy, "
        "4 somebody else released first (try again), 5 refused because of earlier releases, 70 a bug.",
    )
    application.callback()(sfumato_)
    for name in names:
        if name in VERBS:
            application.command(name, cls=COMMANDS.get(name))(carry_interruptions(VERBS[name]))
        else:
            application.add_typer(GROUPS[name], name=name)
    return application


def _version(wanted: bool) -> None:
    if wanted:
        print_result(f"sfumato {sfumato.__version__}")
        raise typer.Exit


def sfumato_(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish tables about people so that nobody can be singled out and no secret inferred.

    Try it:  sfumato demo demo-out
    """
    del version  # its callback has printed it
    check_address_space()


app = program()


def main() -> NoReturn:
    """The entry point."""
    if not needs_supervision():
        sys.exit(_run_watched())
    try:
        code = supervised(_run_watched)
        stop_request.ignore()
    except NotEnoughMemory as error:
        code = _report(error, sys.argv[1:])
    sys.exit(code)


def _run_watched() -> int:
    """Do what the program was asked for; signals are noted."""
    stop_request.watch()
    silence_library_logs()
    compilation.tell = print_note
    return _told(run(sys.argv[1:]))


def _told(code: int) -> int:
    """Returns the exit code after results were written: what is published counts, whoever is told of it."""
    error = lost_output()
    if error is None:
        return code
    print_note(f"the results cannot be written to stdout ({error.strerror}); {what_became()}")
    return code or (0 if stop_request.published else BadInput.exit_code)


def run(arguments: Sequence[str]) -> int:
    """Do what the arguments say; returns the exit code."""
    stop_request.published = False
    try:
        code: object = _program_for(arguments)(
            args=list(arguments), prog_name="sfumato", standalone_mode=False
        )
        if code == Interrupted.exit_code:  # Typer's answer to a signal that came while it read the arguments
            raise StopAsked
        if stop_request.asked:
            print_note("asked to stop too late: this call was finished")
        _ignore_signals()
        return code if isinstance(code, int) else 0
    except SystemExit:
        raise
    except BaseException as raised:  # a panic of a compiled library is no Exception; its text may hold cells
        _ignore_signals()
        error = raised.__cause__ if isinstance(raised, CarriedError) and raised.__cause__ else raised
        if stop_request.asked and not stop_request.published and not isinstance(error, Unfinished):
            stop_request.cut_short, error = raised, KeyboardInterrupt()
            stop_request.remove_folders()
        return _report(as_ours(error), arguments)


def _program_for(arguments: Sequence[str]) -> typer.Typer:
    """Returns the program with the one command that is asked for; with all of them where none is named.

    `help` looks at the others.
    """
    first = arguments[0] if arguments else None
    return program([first]) if first in NAMES and first != "help" else app


def _ignore_signals() -> None:
    """Nothing is left to be stopped; signals of a process that is not the program's are not ours."""
    if stop_request.watching:
        stop_request.ignore()


def as_ours(error: BaseException) -> SfumatoError:
    """Returns anything that went wrong as an error that may be shown."""
    if isinstance(error, SfumatoError):
        return error
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return Interrupted(f"interrupted; {what_became()}")
    if isinstance(error, typer.TyperException):
        return _wrong_call(error)
    if not isinstance(error, OSError) and not is_out_of_memory(error) and os.environ.get("SFUMATO_DEBUG"):
        print_note("A traceback may hold values of your data:")
        traceback.print_exception(error)
    return as_shown(error)


def _report(error: SfumatoError, arguments: Sequence[str]) -> int:
    """Print what went wrong on stderr, and with --json also as the one document on stdout; the exit code."""
    print_note(f"{_place(error)}{error.message}")
    if error.remedy:
        print_note(error.remedy)
    if page := help_page(error):
        print_note(f"This page helps: {page} (sfumato help {page_name(page)})")
    if error.values and "--show-values" in arguments:
        print_note("values: " + ", ".join(repr(value) for value in error.values))
    if "--json" in arguments:
        document({"error": as_document(error)})
    return error.exit_code


def as_document(error: SfumatoError) -> dict[str, object]:
    """Returns an error as JSON; that of a policy lists each problem by itself."""
    whole: dict[str, object] = {
        "kind": type(error).__name__,
        "message": error.message,
        "where": error.where,
        "remedy": error.remedy,
        "exit_code": error.exit_code,
        "page": help_page(error),
    }
    if not isinstance(error, BadPolicy):
        return whole
    alone = {"line": None, "key": error.where, "message": error.message, "remedy": error.remedy}
    return {**whole, "problems": [dict(problem) for problem in error.problems] or [alone]}


def _place(error: SfumatoError) -> str:
    return f"{error.where}: " if error.where else ""


def _wrong_call(error: typer.TyperException) -> UsageError:
    text = getattr(error, "format_message", lambda: str(error))()  # not every error of Typer has it
    return UsageError(text, remedy=_how_to_call(error))


def _how_to_call(error: typer.TyperException) -> str:
    """Returns one whole call of the command, and what its arguments are where one of them is missing."""
    context: typer.Context | None = getattr(error, "ctx", None)
    if context is None:
        return "See `sfumato --help`."
    arguments = [p for p in context.command.params if isinstance(p, TyperArgument)]
    missing = getattr(error, "param", None) in arguments
    needs = [f"{p.metavar}: {p.help}" for p in arguments if missing and p.metavar and p.help]
    examples = [line for line in (context.command.help or "").splitlines() if line.startswith("Example:")]
    return "\n".join([*needs, *examples[:1], f"See `{context.command_path} --help`."])

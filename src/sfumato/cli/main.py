"""The program `sfumato`: one verb per stage, and one place where everything that goes wrong ends up."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, NoReturn

import typer
from typer.core import TyperArgument

import sfumato
from sfumato.cli.attack import attack
from sfumato.cli.audit import audit
from sfumato.cli.certificate import certificate
from sfumato.cli.compare import compare
from sfumato.cli.compile import compile_
from sfumato.cli.declare import declare
from sfumato.cli.demo import demo
from sfumato.cli.discover import discover
from sfumato.cli.doctor import doctor
from sfumato.cli.erase import erase
from sfumato.cli.guide_page import page_name
from sfumato.cli.help import help_
from sfumato.cli.help_pages import help_page
from sfumato.cli.init import init
from sfumato.cli.interruptions import CarriedError, carry_interruptions
from sfumato.cli.knowledge import knowledge
from sfumato.cli.ledger import ledger
from sfumato.cli.override import override
from sfumato.cli.plain_values import PlainGroup
from sfumato.cli.policy import policy
from sfumato.cli.protect import protect
from sfumato.cli.release import history, release
from sfumato.cli.report import report
from sfumato.cli.streams import lost_output
from sfumato.cli.studio import studio
from sfumato.cli.supervised_run import needs_supervision, supervised
from sfumato.cli.terminal import document, say, talk
from sfumato.cli.trace import trace
from sfumato.core.errors import (
    BadInput,
    BadPolicy,
    Interrupted,
    NotEnoughMemory,
    SfumatoError,
    Unfinished,
    WrongCall,
)
from sfumato.system.compilation import compilation
from sfumato.system.library_logs import silence_library_logs
from sfumato.system.memory import check_address_space, is_out_of_memory
from sfumato.system.stop_request import StopAsked, stop_request
from sfumato.system.unexpected_error import as_shown, what_became

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
GROUPS: Mapping[str, typer.Typer] = {"policy": policy, "ledger": ledger, "certificate": certificate}
NAMES = (*VERBS, *GROUPS)
"""All commands, in the order of the help page."""


def program(names: Sequence[str] = NAMES) -> typer.Typer:
    """Returns the program with these commands: Typer takes a while to build each."""
    made = typer.Typer(
        name="sfumato",
        cls=PlainGroup,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog="Exit codes: 0 fine, 1 a promise does not hold, 2 wrong call, 3 bad data or policy, "
        "4 somebody else released first (try again), 5 refused because of earlier releases, 70 a bug.",
    )
    made.callback()(sfumato_)
    for name in names:
        if name in VERBS:
            made.command(name)(carry_interruptions(VERBS[name]))
        else:
            made.add_typer(GROUPS[name], name=name)
    return made


def _version(asked: bool) -> None:
    if asked:
        say(f"sfumato {sfumato.__version__}")
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
    compilation.tell = talk
    return _told(run(sys.argv[1:]))


def _told(code: int) -> int:
    """Returns the exit code after results were written: what is published counts, whoever is told of it."""
    error = lost_output()
    if error is None:
        return code
    talk(f"the results cannot be written to stdout ({error.strerror}); {what_became()}")
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
            talk("asked to stop too late: this call was finished")
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
        talk("A traceback may hold values of your data:")
        traceback.print_exception(error)
    return as_shown(error)


def _report(error: SfumatoError, arguments: Sequence[str]) -> int:
    """Print what went wrong on stderr, and with --json also as the one document on stdout; the exit code."""
    talk(f"{_place(error)}{error.message}")
    if error.remedy:
        talk(error.remedy)
    if page := help_page(error):
        talk(f"This page helps: {page} (sfumato help {page_name(page)})")
    if error.values and "--show-values" in arguments:
        talk("values: " + ", ".join(repr(value) for value in error.values))
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


def _wrong_call(error: typer.TyperException) -> WrongCall:
    text = getattr(error, "format_message", lambda: str(error))()  # not every error of Typer has it
    return WrongCall(text, remedy=_how_to_call(error))


def _how_to_call(error: typer.TyperException) -> str:
    """Returns one whole call of the command, and what its arguments are where one of them is missing."""
    context: typer.Context | None = getattr(error, "ctx", None)
    if context is None:
        return "See `sfumato --help`."
    arguments = [one for one in context.command.params if isinstance(one, TyperArgument)]
    missing = getattr(error, "param", None) in arguments
    told = [f"{one.metavar}: {one.help}" for one in arguments if missing and one.metavar and one.help]
    examples = [line for line in (context.command.help or "").splitlines() if line.startswith("Example:")]
    return "\n".join([*told, *examples[:1], f"See `{context.command_path} --help`."])

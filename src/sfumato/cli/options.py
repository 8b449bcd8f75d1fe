"""Arguments and options that several verbs share."""

# ruff: noqa: PLC0415  # Spark is loaded when it is asked for

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from sfumato.cli.guide_page import complete_chain, complete_policy
from sfumato.cli.terminal import print_note
from sfumato.system.address import is_address, is_database
from sfumato.system.errors import UsageError
from sfumato.table.data_file import NO_FORM, DataFile, SourceForm

if TYPE_CHECKING:
    from sfumato.table.source import Frame
    from sfumato.workflows.patterns import Drawable


def valued(  # as Typer declares its options
    flag: str,
    mark: str | None,
    meaning: str,
    *,
    short: str | None = None,
    least: int | None = None,
    variable: str | None = None,
    complete: Callable[..., Any] | None = None,
) -> Any:
    """Returns an option that takes a value, which help pages call `mark`.

    `variable` is read where the option is left out, and `complete` offers values to a shell.
    """
    flags = (flag,) if short is None else (flag, short)
    return typer.Option(
        *flags, metavar=mark, help=meaning, min=least, envvar=variable, autocompletion=complete
    )


def option(flag: str, meaning: str, **more: Any) -> Any:
    """Returns a switch, or an option whose value help pages call by its type; `more` is as for `valued`."""
    return valued(flag, None, meaning, **more)


def argument(mark: str, meaning: str, *, complete: Callable[..., Any] | None = None) -> Any:
    """Returns an argument, which help pages call `mark`."""
    return typer.Argument(metavar=mark, help=meaning, autocompletion=complete)


ROWS = "file of rows (CSV, Parquet, XLSX, SPSS, …) or a database."
"""What every command that reads data takes, in words."""
Data = Annotated[str, argument("DATA", f"A {ROWS}")]
Encoding = Annotated[str | None, valued("--encoding", "NAME", "Of a text file: utf-8, windows-1252, …")]
Delimiter = Annotated[str | None, valued("--delimiter", "MARK", "What separates cells: , ; | or tab.")]
Decimal = Annotated[
    str | None, valued("--decimal", "MARK", "The decimal mark of numbers in texts: , or a point.")
]
DateFormat = Annotated[
    str | None, valued("--date-format", "FORM", "How texts write dates, such as dd.mm.yyyy.")
]
PolicyFile = Annotated[
    Path, valued("--policy", "POLICY", "The policy file (YAML).", short="-p", complete=complete_policy)
]
PolicyArgument = Annotated[Path, argument("POLICY", "The policy file (YAML).", complete=complete_policy)]
ReferenceFile = Annotated[
    Path | None,
    valued(
        "--reference",
        "FILE",
        "What `protect` kept of the original table; by default the file beside the data.",
    ),
]
HeaderLine = Annotated[
    bool, option("--header", "The first line of a CSV file names the columns, though it may not look so.")
]
AsJson = Annotated[bool, option("--json", "Print one JSON document instead of text.")]
ShowValues = Annotated[
    bool, option("--show-values", "Also print the values of your data that a message is about, on stderr.")
]
Charts = Annotated[Path | None, valued("--charts", "FOLDER", "Draw charts into a folder.")]
Dictionary = Annotated[
    bool, option("--dictionary", "Also say what columns and values mean, beside the file.")
]
Overwrite = Annotated[bool, option("--overwrite", "Replace the output if it exists.")]
LedgerUrl = Annotated[
    str,
    valued(
        "--ledger", "URL", "The ledger: sqlite:///FILE or postgresql://HOST/NAME.", variable="SFUMATO_LEDGER"
    ),
]
Against = Annotated[
    str | None, valued("--against", "URL", "A ledger: also compare with every release of a chain in it.")
]
Chain = Annotated[
    str, option("--chain", "The series of releases that this one continues.", complete=complete_chain)
]
OneChain = Annotated[str | None, option("--chain", "Only this series of releases.", complete=complete_chain)]
ReusePlan = Annotated[
    Path | None,
    valued(
        "--reuse-plan",
        "PLAN",
        "Transform as an earlier plan did: its JSON (`protect --json`), or a release's certificate.",
    ),
]
MemoryLimit = Annotated[str | None, valued("--memory", "SIZE", "How much memory may be used, such as 4GB.")]
SpillFolder = Annotated[
    Path | None,
    valued(
        "--spill",
        "FOLDER",
        "A folder for rows that do not fit into memory; by default the temporary folder.",
        variable="SFUMATO_SPILL",
    ),
]
KeyFile = Annotated[
    Path | None,
    valued(
        "--key",
        "FILE",
        "The signing key; by default beside the SQLite file, and made when first needed.",
        variable="SFUMATO_LEDGER_KEY",
    ),
]
OpeningKey = Annotated[
    Path | None,
    valued(
        "--key",
        "FILE",
        "The key that opens what is encrypted; by default beside the SQLite file.",
        variable="SFUMATO_LEDGER_KEY",
    ),
]
PublicKey = Annotated[Path | None, valued("--key", "FILE", "The public key that the publisher gave you.")]

Compare = Annotated[bool, option("--compare", "Say what each search gave (search: best).")]

Sheet = Annotated[
    str | None, valued("--sheet", "NAME", "The sheet of a spreadsheet; by default its only one.")
]
Query = Annotated[
    str | None, valued("--query", "SQL", "What is asked of a database, whose address DATA then is.")
]
LongestCell = Annotated[
    str | None, valued("--longest-cell", "BYTES", "Of a text file: how long a cell may be.")
]
Empty = Annotated[
    str | None,
    valued("--empty", "TEXTS", "Of a text file: texts that stand for an empty cell, as in NA,NULL."),
]
Catalog = Annotated[
    str | None,
    valued("--catalog", "FILE", "Of a file of SAS: the .sas7bcat file with the labels of its codes."),
]
SOURCE_OPTIONS = {
    "encoding": Encoding,
    "delimiter": Delimiter,
    "decimal": Decimal,
    "date_format": DateFormat,
    "sheet": Sheet,
    "query": Query,
    "longest_cell": LongestCell,
    "empty": Empty,
    "catalog": Catalog,
}
"""How the data of a verb are read; what a policy says under `source` need not be said again."""


def reads_data(verb: Callable[..., None]) -> Callable[..., None]:
    """Returns a verb with the options of `SOURCE_OPTIONS`, which it receives as one `form`."""
    plain = inspect.signature(verb, eval_str=True)
    others = [parameter for name, parameter in plain.parameters.items() if name != "form"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in SOURCE_OPTIONS.items()
    ]

    @wraps(verb)
    def reading(**options: object) -> None:
        source_options = {name: options.pop(name) for name in SOURCE_OPTIONS}
        words = {name: str(word) for name, word in source_options.items() if word is not None}
        if words.get("delimiter", "").lower() in ("tab", "\\t"):
            words["delimiter"] = "\t"
        return verb(**options, form=SourceForm(**words))

    signature = plain.replace(parameters=[*others, *added])
    reading.__signature__ = signature  # type: ignore[attr-defined]  # where Typer, by `inspect`, looks
    reading.__annotations__ = {name: p.annotation for name, p in signature.parameters.items()}
    return reading


# `--engine`: what reads the table.


Engine = Annotated[
    str | None, valued("--engine", "NAME", "spark: Spark reads and counts the table, by path or name.")
]


def table_read_by(engine: str | None, data: str, form: SourceForm = NO_FORM) -> str | DataFile | Frame:
    """Returns the table as the engine reads it; without an engine, its file or address.

    `form` is what the caller says of how a file is read.
    """
    if engine is None and is_address(data) and not is_database(data) and not form:
        return data
    if engine is None:
        return DataFile(data, **_arguments(form), note=print_note)
    if engine != "spark":
        raise UsageError("there is no such engine", remedy="Say spark, or leave --engine out.")
    if form:
        raise UsageError(
            f"Spark reads tables in its own way, without --{next(iter(form.words))}",
            remedy="Leave it out, or read the file without --engine.",
        )
    try:
        from sfumato.table.spark.source import spark_table
    except ImportError:
        raise UsageError(
            "Spark is not installed", remedy="Run `pip install 'sfumato[spark]'`, then `sfumato doctor`."
        ) from None
    return spark_table(data)


def _arguments(form: SourceForm) -> dict[str, str]:
    return {key.replace("-", "_"): word for key, word in form.words.items()}


# Texts and paths of a command line, read without what Typer loads to read values of other kinds.
#
# Typer reads every value by pydantic, which takes longer to load than most commands need for parsing. A
# text
# is what was typed, a path is the path that was typed, texts of an option that may be repeated are a list
# of
# these, and an option that was left out has no value: nothing has to be loaded for these. Whatever else
# there
# is, and whatever is wrong, is left to Typer.


class PlainGroup(TyperGroup):
    """The program: it reads texts and paths itself, its own and those of all commands below it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Typer exports no type of a context here
        _read_plainly(self, ctx)
        return super().parse_args(ctx, args)


def _read_plainly(command: Any, ctx: Any) -> None:  # Typer exports no type of commands and parameters
    """Lets all parameters of a command, and of those below it, be read plainly where that is enough."""
    for parameter in command.get_params(ctx):
        if parameter.nargs == 1:
            parameter.process_value = _plain_reading(parameter, parameter.process_value)
    for below in getattr(command, "commands", {}).values():  # only groups have commands
        _read_plainly(below, ctx)


def _plain_reading(parameter: Any, by_typer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns how one parameter is read: plainly where that is enough, else by Typer."""
    described = getattr(parameter, "type_descriptor", None)  # not every version of Typer has it
    repeated = getattr(parameter, "multiple", False)  # arguments are never multiple
    left_out = () if repeated else None

    def read(ctx: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            return left_out if parameter.callback is None else parameter.callback(ctx, parameter, left_out)
        is_text = _are_texts(value) if repeated else _is_unicode(value)
        if described is None or parameter.callback is not None or not is_text:
            return by_typer(ctx, value)
        if described.annotation == list[str] and described.parameter_info.parser is None:
            return list(value)
        if described.annotation is str and described.parameter_info.parser is None:
            return value
        if described.annotation is Path and _is_plain_path(value, described.parameter_info):
            return Path(value)
        return by_typer(ctx, value)

    return read


def _is_plain_path(text: str, kind: Any) -> bool:
    """Whether nothing is asked of a path but that it can be read where it exists, and that is so."""
    more = (kind.parser, kind.exists, kind.writable, kind.resolve_path)
    if any(more) or not (kind.file_okay and kind.dir_okay):
        return False
    return not Path(text).exists() or os.access(text, os.R_OK)


def _are_texts(values: object) -> bool:
    """Whether a value is several texts in Unicode."""
    return isinstance(values, list | tuple) and all(map(_is_unicode, values))


def _is_unicode(value: object) -> bool:
    """Whether a value is a text in Unicode: bytes on a command line that are not arrive as surrogates."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


# `--charts`: the charts of a result, drawn into a folder.


def draw_charts(result: Drawable, folder: Path | None) -> tuple[Path, ...]:
    """Draw a result's charts if a folder is named; returns the files."""
    if folder is None:
        return ()
    from sfumato.workflows.patterns import draw

    return draw(result, folder)


def tell_drawn(files: tuple[Path, ...]) -> None:
    """Say which files were drawn, if any."""
    if files:
        print_note(f"drew {', '.join(str(file) for file in files)}")

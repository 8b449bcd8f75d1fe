"""Arguments and options that several verbs share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.completion import complete_chain, complete_policy
from sfumato.core.data_file import SourceForm


def valued(flag: str, mark: str, meaning: str) -> Any:  # as Typer declares its options
    """Returns an option that takes a value, which help pages call `mark`."""
    return typer.Option(flag, metavar=mark, help=meaning)


ROWS = "file of rows (CSV, Parquet, XLSX, SPSS, …) or a database."
"""What every command that reads data takes, in words."""
Data = Annotated[str, typer.Argument(metavar="DATA", help=f"A {ROWS}")]
Encoding = Annotated[str | None, valued("--encoding", "NAME", "Of a text file: utf-8, windows-1252, …")]
Delimiter = Annotated[str | None, valued("--delimiter", "MARK", "What separates cells: , ; | or tab.")]
Decimal = Annotated[
    str | None, valued("--decimal", "MARK", "The decimal mark of numbers in texts: , or a point.")
]
DateFormat = Annotated[
    str | None, valued("--date-format", "FORM", "How texts write dates, such as dd.mm.yyyy.")
]
PolicyFile = Annotated[
    Path,
    typer.Option(
        "--policy", "-p", metavar="POLICY", help="The policy file (YAML).", autocompletion=complete_policy
    ),
]
PolicyArgument = Annotated[
    Path,
    typer.Argument(metavar="POLICY", help="The policy file (YAML).", autocompletion=complete_policy),
]
ReferenceFile = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="FILE",
        help="What `protect` kept of the original table; by default the file beside the data.",
    ),
]
HeaderLine = Annotated[
    bool,
    typer.Option(
        "--header", help="The first line of a CSV file names the columns, though it may not look so."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
ShowValues = Annotated[
    bool,
    typer.Option(
        "--show-values", help="Also print the values of your data that a message is about, on stderr."
    ),
]
Charts = Annotated[Path | None, typer.Option("--charts", metavar="FOLDER", help="Draw charts into a folder.")]
Dictionary = Annotated[
    bool, typer.Option("--dictionary", help="Also say what columns and values mean, beside the file.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
LedgerUrl = Annotated[
    str,
    typer.Option(
        "--ledger",
        metavar="URL",
        envvar="SFUMATO_LEDGER",
        help="The ledger: sqlite:///FILE or postgresql://HOST/NAME.",
    ),
]
Against = Annotated[
    str | None, valued("--against", "URL", "A ledger: also compare with every release of a chain in it.")
]
Chain = Annotated[
    str,
    typer.Option(
        "--chain",
        help="The series of releases that this one continues.",
        autocompletion=complete_chain,
    ),
]
OneChain = Annotated[
    str | None,
    typer.Option("--chain", help="Only this series of releases.", autocompletion=complete_chain),
]
Like = Annotated[
    Path | None,
    typer.Option(
        "--like",
        metavar="PLAN",
        help="Transform as an earlier plan did: its JSON (`protect --json`), or a release's certificate.",
    ),
]
MemoryLimit = Annotated[str | None, valued("--memory", "SIZE", "How much memory may be used, such as 4GB.")]
SpillFolder = Annotated[
    Path | None,
    typer.Option(
        "--spill",
        metavar="FOLDER",
        envvar="SFUMATO_SPILL",
        help="A folder for rows that do not fit into memory; by default the temporary folder.",
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        envvar="SFUMATO_LEDGER_KEY",
        help="The signing key; by default beside the SQLite file, and made when first needed.",
    ),
]
OpeningKey = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        envvar="SFUMATO_LEDGER_KEY",
        help="The key that opens what is encrypted; by default beside the SQLite file.",
    ),
]
PublicKey = Annotated[Path | None, valued("--key", "FILE", "The public key that the publisher gave you.")]

Compare = Annotated[bool, typer.Option("--compare", help="Say what each search gave (search: best).")]

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
    kept = [parameter for name, parameter in plain.parameters.items() if name != "form"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in SOURCE_OPTIONS.items()
    ]

    @wraps(verb)
    def reading(**given: object) -> None:
        said = {name: given.pop(name) for name in SOURCE_OPTIONS}
        words = {name: str(word) for name, word in said.items() if word is not None}
        if words.get("delimiter", "").lower() in ("tab", "\\t"):
            words["delimiter"] = "\t"
        return verb(**given, form=SourceForm(**words))

    signature = plain.replace(parameters=[*kept, *added])
    reading.__signature__ = signature  # type: ignore[attr-defined]  # where Typer, by `inspect`, looks
    reading.__annotations__ = {name: p.annotation for name, p in signature.parameters.items()}
    return reading

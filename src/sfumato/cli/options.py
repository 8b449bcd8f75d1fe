"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[str, typer.Argument(metavar="DATA", help="A CSV or Parquet file.")]
PolicyFile = Annotated[Path, typer.Option("--policy", "-p", metavar="POLICY", help="The policy file (YAML).")]
PolicyArgument = Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file (YAML).")]
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
    str | None,
    typer.Option(
        "--against",
        metavar="URL",
        help="A ledger: also compare with every release of a chain in it.",
    ),
]
Chain = Annotated[str, typer.Option("--chain", help="The series of releases that this one continues.")]
Like = Annotated[
    Path | None,
    typer.Option(
        "--like",
        metavar="PLAN",
        help="Transform as an earlier plan did: its JSON (`protect --json`), or a release's certificate.",
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="How much memory may be used, such as 4GB."),
]
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
PublicKey = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The public key that the publisher gave you."),
]

Compare = Annotated[bool, typer.Option("--compare", help="Say what each search gave (search: best).")]

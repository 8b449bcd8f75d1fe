"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[str, typer.Argument(metavar="DATA", help="A CSV or Parquet file.")]
PolicyFile = Annotated[Path, typer.Option("--policy", "-p", metavar="POLICY", help="The policy file (YAML).")]
ReferenceFile = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="FILE",
        help="What was kept of the original table; else as found beside the data.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
ShowValues = Annotated[
    bool,
    typer.Option("--show-values", help="Also show, on stderr only, the values of your data concerned."),
]
Charts = Annotated[Path | None, typer.Option("--charts", metavar="FOLDER", help="Draw charts into a folder.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
LedgerUrl = Annotated[
    str,
    typer.Option(
        "--ledger", metavar="URL", envvar="SFUMATO_LEDGER", help="sqlite:///FILE or postgresql://HOST/NAME."
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="URL",
        help="A ledger: look at every release of a chain, too.",
    ),
]
Chain = Annotated[str, typer.Option("--chain", help="The series of releases that this one continues.")]
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
        help="Where rows wait that memory has no room for; else the system's temporary folder.",
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        envvar="SFUMATO_LEDGER_KEY",
        help="The signing key; else beside the SQLite file, made when first needed.",
    ),
]
PublicKey = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The public key, as you know it from the publisher."),
]

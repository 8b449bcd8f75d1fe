"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file.")]
PolicyFile = Annotated[Path, typer.Option("--policy", "-p", metavar="POLICY", help="The policy file (YAML).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
ShowValues = Annotated[
    bool,
    typer.Option("--show-values", help="Also show, on stderr only, the values of your data concerned."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]

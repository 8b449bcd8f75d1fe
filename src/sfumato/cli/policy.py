"""`sfumato policy`: is a policy sound, and what does a policy look like?"""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, ShowValues
from sfumato.cli.terminal import document

policy = typer.Typer(help="Check a policy, or print the shape of policies.", rich_markup_mode=None)


@policy.command()
def schema() -> None:
    """Print the JSON Schema of policy files, for editors.

    Example:  sfumato policy schema > sfumato.schema.json
    """
    from sfumato.declare.schema import schema as shape

    document(shape())


@policy.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file (YAML).")],
    data: Annotated[Path | None, typer.Argument(metavar="[DATA]", help="A CSV or Parquet file.")] = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Check a policy and its taxonomies, alone or against data, and propose repairs.

    Exits 3 if something is wrong.

    Example:  sfumato policy check policy.yaml patients.csv
    """
    raise NotImplementedError

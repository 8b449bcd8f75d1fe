"""`sfumato attack`: one adversary."""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.audit import tell
from sfumato.cli.options import AsJson, Data, PolicyFile, ShowValues
from sfumato.cli.terminal import progress_bar


def attack(
    name: Annotated[str, typer.Argument(metavar="NAME", help="linkage, homogeneity, skewness, …")],
    data: Data,
    policy: PolicyFile,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Try to break a published file as one adversary would.

    Exits 1 if more is achieved than the policy allows.

    Example:  sfumato attack linkage safe.csv --policy policy.yaml
    """
    from sfumato import journey

    with progress_bar() as progress:
        found = journey.attack(name, data, policy, progress=progress)
    tell(found, as_json=as_json, show_values=show_values)
    raise typer.Exit(1 if any(f.breach for f in found.findings) else 0)

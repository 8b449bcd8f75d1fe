"""`sfumato audit`: is this file safe to publish?"""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Data, PolicyFile, ShowValues
from sfumato.cli.terminal import document, progress_bar, say, talk

Strict = Annotated[
    bool, typer.Option("--strict", help="Exit 1 also when a promise cannot be decided from the file.")
]


def audit(
    data: Data,
    policy: PolicyFile,
    as_json: AsJson = False,
    strict: Strict = False,
    show_values: ShowValues = False,
) -> None:
    """Judge a published file from its bytes, and attack it.

    Exits 1 if a promise is broken.

    Example:  sfumato audit safe.csv --policy policy.yaml
    """
    from sfumato import journey
    from sfumato.report.card import values_of

    with progress_bar() as progress:
        found = journey.audit(data, policy, progress=progress)
    if as_json:
        document(found.as_dict())
    else:
        say(str(found))
    if show_values:
        talk("\n".join(values_of(found.findings)))
    raise typer.Exit(1 if found.holds is False or (strict and found.holds is None) else 0)

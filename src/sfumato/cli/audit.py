"""`sfumato audit`: is this file safe to publish?"""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import AsJson, Data, PolicyFile, ShowValues
from sfumato.cli.terminal import document, progress_bar, say

if TYPE_CHECKING:
    from sfumato.attack.audit import Audit

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
    """Judge a file that is or was to be published, and attack it.

    Exits 1 if a promise is broken.

    Example:  sfumato audit safe.csv --policy policy.yaml
    """
    from sfumato import journey

    with progress_bar() as progress:
        found = journey.audit(data, policy, progress=progress)
    tell(found, as_json=as_json, show_values=show_values)
    raise typer.Exit(exit_code(found, strict=strict))


def tell(found: Audit, *, as_json: bool, show_values: bool) -> None:
    """Print an audit."""
    from sfumato.report.card import audit_card

    if as_json:
        document(found.as_dict())
    else:
        say(str(audit_card(found, show_values=show_values)))


def exit_code(found: Audit, *, strict: bool) -> int:
    """1 for a broken promise; with `strict` also for one that cannot be decided."""
    return 1 if found.holds is False or (strict and found.holds is None) else 0

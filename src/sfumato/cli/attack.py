"""`sfumato attack`: one adversary."""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Data, PolicyFile, ShowValues
from sfumato.cli.terminal import document, progress_bar, say, talk


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
    from sfumato.attack.card import attack_card
    from sfumato.report.card import values_of

    with progress_bar() as progress:
        found = journey.attack(name, data, policy, progress=progress)
    if as_json:
        document({"findings": found.as_dict()["findings"]})
    else:
        say(str(attack_card(found.findings)))
    if show_values:
        talk("\n".join(values_of(found.findings)))
    raise typer.Exit(1 if found.breaches else 0)

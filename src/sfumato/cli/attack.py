"""`sfumato attack`: one adversary."""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.engine_option import Engine, read_by
from sfumato.cli.options import Against, AsJson, Chain, Data, PolicyFile, ReferenceFile, ShowValues
from sfumato.cli.terminal import FAILED, document, progress_bar, say, talk


def attack(
    name: Annotated[str, typer.Argument(metavar="NAME", help="linkage, homogeneity, skewness, …")],
    data: Data,
    policy: PolicyFile,
    against: Against = None,
    chain: Chain = "main",
    reference: ReferenceFile = None,
    engine: Engine = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Try to break a published file as one adversary would.

    Exits 1 if more is achieved than the policy allows, 70 if the attack failed.

    Example:  sfumato attack linkage safe.csv --policy policy.yaml
    """
    from sfumato.attacks.findings_card import attack_card
    from sfumato.journey.attack import attack as attack_
    from sfumato.reports.before_and_after import values_of

    with progress_bar() as progress:
        found = attack_(
            name,
            read_by(engine, data),
            policy,
            reference=reference,
            against=against,
            chain=chain,
            progress=progress,
        )
    if as_json:
        words = found.as_dict()
        document({name: words[name] for name in ("findings", "failed", "beside")})
    else:
        say(str(attack_card(found.findings)))
        for what in (*found.failed, *([str(found.beside)] if found.beside else [])):
            talk(what)
    if show_values:
        talk("\n".join(values_of(found.findings)))
    raise typer.Exit(1 if found.breaches else FAILED if found.failed else 0)

"""`sfumato attack`: one adversary."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.completion import complete_attack
from sfumato.cli.engine_option import Engine, table_read_by
from sfumato.cli.options import (
    Against,
    AsJson,
    Chain,
    PolicyFile,
    ReferenceFile,
    ShowValues,
    reads_data,
    valued,
)
from sfumato.cli.terminal import FAILED, document, progress_bar, say, talk
from sfumato.core.data_file import NO_FORM, SourceForm
from sfumato.core.errors import WrongCall

if TYPE_CHECKING:
    from sfumato.attacks.audit import Audit

MOST_PRINTED = 10
"""So many classes are printed in which rows are ruled out."""

Register = Annotated[
    Path | None,
    valued(
        "--register",
        "FILE",
        "The key columns of everybody in the table, as they were before; for minimality.",
    ),
]
Steps = Annotated[int | None, valued("--steps", "N", "How often the search is run at most (20000).")]
Seed = Annotated[int, valued("--seed", "N", "Fixes what is drawn at random.")]


AttackName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="The adversary: composition, correspondence, differencing, downcoding, exact-ends, freeform,"
        " gain, homogeneity, intersection, linkage, minimality, posterior-belief, quasi-sensitive, skewness"
        " or term-removal.",
        autocompletion=complete_attack,
    ),
]


@reads_data
def attack(  # noqa: PLR0917  # Typer reads the options from here
    name: AttackName,
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="A published file; several releases, oldest first, for who holds them all.",
        ),
    ],
    policy: PolicyFile,
    against: Against = None,
    chain: Chain = "main",
    reference: ReferenceFile = None,
    engine: Engine = None,
    register: Register = None,
    steps: Steps = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    show_values: ShowValues = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Try to break a published file as one adversary would.

    Exits 1 if the adversary achieves more than the policy allows, 2 if there is nothing to strike,
    70 if the attack broke down. Three adversaries know how the table is made: downcoding,
    minimality with --register, and term-removal.

    Example:  sfumato attack linkage safe.csv --policy policy.yaml

    Example:  sfumato attack correspondence q1.csv q2.csv --policy policy.yaml
    """
    from sfumato.attacks.findings_card import attack_card
    from sfumato.journey.attack import attack as attack_

    with progress_bar() as progress:
        tables = [table_read_by(engine, one, form) for one in data]
        if len(tables) > 1 and (name in ("downcoding", "term-removal") or register is not None):
            raise WrongCall(f"{name} looks at one table", remedy="Give one file.")
        if name == "downcoding":
            audit = attack_.downcoding(tables[0], policy, steps=steps, seed=seed, progress=progress)
        elif name == "term-removal":
            audit = attack_.term_removal(tables[0], policy, reference=reference, steps=steps)
        elif name == "minimality" and register is not None:
            audit = attack_.minimality(tables[0], policy, register, steps=steps, seed=seed, progress=progress)
        else:
            audit = attack_(
                name,
                tables,
                policy,
                reference=reference,
                against=against,
                chain=chain,
                progress=progress,
            )
    if as_json:
        whole = audit.as_dict()
        told = {key: whole[key] for key in ("findings", "failed", "beside")}
        if audit.beside is not None and name == "correspondence":
            told["cracked"] = audit.beside.cracked.as_dict()
        document({"fails": "attacks" if audit.breaches else None, **told})
    else:
        say(attack_card(audit.findings))
        say_cracked(audit, name)
        for remark in (*audit.failed, *([str(audit.beside)] if audit.beside else [])):
            talk(remark)
    if show_values:
        from sfumato.reports.before_and_after import values_of

        talk("\n".join(values_of(audit.findings)))
    raise typer.Exit(1 if audit.breaches else FAILED if audit.failed else 0)


def say_cracked(audit: Audit, name: str) -> None:
    """Print in which classes rows are ruled out, those with the fewest candidates first."""
    if audit.beside is None or name != "correspondence":
        return
    cracked = audit.beside.cracked
    for one in cracked.classes[:MOST_PRINTED]:
        say(str(one))
    if len(cracked.classes) > MOST_PRINTED:
        say(f"and {len(cracked.classes) - MOST_PRINTED} more classes: --json lists them")

"""`sfumato doctor`: is everything there that the program needs?"""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import AsJson, SpillFolder
from sfumato.cli.terminal import tell

LedgerToReach = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="URL",
        envvar="SFUMATO_LEDGER",
        help="Also try to reach this ledger.",
    ),
]


def doctor(
    ledger: LedgerToReach = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="ADDRESS", help="Also try to reach this object store."),
    ] = None,
    spill: SpillFolder = None,
    as_json: AsJson = False,
) -> None:
    """Check what the program needs, and say how to get what is missing.

    Looks at versions, memory, disk, Java and Spark; with --ledger and --store at a database and a store.
    Exits 3 if something needed is missing.

    Example:  sfumato doctor --ledger postgresql://host/ledger
    """
    from sfumato.journey.doctor import doctor as doctor_

    checkup = doctor_(ledger=ledger, store=store, spill=spill)
    tell(checkup, as_json=as_json)
    raise typer.Exit(0 if checkup.sound else 3)

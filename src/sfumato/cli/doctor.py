"""`sfumato doctor`: is everything there that the program stands on?"""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import AsJson, SpillFolder
from sfumato.cli.terminal import document, say

Asked = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="URL",
        envvar="SFUMATO_LEDGER",
        help="Also see whether this ledger can be reached.",
    ),
]


def doctor(
    ledger: Asked = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="ADDRESS", help="Also see whether this store can be reached."),
    ] = None,
    spill: SpillFolder = None,
    as_json: AsJson = False,
) -> None:
    """Look at versions, memory, disk, Java, Spark and database: what is missing, and how to get it.

    The database is the one that --ledger names. Exits 3 if something needed is missing.

    Example:  sfumato doctor --ledger postgresql://host/ledger
    """
    from sfumato.journey.doctor import doctor as look

    found = look(ledger=ledger, store=store, spill=spill)
    if as_json:
        document(found.as_dict())
    else:
        say(str(found))
    raise typer.Exit(0 if found.sound else 3)

"""`sfumato trace`: who leaked it?"""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.engine_option import Engine, read_by
from sfumato.cli.options import AsJson, Charts, LedgerUrl, ShowValues
from sfumato.cli.terminal import document, progress_bar, say, talk

LeakFile = Annotated[
    str, typer.Argument(metavar="LEAK", help="A CSV, Parquet or JSON file: a table or a record.")
]
Original = Annotated[
    str | None, typer.Option("--original", metavar="FILE", help="What the releases were made from.")
]
PolicyOf = Annotated[
    Path | None, typer.Option("--policy", "-p", metavar="POLICY", help="The policy of the original.")
]
CMax = Annotated[int, typer.Option("--c-max", min=1, help="Look for coalitions of at most so many.")]
OneChain = Annotated[str | None, typer.Option("--chain", help="Only this series of releases.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="THEIRS=OURS", help="What we call a column of it; may be repeated."),
]


def trace(
    leak: LeakFile,
    ledger: LedgerUrl = "sqlite:///ledger.db",
    original: Original = None,
    policy: PolicyOf = None,
    c_max: CMax = 3,
    chain: OneChain = None,
    column: Columns = None,
    engine: Engine = None,
    charts: Charts = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Find out which recipients can have made a leak, alone or together.

    Only reads. Exits 0 whatever the answer is, also if the leak is not ours.

    Example:  sfumato trace leak.csv --ledger sqlite:///ledger.db
    """
    from sfumato.core.errors import WrongCall
    from sfumato.journey.discover import draw as draw_
    from sfumato.journey.trace import trace as trace_

    pairs = [name.partition("=") for name in column or ()]
    if any(not mark for _, mark, _ in pairs):
        raise WrongCall("a column is renamed by THEIRS=OURS", remedy="For example --column years=age.")
    with progress_bar() as progress:
        found = trace_(
            read_by(engine, leak),
            ledger=ledger,
            original=None if original is None else read_by(engine, original),
            policy=policy,
            c_max=c_max,
            chain=chain,
            columns={theirs: ours for theirs, _, ours in pairs},
            progress=progress,
        )
        drawn = draw_(found, charts) if charts is not None else ()
    if as_json:
        document(found.as_dict())
    else:
        say(str(found))
    if show_values:
        talk("\n".join(found.values()))
    if drawn:
        talk(f"drew {', '.join(str(file) for file in drawn)}")

"""`sfumato trace`: who leaked it?"""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.chart_folder import draw_charts, tell_drawn
from sfumato.cli.engine_option import Engine, table_read_by
from sfumato.cli.options import AsJson, Charts, LedgerUrl, OneChain, OpeningKey, ShowValues, reads_data
from sfumato.cli.terminal import progress_bar, talk, tell
from sfumato.core.data_file import NO_FORM, SourceForm
from sfumato.core.errors import WrongCall

LeakFile = Annotated[
    str, typer.Argument(metavar="LEAK", help="A CSV, Parquet or JSON file: a table or a record.")
]
Original = Annotated[
    str | None, typer.Option("--original", metavar="FILE", help="The table that the releases were made from.")
]
PolicyOf = Annotated[
    Path | None, typer.Option("--policy", "-p", metavar="POLICY", help="The policy of the original.")
]
CMax = Annotated[
    int, typer.Option("--c-max", min=1, help="Look for coalitions of at most so many recipients.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="THEIRS=OURS", help="Our name of a column of the leak; may be repeated."
    ),
]


@reads_data
def trace(  # noqa: PLR0917  # Typer reads the options from here
    leak: LeakFile,
    ledger: LedgerUrl = "sqlite:///ledger.db",
    key: OpeningKey = None,
    original: Original = None,
    policy: PolicyOf = None,
    c_max: CMax = 3,
    chain: OneChain = None,
    column: Columns = None,
    engine: Engine = None,
    charts: Charts = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Find out which recipients can have made a leak, alone or together.

    Writes nothing. Exits 0 whatever the answer is, even if the leak is not ours.

    Example:  sfumato trace leak.csv --ledger sqlite:///ledger.db
    """
    from sfumato.journey.trace import trace as trace_

    pairs = [name.partition("=") for name in column or ()]
    if any(not mark for _, mark, _ in pairs):
        raise WrongCall("a column is renamed by THEIRS=OURS", remedy="For example --column years=age.")
    with progress_bar() as progress:
        result = trace_(
            table_read_by(engine, leak, form),
            ledger=ledger,
            key=key,
            original=None if original is None else table_read_by(engine, original),
            policy=policy,
            c_max=c_max,
            chain=chain,
            columns={theirs: ours for theirs, _, ours in pairs},
            progress=progress,
        )
        drawn = draw_charts(result, charts)
    tell(result, as_json=as_json)
    if show_values:
        talk("\n".join(result.values()))
    tell_drawn(drawn)

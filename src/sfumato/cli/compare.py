"""`sfumato utility`: what a safe table still tells of the original."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.chart_folder import draw_charts, tell_drawn
from sfumato.cli.engine_option import table_read_by
from sfumato.cli.options import ROWS, AsJson, Charts, MemoryLimit, SpillFolder, reads_data
from sfumato.cli.terminal import progress_bar, tell
from sfumato.core.data_file import NO_FORM, SourceForm

Raw = Annotated[str, typer.Argument(metavar="RAW", help=f"The original: a {ROWS}")]
Safe = Annotated[str, typer.Argument(metavar="SAFE", help="What was published of it.")]
PolicyOfSafe = Annotated[
    Path | None,
    typer.Option(
        "--policy", "-p", metavar="POLICY", help="The policy it was published under; its taxonomies are read."
    ),
]
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="COLUMN", help="What a model is to tell; else a sensitive column."),
]
Prices = Annotated[
    bool, typer.Option("--prices", help="Plan again without each promise and with k + 1; needs the policy.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Which range queries are asked.")]


@reads_data
def compare(
    raw: Raw,
    safe: Safe,
    policy: PolicyOfSafe = None,
    target: Target = None,
    prices: Prices = False,
    charts: Charts = None,
    seed: Seed = 0,
    memory: MemoryLimit = None,
    spill: SpillFolder = None,
    as_json: AsJson = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Measure what a safe table still tells of the original, for its owner alone.

    Example:  sfumato utility patients.csv safe.csv -p policy.yaml --prices
    """
    from sfumato.journey.compare import compare as compare_
    from sfumato.system.memory import Memory

    with progress_bar() as progress:
        result = compare_(
            table_read_by(None, raw, form),
            table_read_by(None, safe),
            policy,
            target=target,
            prices=prices,
            seed=seed,
            memory=Memory.of(memory, spill=spill),
            progress=progress,
        )
        drawn = draw_charts(result, charts)
    tell(result, as_json=as_json)
    tell_drawn(drawn)

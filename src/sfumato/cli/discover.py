"""`sfumato discover`: which columns single people out?"""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.declare import draft_for, write_draft
from sfumato.cli.guide_page import complete_preset
from sfumato.cli.options import (
    AsJson,
    Charts,
    Data,
    Engine,
    HeaderLine,
    MemoryLimit,
    Overwrite,
    SpillFolder,
    draw_charts,
    reads_data,
    table_read_by,
    tell_drawn,
)
from sfumato.cli.terminal import print_note, print_or_json, progress_bar
from sfumato.system.errors import UsageError
from sfumato.table.data_file import NO_FORM, SourceForm

K = Annotated[int, typer.Option("--k", min=1, help="A record is exposed if fewer than k share its values.")]
Mode = Annotated[
    str | None, typer.Option("--mode", help="any: one exposed record is enough; all: every one; distinct.")
]
Share = Annotated[
    str | None,
    typer.Option(
        "--fraction", metavar="P", help="So large a share of the records is exposed, as 5/100 or 0.05."
    ),
]
Count = Annotated[int | None, typer.Option("--count", metavar="T", help="So many records are exposed.")]
MaxSize = Annotated[
    int | None, typer.Option("--max-size", min=0, help="Look at sets of at most so many columns.")
]
MaxResults = Annotated[int | None, typer.Option("--max-results", min=1, help="Stop after so many sets.")]
Deadline = Annotated[
    float | None, typer.Option("--deadline", metavar="S", min=0, help="Stop after S seconds.")
]
MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        help="exact: all minimal sets; greedy: one set, with a bound; descend: the best of random orders; "
        "sample: keys from a sample of rows, measured on all.",
    ),
]
Budget = Annotated[
    int | None, typer.Option("--budget", metavar="STEPS", min=1, help="For exact: stop after so many steps.")
]
Orders = Annotated[int, typer.Option("--orders", min=1, help="For --method descend: so many random orders.")]
Seed = Annotated[
    int, typer.Option("--seed", help="For --method descend and sample: what chance starts from.")
]
Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon", help="For --method sample: the share of pairs of rows that a set may leave alike."
    ),
]
Delta = Annotated[
    float, typer.Option("--delta", help="For --method sample: the chance that a set leaves more alike.")
]
RecordRisk = Annotated[
    int | None,
    typer.Option(
        "--record-risk", metavar="SIZE", min=1, help="Also count records that up to SIZE columns make unique."
    ),
]
Without = Annotated[
    list[str] | None, typer.Option("--without", metavar="COLUMN", help="Leave a column out; may be repeated.")
]
Sample = Annotated[
    int | None,
    typer.Option("--sample", metavar="ROWS", min=1, help="With --engine spark: look at about so many rows."),
]
Suggest = Annotated[
    Path | None, typer.Option("--suggest", metavar="POLICY", help="Write a proposed policy to this file.")
]
PresetName = Annotated[
    str | None,
    typer.Option(
        "--preset",
        help="For --suggest: the promises of a known rule, such as ema or uk-tre-10.",
        autocompletion=complete_preset,
    ),
]


@reads_data
def discover(  # noqa: PLR0917  # Typer reads the options from here
    data: Data,
    k: K,
    mode: Mode = None,
    fraction: Share = None,
    count: Count = None,
    max_size: MaxSize = None,
    max_results: MaxResults = None,
    deadline: Deadline = None,
    method: MethodOption = "exact",
    budget: Budget = None,
    orders: Orders = 50,
    seed: Seed = 0,
    epsilon: Epsilon = 1e-6,
    delta: Delta = 0.01,
    record_risk: RecordRisk = None,
    without: Without = None,
    sample: Sample = None,
    suggest: Suggest = None,
    preset: PresetName = None,
    charts: Charts = None,
    header: HeaderLine = False,
    engine: Engine = None,
    memory: MemoryLimit = None,
    spill: SpillFolder = None,
    as_json: AsJson = False,
    overwrite: Overwrite = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Find the columns that single people out.

    How many records have to be exposed: give exactly one of --mode, --fraction and --count.

    Example:  sfumato discover patients.csv --k 2 --mode any --max-size 3
    """
    from sfumato.system.memory import Memory
    from sfumato.workflows.discover import discover as discover_

    _check_suggestion(suggest, preset, data, form, overwrite=overwrite)
    with progress_bar() as progress:
        discovery = discover_(
            table_read_by(engine, data, form),
            k=k,
            mode=mode,
            fraction=fraction,
            count=count,
            max_size=max_size,
            max_results=max_results,
            deadline=deadline,
            method=method,
            budget=budget,
            orders=orders,
            seed=seed,
            epsilon=epsilon,
            delta=delta,
            record_risk=record_risk,
            without=without or (),
            sample=sample,
            header=header,
            memory=Memory.of(memory, spill=spill),
            progress=progress,
        )
        drawn = draw_charts(discovery, charts)
    written = ""
    if suggest is not None:
        written = write_draft(draft_for(discovery.suggest(preset), suggest), suggest, data)
    print_or_json(discovery, as_json=as_json)
    if written:
        print_note(written)
    tell_drawn(drawn)


def _check_suggestion(
    suggest: Path | None, preset: str | None, data: str, form: SourceForm, *, overwrite: bool
) -> None:
    """Refuse before the search what could not be written after it."""
    from sfumato.policy.presets import preset as preset_of

    if preset is not None:
        preset_of(preset)
        if suggest is None:
            raise UsageError("a preset is for a policy", remedy="Say where to write it with --suggest.")
    if suggest is not None:
        from sfumato.inputs import files_of_form
        from sfumato.releases.files import check_target

        check_target(suggest, source=Path(data), needed=files_of_form(form), overwrite=overwrite)

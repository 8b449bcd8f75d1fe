"""`sfumato discover`: which columns single people out?"""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    option,
    reads_data,
    table_read_by,
    tell_drawn,
    valued,
)
from sfumato.cli.terminal import print_note, print_or_json, progress_bar
from sfumato.system.errors import UsageError
from sfumato.table.data_file import NO_FORM, SourceForm

K = Annotated[int, option("--k", "A record is exposed if fewer than k share its values.", least=1)]
Mode = Annotated[str | None, option("--mode", "any: one exposed record is enough; all: every one; distinct.")]
Share = Annotated[
    str | None, valued("--fraction", "P", "So large a share of the records is exposed, as 5/100 or 0.05.")
]
Count = Annotated[int | None, valued("--count", "T", "So many records are exposed.")]
MaxSize = Annotated[int | None, option("--max-size", "Look at sets of at most so many columns.", least=0)]
MaxResults = Annotated[int | None, option("--max-results", "Stop after so many sets.", least=1)]
Deadline = Annotated[float | None, valued("--deadline", "S", "Stop after S seconds.", least=0)]
MethodOption = Annotated[
    str,
    option(
        "--method",
        "exact: all minimal sets; greedy: one set, with a bound; descend: the best of random orders; "
        "sample: keys from a sample of rows, measured on all.",
    ),
]
Budget = Annotated[int | None, valued("--budget", "STEPS", "For exact: stop after so many steps.", least=1)]
Orders = Annotated[
    int,
    option(
        "--orders",
        "For --method descend: so many random orders; 0: columns as they stand, step by step.",
        least=0,
    ),
]
Seed = Annotated[int, option("--seed", "For --method descend and sample: what chance starts from.")]
Epsilon = Annotated[
    float, option("--epsilon", "For --method sample: the share of pairs of rows that a set may leave alike.")
]
Delta = Annotated[float, option("--delta", "For --method sample: the chance that a set leaves more alike.")]
RecordRisk = Annotated[
    int | None,
    valued("--record-risk", "SIZE", "Also count records that up to SIZE columns make unique.", least=1),
]
Without = Annotated[list[str] | None, valued("--without", "COLUMN", "Leave a column out; may be repeated.")]
Sample = Annotated[
    int | None, valued("--sample", "ROWS", "With --engine spark: look at about so many rows.", least=1)
]
Suggest = Annotated[Path | None, valued("--suggest", "POLICY", "Write a proposed policy to this file.")]
PresetName = Annotated[
    str | None,
    option(
        "--preset",
        "For --suggest: the promises of a known rule, such as ema or uk-tre-10.",
        complete=complete_preset,
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

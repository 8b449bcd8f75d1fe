"""`sfumato report`: a page for whoever has to sign."""

# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from sfumato.cli.options import (
    ROWS,
    AsJson,
    Charts,
    MemoryLimit,
    Overwrite,
    PublicKey,
    ShowValues,
    SpillFolder,
    argument,
    draw_charts,
    option,
    reads_data,
    table_read_by,
    tell_drawn,
    valued,
)
from sfumato.cli.terminal import print_note, print_or_json, print_result, progress_bar
from sfumato.system.errors import UsageError
from sfumato.table.data_file import NO_FORM, SourceForm

OptionalPolicy = Annotated[
    Path | None, valued("--policy", "POLICY", "The policy that it was published under.", short="-p")
]

Original = Annotated[
    str | None, valued("--original", "DATA", "Also attack the original, and show what was lost.")
]


def report(
    of: Annotated[
        str,
        argument(
            "WHAT",
            "A published file, the folder of a release, a plan (protect --json), or an entry's number.",
        ),
    ],
    policy: OptionalPolicy = None,
    out: Annotated[
        Path, valued("--out", "OUT", "OUT.html and OUT.pdf, or the one that is named.", short="-o")
    ] = Path("report"),
    original: Original = None,
    public: Annotated[
        bool, option("--public/--internal", "For everybody, or for the owner of the data.")
    ] = False,
    criteria: Annotated[
        Literal["iso27559", "wp29"], option("--criteria", "The order of the sections.")
    ] = "iso27559",
    ledger: Annotated[
        str | None, valued("--ledger", "URL", "The ledger, for an entry by its number.")
    ] = None,
    key: PublicKey = None,
    overwrite: Overwrite = False,
    memory: MemoryLimit = None,
    show_values: ShowValues = False,  # noqa: ARG001  # the error handler looks for it
) -> None:
    """Report on a table for a data protection officer, as one HTML page and as PDF.

    An internal report holds figures of the original and is for its owner. A public one is made from the
    published bytes alone; whatever it would say beyond them stops it.

    Example:  sfumato report 2026-11 -p policy.yaml --original patients.csv -o report
    """
    from sfumato.system.memory import Memory
    from sfumato.system.presentation.pages import check_pdf
    from sfumato.workflows.report import report as report_

    without_pdf = ""
    if out.suffix != ".html":
        try:
            check_pdf()
        except UsageError as lacking:
            if out.suffix == ".pdf":
                raise
            without_pdf = f"{lacking.message}. {lacking.remedy}"
            out = out.with_name(f"{out.name}.html")
    with progress_bar() as progress:
        written = report_(
            of,
            policy,
            original=None if original is None else table_read_by(None, original),
            ledger=ledger,
            audience="public" if public else "internal",
            criteria=criteria,
            key=key,
            memory=Memory.of(memory),
            progress=progress,
        )
    files = written.save(out, overwrite=overwrite)
    for file in files:
        print_result(str(file))
    if without_pdf:
        print_note(f"no PDF was written: {without_pdf}")
    if not public:
        print_note("internal: it holds figures of the original, and only you can read the files")


# `sfumato utility`: what a safe table still tells of the original.


Raw = Annotated[str, argument("RAW", f"The original: a {ROWS}")]
Safe = Annotated[str, argument("SAFE", "What was published of it.")]
PolicyOfSafe = Annotated[
    Path | None,
    valued("--policy", "POLICY", "The policy it was published under; its taxonomies are read.", short="-p"),
]
Target = Annotated[
    str | None, valued("--target", "COLUMN", "What a model is to tell; else a sensitive column.")
]
Prices = Annotated[
    bool, option("--prices", "Plan again without each promise and with k + 1; needs the policy.")
]
Seed = Annotated[int, option("--seed", "Which range queries are asked.", least=0)]


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
    from sfumato.system.memory import Memory
    from sfumato.workflows.compare import compare as compare_

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
    print_or_json(result, as_json=as_json)
    tell_drawn(drawn)

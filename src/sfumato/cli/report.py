"""`sfumato report`: a page for whoever has to sign."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sfumato.cli.engine_option import table_read_by
from sfumato.cli.options import MemoryLimit, Overwrite, PublicKey, ShowValues
from sfumato.cli.terminal import progress_bar, say, talk
from sfumato.core.errors import WrongCall

OptionalPolicy = Annotated[
    Path | None,
    typer.Option("--policy", "-p", metavar="POLICY", help="The policy that it was published under."),
]

Original = Annotated[
    str | None,
    typer.Option("--original", metavar="DATA", help="Also attack the original, and show what was lost."),
]


def report(
    of: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A published file, the folder of a release, a plan (protect --json), or an entry's number.",
        ),
    ],
    policy: OptionalPolicy = None,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="OUT", help="OUT.html and OUT.pdf, or the one that is named."),
    ] = Path("report"),
    original: Original = None,
    public: Annotated[
        bool, typer.Option("--public/--internal", help="For everybody, or for the owner of the data.")
    ] = False,
    criteria: Annotated[
        Literal["iso27559", "wp29"], typer.Option("--criteria", help="The order of the sections.")
    ] = "iso27559",
    ledger: Annotated[
        str | None, typer.Option("--ledger", metavar="URL", help="The ledger, for an entry by its number.")
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
    from sfumato.journey.report import report as report_
    from sfumato.show.pdf import check_pdf
    from sfumato.system.memory import Memory

    without_pdf = ""
    if out.suffix != ".html":
        try:
            check_pdf()
        except WrongCall as lacking:
            if out.suffix == ".pdf":
                raise
            without_pdf = f"{lacking.message}. {lacking.remedy}"
            out = out.with_name(f"{out.name}.html")
    with progress_bar() as progress:
        made = report_(
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
    files = made.save(out, overwrite=overwrite)
    for file in files:
        say(str(file))
    if without_pdf:
        talk(f"no PDF was written: {without_pdf}")
    if not public:
        talk("internal: it holds figures of the original, and only you can read the files")

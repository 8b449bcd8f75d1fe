"""`sfumato declare`: a policy to start from."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.completion import complete_preset
from sfumato.cli.drafted_policy import draft_for, write_draft
from sfumato.cli.engine_option import Engine, table_read_by
from sfumato.cli.options import AsJson, Data, HeaderLine, Overwrite, reads_data
from sfumato.cli.terminal import document, progress_bar, say, talk, warn
from sfumato.core.data_file import NO_FORM, SourceForm


@reads_data
def declare(
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="POLICY", help="The file to write; by default it is printed."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="Use the promises of a known rule, such as ema or uk-tre-10.",
            autocompletion=complete_preset,
        ),
    ] = None,
    header: HeaderLine = False,
    engine: Engine = None,
    as_json: AsJson = False,
    overwrite: Overwrite = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Write a working policy from the data alone.

    Every column gets a role, a taxonomy and the reason for them.

    Read it before you use it: only you know what others know about these people.

    Example:  sfumato declare patients.csv -o policy.yaml
    """
    from sfumato.journey.declare import declare as declare_
    from sfumato.journey.needed_files import files_of_form
    from sfumato.releases.output_file import check_target

    if out is not None:
        check_target(out, source=Path(data), needed=files_of_form(form), overwrite=overwrite)
    with progress_bar() as progress:
        policy = declare_(
            table_read_by(engine, data, form), preset=preset, header=header, warn=warn, progress=progress
        )
    if out is not None:
        policy = draft_for(policy, out)
    said = policy.to_yaml().rstrip("\n") if out is None else write_draft(policy, out, data)
    if as_json:
        reasons = {name: rule.reason for name, rule in policy.columns.items() if rule.reason}
        written = None if out is None else str(out)
        document({"policy": policy.to_dict(), "reasons": reasons, "written": written})
    elif out is None:
        say(said)
    else:
        talk(said)

"""`sfumato declare`: a policy to start from."""

# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli.guide_page import complete_preset
from sfumato.cli.options import (
    AsJson,
    Data,
    Engine,
    HeaderLine,
    Overwrite,
    option,
    reads_data,
    table_read_by,
    valued,
)
from sfumato.cli.terminal import document, print_note, print_result, progress_bar, warn
from sfumato.table.data_file import NO_FORM, SourceForm

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy


# A policy that was drafted from the data: written, with what comes next.


def draft_for(policy: Policy, file: Path) -> Policy:
    """Returns a draft with paths as its file says them: relative to the folder that this will be in."""
    return replace(policy, source=policy.source.seen_from(file.parent))


def write_draft(policy: Policy, file: Path, data: str) -> str:
    """Writes a draft; returns what to do with it. A column that waits would be refused otherwise."""
    file.write_text(policy.to_yaml(), encoding="utf-8")
    waits = f"confirm what waits (sfumato policy confirm {file} COLUMN…), " if policy.waiting else ""
    then = f"sfumato protect {data} -p {file} -o safe.csv"
    return f"wrote {file}; read the reasons, correct the roles, {waits}then: {then}"


@reads_data
def declare(
    data: Data,
    out: Annotated[
        Path | None, valued("--out", "POLICY", "The file to write; by default it is printed.", short="-o")
    ] = None,
    preset: Annotated[
        str | None,
        option(
            "--preset",
            "Use the promises of a known rule, such as ema or uk-tre-10.",
            complete=complete_preset,
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
    from sfumato.inputs import files_of_form
    from sfumato.releases.files import check_target
    from sfumato.workflows.declare import declare as declare_

    if out is not None:
        check_target(out, source=Path(data), needed=files_of_form(form), overwrite=overwrite)
    with progress_bar() as progress:
        policy = declare_(
            table_read_by(engine, data, form), preset=preset, header=header, warn=warn, progress=progress
        )
    if out is not None:
        policy = draft_for(policy, out)
    text = policy.to_yaml().rstrip("\n") if out is None else write_draft(policy, out, data)
    if as_json:
        reasons = {name: rule.reason for name, rule in policy.columns.items() if rule.reason}
        written = None if out is None else str(out)
        document({"policy": policy.to_dict(), "reasons": reasons, "written": written})
    elif out is None:
        print_result(text)
    else:
        print_note(text)

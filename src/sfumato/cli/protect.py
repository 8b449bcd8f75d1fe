"""`sfumato protect`: a safe table out of an unsafe one."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli.options import (
    Against,
    AsJson,
    Chain,
    Compare,
    Data,
    Dictionary,
    Engine,
    MemoryLimit,
    Overwrite,
    PolicyFile,
    ReusePlan,
    ShowValues,
    SpillFolder,
    option,
    reads_data,
    table_read_by,
    valued,
)
from sfumato.cli.terminal import (
    document,
    is_terminal,
    print_estimate,
    print_note,
    print_result,
    progress_bar,
    warn,
)
from sfumato.system.errors import UsageError
from sfumato.table.data_file import NO_FORM, SourceForm, written_formats

if TYPE_CHECKING:
    from sfumato.search.plan import Plan

SafeFile = Annotated[
    Path | None,
    valued(
        "--out", "OUT", f"The safe file: {', '.join(f'.{name}' for name in written_formats())}.", short="-o"
    ),
]


@reads_data
def protect(  # noqa: PLR0917  # Typer reads the options from here
    data: Data,
    policy: PolicyFile,
    out: SafeFile = None,
    against: Against = None,
    chain: Chain = "main",
    as_json: AsJson = False,
    dry_run: Annotated[bool, option("--dry-run", "Only plan; write nothing.")] = False,
    explain: Annotated[bool, option("--explain", "Say why no column could stay finer.")] = False,
    compare: Compare = False,
    reuse_plan: ReusePlan = None,
    dictionary: Dictionary = False,
    overwrite: Overwrite = False,
    engine: Engine = None,
    memory: MemoryLimit = None,
    spill: SpillFolder = None,
    show_values: ShowValues = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Make a table safe: generalize and suppress just enough.

    The safe file appears only after a second implementation has read its bytes and agreed.

    Example:  sfumato protect patients.csv --policy policy.yaml -o safe.csv
    """
    from sfumato.system.memory import Memory

    if out is None and not dry_run:
        raise UsageError("no output named", remedy="Say where with -o safe.csv, or only plan with --dry-run.")
    allowed, target = Memory.of(memory, spill=spill), None if dry_run else out
    table = table_read_by(engine, data, form)
    announce = print_estimate if compare or is_terminal() else None
    with progress_bar() as progress:
        if target is None:
            from sfumato.workflows.protect import protect as protect_

            plan = protect_(
                table,
                policy,
                against=against,
                chain=chain,
                reuse_plan=reuse_plan,
                memory=allowed,
                warn=warn,
                foretell=announce,
                progress=progress,
            )
        else:
            from sfumato.workflows.protect_file import protect_file

            plan, _ = protect_file(
                table,
                policy,
                target,
                against=against,
                chain=chain,
                reuse_plan=reuse_plan,
                dictionary=dictionary,
                overwrite=overwrite,
                memory=allowed,
                warn=warn,
                foretell=announce,
                progress=progress,
            )
    if as_json:
        document(_content(plan, target, explain=explain))
        return
    _say_plan(plan, compare=compare, explain=explain, show_values=show_values)
    _say_where(plan, target, against, dictionary=dictionary)


def _content(plan: Plan, target: Path | None, *, explain: bool) -> dict[str, object]:
    """The one JSON document of a call."""
    content = {**plan.as_dict(), "published": None if target is None else str(target)}
    return {**content, "explanation": plan.explain().as_dict()} if explain else content


def _say_plan(plan: Plan, *, compare: bool, explain: bool, show_values: bool) -> None:
    """Print the plan, and if asked for what searches gave, and why and by which values no column is finer."""
    print_result(plan)
    if compare:
        print_result(plan.comparison())
    if explain:
        print_result(plan.explain())
    if explain and show_values:
        print_note("\n".join(plan.explain().values()))


def _say_where(plan: Plan, target: Path | None, against: str | None, *, dictionary: bool) -> None:
    """Print on stderr what was written, and what it is good for."""
    print_note("nothing was written" if target is None else f"published {target}")
    if target is not None and dictionary:
        from sfumato.releases.dictionary import beside

        print_note(f"what it means: {', '.join(str(file) for file in beside(target).values())}")
    if target is not None and against:
        print_note("the ledger does not know of it: what is handed on is made by `sfumato release`")
    if target is not None and plan.reference is not None:
        from sfumato.policy.reference import reference_path

        print_note(f"kept for you alone, to judge it later: {reference_path(target)}")

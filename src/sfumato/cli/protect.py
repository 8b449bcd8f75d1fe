"""`sfumato protect`: a safe table out of an unsafe one."""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.engine_option import Engine, read_by
from sfumato.cli.options import (
    Against,
    AsJson,
    Chain,
    Data,
    MemoryLimit,
    Overwrite,
    PolicyFile,
    ShowValues,
    SpillFolder,
)
from sfumato.cli.terminal import document, progress_bar, say, talk
from sfumato.cli.warnings import warn


def protect(  # noqa: PLR0917  # Typer reads the options from here
    data: Data,
    policy: PolicyFile,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="OUT", help="The safe file: .csv or .parquet.")
    ] = None,
    against: Against = None,
    chain: Chain = "main",
    as_json: AsJson = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only plan; write nothing.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what kept each column from being finer.")
    ] = False,
    overwrite: Overwrite = False,
    engine: Engine = None,
    memory: MemoryLimit = None,
    spill: SpillFolder = None,
    show_values: ShowValues = False,
) -> None:
    """Make a table safe: generalize and suppress just enough.

    The safe file appears only after its bytes were read again and judged by a second implementation.

    Example:  sfumato protect patients.csv --policy policy.yaml -o safe.csv
    """
    from sfumato.core.errors import WrongCall
    from sfumato.journey.protect import protect as protect_
    from sfumato.journey.release import protect_file as protect_file_
    from sfumato.policy.reference import kept_at
    from sfumato.system.memory import Memory

    if out is None and not dry_run:
        raise WrongCall("no output named", remedy="Say where with -o safe.csv, or only plan with --dry-run.")
    allowed = Memory.of(memory, spill=spill)
    table = read_by(engine, data)
    with progress_bar() as progress:
        warn(policy, table, progress=progress)
        if out is None or dry_run:
            plan = protect_(table, policy, against=against, chain=chain, memory=allowed, progress=progress)
        else:
            plan, _ = protect_file_(
                table,
                policy,
                out,
                against=against,
                chain=chain,
                overwrite=overwrite,
                memory=allowed,
                progress=progress,
            )
    published = None if out is None or dry_run else str(out)
    kept = None if published is None or plan.reference is None else str(kept_at(Path(published)))
    if as_json:
        content = {**plan.as_dict(), "published": published}
        document({**content, "explanation": plan.explain().as_dict()} if explain else content)
        return
    say(str(plan))
    if explain:
        say(str(plan.explain()))
        if show_values:
            talk("\n".join(plan.explain().values()))
    talk(f"published {published}" if published else "nothing was written")
    if published and against:
        talk("the ledger does not know of it: what is handed on is made by `sfumato release`")
    if kept:
        talk(f"kept for you alone, to judge it later: {kept}")

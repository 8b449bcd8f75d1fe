"""`sfumato release`, `sfumato history`: publish, and look back."""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.engine_option import Engine, read_by
from sfumato.cli.options import (
    AsJson,
    Chain,
    Data,
    KeyFile,
    LedgerUrl,
    MemoryLimit,
    PolicyFile,
    ShowValues,
    SpillFolder,
)
from sfumato.cli.terminal import document, progress_bar, say, talk
from sfumato.cli.warnings import warn

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger


def release(  # noqa: PLR0917  # Typer reads the options from here
    data: Data,
    policy: PolicyFile,
    ledger: LedgerUrl = "sqlite:///ledger.db",
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="FOLDER", help="A new folder, or s3://bucket/folder: the release."),
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option("--to", metavar="NAME", help="Who receives it; several get a version each."),
    ] = None,
    chain: Chain = "main",
    format: Annotated[
        str | None, typer.Option("--format", help="csv or parquet; else as the data is.")
    ] = None,
    override: Annotated[
        list[Path] | None,
        typer.Option("--override", metavar="FILE", help="A signed override; may be repeated."),
    ] = None,
    key: KeyFile = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only plan and compare; write nothing.")] = False,
    engine: Engine = None,
    memory: MemoryLimit = None,
    spill: SpillFolder = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,  # noqa: ARG001  # the error handler looks for it
) -> None:
    """Publish a safe table and enter it in the ledger: both, or neither.

    With several recipients, FOLDER holds a folder for each; --dry-run says how many could be served.
    Exits 4 if somebody else released meanwhile (try again), 5 if earlier releases forbid it.

    Example:  sfumato release patients.csv -p policy.yaml --into 2026-11
    """
    from sfumato.core.errors import WrongCall
    from sfumato.journey.release import release as release_
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.recipients import folders_of, recipients_of
    from sfumato.releases.targets.target import check_first
    from sfumato.system.memory import Memory

    if into is None and not dry_run:
        raise WrongCall(
            "no target named", remedy="Say where with --into FOLDER, or only plan with --dry-run."
        )
    folders_of(recipients_of(to))
    if into is not None and not dry_run:
        check_first(into, ledger)
    table = read_by(engine, data)
    with progress_bar() as progress:
        warn(policy, table, progress=progress)
        receipt = release_(
            table,
            policy,
            ledger=ledger if dry_run else _writable(Ledger(ledger, key=key)),
            overrides=override or (),
            into=into,
            to=to,
            chain=chain,
            format=format,
            dry_run=dry_run,
            memory=Memory.of(memory, spill=spill),
            progress=progress,
        )
    if as_json:
        document(receipt.as_dict())
        return
    say(str(receipt))
    talk(f"published {into}" if receipt.published else "nothing was written")


def _writable(ledger: Ledger) -> Ledger:
    if ledger.database.on_a_shared_drive:
        talk("the ledger is on a network drive, whose locks cannot be relied on: PostgreSQL is made for that")
    return ledger


def history(
    ledger: LedgerUrl = "sqlite:///ledger.db",
    chain: Annotated[str | None, typer.Option("--chain", help="Only this series of releases.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what was released: rows, k, what is left of it next to the others, loss.

    Example:  sfumato history --ledger sqlite:///ledger.db
    """
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.receipt import Receipt, history_card

    records = Ledger(ledger, readonly=True).history(chain)
    if as_json:
        document({"releases": [{**Receipt(r).as_dict(), "at": r.at} for r in records]})
    else:
        say(str(history_card(records)))

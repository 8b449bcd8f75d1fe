"""`sfumato audit`: is this file safe to publish?"""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.engine_option import Engine, table_read_by
from sfumato.cli.options import (
    Against,
    AsJson,
    Chain,
    Data,
    MemoryLimit,
    PolicyFile,
    PublicKey,
    ReferenceFile,
    ShowValues,
    SpillFolder,
    reads_data,
)
from sfumato.cli.terminal import FAILED, progress_bar, talk, tell, warn
from sfumato.core.data_file import NO_FORM, SourceForm

Strict = Annotated[
    bool, typer.Option("--strict", help="Exit 1 also when a promise cannot be decided from the file.")
]


@reads_data
def audit(  # noqa: PLR0917  # Typer reads the options from here
    data: Data,
    policy: PolicyFile,
    against: Against = None,
    chain: Chain = "main",
    reference: ReferenceFile = None,
    key: PublicKey = None,
    as_json: AsJson = False,
    strict: Strict = False,
    engine: Engine = None,
    memory: MemoryLimit = None,
    spill: SpillFolder = None,
    show_values: ShowValues = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Judge a published file from its bytes, and attack it.

    DATA may be the address of a release in a store, such as s3://bucket/2026-11.
    Exits 1 if a promise is broken, 70 if an attack broke down.

    Example:  sfumato audit safe.csv --policy policy.yaml --against sqlite:///ledger.db
    """
    from sfumato.journey.audit import audit as audit_
    from sfumato.system.memory import Memory

    with progress_bar() as progress:
        result = audit_(
            table_read_by(engine, data, form),
            policy,
            reference=reference,
            against=against,
            chain=chain,
            key=key,
            memory=Memory.of(memory, spill=spill),
            warn=warn,
            progress=progress,
        )
    tell(result, as_json=as_json)
    if show_values:
        from sfumato.reports.before_and_after import values_of

        talk("\n".join(values_of(result.findings)))
    broken = result.holds is False or (strict and result.holds is None)
    raise typer.Exit(1 if broken else FAILED if result.failed else 0)

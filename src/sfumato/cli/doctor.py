"""`sfumato doctor`: is everything there that the program needs, and do a file and a policy fit?"""

# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.guide_page import complete_policy
from sfumato.cli.options import (
    AsJson,
    HeaderLine,
    ShowValues,
    SpillFolder,
    argument,
    reads_data,
    table_read_by,
    valued,
)
from sfumato.cli.terminal import document, print_note, print_or_json, print_result, progress_bar
from sfumato.system.errors import UsageError
from sfumato.table.data_file import NO_FORM, SourceForm

LedgerToReach = Annotated[
    str | None, valued("--ledger", "URL", "Also try to reach this ledger.", variable="SFUMATO_LEDGER")
]


OptionalData = Annotated[str | None, argument("[DATA]", "A file of rows, or a database, to look at.")]
PolicyBeside = Annotated[
    Path | None,
    valued(
        "--policy", "POLICY", "The policy to hold against the file.", short="-p", complete=complete_policy
    ),
]


@reads_data
def doctor(
    data: OptionalData = None,
    policy: PolicyBeside = None,
    ledger: LedgerToReach = None,
    store: Annotated[str | None, valued("--store", "ADDRESS", "Also try to reach this object store.")] = None,
    spill: SpillFolder = None,
    header: HeaderLine = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Check what the program needs; or a file, and whether a policy fits it.

    Alone it looks at versions, memory, disk, Java and Spark; with --ledger and --store at a database and a
    store. With DATA it says what is in the file, and with a policy everything that `protect` would refuse:
    it tries that in a private folder. Exits 3 if something needed is missing or wrong.

    Example:  sfumato doctor patients.csv -p policy.yaml
    """
    if data is None:
        if policy is not None:
            raise UsageError(
                "a policy is held against a file",
                remedy="Name the file, too; or check the policy alone: sfumato policy check POLICY.",
            )
        from sfumato.workflows.doctor import doctor as doctor_

        checkup = doctor_(ledger=ledger, store=store, spill=spill)
        print_or_json(checkup, as_json=as_json)
        raise typer.Exit(0 if checkup.sound else 3)
    from sfumato.workflows.doctor import checkup_table

    with progress_bar() as progress:
        result = checkup_table(table_read_by(None, data, form), policy, header=header, progress=progress)
    print_or_json(result, as_json=as_json)
    for diagnosis in result.diagnoses if show_values else ():
        if lines := (*diagnosis.values, *diagnosis.repair):
            print_note("\n".join([f"{diagnosis.where}, {diagnosis.name}:", *(f"  {line}" for line in lines)]))
    raise typer.Exit(0 if result.sound else 3)


# `sfumato compile`: machine code for everything, before anybody waits for it.


def compile_(
    jobs: Annotated[
        int | None, valued("--jobs", "N", "So many processes; by default one per processor.", least=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile all loops for this machine, so that no first call has to wait.

    For containers, CI, and after numba or a loop was changed; a wheel brings its machine code along. What
    is compiled already is left as it is. All of it takes a minute or two of one processor.

    Example:  sfumato compile
    """
    from sfumato.kernels.prebuilt import build, can_write_package

    into_package = can_write_package()
    ready = compiled = 0
    failed: list[str] = []
    for module in build(jobs=jobs, into_package=into_package):
        ready, compiled = ready + module.ready, compiled + module.compiled
        failed.extend(module.failed)
        if module.compiled:
            print_note(f"compiled {module.module}")
    where = "in the package" if into_package else "in numba's cache"
    if as_json:
        document({"ready": ready, "compiled": compiled, "failed": failed, "kept": where})
    else:
        print_result(f"{ready} functions are ready {where}, {compiled} of them compiled now.")
    for name in failed:
        print_note(f"{name} is compiled at its first call: its recorded signature no longer fits")

"""`sfumato policy`: check, confirm, print schema and ready taxonomies, count the versions of a policy."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.guide_page import complete_preset, complete_waiting
from sfumato.cli.options import (
    ROWS,
    AsJson,
    Data,
    PolicyArgument,
    ShowValues,
    argument,
    option,
    reads_data,
    table_read_by,
    valued,
)
from sfumato.cli.streams import carry_interruptions
from sfumato.cli.terminal import document, print_note, print_or_json, print_result, progress_bar
from sfumato.table.data_file import NO_FORM, SourceForm

policy = typer.Typer(
    help="Check a policy, confirm what it guessed, or print the schema of policy files.",
    rich_markup_mode=None,
)


@policy.command()
@carry_interruptions
def schema() -> None:
    """Print the JSON Schema of policy files, for editors.

    Example:  sfumato policy schema > sfumato.schema.json
    """
    from sfumato.policy.schema import schema as schema_

    document(schema_())


@policy.command()
@carry_interruptions
@reads_data
def check(
    file: PolicyArgument,
    data: Annotated[str | None, argument("[DATA]", f"A {ROWS}")] = None,
    preset: Annotated[
        str | None,
        option(
            "--preset",
            "Also check what a known rule asks for, such as hipaa-safe-harbor.",
            complete=complete_preset,
        ),
    ] = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Check a policy and its taxonomies, alone or beside data.

    Lists what is wrong, worst first, with the repair. Exits 3 if `protect` would refuse the policy, or a
    rule of the preset is broken.

    Example:  sfumato policy check policy.yaml patients.csv
    """
    from sfumato.draft.doctor import diagnosis_lines
    from sfumato.system.presentation.cards import json_ready, pluralize
    from sfumato.workflows.confirm import check_policy

    table = None if data is None else table_read_by(None, data, form)
    with progress_bar() as progress:
        diagnoses = check_policy(file, table, preset=preset, progress=progress)
    errors = sum(diagnosis.gravity == "error" for diagnosis in diagnoses)
    if as_json:
        document({"sound": not errors, "ailments": [json_ready(diagnosis) for diagnosis in diagnoses]})
    else:
        for line in diagnosis_lines(diagnoses):
            print_result(line)
        print_result(pluralize(errors, "error") if errors else "the policy is sound")
    if show_values:
        for diagnosis in diagnoses:
            for word, lines in (("values", diagnosis.values), ("proposed", diagnosis.repair)):
                if lines:
                    print_note(f"{diagnosis.where}, {diagnosis.name}, {word}:")
                    print_note("\n".join(f"  {line}" for line in lines))
    elif not as_json and any(diagnosis.repair for diagnosis in diagnoses):
        print_note("--show-values prints the values, and the lines to add")
    raise typer.Exit(3 if errors else 0)


@policy.command()
@carry_interruptions
def confirm(
    file: PolicyArgument,
    columns: Annotated[
        list[str] | None, argument("[COLUMN]...", "The columns that you confirm.", complete=complete_waiting)
    ] = None,
    every: Annotated[bool, option("--all", "Confirm every column that waits but sensitive ones.")] = False,
    as_json: AsJson = False,
) -> None:
    """Confirm that columns may be published unchanged.

    A drafted policy lists under `confirm` what nobody is thought to know. Nothing is published while a
    column waits there. A sensitive column waits, too, where no promise protects it; it is confirmed by name
    alone. Read the reasons first: whoever knows such a value of somebody finds their row.

    Example:  sfumato policy confirm policy.yaml weight visits
    """
    from sfumato.workflows.confirm import confirm_file

    waiting = confirm_file(file, columns or (), every=every)
    if as_json:
        document({"waiting": list(waiting)})
    elif waiting:
        print_result(f"still to be confirmed: {', '.join(waiting)}")
    else:
        print_result("every column is confirmed")


@policy.command()
@carry_interruptions
def ready(
    name: Annotated[str | None, argument("[NAME]", "One of them, to print as a hierarchy file.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the ready taxonomies, or print one as a hierarchy file.

    Each has its source, date and licence. Print one to change it, and name your file in the policy.

    Example:  sfumato policy ready countries > countries.csv
    """
    from sfumato.workflows.confirm import ready_card, ready_list, ready_text

    if name is not None:
        print_result(ready_text(name).rstrip("\n"))
    elif as_json:
        document({"ready": ready_list()})
    else:
        print_result(ready_card())


@policy.command()
@carry_interruptions
def arx(
    project: Annotated[Path, argument("PROJECT", "A project file of ARX (.deid).")],
    into: Annotated[Path, valued("--into", "FOLDER", "Where the policy and its hierarchies go.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a policy and hierarchy files from a project of ARX.

    Takes over roles, hierarchies, levels, the suppression limit and k. Other privacy models are named, for
    you to write. The data in the project are not read.

    Example:  sfumato policy arx survey.deid --into survey
    """
    from sfumato.workflows.confirm import POLICY, take_over_arx_project

    print_or_json(take_over_arx_project(project, into), as_json=as_json)
    if not as_json:
        print_note(f"next: sfumato policy check {into / POLICY}")


@policy.command()
@carry_interruptions
@reads_data
def patterns(
    file: PolicyArgument,
    data: Data,
    quality: Annotated[
        str | None, valued("--quality", "METRIC", "The measure by which versions are equally good.")
    ] = None,
    tolerance: Annotated[
        str | None, valued("--tolerance", "SHARE", "How much worse a version may be, such as 5%.")
    ] = None,
    compare: Annotated[
        list[str] | None,
        valued("--compare", "METRIC", "Also tell how far it agrees with another measure; may be repeated."),
    ] = None,
    as_json: AsJson = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Count the versions of a table that keep the promises equally well.

    Judges every combination of levels. Of equally good versions, it counts those of which none can be made
    from another.

    Example:  sfumato policy patterns policy.yaml patients.csv --quality precision
    """
    from sfumato.workflows.patterns import patterns as patterns_

    with progress_bar() as progress:
        classified = patterns_(
            table_read_by(None, data, form),
            file,
            quality=quality,
            tolerance=tolerance,
            compare=compare or (),
            progress=progress,
        )
    print_or_json(classified, as_json=as_json)

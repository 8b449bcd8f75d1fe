"""`sfumato policy`: is a policy sound, what does a policy look like, and what does it leave to choose?"""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.interruptions import through
from sfumato.cli.options import AsJson, ShowValues
from sfumato.cli.terminal import document, progress_bar, say, talk

policy = typer.Typer(help="Check a policy, or print the shape of policies.", rich_markup_mode=None)


@policy.command()
@through
def schema() -> None:
    """Print the JSON Schema of policy files, for editors.

    Example:  sfumato policy schema > sfumato.schema.json
    """
    from sfumato.policy.schema import schema as shape

    document(shape())


@policy.command()
@through
def check(
    file: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file (YAML).")],
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help="A CSV or Parquet file.")] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", help="Also what a known rule asks for, as hipaa-safe-harbor.")
    ] = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Check a policy and its taxonomies, alone or beside data.

    Says what is wrong, worst first, and proposes the repair. Exits 3 if protecting would be refused.

    Example:  sfumato policy check policy.yaml patients.csv
    """
    from sfumato.journey.declare import check as check_
    from sfumato.show.card import several
    from sfumato.show.document import json_ready

    with progress_bar() as progress:
        found = check_(file, data, preset=preset, progress=progress)
    errors = sum(diagnosis.gravity == "error" for diagnosis in found)
    if as_json:
        document({"sound": not errors, "ailments": [json_ready(diagnosis) for diagnosis in found]})
    else:
        for diagnosis in found:
            say(str(diagnosis))
        say(several(errors, "error") if errors else "the policy is sound")
    if show_values:
        for diagnosis in found:
            for word, lines in (("values", diagnosis.values), ("lines to add", diagnosis.repair)):
                if lines:
                    talk(f"{diagnosis.where}, {diagnosis.name}, {word}:")
                    talk("\n".join(f"  {line}" for line in lines))
    raise typer.Exit(3 if errors else 0)


@policy.command()
@through
def patterns(
    file: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file (YAML).")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="A CSV or Parquet file.")],
    quality: Annotated[
        str | None, typer.Option("--quality", metavar="METRIC", help="What makes versions equally good.")
    ] = None,
    tolerance: Annotated[
        str | None, typer.Option("--tolerance", metavar="SHARE", help="How much worse one may be, as 5%.")
    ] = None,
    charts: Annotated[
        Path | None, typer.Option("--charts", metavar="FOLDER", help="Draw charts into a folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the versions of a table that keep the promises equally well.

    Every combination of levels is judged; of equally good ones, those apart cannot be made from each other.

    Example:  sfumato policy patterns policy.yaml patients.csv --quality precision
    """
    from sfumato.journey.discover import draw as draw_
    from sfumato.journey.patterns import patterns as patterns_

    with progress_bar() as progress:
        found = patterns_(data, file, quality=quality, tolerance=tolerance, progress=progress)
        drawn = draw_(found, charts) if charts is not None else ()
    if as_json:
        document(found.as_dict())
    else:
        say(str(found))
    if drawn:
        talk(f"drew {', '.join(str(file) for file in drawn)}")

"""`--engine`: what reads the table."""
# ruff: noqa: PLC0415  # Spark is loaded when it is asked for

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.terminal import talk
from sfumato.core.data_file import NO_FORM, DataFile, SourceForm
from sfumato.core.errors import WrongCall
from sfumato.system.address import is_address
from sfumato.system.database_address import is_database

if TYPE_CHECKING:
    from sfumato.engine.source import Frame

Engine = Annotated[
    str | None,
    typer.Option(
        "--engine", metavar="NAME", help="spark: Spark reads and counts the table, by path or name."
    ),
]


def table_read_by(engine: str | None, data: str, form: SourceForm = NO_FORM) -> str | DataFile | Frame:
    """Returns the table as the engine reads it; without an engine, its file or address.

    `form` is what the caller says of how a file is read.
    """
    if engine is None and is_address(data) and not is_database(data) and not form:
        return data
    if engine is None:
        return DataFile(data, **_arguments(form), note=talk)
    if engine != "spark":
        raise WrongCall("there is no such engine", remedy="Say spark, or leave --engine out.")
    if form:
        raise WrongCall(
            f"Spark reads tables in its own way, without --{next(iter(form.words))}",
            remedy="Leave it out, or read the file without --engine.",
        )
    try:
        from sfumato.engine.spark.named_table import spark_table
    except ImportError:
        raise WrongCall(
            "Spark is not installed", remedy="Run `pip install 'sfumato[spark]'`, then `sfumato doctor`."
        ) from None
    return spark_table(data)


def _arguments(form: SourceForm) -> dict[str, str]:
    return {key.replace("-", "_"): word for key, word in form.words.items()}

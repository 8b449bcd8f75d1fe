"""`--engine`: what reads the table."""
# ruff: noqa: PLC0415  # Spark is loaded when it is asked for

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.core.errors import WrongCall

if TYPE_CHECKING:
    from sfumato.engine.source import Frame

Engine = Annotated[
    str | None,
    typer.Option(
        "--engine", metavar="NAME", help="spark: Spark reads and counts the table, by path or name."
    ),
]


def table_read_by(engine: str | None, data: str) -> str | Frame:
    """Returns the table as the engine reads it; without an engine, its path or address."""
    if engine is None:
        return data
    if engine != "spark":
        raise WrongCall("there is no such engine", remedy="Say spark, or leave --engine out.")
    try:
        from sfumato.engine.spark.named_table import spark_table
    except ImportError:
        raise WrongCall(
            "Spark is not installed", remedy="Run `pip install 'sfumato[spark]'`, then `sfumato doctor`."
        ) from None
    return spark_table(data)

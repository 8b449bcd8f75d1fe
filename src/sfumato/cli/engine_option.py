"""`--engine`: what reads the table."""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from typing import Annotated, Any

import typer

Engine = Annotated[
    str | None,
    typer.Option("--engine", metavar="NAME", help="spark: Spark reads the path or table named, and counts."),
]


def read_by(engine: str | None, data: str) -> Any:
    """The data as the engine reads it; without one, its path or address."""
    from sfumato.core.errors import WrongCall

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

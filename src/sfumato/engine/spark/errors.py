"""Errors of Spark, told without its own messages: they may quote cells."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sfumato.core.errors import BadData

ANOTHER_TABLE = "this is not the table that was planned"


TALKATIVE = "DataFrameQueryContextLogger"
"""The logger to which PySpark writes, cells included, why a query failed."""


@contextmanager
def spark_task(what: str) -> Iterator[None]:
    """Run a task in Spark; an error names the task and repeats nothing that Spark says."""
    try:
        with _silenced():
            yield
    except (PySparkException, Py4JError) as error:
        if ANOTHER_TABLE in str(error):
            raise another_table() from None
        raise BadData(
            f"Spark could not finish {what}; nothing was published",
            remedy="Spark's own log says why: memory, disk, a lost worker, or a cell that it could not read.",
        ) from None


@contextmanager
def _silenced() -> Iterator[None]:
    log = logging.getLogger(TALKATIVE)
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def another_table() -> BadData:
    """The refusal of a table that changed since it was planned."""
    return BadData(ANOTHER_TABLE, remedy="Plan again with this table.")

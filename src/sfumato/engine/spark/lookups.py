"""Lookup tables, what each value of a column becomes, joined with the rows by broadcast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

MOST_BROADCAST = 1 << 20
"""Up to so many entries a table is sent to every worker; a larger one is joined by moving the rows."""


@dataclass(frozen=True, eq=False)
class Lookup:
    """What each value of a cell becomes, in columns with names of their own."""

    cell: Column
    values: pa.Array
    becomes: Mapping[str, pa.Array]


def look_up(frame: DataFrame, lookups: Sequence[Lookup]) -> DataFrame:
    """The rows with what their cells become; nothing for a value that a table lacks.

    A join never finds a missing cell; what it becomes is said aside, which is cheaper than to compare nulls.
    """
    for number, lookup in enumerate(lookups):
        given, here = f"given{number}", lookup.values.is_valid()
        columns = {name: cells.filter(here) for name, cells in lookup.becomes.items()}
        small = spark_table_of(frame, {given: lookup.values.filter(here), **columns})
        frame = frame.join(
            broadcast_if_small(small, len(lookup.values)), lookup.cell == F.col(given), "left"
        ).drop(given)
        if lookup.values.null_count:
            for name, cells in lookup.becomes.items():
                gap = cells.filter(lookup.values.is_null())[0].as_py()
                frame = frame.withColumn(
                    name, F.when(lookup.cell.isNull(), F.lit(gap)).otherwise(F.col(name))
                )
    return frame


def join_on(frame: DataFrame, columns: Mapping[str, pa.Array], *, on: Sequence[str], how: str) -> DataFrame:
    """Join with a table by columns that are never missing; `how` as Spark says it."""
    other = spark_table_of(
        frame, {f"m_{name}" if name in on else name: cells for name, cells in columns.items()}
    )
    same = reduce(lambda a, b: a & b, [F.col(name) == F.col(f"m_{name}") for name in on])
    joined = frame.join(broadcast_if_small(other, len(columns[on[0]])), same, how)
    return joined if how == "left_anti" else joined.drop(*(f"m_{name}" for name in on))


def spark_table_of(frame: DataFrame, columns: Mapping[str, pa.Array]) -> DataFrame:
    """These columns as a table of the same session."""
    return frame.sparkSession.createDataFrame(pa.table(dict(columns)))


def broadcast_if_small(small: DataFrame, entries: int) -> DataFrame:
    """The table, marked to be sent to every worker unless it is large."""
    return F.broadcast(small) if entries <= MOST_BROADCAST else small


def bitwise_or(columns: Sequence[Column]) -> Column:
    """Bits of several columns in one; missing where one of them is."""
    return reduce(lambda a, b: a.bitwiseOR(b), columns)

"""The values that occur in columns and their counts, fetched in one query, at most so many of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sfumato.engine.spark.errors import spark_task

TEXT = pa.large_string()


@dataclass(frozen=True, eq=False)
class SparkValueCounts:
    """The distinct cells of a column, missing ones included, and how many rows have each."""

    values: pa.Array
    counts: pa.Array

    @property
    def rows(self) -> int:
        return int(pc.sum(self.counts).as_py() or 0)


def value_counts(
    frame: DataFrame, cells: Mapping[str, Column], *, limit: int, what: str
) -> dict[str, SparkValueCounts]:
    """Group every column by itself; one query, with one slot for each type of cell.

    A column with more than `limit` distinct cells comes back with one more than that, whichever they are.
    """
    if not cells:
        return {}
    with spark_task(what):
        kinds = {name: frame.select(cell).schema[0].dataType for name, cell in cells.items()}
        slots = list(dict.fromkeys(kinds.values()))
        parts = []
        for number, (name, cell) in enumerate(cells.items()):
            one = frame.select(cell.alias("v")).groupBy("v").agg(F.count(F.lit(1)).alias("n"))
            own = slots.index(kinds[name])
            shown = [F.col("v") if i == own else F.lit(None).cast(kind) for i, kind in enumerate(slots)]
            named = [cell.alias(f"v{i}") for i, cell in enumerate(shown)]
            parts.append(one.limit(limit + 1).select(F.lit(number).alias("which"), "n", *named))
        table = reduce(DataFrame.unionAll, parts).toArrow()
    counts = {}
    for number, name in enumerate(cells):
        mine = table.filter(pc.equal(table["which"], number))
        column = mine[f"v{slots.index(kinds[name])}"].combine_chunks()
        if pa.types.is_timestamp(column.type) and column.type.tz:
            column = column.cast(pa.timestamp(column.type.unit, "UTC"))
        counts[name] = SparkValueCounts(column, mine["n"].combine_chunks())
    return counts

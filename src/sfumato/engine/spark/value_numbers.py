"""Numbers for values that must stay in Spark: counted there, in the order of the values, without gaps."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from sfumato.engine.spark.errors import spark_task

PARTS = 64
MOST_ROWS_IN_ONE_TASK = 1 << 20
"""Up to so many rows one task numbers all values; beyond, they are cut into parts by value."""


def numbered(
    frame: DataFrame, value: str, into: str, *, rows: int, what: str, alone: int = MOST_ROWS_IN_ONE_TASK
) -> tuple[DataFrame, int]:
    """The rows with the number of their value: 0 for the first in ascending order; and how many there are.

    A missing value has no number. Parts are cut at some of the values themselves, chosen by their hash: what
    a value's number is depends on the values alone, not on how Spark spreads or repeats its work.
    """
    apart = frame
    part: Column = F.lit(0)
    if rows > alone:
        apart = frame.crossJoin(F.broadcast(_bounds(frame, value, rows)))
        part = _part(F.col(value), 0, PARTS - 1)
    apart = apart.withColumn("part", part).drop("bounds")
    with spark_task(what):
        sizes = {
            row[0]: row[1] for row in apart.groupBy("part").agg(F.count_distinct(F.col(value))).collect()
        }
    before, firsts = 0, []
    for place in range(PARTS):
        firsts.append(F.lit(before))
        before += int(sizes.get(place, 0))
    first = F.element_at(F.array(*firsts), F.col("part") + 1) if len(sizes) > 1 else F.lit(0)
    order = Window.partitionBy("part").orderBy(F.col(value).asc_nulls_last())
    number = (first + F.dense_rank().over(order) - 1).cast("long")
    return apart.withColumn(into, F.when(F.col(value).isNotNull(), number)).drop("part"), before


def _bounds(frame: DataFrame, value: str, rows: int) -> DataFrame:
    """One row: the values at which parts begin, ascending."""
    some = F.pmod(F.xxhash64(value), F.lit(max(1, rows // (16 * PARTS)))) == 0
    drawn = frame.where(some & F.col(value).isNotNull()).agg(
        F.sort_array(F.collect_set(value)).alias("drawn")
    )
    steps = [F.floor(F.lit(i) * F.size("drawn") / PARTS).cast("int") + 1 for i in range(1, PARTS)]
    return drawn.select(F.array(*(F.try_element_at("drawn", step) for step in steps)).alias("bounds"))


def _part(value: Column, low: int, high: int) -> Column:
    """How many bounds a value has reached, by bisection between `low` and `high`."""
    if low == high:
        return F.lit(low)
    middle = (low + high) // 2
    bound = F.col("bounds")[middle]
    above = _part(value, middle + 1, high)
    return F.when(value >= bound, above).otherwise(_part(value, low, middle))

"""A sample that is told by the rows themselves: no chance, no order, the same after a task ran twice.

What it suggests about a set of columns is then counted on all rows, in Spark.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import MapType

from sfumato.core.errors import WrongCall
from sfumato.engine.spark.errors import spark_task
from sfumato.engine.spark.numbered_table import NumberedTable

STEPS = 1 << 30
"""A share of the rows is a whole number of such parts of all hashes."""


def sampled(opened: NumberedTable, rows: int, *, by: str | None, seed: int) -> tuple[DataFrame, int]:
    """About so many rows of a table, and how many it has; all of them where it has no more."""
    if rows < 1:
        raise WrongCall("a sample has at least one row")
    with spark_task("the count of rows"):
        total = opened.frame.count()
    if total <= rows:
        return opened.frame, total
    names = opened.names if by is None else (by,)
    cells = [_hashed(opened, name) for name in names]
    place = F.pmod(F.xxhash64(F.lit(seed).cast("long"), *cells), F.lit(STEPS))
    return opened.frame.where(place < F.lit(rows * STEPS // total)), total


def exposed(opened: NumberedTable, columns: Sequence[str], *, k: int) -> int:
    """How many rows share their cells in these columns with fewer than k, themselves included."""
    opened.refuse_nested(columns)
    groups = opened.frame.groupBy(*(opened.at(name) for name in columns)).agg(F.count(F.lit(1)).alias("n"))
    with spark_task("the count of exposed rows"):
        rows = groups.where(F.col("n") < k).agg(F.coalesce(F.sum("n"), F.lit(0))).collect()[0][0]
    return int(rows)


def _hashed(opened: NumberedTable, name: str) -> Column:
    """A cell that has a hash: Spark has none for maps. A missing one differs from all others."""
    cell = F.col(opened.at(name))
    if isinstance(opened.kind(name), MapType):
        cell = F.sort_array(F.map_entries(cell))
    return F.struct(cell.isNull(), cell)

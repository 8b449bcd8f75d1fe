"""The digest of a table, added up in Spark."""

from __future__ import annotations

from pyspark.sql import functions as F

from sfumato.engine.digest import DIGITS, SLICES, table_digest
from sfumato.engine.spark.errors import spark_task
from sfumato.engine.spark.numbered_table import NumberedTable
from sfumato.engine.spark.text import text_of


def digest(opened: NumberedTable) -> str:
    """One pass; one row of sums leaves Spark."""
    cells = []
    for name, kind in zip(opened.names, opened.kinds, strict=True):
        text = text_of(F.col(opened.at(name)), kind, name)
        cells.append(F.coalesce(F.concat(F.octet_length(text).cast("string"), F.lit(":"), text), F.lit("-")))
    rows = opened.frame.select(F.sha2(F.concat(F.lit(""), *cells), 256).alias("h"))
    slices = [
        F.coalesce(F.sum(F.conv(F.substring("h", 1 + i * DIGITS, DIGITS), 16, 10).cast("long")), F.lit(0))
        for i in range(SLICES)
    ]
    with spark_task("the digest"):
        count, *sums = rows.agg(F.count(F.lit(1)), *slices).collect()[0]
    return table_digest(opened.names, int(count), [int(part) for part in sums])

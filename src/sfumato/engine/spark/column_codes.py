"""Columns as codes, from Spark: rows come packed, and values that are many stay there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import functions as F

from sfumato.core.errors import BadData
from sfumato.core.packing import Packing
from sfumato.core.progress import Progress, silent
from sfumato.engine.arrow_arrays import to_arrow
from sfumato.engine.spark.errors import spark_task
from sfumato.engine.spark.keys import packed
from sfumato.engine.spark.lookups import Lookup, look_up
from sfumato.engine.spark.numbered_table import NumberedTable
from sfumato.engine.spark.packed_table import fetch_counts
from sfumato.engine.spark.value_counts import value_counts
from sfumato.engine.spark.value_numbers import numbered

MOST_DRIVER_VALUES = 1 << 14
"""Columns with more distinct values than this are numbered in Spark."""


def column_codes(
    opened: NumberedTable,
    names: Sequence[str],
    *,
    limit: int,
    few: int = MOST_DRIVER_VALUES,
    progress: Progress = silent,
) -> tuple[NDArray[np.int32], tuple[int, ...]]:
    """The codes of each of these columns, row by row, and how many codes each has; missing cells last."""
    opened.refuse_nested(names)
    progress("reading", 0)
    with spark_task("reading"):
        rows = opened.frame.count()
    if rows > limit:
        raise BadData(
            f"the table has {rows:,} rows, and the driver takes {limit:,}",
            remedy="Look at a sample (--sample, or `SparkSource(...).sampled(rows)`), or raise the limit.",
        )
    cells = {name: F.col(opened.at(name)) for name in names}
    counts_of = value_counts(opened.frame, cells, limit=few, what="reading")
    frame, lookups, sizes = opened.frame, [], []
    for i, name in enumerate(names):
        values = counts_of[name].values
        if len(values) <= few:
            order = np.argsort(values.is_null().to_numpy(zero_copy_only=False), kind="stable")
            code = np.empty(len(values), np.int64)
            code[order] = np.arange(len(values))
            lookups.append(Lookup(cells[name], values, {f"code{i}": to_arrow(code)}))
            sizes.append(len(values))
            continue
        frame, size = numbered(frame, opened.at(name), f"number{i}", rows=rows, what="reading")
        frame = frame.withColumn(f"code{i}", F.coalesce(F.col(f"number{i}"), F.lit(size).cast("long")))
        sizes.append(size + _has_gaps(opened, name))
    packing = Packing(tuple(max(1, size) for size in sizes))
    codes = [f"code{i}" for i in range(len(names))]
    moved = [F.shiftleft(code, packing.places[i][1]).alias(code) for i, code in enumerate(codes)]
    keyed, words = packed(look_up(frame, lookups).select(*moved), packing, codes)
    counted = keyed.groupBy(*words).agg(F.count(F.lit(1)).alias("n"))
    arrays, counts = fetch_counts(counted, words, at_most=rows, limit=limit)
    order = np.lexsort(arrays[::-1])
    arrays, counts = arrays[:, order], counts[order]
    codes_of = np.empty((len(names), rows), np.int32)
    for i in range(len(names)):
        codes_of[i] = np.repeat(packing.unpack(arrays, i), counts)
    progress("reading", rows, rows)
    return codes_of, tuple(sizes)


def _has_gaps(opened: NumberedTable, name: str) -> bool:
    with spark_task("reading"):
        return bool(opened.frame.where(F.col(opened.at(name)).isNull()).limit(1).count())

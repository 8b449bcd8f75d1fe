"""Packed counts fetched to the driver: counted first where they might be too many, and in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sfumato.core.errors import BadData
from sfumato.core.packing import WORD_BITS, Words
from sfumato.engine.arrow_arrays import to_numpy
from sfumato.engine.spark.errors import spark_task

MOST_DISTINCT_ROWS = 1 << 28
"""Distinct rows that a driver takes: with one word and a count, 4 GiB."""

BYTES_AT_A_TIME = 1 << 29
"""Bytes fetched at a time: half of what Spark hands over in one result unless it is told otherwise."""


@contextmanager
def persisted(table: DataFrame) -> Iterator[DataFrame]:
    """A table that Spark keeps, so that counting it and fetching it is not done twice."""
    held = table.persist()
    try:
        yield held
    finally:
        with spark_task("letting go of a table"):
            held.unpersist()


def fetch_counts(
    table: DataFrame,
    words: Sequence[str],
    *,
    at_most: int,
    limit: int = MOST_DISTINCT_ROWS,
    part: int = BYTES_AT_A_TIME,
) -> tuple[Words, NDArray[np.int64]]:
    """The words and counts (column n) of all rows; `at_most` is a bound that is known beforehand."""
    fits = max(1, part // (8 * (len(words) + 1)))
    if at_most <= min(fits, limit):
        with spark_task("counting"):
            return _arrays([table.select(*words, "n").toArrow()], words)
    with persisted(table) as held:
        with spark_task("counting"):
            rows = held.count()
        if rows > limit:
            raise BadData(
                f"the packed table has {rows:,} distinct rows, and the driver takes {limit:,}",
                remedy="Give columns with many values a start level in the policy, or raise the limit.",
            )
        parts = -(-max(1, rows) // fits)
        place = F.pmod(F.xxhash64(*words), F.lit(parts))
        with spark_task("fetching counts"):
            tables = [held.where(place == i).select(*words, "n").toArrow() for i in range(parts)]
    return _arrays(tables, words)


def _arrays(tables: list[pa.Table], words: Sequence[str]) -> tuple[Words, NDArray[np.int64]]:
    """Batches are let go of as they are copied, so that nothing is held twice."""
    rows = sum(table.num_rows for table in tables)
    batches = [batch for table in tables for batch in table.to_batches()]
    tables.clear()
    lines = np.empty((len(words) + 1, rows), np.int64)
    done = 0
    while batches:
        batch = batches.pop()
        for i, name in enumerate([*words, "n"]):
            column = batch.column(name)
            if column.null_count:
                raise BadData("the table changed while it was counted", remedy="Try again.")
            lines[i, done : done + len(column)] = to_numpy(column)
        done += len(batch)
    return lines[:-1], lines[-1]


def sorted_by_key(words: Words, counts: NDArray[np.int64]) -> tuple[Words, NDArray[np.int64]]:
    """Distinct keys in ascending order, in place; fastest where key and count fit into one word together."""
    bits = int(counts.max(initial=0)).bit_length()
    if len(words) == 1 and int(words.max(initial=0)).bit_length() + bits <= WORD_BITS:
        keys = words[0]
        keys <<= bits
        keys |= counts
        keys.sort()
        np.bitwise_and(keys, (1 << bits) - 1, out=counts)
        keys >>= bits
        return words, counts
    order = np.lexsort(words[::-1])
    for cells in (*words, counts):
        cells[:] = cells[order]
    return words, counts

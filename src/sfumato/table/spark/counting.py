"""The count of a Spark table: codes by broadcast, packed keys, counts summed where the rows are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from pyspark.sql import functions as F

from sfumato.core.errors import BadData
from sfumato.core.microdata import Coding, Column, Microdata, Missing
from sfumato.core.packing import Packing
from sfumato.core.progress import Progress, silent
from sfumato.engine.arrow_arrays import to_numpy
from sfumato.engine.column_names import safe_name
from sfumato.engine.count import rank_table, refuse_missing
from sfumato.engine.dictionary import Dictionary
from sfumato.engine.spark.errors import spark_task
from sfumato.engine.spark.keys import (
    MOST_VALUES,
    CodedColumn,
    as_text,
    packed,
    refuse_missing_person,
    with_person,
)
from sfumato.engine.spark.lookups import look_up
from sfumato.engine.spark.numbered_table import NumberedTable
from sfumato.engine.spark.packed_table import MOST_DISTINCT_ROWS, fetch_counts, sorted_by_key
from sfumato.engine.spark.value_counts import SparkValueCounts, value_counts


def count(
    opened: NumberedTable,
    codings: Sequence[Coding],
    *,
    missing: Missing,
    person: str | None = None,
    limit: int = MOST_DISTINCT_ROWS,
    progress: Progress = silent,
) -> Microdata:
    """All rows as leaf ranks, equal rows once."""
    keys = [c.name for c in codings if c.role.is_key]
    progress("counting", 0)
    opened, dropped = without_missing(opened, keys if missing is Missing.SUPPRESS else ())
    cells = {c.name: opened.cell(c.name, c.form) for c in codings}
    counts_of = value_counts(opened.frame, cells, limit=MOST_VALUES, what="the survey of coded columns")
    columns, coded = [], []
    for coding in codings:
        values = counts_of[coding.name]
        if missing is Missing.REFUSE and coding.role.is_key:
            refuse_missing(coding.name, _missing(values))
        column, known = _code(coding, values)
        columns.append(column)
        coded.append(replace(known, cell=cells[coding.name]))
    if counts_of:
        rows = next(iter(counts_of.values())).rows
    else:
        with spark_task("counting"):
            rows = opened.frame.count()
    progress("counting", 0, rows)
    sizes = [max(1, len(c.taxonomy.leaves)) for c in columns]
    frame, people = opened.frame, 0
    if person is not None:
        refuse_missing_person(opened, person)
        frame, people = with_person(opened, frame, person, rows=rows)
        sizes.append(max(1, people))
    packing = Packing(tuple(sizes))
    codes = [f"k{i}" for i in range(len(sizes))]
    frame = look_up(frame, [c.lookup(codes[i], packing.places[i][1]) for i, c in enumerate(coded)])
    if person is not None:
        frame = frame.withColumn(codes[-1], F.shiftleft(F.col("person"), packing.places[-1][1]))
    keyed, words = packed(frame.select(*codes), packing, codes)
    if person is not None or _mostly_differ(counts_of.values(), rows):
        keyed = keyed.repartition(*words)  # grouped once, where they meet: not first where they are
    counted = keyed.groupBy(*words).agg(F.count(F.lit(1)).alias("n"))
    arrays, counts = fetch_counts(counted, words, at_most=min(rows, prod(sizes)), limit=limit)
    if int(counts.sum()) != rows:
        raise BadData("the table changed while it was counted", remedy="Try again.")
    arrays, counts = sorted_by_key(arrays, counts)
    progress("counting", rows, rows)
    return Microdata(tuple(columns), packing, arrays, counts, person is not None, dropped, person)


def without_missing(opened: NumberedTable, whole: Sequence[str]) -> tuple[NumberedTable, int]:
    """The rows that have a cell in each of these columns, and how many others there are."""
    if not whole:
        return opened, 0
    has = opened.whole(whole)
    with spark_task("the count of missing cells"):
        dropped = opened.frame.where(~has).count()
    return replace(opened, frame=opened.frame.where(has)), dropped


def _mostly_differ(columns: Iterable[SparkValueCounts], rows: int) -> bool:
    """Whether few rows have an equal, if columns had nothing to do with each other; a guess about speed."""
    alike = float(rows)
    for values in columns:
        alike *= float(((to_numpy(values.counts) / max(1, rows)) ** 2).sum())
    return alike < 0.5


def _missing(occurring: SparkValueCounts) -> int:
    none = occurring.values.is_null()
    return int(sum(n for n, gone in zip(occurring.counts.to_pylist(), none.to_pylist(), strict=True) if gone))


def _code(coding: Coding, occurring: SparkValueCounts) -> tuple[Column, CodedColumn]:
    if len(occurring.values) > MOST_VALUES:
        raise BadData(
            f"column {safe_name(coding.name)} has more than {MOST_VALUES:,} distinct values",
            remedy="Make it coarser in Spark, or give it another role.",
        )
    cells = as_text(occurring, coding.name, coding.form)
    dictionary = Dictionary(coding.name, cells.type)
    numbers = dictionary.encode(cells)
    taxonomy, table = rank_table(coding, dictionary)
    coded = CodedColumn(F.lit(None), occurring.values, table[numbers])
    return Column(coding.name, coding.role, taxonomy, coding.form), coded

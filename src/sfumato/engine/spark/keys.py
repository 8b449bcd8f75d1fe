"""Rows as packed keys, in Spark: the layout of `core/packing.py`, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column as Cell
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from sfumato.core.errors import BadData
from sfumato.core.microdata import Column
from sfumato.core.packing import Packing
from sfumato.core.term_sets import SetForm
from sfumato.engine.arrow_arrays import text_array, to_arrow
from sfumato.engine.column_names import safe_name
from sfumato.engine.count import UNKNOWN, leaf_ranks, refuse_further_keys
from sfumato.engine.frames.arrow import ArrowReader
from sfumato.engine.set_columns import SetReader
from sfumato.engine.spark.errors import another_table, spark_task
from sfumato.engine.spark.lookups import Lookup, bitwise_or
from sfumato.engine.spark.numbered_table import NumberedTable
from sfumato.engine.spark.text import text_of
from sfumato.engine.spark.value_counts import SparkValueCounts, value_counts
from sfumato.engine.spark.value_numbers import numbered
from sfumato.engine.text import canonical

MOST_VALUES = 1 << 22
"""A coded column with more distinct values than this is refused: its taxonomy would not fit."""


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """The values of a planned column, and the leaf rank of each."""

    cell: Cell
    values: pa.Array
    ranks: NDArray[np.int64]

    def lookup(self, code: str, shift: int) -> Lookup:
        """Join the rank of every row, moved to its place in the key."""
        return Lookup(self.cell, self.values, {code: to_arrow(self.ranks << shift)})


def as_text(occurring: SparkValueCounts, name: str, form: SetForm | None) -> pa.Array:
    """The cells of a column as the rest of the engine sees them: term sets are one text."""
    if form is None:
        return occurring.values
    if form.parts:
        arrays = occurring.values.flatten()
        table = pa.Table.from_arrays(arrays, names=list(form.parts))
    else:
        table = pa.table({name: occurring.values})
    batches = [b.column(name) for b in SetReader(ArrowReader(table), {name: form}).batches([name])]
    return pa.concat_arrays(batches) if batches else pa.array([], pa.large_string())


def planned(opened: NumberedTable, columns: Sequence[Column]) -> list[CodedColumn]:
    """The columns of a planned table: what each value is coded as, or a refusal of values it does not know.

    Text is its own label, so its table comes from the taxonomy; what Spark finds beyond it has no code.
    """
    cells = {c.name: opened.cell(c.name, c.form) for c in columns}
    asking = {n: cells[n] for n in cells if not _is_text(opened, n, columns)}
    counts_of = value_counts(opened.frame, asking, limit=MOST_VALUES, what="the survey of coded columns")
    coded = []
    for column in columns:
        name = column.name
        if name in counts_of:
            values = counts_of[name].values
            labels = canonical(as_text(counts_of[name], name, column.form), name).to_pylist()
            ranks = _ranks_of(column, labels)
        else:
            known = column.taxonomy.ranks
            values, ranks = text_array(list(known), pa.string()), np.array(list(known.values()), np.int64)
        coded.append(CodedColumn(cells[name], values, ranks))
    return coded


def _is_text(opened: NumberedTable, name: str, columns: Sequence[Column]) -> bool:
    column = next(c for c in columns if c.name == name)
    return column.form is None and isinstance(opened.kind(name), StringType)


def _ranks_of(column: Column, labels: Sequence[str | None]) -> NDArray[np.int64]:
    missing = leaf_ranks(column.taxonomy, [])[-1]
    ranks = np.where(
        [label is None for label in labels],
        missing,
        leaf_ranks(column.taxonomy, [label or "" for label in labels])[:-1],
    )
    if (ranks == UNKNOWN).any():
        raise another_table()
    return np.asarray(ranks, np.int64)


def packed(
    frame: DataFrame, packing: Packing, codes: Sequence[str], *, into: str = "w"
) -> tuple[DataFrame, list[str]]:
    """Put codes, each already moved to its place, together in words w0, w1, …"""
    words = [f"{into}{i}" for i in range(packing.words)]
    held: list[list[Cell]] = [[] for _ in words]
    for code, (word, _, _) in zip(codes, packing.places, strict=True):
        held[word].append(F.col(code))
    cells = [
        bitwise_or(some).alias(word) if some else F.lit(0).cast("long").alias(word)
        for some, word in zip(held, words, strict=True)
    ]
    others = [F.col(name) for name in frame.columns if name not in codes]
    return frame.select(*others, *cells), words


def with_person(opened: NumberedTable, frame: DataFrame, person: str, *, rows: int) -> tuple[DataFrame, int]:
    """The rows with the number of their person in a column `person`; people never leave Spark."""
    cell = text_of(F.col(opened.at(person)), opened.kind(person), person)
    named = frame.withColumn("who", cell)
    return numbered(named, "who", "person", rows=rows, what="the numbering of people")


def refuse_missing_person(opened: NumberedTable, person: str) -> None:
    """Refuse a table with rows that name no person, or with keys that differ in blanks around them alone."""
    cell = text_of(F.col(opened.at(person)), opened.kind(person), person)
    plain = F.regexp_replace(cell, r"(?U)^\s+|\s+$", "")
    with spark_task("the count of missing people"):
        nobody, padded = opened.frame.agg(
            F.count_if(F.col(opened.at(person)).isNull()), F.count_if(plain != cell)
        ).collect()[0]
    if nobody:
        raise BadData(
            f"column {safe_name(person)} names the person, and {nobody} of its cells are missing",
            remedy="Give every row a person, or leave such rows out.",
        )
    if padded:
        with spark_task("the count of keys"):
            keys, people = opened.frame.agg(F.count_distinct(cell), F.count_distinct(plain)).collect()[0]
        refuse_further_keys(keys - people, person)

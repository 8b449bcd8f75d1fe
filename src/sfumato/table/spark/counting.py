"""The count of a Spark table: codes by broadcast, packed keys, counts summed where the rows are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column as Cell
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from sfumato.system.errors import BadData
from sfumato.system.progress import Progress, silent
from sfumato.table.arrow_arrays import text_array, to_arrow, to_numpy
from sfumato.table.cell_text import canonical, safe_name
from sfumato.table.counting import (
    UNKNOWN,
    leaf_ranks,
    rank_table,
    refuse_further_keys,
    refuse_missing,
    refuse_missing_people,
)
from sfumato.table.cut import Cut
from sfumato.table.dictionary import Dictionary
from sfumato.table.microdata import (
    WORD_BITS,
    Coding,
    Column,
    Microdata,
    Missing,
    Packing,
    SetForm,
    Words,
    sort_and_count,
)
from sfumato.table.reader import ArrowReader
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.row_steps import SetReader
from sfumato.table.spark.row_order import ShownColumn
from sfumato.table.spark.text import (
    Lookup,
    NumberedTable,
    SparkValueCounts,
    another_table,
    bitwise_or,
    look_up,
    numbered,
    spark_task,
    text_of,
    value_counts,
)

# Rows as packed keys, in Spark: the layout of `table/microdata.py`, word by word.

MOST_VALUES = 1 << 22
"""A coded column with more distinct values than this is refused: its taxonomy would not fit."""


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """The values of a planned column, and the leaf rank of each."""

    cell: Cell
    values: pa.Array
    ranks: NDArray[np.int64]


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
            rank_of = column.taxonomy.ranks
            values, ranks = text_array(list(rank_of), pa.string()), np.array(list(rank_of.values()), np.int64)
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
    by_word: list[list[Cell]] = [[] for _ in words]
    for code, (word, _, _) in zip(codes, packing.places, strict=True):
        by_word[word].append(F.col(code))
    cells = [
        bitwise_or(parts).alias(word) if parts else F.lit(0).cast("long").alias(word)
        for parts, word in zip(by_word, words, strict=True)
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
    refuse_missing_people(nobody, person)
    if padded:
        with spark_task("the count of keys"):
            keys, people = opened.frame.agg(F.count_distinct(cell), F.count_distinct(plain)).collect()[0]
        refuse_further_keys(keys - people, person)


# Packed counts fetched to the driver: counted first where they might be too many, and in parts.

MOST_DISTINCT_ROWS = 1 << 28
"""Distinct rows that a driver takes: with one word and a count, 4 GiB."""

BYTES_AT_A_TIME = 1 << 29
"""Bytes fetched at a time: half of what Spark hands over in one result unless it is told otherwise."""


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
    cached = table.persist()  # or else it would be made twice, to be counted and to be fetched
    try:
        with spark_task("counting"):
            rows = cached.count()
        if rows > limit:
            raise BadData(
                f"the packed table has {rows:,} distinct rows, and the driver takes {limit:,}",
                remedy="Give columns with many values a start level in the policy, or raise the limit.",
            )
        parts = -(-max(1, rows) // fits)
        place = F.pmod(F.xxhash64(*words), F.lit(parts))
        with spark_task("fetching counts"):
            tables = [cached.where(place == i).select(*words, "n").toArrow() for i in range(parts)]
    finally:
        with spark_task("letting go of a table"):
            cached.unpersist()
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
        column, coded_column = _code(coding, values)
        columns.append(column)
        coded.append(replace(coded_column, cell=cells[coding.name]))
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
    lookups = [
        Lookup(c.cell, c.values, {code: to_arrow(c.ranks << shift)})
        for c, code, (_, shift, _) in zip(coded, codes, packing.places, strict=False)
    ]
    frame = look_up(frame, lookups)
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


# Columns as codes, from Spark: rows come packed, and values that are many stay there.

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


# The class of every row, as tables that Spark can join with.


@dataclass(frozen=True, eq=False)
class RecodedByColumn:
    """Every column is recoded by itself; rows whose nodes, packed, are among `gone` are suppressed."""

    packing: Packing
    nodes: tuple[NDArray[np.int64], ...]
    """The node of every rank, key by key."""
    labels: tuple[ShownColumn, ...]
    """The published text of every rank, key by key."""
    gone: Words


@dataclass(frozen=True, eq=False)
class RecodedByRow:
    """Rows find their class by their packed key: by the key columns where these decide, else by all."""

    packing: Packing | None
    words: Words
    classes: NDArray[np.int64]
    labels: tuple[ShownColumn, ...]
    """The published text of every class, key by key."""


def class_tables(recoding: Recoding) -> RecodedByColumn | RecodedByRow:
    """The cheapest tables that tell what rows become."""
    return _by_column(recoding) or _by_row(recoding)


def _by_column(recoding: Recoding) -> RecodedByColumn | None:
    cuts, table = recoding.cuts, recoding.table
    if cuts is None or not table.keys:
        return None
    published = recoding.class_of != SUPPRESSED
    class_nodes = [cuts[c.name].node_of[recoding.low[:, j]] for j, c in enumerate(table.keys)]
    for column, nodes in zip(table.keys, class_nodes, strict=True):
        own = cuts[column.name].node_of[table.codes(column.name)]
        if not np.array_equal(nodes[recoding.class_of[published]], own[published]):
            return None
    packing = Packing(tuple(len(c.taxonomy.labels) for c in table.keys))
    lost = np.flatnonzero(~published)
    gone, _ = sort_and_count(
        packing.pack([cuts[c.name].node_of[table.codes(c.name)[lost]] for c in table.keys])
    )
    left, _ = sort_and_count(packing.pack(class_nodes))
    every, _ = sort_and_count(np.hstack((gone, left)))
    if gone.shape[1] + left.shape[1] != every.shape[1]:
        return None
    node_of_ranks = tuple(cuts[c.name].node_of.astype(np.int64) for c in table.keys)
    return RecodedByColumn(packing, node_of_ranks, _labels(cuts, table), gone)


def _labels(cuts: Mapping[str, Cut], table: Microdata) -> tuple[ShownColumn, ...]:
    columns = []
    for column in table.keys:
        nodes, which = np.unique(cuts[column.name].node_of, return_inverse=True)
        columns.append(ShownColumn.of([column.taxonomy.labels[v] for v in nodes.tolist()], which))
    return tuple(columns)


def _by_row(recoding: Recoding) -> RecodedByRow:
    table = recoding.table
    labels = tuple(ShownColumn.of(*recoding.texts(j)) for j in range(len(table.keys)))
    packing = Packing(tuple(max(1, len(c.taxonomy.leaves)) for c in table.keys)) if table.keys else None
    words = table.words if packing is None else packing.pack([table.codes(c.name) for c in table.keys])
    first = _first_of_each(words)
    if packing is None or not _decides(words, recoding.class_of, first):
        packing, words, first = None, table.words, np.arange(table.distinct)
    classes = recoding.class_of[first].astype(np.int64)
    published = classes != SUPPRESSED
    return RecodedByRow(packing, words[:, first[published]], classes[published], labels)


def _first_of_each(words: Words) -> NDArray[np.int64]:
    """One position of every distinct key."""
    if words.shape[1] == 0:
        return np.zeros(0, np.int64)
    order = np.lexsort(words[::-1])
    fresh = np.ones(len(order), bool)
    fresh[1:] = (words[:, order[1:]] != words[:, order[:-1]]).any(axis=0)
    return order[fresh]


def _decides(words: Words, class_of: NDArray[np.integer], first: NDArray[np.int64]) -> bool:
    """Whether equal keys always have the same class."""
    both = np.vstack((words, class_of.astype(np.int64)))
    return len(_first_of_each(both)) == len(first)


def arrow_words(words: Words, names: Sequence[str]) -> dict[str, pa.Array]:
    """Packed keys as columns."""
    return {name: to_arrow(np.ascontiguousarray(word)) for name, word in zip(names, words, strict=True)}

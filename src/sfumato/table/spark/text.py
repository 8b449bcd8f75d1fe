"""The canonical text of a cell in Spark's own expressions: byte for byte what `table/cell_text.py` says.

Values that are coded never need this: their texts are made from the distinct values. It serves where values
must not leave Spark, for people and for digests. Floats are the one type whose shortest text Spark does not
know; a function in Python writes them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from sfumato.system.errors import BadData
from sfumato.table.cell_text import LARGEST_EXACT, safe_name
from sfumato.table.microdata import UNIT, SetForm

_AS_CAST = (ByteType, ShortType, IntegerType, LongType, BooleanType, DateType, NullType)


def text_of(cell: Column, kind: DataType, column: str) -> Column:
    """The text of a cell that is plain (no not-a-number, one zero); missing where it is missing."""
    if isinstance(kind, StringType | CharType | VarcharType):
        return cell
    if isinstance(kind, _AS_CAST):
        return cell.cast("string")
    if isinstance(kind, DecimalType) and kind.scale <= 36:
        return _decimal(cell, kind.scale)
    if isinstance(kind, DoubleType | FloatType):
        return _float_text(cell, single=isinstance(kind, FloatType))
    if isinstance(kind, TimestampNTZType | TimestampType):
        return _moment(cell, zoned=isinstance(kind, TimestampType))
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, StringType):
        return F.array_join(cell, UNIT)
    raise BadData(
        f"column {safe_name(column)} has the type {kind.typeName()}, whose values have no text",
        remedy="Leave it out or turn it into text.",
    )


def _decimal(cell: Column, scale: int) -> Column:
    """Digits without an exponent: a fraction is written with a one before it, which then goes."""
    if scale == 0:
        return cell.cast("string")
    size = F.abs(cell)
    fraction = (size % F.lit(1).cast("decimal(1,0)")) + F.lit(1).cast("decimal(1,0)")
    sign = F.when(cell < 0, F.lit("-")).otherwise(F.lit(""))
    return F.concat(sign, F.floor(size).cast("string"), F.substring(fraction.cast("string"), 2, scale + 1))


def _moment(cell: Column, *, zoned: bool) -> Column:
    """A point in time that is known the world over is written in UTC, as it leaves Spark."""
    if zoned:
        seconds = (F.unix_micros(cell).cast("decimal(20,0)") / F.lit(1_000_000)).cast("decimal(18,6)")
        epoch = F.lit("1970-01-01").cast("timestamp_ntz")
        cell = epoch + F.make_dt_interval(F.lit(0), F.lit(0), F.lit(0), seconds)
    whole = F.date_format(cell, "yyyy-MM-dd'T'HH:mm:ss")
    part = F.regexp_replace(F.date_format(cell, ".SSSSSS"), r"\.?0+$", "")
    if zoned:
        return F.concat(whole, part, F.lit("+00:00"))
    day = F.date_format(cell, "yyyy-MM-dd")
    return F.when((F.date_trunc("day", cell) == cell), day).otherwise(F.concat(whole, part))


def _float_text(cell: Column, *, single: bool) -> Column:
    """By a function that carries all it needs to Spark's workers."""
    exact = LARGEST_EXACT

    def write(number: float | None) -> str | None:
        if number is None:
            return None
        if abs(number) < exact and number == int(number):
            return str(int(number))
        if single:
            import numpy  # noqa: PLC0415  # on the worker

            return str(numpy.float32(number))
        return repr(number)

    return F.udf(write, StringType(), useArrow=False)(cell)


# Errors of Spark, told without its own messages: they may quote cells.

ANOTHER_TABLE = "this is not the table that was planned"


TALKATIVE = "DataFrameQueryContextLogger"
"""The logger to which PySpark writes, cells included, why a query failed."""


@contextmanager
def spark_task(what: str) -> Iterator[None]:
    """Run a task in Spark; an error names the task and repeats nothing that Spark says."""
    try:
        with _silenced():
            yield
    except (PySparkException, Py4JError) as error:
        if ANOTHER_TABLE in str(error):
            raise another_table() from None
        raise BadData(
            f"Spark could not finish {what}; nothing was published",
            remedy="Spark's own log says why: memory, disk, a lost worker, or a cell that it could not read.",
        ) from None


@contextmanager
def _silenced() -> Iterator[None]:
    log = logging.getLogger(TALKATIVE)
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def another_table() -> BadData:
    """The refusal of a table that changed since it was planned."""
    return BadData(ANOTHER_TABLE, remedy="Plan again with this table.")


# The values that occur in columns and their counts, fetched in one query, at most so many of each.

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
            grouped = frame.select(cell.alias("v")).groupBy("v").agg(F.count(F.lit(1)).alias("n"))
            own = slots.index(kinds[name])
            columns = [F.col("v") if i == own else F.lit(None).cast(kind) for i, kind in enumerate(slots)]
            named = [cell.alias(f"v{i}") for i, cell in enumerate(columns)]
            parts.append(grouped.limit(limit + 1).select(F.lit(number).alias("which"), "n", *named))
        table = reduce(DataFrame.unionAll, parts).toArrow()
    counts = {}
    for number, name in enumerate(cells):
        mine = table.filter(pc.equal(table["which"], number))
        column = mine[f"v{slots.index(kinds[name])}"].combine_chunks()
        if pa.types.is_timestamp(column.type) and column.type.tz:
            column = column.cast(pa.timestamp(column.type.unit, "UTC"))
        counts[name] = SparkValueCounts(column, mine["n"].combine_chunks())
    return counts


# Numbers for values that must stay in Spark: counted there, in the order of the values, without gaps.

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
    is_drawn = F.pmod(F.xxhash64(value), F.lit(max(1, rows // (16 * PARTS)))) == 0
    drawn = frame.where(is_drawn & F.col(value).isNotNull()).agg(
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


# Lookup tables, what each value of a column becomes, joined with the rows by broadcast.

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
        key, here = f"given{number}", lookup.values.is_valid()
        columns = {name: cells.filter(here) for name, cells in lookup.becomes.items()}
        table = spark_table_of(frame, {key: lookup.values.filter(here), **columns})
        frame = frame.join(table, lookup.cell == F.col(key), "left").drop(key)
        if lookup.values.null_count:
            for name, cells in lookup.becomes.items():
                gap = cells.filter(lookup.values.is_null())[0].as_py()
                frame = frame.withColumn(
                    name, F.when(lookup.cell.isNull(), F.lit(gap)).otherwise(F.col(name))
                )
    return frame


def join_on(frame: DataFrame, columns: Mapping[str, pa.Array], *, on: Sequence[str], how: str) -> DataFrame:
    """Join with a table by columns that are never missing; `how` as Spark says it."""
    table = spark_table_of(
        frame, {f"m_{name}" if name in on else name: cells for name, cells in columns.items()}
    )
    condition = reduce(lambda a, b: a & b, [F.col(name) == F.col(f"m_{name}") for name in on])
    joined = frame.join(table, condition, how)
    return joined if how == "left_anti" else joined.drop(*(f"m_{name}" for name in on))


def spark_table_of(frame: DataFrame, columns: Mapping[str, pa.Array]) -> DataFrame:
    """These columns as a table of the same session, marked to be sent to every worker unless it is large."""
    entries = pa.table(dict(columns))
    table = frame.sparkSession.createDataFrame(entries)
    return F.broadcast(table) if entries.num_rows <= MOST_BROADCAST else table


def bitwise_or(columns: Sequence[Column]) -> Column:
    """Bits of several columns in one; missing where one of them is."""
    return reduce(lambda a, b: a.bitwiseOR(b), columns)


# A Spark table with its columns numbered, so that no name of theirs can be mistaken.

NESTED = (ArrayType, MapType, StructType)


@dataclass(frozen=True, eq=False)
class NumberedTable:
    """The rows of a table in columns c0, c1, …; not-a-number is a missing cell, and there is one zero."""

    frame: DataFrame
    names: tuple[str, ...]
    kinds: tuple[DataType, ...]

    @classmethod
    def of(cls, frame: DataFrame) -> NumberedTable:
        """Open a table; `names` are its own."""
        kinds = tuple(field.dataType for field in frame.schema.fields)
        numbered = frame.toDF(*(f"c{i}" for i in range(len(kinds))))
        cells = [_plain(F.col(f"c{i}"), kind).alias(f"c{i}", metadata={}) for i, kind in enumerate(kinds)]
        return cls(numbered.select(*cells), tuple(frame.columns), kinds)

    def place(self, name: str) -> int:
        """The number of a column."""
        if name not in self.names:
            raise BadData(f"the table has no column {safe_name(name)}", remedy="Check the policy's names.")
        return self.names.index(name)

    def at(self, name: str) -> str:
        """What a column is called here."""
        return f"c{self.place(name)}"

    def kind(self, name: str) -> DataType:
        return self.kinds[self.place(name)]

    def cell(self, name: str, form: SetForm | None = None) -> Column:
        """The cells of a column; several 0/1 columns that make a set are one record."""
        if form is not None and form.parts:
            return F.struct(*(F.col(self.at(part)).alias(f"p{i}") for i, part in enumerate(form.parts)))
        if form is None:
            self.refuse_nested([name])
        return F.col(self.at(name))

    def refuse_nested(self, names: Sequence[str]) -> None:
        """Refuse lists and records where they are no term sets."""
        for name in names:
            if isinstance(self.kind(name), NESTED):
                raise BadData(
                    f"column {safe_name(name)} holds lists or records",
                    remedy="Leave it out or turn it into text.",
                )

    def whole(self, names: Sequence[str]) -> Column:
        """Whether a row has a cell in each of these columns."""
        has_all = F.lit(True)
        for name in names:
            has_all = has_all & F.col(self.at(name)).isNotNull()
        return has_all


def _plain(cell: Column, kind: DataType) -> Column:
    if isinstance(kind, DoubleType | FloatType):
        return F.when(~F.isnan(cell), cell + F.lit(0.0).cast(kind))
    if isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
        return F.collate(cell, "UTF8_BINARY")
    return cell

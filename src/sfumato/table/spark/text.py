"""The canonical text of a cell in Spark's own expressions: byte for byte what `engine/text.py` says.

Values that are coded never need this: their texts are made from the distinct values. It serves where values
must not leave Spark, for people and for digests. Floats are the one type whose shortest text Spark does not
know; a function in Python writes them.
"""

from __future__ import annotations

from pyspark.sql import Column
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
    NullType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from sfumato.core.errors import BadData
from sfumato.core.term_sets import UNIT
from sfumato.engine.column_names import safe_name
from sfumato.engine.text import LARGEST_EXACT

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

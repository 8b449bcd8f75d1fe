"""The types in which columns are written to Parquet: the same for the same values, whatever held them before.

Libraries keep text with short or long offsets, and points in time in units and zones of their own. A file
shows none of that: text has short offsets where these are enough, points in time count microseconds, or
nanoseconds where some value needs them, and zones are UTC.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

LONGEST_SHORT = 2**31 - 1
"""So many bytes of text short offsets can reach."""


def as_written(values: pa.Array) -> pa.Array:
    """The values of a column in the type that files have for them.

    >>> as_written(pa.array(["a"], pa.large_string())).type
    DataType(string)
    >>> as_written(pa.array([0], pa.timestamp("s", "CET"))).type
    TimestampType(timestamp[us, tz=UTC])
    """
    kind, types = values.type, pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        length = pc.sum(pc.binary_length(values), min_count=0).as_py() or 0
        return values.cast(pa.string() if length <= LONGEST_SHORT else pa.large_string())
    if types.is_timestamp(kind):
        return _moments(values)
    return values.cast(pa.date32()) if types.is_date64(kind) else values


def _moments(values: pa.Array) -> pa.Array:
    kind = values.type
    zone = None if kind.tz is None else "UTC"
    same_ticks = values.cast(pa.int64()).cast(pa.timestamp(kind.unit, zone))
    if kind.unit == "us":
        return same_ticks
    try:
        return same_ticks.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:  # a part of a microsecond, or a second too far away for microseconds
        return same_ticks

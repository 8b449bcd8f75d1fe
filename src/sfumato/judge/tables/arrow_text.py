"""Columns of a table in memory as texts: Arrow arrays in, Arrow arrays of text out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.errors import BadData
from sfumato.judge.tables.cell_text import label
from sfumato.judge.taxonomies.value_tree import Text

if TYPE_CHECKING:
    import pyarrow as pa

TERM_END = "\x1f"
"""Stands between the terms of a set."""

EXACT = 2**53
"""Below this, every whole number is a float of its own."""
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
ORDINARY, MISSING = np.uint64(1), np.uint64(2)
"""Stand for other bits; as bits they would be numbers that need no mark."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def texts_of(column: pa.Array) -> pa.Array:
    """Returns the text of every cell; each different value is put into words once."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return column.cast(pa.large_string())
    if column.type == pa.string_view():
        return column.cast(pa.large_string())
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.large_string())
    if pa.types.is_nested(column.type):
        return pa.array([_terms(cell) for cell in column.to_pylist()], pa.large_string())
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    coded = column.dictionary_encode()
    words = pa.array(_words(coded.dictionary), pa.large_string())
    return words.take(coded.indices)


def float_marks(batch: pa.RecordBatch, names: Sequence[str]) -> pa.Array:
    """Returns, per row, what tells zeros, missing cells and what is not a number apart in these columns."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    there = set(batch.schema.names)
    here = [batch.column(name) for name in names if name in there]
    marks = np.full(batch.num_rows, "", dtype=object)
    for cells in here:
        if not pa.types.is_floating(cells.type):
            continue
        numbers = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
        missing = cells.is_null().to_numpy(zero_copy_only=False)
        bits = np.where(np.isnan(numbers) | (numbers == 0), numbers.view(np.uint64), ORDINARY)
        odd, which = np.unique(np.where(missing, MISSING, bits), return_inverse=True)
        marks = marks + np.array([f"{one:x}|" for one in odd.tolist()], dtype=object)[which.ravel()]
    return pa.array(marks.tolist(), pa.large_string())


def _terms(cell: Any) -> Text:  # a list or a record, whatever the library makes of it
    """Returns a list of terms as one text."""
    if cell is None:
        return None
    if not isinstance(cell, list):
        raise BadData("a column holds records", remedy="Leave it out or turn it into text.")
    return TERM_END.join(label(term) or "" for term in cell)


def _words(values: pa.Array) -> list[Text]:
    """Returns the text of each of some different values."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    kind = values.type
    if pa.types.is_floating(kind):
        return [_number(cell) for cell in values.to_numpy(zero_copy_only=False)]
    if pa.types.is_timestamp(kind):
        each, zoned = PER_SECOND[kind.unit], kind.tz is not None
        return [_moment(cell, each, zoned=zoned) for cell in values.cast(pa.int64()).to_pylist()]
    if pa.types.is_date(kind):
        return [None if cell is None else date.isoformat(cell) for cell in values.to_pylist()]
    if pa.types.is_binary(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
        raise BadData(f"a column has the type {kind}, whose values have no text")
    return [label(cell) for cell in values.to_pylist()]


def _number(cell: Any) -> Text:  # a number of numpy's, single or double
    if cell is None or isnan(cell):
        return None
    whole = float(cell).is_integer() and abs(cell) < EXACT
    return str(int(cell)) if whole else str(cell)


def _moment(ticks: int | None, per_second: int, *, zoned: bool) -> Text:
    """Returns a point in time, so many ticks after the beginning of 1970; in UTC where it has a zone."""
    if ticks is None:
        return None
    seconds, part = divmod(ticks, per_second)
    try:
        at = EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise BadData("a point in time lies outside the years 1 to 9999") from None
    if not zoned and not part and (at.hour, at.minute, at.second) == (0, 0, 0):
        return at.date().isoformat()
    digits = str(part).zfill(len(str(per_second)) - 1).rstrip("0") if part else ""
    text = at.replace(tzinfo=None).isoformat(timespec="seconds") + (f".{digits}" if digits else "")
    return text + "+00:00" if zoned else text

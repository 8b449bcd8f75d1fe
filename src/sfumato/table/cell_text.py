"""The canonical text of a cell: one definition for every engine and every type.

Text stays as it is. Whole numbers are written in decimal digits, booleans as `true` and `false`. Floats take
the shortest text that reads back as the same number, without a fraction where there is none (a column of
whole numbers with gaps is stored as floats by some libraries); `-0.0` is `0`, NaN is a missing cell.
Dates are ISO dates; a point in time is ISO with a `T` and no more decimals than needed; midnight without a
zone is just the date. With a zone it is written in UTC (`+00:00`): one instant has one text. Decimals keep
their scale. Within a column, different values always have different texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.system.errors import BadData
from sfumato.table.arrow_arrays import text_array, to_arrow, to_numpy, truth_array

# Names of columns: each its own, and harmless in a message.


ROW_NAMES = ("row", "row_names", "row_number")
"""What a first column without a name is called: the first of these that no other column is called."""
NO_FIRST_NAME = "the first column has no name, as where R writes row names; it is read as {}"


def name_first(names: Sequence[str]) -> str | None:
    """Returns a name for the first of several columns, if it alone has none; otherwise `None`.

    >>> name_first(["", "age"]), name_first(["", "row"]), name_first(["age", ""]), name_first([""])
    ('row', 'row_names', None, None)
    """
    if len(names) < 2 or names[0].strip() or not all(name.strip() for name in names[1:]):
        return None
    return next((name for name in ROW_NAMES if name not in names), None)


def check_names(names: Sequence[object]) -> None:
    """Refuse columns without a name of their own."""
    first: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if not isinstance(name, str) or not _is_unicode(name):
            raise BadData(f"column {place} has a name that is no text", remedy="Name every column with text.")
        if name == "":
            raise BadData(f"column {place} has an empty name", remedy="Give every column a name.")
        if name in first:
            raise BadData(
                f"columns {first[name]} and {place} have the same name",
                remedy="Give every column a name of its own.",
            )
        first[name] = place


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def safe_name(name: str, width: int = 60) -> str:
    """A column name that is safe in a message: quoted, escaped, of bounded length."""
    return ascii(name if len(name) <= width else name[:width] + "...")


# Text of files and tables that say of themselves that it is UTF-8: libraries believe them.


def with_sound_text(batches: Iterable[pa.RecordBatch], *, where: str = "") -> Iterator[pa.RecordBatch]:
    """Yields the batches; raises at the first that holds bytes for text that are no UTF-8."""
    sound: dict[str, pa.Array] = {}
    for batch in batches:
        for name, cells in zip(batch.schema.names, batch.columns, strict=True):
            texts = cells.dictionary if pa.types.is_dictionary(cells.type) else cells
            if is_text(texts.type) and not _is_same(texts, sound.get(name)):
                _check(texts, name, where)
                sound[name] = texts
        yield batch


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def _is_same(texts: pa.Array, before: pa.Array | None) -> bool:
    """Whether both are one dictionary, which batch after batch brings along."""
    return before is not None and len(texts) == len(before) and _addresses(texts) == _addresses(before)


def _addresses(texts: pa.Array) -> list[int]:
    return [texts.offset, *(0 if buffer is None else buffer.address for buffer in texts.buffers())]


def _check(texts: pa.Array, name: str, where: str) -> None:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:  # its message may hold a cell
        raise BadData(
            f"column {safe_name(name)} holds text that is not in UTF-8",
            where=where,
            remedy="Write it again from where it came from, and name the encoding that it has there, "
            "which often is Latin-1.",
        ) from None


LARGEST_EXACT = 2**53
"""Below this, every whole number is a float of its own."""

LEAST_PLAIN, MOST_PLAIN = 1e-4, 1e9
"""Between these, Arrow writes a float of 64 bits with the digits that `str` writes."""


def comparable(array: pa.Array, column: str = "") -> pa.Array:
    """The same cells in a type that can be told apart value by value: no views, extensions, NaN or -0.0."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        if not is_text(kind.storage_type):
            raise BadData(f"column {safe_name(column)} has the type {kind}", remedy="Turn it into text.")
        return comparable(array.storage, column)
    if pa.types.is_dictionary(kind):
        values = comparable(array.dictionary, column)
        return pa.DictionaryArray.from_arrays(array.indices, values)
    if kind == pa.string_view():
        return array.cast(pa.large_string())
    if kind == pa.binary_view():
        return array.cast(pa.large_binary())
    if pa.types.is_floating(kind):
        if pa.types.is_float16(kind):
            array = array.cast(pa.float32())
        zero, missing = text_array(["0", None], array.type)
        array = pc.add(array, zero)
        return pc.if_else(pc.is_nan(array), missing, array)
    if pa.types.is_nested(kind):
        raise BadData(
            f"column {safe_name(column)} holds lists or records", remedy="Leave it out or turn it into text."
        )
    return array


def published_type(kind: pa.DataType) -> pa.DataType:
    """The type of an untouched column after publication: the same, with dictionaries and views decoded."""
    if isinstance(kind, pa.BaseExtensionType):
        return published_type(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return published_type(kind.value_type)
    if kind == pa.string_view():
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    return pa.float32() if pa.types.is_float16(kind) else kind


def canonical(values: pa.Array, column: str = "") -> pa.Array:
    """The text of each value as an Arrow array of strings; a missing value stays missing.

    >>> import pyarrow as pa
    >>> canonical(pa.array([1.0, 2.5, 1e300, float("nan")])).to_pylist()
    ['1', '2.5', '1e+300', None]
    """
    values = comparable(values, column)
    kind = values.type
    types = pa.types
    if types.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    if is_text(kind):
        return values.cast(pa.large_string())
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_null(kind) or types.is_date(kind):
        if types.is_date64(kind):
            values = values.cast(pa.date32())
        return values.cast(pa.string()).cast(pa.large_string())
    if types.is_timestamp(kind):
        return text_array(_times(values))
    if types.is_float64(kind):
        return _float_texts(values)
    write = _writer(kind)
    if write is None:
        raise BadData(
            f"column {safe_name(column)} has the type {kind}, whose values have no text",
            remedy="Leave it out or turn it into text.",
        )
    cells = values.to_pylist() if not types.is_float32(kind) else _float32s(values)
    return text_array([None if cell is None else write(cell) for cell in cells])


def _writer(kind: pa.DataType) -> Callable[..., str] | None:
    """The function that writes a cell of this type; `None` if its cells have no text."""
    if pa.types.is_floating(kind):
        return _float
    if pa.types.is_decimal(kind):
        return _decimal
    return time.isoformat if pa.types.is_time(kind) else None


def _float32s(values: pa.Array) -> list[np.float32 | None]:
    cells = to_numpy(values, missing=np.nan)
    return [None if np.isnan(cell) else cell for cell in cells]


def _float_texts(values: pa.Array) -> pa.Array:
    """The texts of `_float`; Arrow writes the numbers for which it would write the same."""
    numbers = to_numpy(values, missing=np.nan)
    size = np.abs(numbers)
    whole = (size < LARGEST_EXACT) & (np.floor(size) == size)
    plain = ~whole & (size >= LEAST_PLAIN) & (size < MOST_PLAIN)
    digits = to_arrow(np.where(whole, numbers, 0).astype(np.int64)).cast(pa.large_string())
    texts = pc.if_else(truth_array(whole), digits, values.cast(pa.large_string()))
    odd = pc.and_(values.is_valid(), truth_array(~whole & ~plain))
    if not pc.any(odd).as_py():
        return pc.if_else(values.is_valid(), texts, text_array([None])[0])
    written = text_array([_float(cell) for cell in values.filter(odd).to_pylist()])
    texts = pc.replace_with_mask(texts, odd, written.cast(pa.large_string()))
    return pc.if_else(values.is_valid(), texts, text_array([None])[0])


def _float(cell: float | np.float32) -> str:
    if np.isfinite(cell) and cell == int(cell) and abs(float(cell)) < LARGEST_EXACT:
        return str(int(cell))
    return str(cell)


def _decimal(cell: Decimal) -> str:
    return format(cell, "f")


def _times(values: pa.Array) -> list[str | None]:
    """ISO text of points in time, nanoseconds included."""
    kind = values.type
    ticks = values.cast(pa.int64())
    here = ticks.cast(pa.timestamp(kind.unit))  # in UTC, where there is a zone: no hour occurs twice there
    whole = pc.floor_temporal(here, unit="second") if kind.unit != "s" else here
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[kind.unit]
    parts = pc.subtract(ticks, whole.cast(pa.int64())).to_pylist()
    try:
        seconds = whole.cast(pa.timestamp("s")).to_pylist()
    except (ValueError, OverflowError):
        raise BadData("a point in time lies outside the years 1 to 9999") from None
    texts: list[str | None] = []
    for moment, part in zip(seconds, parts, strict=True):
        texts.append(None if moment is None else _moment(moment, part, digits, zoned=kind.tz is not None))
    return texts


def _moment(moment: datetime, part: int, digits: int, *, zoned: bool) -> str:
    if not zoned and part == 0 and moment.time() == time(0):
        return date.isoformat(moment.date())
    text = moment.isoformat(timespec="seconds")
    if part:
        text += "." + str(part).zfill(digits).rstrip("0")
    return text + "+00:00" if zoned else text

"""Cells of a column as the bytes in which Parquet writes them plainly, to compare with what headers claim."""

from __future__ import annotations

from decimal import localcontext
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

BOOLEAN, INT32, INT64, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = 0, 1, 2, 4, 5, 6, 7
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DIGITS = 80
"""As many as any decimal of a file has, and a few more."""
ZEROS = {FLOAT: (bytes(4), b"\0\0\0\x80"), DOUBLE: (bytes(8), bytes(7) + b"\x80")}


def plain_values(cells: pa.Array, physical: int, length: int) -> set[bytes] | None:
    """Returns every different value, as a column of this physical type holds it; `None` where unknown.

    A point in time may be kept in several units, so each of them is among the answers. Both zeros stand
    for either, as statistics take them.
    """
    import pyarrow as pa  # noqa: PLC0415  # heavy

    cells = _leaf_cells(cells)
    kind = cells.type
    if physical == BYTE_ARRAY:
        return _texts(cells)
    if physical == BOOLEAN and pa.types.is_boolean(kind):
        return {bytes([bool(cell)]) for cell in cells.unique().to_pylist() if cell is not None}
    if physical in (FLOAT, DOUBLE) and pa.types.is_floating(kind):
        return _floats(cells, physical)
    numbers, size = _whole_numbers(cells), {INT32: 4, INT64: 8, FIXED: length}.get(physical)
    if numbers is None or size is None or (physical == FIXED and not pa.types.is_decimal(kind)):
        return None
    order: Literal["little", "big"] = "big" if physical == FIXED else "little"
    return {(n % (1 << 8 * size)).to_bytes(size, order) for n in numbers}


def _leaf_cells(cells: pa.Array) -> pa.Array:
    """Returns the cells without dictionaries, extensions and lists."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    while True:
        if isinstance(cells.type, pa.BaseExtensionType):
            cells = cells.storage
        elif pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_decode()
        elif pa.types.is_list(cells.type) or pa.types.is_large_list(cells.type):
            cells = cells.flatten()
        else:
            return cells


def _texts(cells: pa.Array) -> set[bytes] | None:
    import pyarrow as pa  # noqa: PLC0415  # heavy

    kind = cells.type
    if pa.types.is_null(kind):
        return set()
    as_bytes = {  # a text of a damaged file need not be Unicode
        pa.string(): pa.binary(),
        pa.large_string(): pa.large_binary(),
        pa.string_view(): pa.binary_view(),
    }
    kind = as_bytes.get(kind, kind)
    if kind == pa.binary_view() or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return set(cells.drop_null().unique().cast(kind).to_pylist())
    return None


def _floats(cells: pa.Array, physical: int) -> set[bytes]:
    import pyarrow as pa  # noqa: PLC0415  # heavy

    wanted = pa.float32() if physical == FLOAT else pa.float64()
    bits = cells.drop_null().cast(wanted).to_numpy(zero_copy_only=False)
    whole = np.unique(bits.view(np.uint32 if physical == FLOAT else np.uint64))
    found = {one.tobytes() for one in whole}
    zeros = ZEROS[physical]
    return found | set(zeros) if found & set(zeros) else found


def _whole_numbers(cells: pa.Array) -> set[int] | None:
    """Returns numbers, days, ticks in every unit, or decimals without their point."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    kind, types = cells.type, pa.types
    if types.is_null(kind):
        return set()
    if types.is_integer(kind):
        return {n for n in cells.unique().to_pylist() if n is not None}
    if types.is_date(kind):
        days = cells.cast(pa.date32()).cast(pa.int32())
        return {n for n in days.unique().to_pylist() if n is not None}
    if types.is_timestamp(kind) or types.is_time(kind) or types.is_duration(kind):
        whole = cells.cast(pa.int32() if types.is_time32(kind) else pa.int64())
        held = [n for n in whole.unique().to_pylist() if n is not None]
        own = TICKS[kind.unit]
        return {n * ticks // own for n in held for ticks in TICKS.values() if n * ticks % own == 0}
    if types.is_decimal(kind):
        with localcontext(prec=DIGITS):
            return {int(n.scaleb(kind.scale)) for n in cells.unique().to_pylist() if n is not None}
    return None

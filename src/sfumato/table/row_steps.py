"""Columns of numbers that are published with fewer digits: rounded where they are read, before all else.

Whatever counts, surveys, writes or compares these rows sees rounded numbers, so that nothing depends on the
digits that a policy does not publish. Numbers keep their type, but for decimals, which lose the digits, and
whole numbers that are rounded to tens, which may need more room. In texts a number has its shortest form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.system.errors import BadData
from sfumato.table.cell_text import canonical, comparable, published_type
from sfumato.table.columns import safe_name
from sfumato.table.form_of_source import RowSource
from sfumato.table.published_texts import rounded, rounded_number
from sfumato.table.reader import PassingReader

TEXT = pa.large_string()
WIDEST = 38
"""The digits of a decimal number of 128 bits."""


def round_columns(source: RowSource, digits: Mapping[str, int]) -> RowSource:
    """Returns the source with these columns rounded to so many digits behind the point.

    Raises `BadData` where a column holds something else than numbers: by its type at once, by its texts when
    they are read.
    """
    for name, places in digits.items():
        _rounded_type(source.reader.schema.field(name).type, places, name)
    return RowSource(RoundingReader(source.reader, digits), source.memory)


@dataclass(eq=False)
class RoundingReader(PassingReader):
    """A reader whose columns of numbers have so many digits behind the point, and no more."""

    digits: Mapping[str, int]

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([self._field(field) for field in self.reader.schema])

    def _field(self, field: pa.Field) -> pa.Field:
        places = self.digits.get(field.name)
        return field if places is None else field.with_type(_rounded_type(field.type, places, field.name))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in self.reader.batches(names):
            if not any(name in self.digits for name in names):
                yield batch
                continue
            cells = [self._cells(batch.column(name), name) for name in names]
            yield pa.RecordBatch.from_arrays(cells, names=list(names))

    def _cells(self, cells: pa.Array, name: str) -> pa.Array:
        places = self.digits.get(name)
        return cells if places is None else _rounded_cells(cells, places, name)


def _rounded_type(kind: pa.DataType, digits: int, column: str) -> pa.DataType:
    """The type of a rounded column; raises where it is none of numbers or texts."""
    kind, types = published_type(kind), pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return TEXT
    if _has_no_more(kind, digits) or types.is_floating(kind):
        return kind
    if types.is_integer(kind):
        return pa.int64() if types.is_signed_integer(kind) else pa.uint64()
    if types.is_decimal(kind):
        width = kind.precision + 1
        wide = pa.decimal256 if width > WIDEST or types.is_decimal256(kind) else pa.decimal128
        return wide(min(width, 76), max(digits, 0))
    raise BadData(
        f"column {safe_name(column)} has the type {kind}, whose cells are no numbers to be rounded",
        remedy="Drop `digits`; a date is made less exact as a key with a taxonomy, such as date.",
    )


def _rounded_cells(cells: pa.Array, digits: int, column: str) -> pa.Array:
    """The cells, rounded; every different one is rounded once."""
    kind = _rounded_type(cells.type, digits, column)
    plain = comparable(cells, column)
    if pa.types.is_dictionary(plain.type):
        plain = plain.dictionary_decode()
    if _has_no_more(plain.type, digits):
        return plain
    coded = plain.dictionary_encode()
    values = _rounded_values(coded.dictionary, kind, digits, column)
    return values.take(coded.indices)


def _has_no_more(kind: pa.DataType, digits: int) -> bool:
    """Whether numbers of this type never have more digits behind the point."""
    if pa.types.is_decimal(kind):
        return bool(kind.scale <= digits)
    return pa.types.is_null(kind) or (pa.types.is_integer(kind) and digits >= 0)


def _rounded_values(values: pa.Array, kind: pa.DataType, digits: int, column: str) -> pa.Array:
    if pa.types.is_decimal(kind):
        return _as(kind, [None if v is None else rounded(v, digits) for v in values.to_pylist()], column)
    texts = canonical(values, column).to_pylist()
    numbers = [None if text is None else rounded_number(text, digits) for text in texts]
    wrong = sum(text is not None and number is None for text, number in zip(texts, numbers, strict=True))
    if wrong:
        raise BadData(
            f"column {safe_name(column)} holds {wrong:,} different cells that are no numbers such as 1234.5",
            remedy="`digits` rounds numbers. Drop it, or write all cells as numbers; a text that means that"
            " nothing is known is read as an empty cell with --empty.",
        )
    if kind == TEXT:
        return pa.array(numbers, TEXT)
    if pa.types.is_integer(kind):
        return _as(kind, [None if number is None else int(number) for number in numbers], column)
    return _as(kind, [None if number is None else float(number) for number in numbers], column)


def _as(kind: pa.DataType, numbers: Sequence[Decimal | int | float | None], column: str) -> pa.Array:
    try:
        return pc.cast(pa.array(numbers, kind), kind)
    except (pa.ArrowException, OverflowError):  # the message would quote a cell
        raise BadData(
            f"a number of column {safe_name(column)} has no room in its type once it is rounded",
            remedy="Write the column in a wider type, or drop `digits`.",
        ) from None

"""How numbers are written: zeros with and without a sign, not-a-number and missing cells, told apart.

A count takes them for one value each; whoever has the table can tell its rows apart by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.arrow_arrays import text_array, to_numpy
from sfumato.table.counting import expected_rows
from sfumato.table.dictionary import BYTES_TO_PUBLISH, Dictionary, check_values
from sfumato.table.form_of_source import RowSource
from sfumato.table.reader import PassingReader
from sfumato.table.source import Source
from sfumato.table.spill import on_own_pages

NUMBER_FORMS = "how numbers are written"
"""The name of the column that a source with number forms has more."""


@dataclass(eq=False)
class NumberFormsReader(PassingReader):
    """A reader with one more column: how a row writes the zeros and empty cells of some columns."""

    columns: Sequence[str]

    @property
    def schema(self) -> pa.Schema:
        return self.reader.schema.append(pa.field(NUMBER_FORMS, pa.string()))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if NUMBER_FORMS not in names:
            yield from self.reader.batches(names)
            return
        wanted = dict.fromkeys([*(name for name in names if name != NUMBER_FORMS), *self.columns])
        for batch in self.reader.batches(list(wanted)):
            forms = _forms([batch.column(name) for name in self.columns], batch.num_rows)
            yield batch.append_column(NUMBER_FORMS, forms).select(list(names))


def with_number_forms(source: Source, names: Sequence[str]) -> Source | None:
    """Returns the source with a column `NUMBER_FORMS`, if it hands out rows and one of the columns holds
    floats; else `None`."""
    if not isinstance(source, RowSource) or NUMBER_FORMS in source.columns:
        return None
    schema = source.reader.schema
    floats = [name for name in names if pa.types.is_floating(schema.field(name).type)]
    return RowSource(NumberFormsReader(source.reader, floats), source.memory) if floats else None


def _forms(columns: Sequence[pa.Array], rows: int) -> pa.Array:
    """Returns a text per row: of each column a letter, and the bits of what is not a number."""
    unusual = [_unusual_forms(cells) for cells in columns]
    texts = [".|" * len(columns)] * rows
    for row in set().union(*unusual):
        texts[row] = "".join(f"{forms.get(row, '.')}|" for forms in unusual)
    return text_array(texts, pa.string())


def _unusual_forms(cells: pa.Array) -> dict[int, str]:
    """Returns the rows that hold a negative zero or no number, and what it is."""
    numbers = to_numpy(cells.cast(pa.float64()), missing=0.0)
    zeros = np.flatnonzero(np.signbit(numbers) & (numbers == 0))
    odd = np.flatnonzero(np.isnan(numbers))
    bits = numbers.view(np.uint64)[odd].tolist()
    return dict.fromkeys(zeros.tolist(), "negative zero") | {
        row: f"{each:x}" for row, each in zip(odd.tolist(), bits, strict=True)
    }


# Columns as codes: equal cells have equal codes, and no taxonomy is needed.

BYTES_PER_CELL, BYTES_PER_ROW = 28, 80
"""Bytes per cell and per row that a search for identifying columns takes at its peak, codes included."""


@runtime_checkable
class HasCodes(Protocol):
    """A source that codes its columns itself."""

    def column_codes(
        self, names: Sequence[str], *, progress: Progress = silent
    ) -> tuple[NDArray[np.int32], tuple[int, ...]]:
        """The codes of each of these columns, row by row, and how many codes each has; missing cells last."""


def column_codes(
    source: Source, names: Sequence[str], *, progress: Progress = silent
) -> tuple[NDArray[np.int32], tuple[int, ...]]:
    """The codes of each of these columns, row by row, and how many codes each has; one pass.

    Missing cells share the last code of their column.
    """
    if isinstance(source, HasCodes):
        return source.column_codes(names, progress=progress)
    if not isinstance(source, RowSource):
        raise UsageError("this source cannot hand out its rows", remedy="Use a dataframe or a path.")
    reader = source.reader
    dictionaries = [Dictionary(name, reader.schema.field(name).type) for name in names]
    chunks: list[NDArray[np.int32]] = []
    rows = 0
    if reader.total is not None:
        _check(source, reader.total, BYTES_PER_CELL * len(names) + BYTES_PER_ROW, len(names))
    total = expected_rows(reader)
    for batch in reader.batches(list(names)):
        chunk = on_own_pages((len(names), len(batch)), np.dtype(np.int32))
        for j, d in enumerate(dictionaries):
            chunk[j] = d.encode(batch.column(d.name))
        chunks.append(chunk)
        rows += len(batch)
        check_values(
            dictionaries,
            [BYTES_TO_PUBLISH] * len(names),
            source.memory,
            rows=rows,
            way_out="leave the column out by --without",
        )
        if reader.total is None:
            _check(source, rows, (BYTES_PER_CELL - chunk.itemsize) * len(names) + BYTES_PER_ROW, len(names))
        progress("reading", rows, None if total is None else max(total, rows))
    progress("reading", rows, rows)
    progress("coding", 0, 1)
    distinct = [d.distinct_values() for d in dictionaries]
    tables = [index.astype(np.int32) for _, index in distinct]
    codes = np.empty((len(names), rows), np.int32)
    end = rows
    while chunks:
        chunk = chunks.pop()
        start = end - chunk.shape[1]
        for j, table in enumerate(tables):
            codes[j, start:end] = table[chunk[j]]
        end = start
    progress("coding", 1, 1)
    sizes = [len(v) + (d.missing > 0) for d, (v, _) in zip(dictionaries, distinct, strict=True)]
    return codes, tuple(sizes)


def _check(source: RowSource, rows: int, width: int, columns: int) -> None:
    """Raise where the rows would not fit, and say what would do."""
    doing = f"searching {columns} columns of {rows:,} rows"
    source.memory.check(
        rows * width, doing, "leave columns out with --without, or search a sample of the rows."
    )

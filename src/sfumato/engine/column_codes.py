"""Columns as codes: equal cells have equal codes, and no taxonomy is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.engine.dictionary import BYTES_TO_PUBLISH, Dictionary, check_values
from sfumato.engine.expected_rows import expected_rows
from sfumato.engine.rows import RowSource
from sfumato.engine.source import Source
from sfumato.engine.spill.row_buffer import on_own_pages

BYTES_PER_CELL, BYTES_PER_ROW = 28, 80
"""Bytes per cell and per row that a search for identifying columns takes at its peak, codes included."""


@runtime_checkable
class HasCodes(Protocol):
    """A source that codes its columns itself."""

    def column_codes(
        self, names: Sequence[str], *, progress: Progress = silent
    ) -> tuple[NDArray[np.int32], tuple[int, ...]]:
        """The codes of each of these columns, row by row, and how many codes each has; missing cells last."""
        ...


def column_codes(
    source: Source, names: Sequence[str], *, progress: Progress = silent
) -> tuple[NDArray[np.int32], tuple[int, ...]]:
    """The codes of each of these columns, row by row, and how many codes each has; one pass.

    Missing cells share the last code of their column.
    """
    if isinstance(source, HasCodes):
        return source.column_codes(names, progress=progress)
    if not isinstance(source, RowSource):
        raise WrongCall("this source cannot hand out its rows", remedy="Use a dataframe or a path.")
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

"""Columns as codes and nothing else: equal cells equal codes, no taxonomy needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.dictionary import Dictionary
from sfumato.engine.rows import RowSource
from sfumato.engine.source import Source
from sfumato.terms.errors import WrongCall
from sfumato.terms.progress import Progress, silent


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
    """Read all rows once: the codes of each of these columns, and how many codes each has.

    Missing cells share the last code of their column.
    """
    if isinstance(source, HasCodes):
        return source.column_codes(names, progress=progress)
    if not isinstance(source, RowSource):
        raise WrongCall("this source cannot hand out its rows", remedy="Use a dataframe or a path.")
    reader = source.reader
    dictionaries = [Dictionary(name, reader.schema.field(name).type) for name in names]
    chunks: list[list[NDArray[np.int32]]] = [[] for _ in names]
    rows = 0
    for batch in reader.batches(list(names)):
        for d, parts in zip(dictionaries, chunks, strict=True):
            parts.append(d.encode(batch.column(d.name)).astype(np.int32))
        rows += len(batch)
        progress("reading", rows, reader.total)
    codes = np.empty((len(names), rows), np.int32)
    sizes = []
    for j, d in enumerate(dictionaries):
        values, settled = d.settle()
        column = np.concatenate(chunks[j]) if chunks[j] else np.zeros(0, np.int32)
        codes[j] = settled.astype(np.int32)[column]
        chunks[j] = []
        sizes.append(len(values) + (d.missing > 0))
    return codes, tuple(sizes)

"""How numbers are written: zeros with and without a sign, not-a-number and missing cells, told apart.

A count takes them for one value each; whoever has the table can tell its rows apart by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.engine.reader import PassingReader
from sfumato.engine.rows import RowSource
from sfumato.engine.source import Source

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
    texts = np.full(rows, "", dtype=object)
    for cells in columns:
        numbers = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
        kinds = np.where(np.signbit(numbers) & (numbers == 0), "negative zero", ".").astype(object)
        odd = np.flatnonzero(np.isnan(numbers) & cells.is_valid().to_numpy(zero_copy_only=False))
        kinds[odd] = [f"{bits:x}" for bits in numbers.view(np.uint64)[odd].tolist()]
        texts = texts + kinds + "|"
    return pa.array(texts.tolist(), pa.string())

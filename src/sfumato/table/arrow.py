"""PyArrow tables as sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sfumato.table.cell_text import with_sound_text

ROWS_AT_A_TIME = 1 << 18


@dataclass(frozen=True, eq=False)
class ArrowReader:
    """A PyArrow table."""

    frame: pa.Table
    kind: str = "pyarrow"

    @property
    def schema(self) -> pa.Schema:
        return self.frame.schema.remove_metadata()

    @property
    def total(self) -> int | None:
        return int(self.frame.num_rows)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return with_sound_text(batches_of(self.frame.select(list(names))))

    def native(self, table: pa.Table) -> pa.Table:
        return table


def batches_of(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows of a table, also of one without columns."""
    if table.num_columns == 0:
        yield pa.RecordBatch.from_struct_array(pa.nulls(table.num_rows, pa.struct([])))
    else:
        yield from table.to_batches(max_chunksize=ROWS_AT_A_TIME)


def no_columns(rows: int) -> pa.Table:
    """A table with rows but no columns."""
    return pa.table({"": pa.nulls(rows)}).select([])

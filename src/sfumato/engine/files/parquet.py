"""Parquet files as readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.core.errors import BadData
from sfumato.engine.column_names import check_names
from sfumato.engine.frames.arrow import ROWS_AT_A_TIME, batches_of, no_columns


@dataclass(frozen=True, eq=False)
class ParquetReader:
    """A Parquet file; text is read as dictionaries, straight from its pages."""

    path: Path
    kind: str = "parquet"

    @cached_property
    def schema(self) -> pa.Schema:
        try:
            schema = pq.read_schema(self.path).remove_metadata()
        except (pa.ArrowException, OSError):
            raise self._unreadable() from None
        check_names(schema.names)
        return schema

    @cached_property
    def total(self) -> int | None:
        return int(pq.read_metadata(self.path).num_rows)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not names:
            yield from batches_of(no_columns(self.total or 0))
            return
        text = [n for n in names if _is_text(self.schema.field(n).type)]
        try:
            with pq.ParquetFile(self.path, read_dictionary=text, pre_buffer=False) as file:
                yield from file.iter_batches(ROWS_AT_A_TIME, columns=list(names))
        except (pa.ArrowException, OSError):
            raise self._unreadable() from None

    def native(self, table: pa.Table) -> pa.Table:
        return table

    def _unreadable(self) -> BadData:
        return BadData("the file cannot be read as Parquet", where=self.path.name, remedy="Is it complete?")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

"""Parquet files as readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.errors import BadData
from sfumato.engine.column_names import check_names, safe_name
from sfumato.engine.frames.arrow import ROWS_AT_A_TIME, batches_of, no_columns
from sfumato.engine.text_bytes import is_text, with_sound_text
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    import pyarrow.parquet as pq

VALUES_PER_PAGE = 4096
"""Writers look after so many values at the latest whether a page is full: long values make long pages."""
ORDINARY_PAGE = 8 << 20
COPIES_OF_A_PAGE = 3
"""A page is held as it is, unpacked, and as values."""


@dataclass(frozen=True, eq=False)
class ParquetReader:
    """A Parquet file; text is read as dictionaries, straight from its pages, where these hold any.

    Its own figures say how much its pages unpack to: a page that `memory` has no room for is not begun.
    """

    path: Path
    kind: str = "parquet"
    memory: Memory = field(default_factory=Memory)

    def within(self, memory: Memory) -> ParquetReader:
        """Returns the same reader, held to a limit of memory."""
        return replace(self, memory=memory)

    @cached_property
    def schema(self) -> pa.Schema:
        import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

        try:
            schema = pq.read_schema(self.path).remove_metadata()
        except (pa.ArrowException, OSError):
            raise self._unreadable() from None
        check_names(schema.names)
        return schema

    @cached_property
    def total(self) -> int | None:
        import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

        return int(pq.read_metadata(self.path).num_rows)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

        if not names:
            yield from batches_of(no_columns(self.total or 0))
            return
        try:
            coded = self._dictionaries_of(pq.read_metadata(self.path))
            text = [n for n in names if n in coded and is_text(self.schema.field(n).type)]
            with pq.ParquetFile(self.path, read_dictionary=text, pre_buffer=False) as file:
                rows = self._rows_at_a_time(file.metadata, set(names))
                read = file.iter_batches(rows, columns=list(names))
                for batch in with_sound_text(read, where=self.path.name):
                    self._check_dictionaries(batch)
                    yield batch
        except (pa.ArrowException, OSError):
            raise self._unreadable() from None

    @staticmethod
    def _dictionaries_of(told: pq.FileMetaData) -> set[str]:
        """The columns of which some pages hold a dictionary.

        Of any other column, Arrow would put together one dictionary of all values up to each batch.
        """
        groups = [told.row_group(number) for number in range(told.num_row_groups)]
        columns = [group.column(j) for group in groups for j in range(group.num_columns)]
        return {column.path_in_schema for column in columns if column.has_dictionary_page}

    def _rows_at_a_time(self, told: pq.FileMetaData, names: set[str]) -> int:
        """How many rows are read at once, by how much they unpack to; raises where a page is too long."""
        widest = 0
        for number in range(told.num_row_groups):
            group = told.row_group(number)
            columns = [group.column(j) for j in range(group.num_columns)]
            chosen = [column for column in columns if column.path_in_schema.split(".")[0] in names]
            for column in chosen:
                self._check_page(column)
            unpacked = sum(column.total_uncompressed_size for column in chosen)
            widest = max(widest, unpacked // max(group.num_rows, 1))
        room = self.memory.left // (4 * COPIES_OF_A_PAGE)
        return max(1, min(ROWS_AT_A_TIME, room // max(widest, 1)))

    def _check_page(self, column: pq.ColumnChunkMetaData) -> None:
        unpacked = max(0, column.total_uncompressed_size)
        each = unpacked // max(column.num_values, 1)
        page = min(unpacked, max(ORDINARY_PAGE, each * VALUES_PER_PAGE))
        if page > ORDINARY_PAGE:
            self.memory.check(
                page * COPIES_OF_A_PAGE,
                f"unpacking values of about {each:,} bytes in column {safe_name(column.path_in_schema)}",
                "shorten its values beforehand, or leave the column out of the file.",
            )

    def _check_dictionaries(self, batch: pa.RecordBatch) -> None:
        """Arrow drops an entry that a dictionary holds twice, and leaves the numbers of those behind it."""
        for name, cells in zip(batch.schema.names, batch.columns, strict=True):
            if pa.types.is_dictionary(cells.type) and len(cells) > cells.null_count:
                last = pc.max(cells.indices).as_py()
                if last >= len(cells.dictionary):
                    what = f"cells of column {safe_name(name)} name entries that its dictionary"
                    raise BadData(
                        f"{what} lacks, or has twice",
                        where=self.path.name,
                        remedy="Write the file again: readers do not agree on what such cells are.",
                    )

    def native(self, table: pa.Table) -> pa.Table:
        return table

    def _unreadable(self) -> BadData:
        return BadData("the file cannot be read as Parquet", where=self.path.name, remedy="Is it complete?")

"""Files as sources: CSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.core.errors import BadData, WrongCall
from sfumato.engine.column_names import check_names
from sfumato.engine.csv.reader import CsvOptions, CsvReader
from sfumato.engine.frames.arrow import ROWS_AT_A_TIME, batches_of, no_columns
from sfumato.engine.rows import RowSource

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET_ENDINGS = (".parquet", ".pq")


def open_file(path: Path, *, csv: CsvOptions | None = None) -> RowSource:
    """A file as a source, by its ending; or several Parquet files, by a pattern or a manifest."""
    if path.is_dir():
        from sfumato.engine.files.parts import PartsReader  # noqa: PLC0415  # it reads files

        return RowSource(PartsReader(path))
    if not path.exists() and set("*?[") & set(path.name) and path.name.lower().endswith(PARQUET_ENDINGS):
        from sfumato.engine.files.parts import MatchingReader  # noqa: PLC0415  # it reads files

        return RowSource(MatchingReader(path))
    if not path.is_file():
        raise BadData("there is no such file", where=str(path), remedy="Check the path.")
    name = path.name.lower()
    if name.endswith(PARQUET_ENDINGS):
        if csv is not None:
            raise WrongCall("csv options are for CSV files", where=str(path))
        return RowSource(ParquetReader(path))
    if name.endswith(CSV_ENDINGS):
        return RowSource(CsvReader(path, csv or CsvOptions()))
    raise WrongCall(
        "the ending of the path names no format", where=str(path), remedy="Use .csv, .csv.gz or .parquet."
    )


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

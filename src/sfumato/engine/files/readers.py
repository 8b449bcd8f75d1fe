"""The readers of files, by their endings: CSV, Parquet, and Parquet in parts."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.errors import BadData, WrongCall
from sfumato.engine.csv.reader import CsvOptions, CsvReader
from sfumato.engine.files.parquet import ParquetReader
from sfumato.engine.files.parts import MatchingReader, PartsReader
from sfumato.engine.rows import RowSource

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET_ENDINGS = (".parquet", ".pq")


def open_file(path: Path, *, csv: CsvOptions | None = None) -> RowSource:
    """A file as a source, by its ending; or several Parquet files, by a pattern or by their manifest."""
    if path.is_dir():
        return RowSource(PartsReader(path))
    if not path.exists() and set("*?[") & set(path.name) and path.name.lower().endswith(PARQUET_ENDINGS):
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

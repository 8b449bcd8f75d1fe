"""The readers of files, by their endings: CSV, Parquet, and Parquet in parts.

Readers of other files are loaded where such a file is read.
"""

# ruff: noqa: PLC0415  # most tables are neither spreadsheets nor files of statistics programs

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from sfumato.system.disk import DatabaseAddress
from sfumato.system.errors import BadData, UsageError
from sfumato.table.data_file import NO_FORM, DataFile, Note, SourceForm
from sfumato.table.form_of_source import RowSource
from sfumato.table.reading.csv import LONGEST_CELL, CsvOptions, CsvReader
from sfumato.table.reading.loaded_file import LoadedFileReader
from sfumato.table.reading.parquet import MatchingReader, ParquetReader, PartsReader

CSV_ENDINGS = tuple(f"{kind}{packed}" for packed in ("", ".gz", ".zst") for kind in (".csv", ".tsv", ".txt"))
PARQUET_ENDINGS = (".parquet", ".pq")
ARX_ENDING = ".deid"
OF_EVERY_KIND = ("decimal", "date-format")
"""What may be said of any file: how its texts are to be understood."""


def open_file(
    data: str | PathLike[str], *, csv: CsvOptions | None = None, expected: SourceForm = NO_FORM
) -> RowSource:
    """A file as a source, by its ending; or several Parquet files, by a pattern or by their manifest.

    What a `DataFile` says is obeyed, or refused where it makes no sense; what is `expected` of the file is
    passed over where it is about another kind.
    """
    path, form, note = Path(data), NO_FORM, None
    if isinstance(data, DataFile):
        form, note = data.form, data.note
    name = path.name.lower()
    if path.is_dir():
        _check_form(form, "a folder of Parquet files")
        return RowSource(PartsReader(path))
    if not path.exists() and set("*?[") & set(path.name) and name.endswith(PARQUET_ENDINGS):
        _check_form(form, "Parquet files")
        return RowSource(MatchingReader(path))
    if not path.is_file():
        raise BadData("there is no such file", where=str(path), remedy="Check the path.")
    if name.endswith(CSV_ENDINGS):
        _check_form(form, "a CSV file", "encoding", "delimiter", "longest-cell", "empty")
        longest = int(form.longest_cell or expected.longest_cell or LONGEST_CELL)
        options = csv or CsvOptions(form.delimiter, form.encoding, longest, form.empty_texts)
        return RowSource(CsvReader(path, options, expected=expected, note=note))
    if csv is not None:
        raise UsageError("csv options are for CSV files", where=str(path))
    if fspath(path) != fspath(path).encode("utf-8", "replace").decode():
        raise BadData(
            "the path is not written in UTF-8", where=path.name, remedy="Rename the file, or move it."
        )
    if name.endswith(PARQUET_ENDINGS):
        _check_form(form, "a Parquet file")
        return RowSource(ParquetReader(path))
    return RowSource(_loaded_file(path, form, expected, note))


def _loaded_file(path: Path, form: SourceForm, expected: SourceForm, note: Note | None) -> LoadedFileReader:
    """A file that is read as a whole, by its ending."""
    from sfumato.table.reading.records import ARROW_ENDINGS, LINES_ENDINGS, ArrowFileReader, JsonLinesReader
    from sfumato.table.reading.spreadsheet import SPREADSHEET_ENDINGS, SpreadsheetReader
    from sfumato.table.reading.statistics import (
        CATALOG_ENDING,
        SAS_ENDINGS,
        STATISTICS_ENDINGS,
        StatisticsFileReader,
    )

    ending = path.suffix.lower()
    if ending in SPREADSHEET_ENDINGS:
        _check_form(form, "a spreadsheet", "sheet")
        return SpreadsheetReader(path, ending[1:], note, form.sheet, expected)
    if ending in SAS_ENDINGS:
        _check_form(form, "a file of SAS", "catalog")
        catalog = form.catalog or expected.catalog
        return StatisticsFileReader(path, ending[1:], note, None if catalog is None else Path(catalog))
    for endings, reader, what in (
        (STATISTICS_ENDINGS, StatisticsFileReader, "a file of SPSS or Stata"),
        (ARROW_ENDINGS, ArrowFileReader, "an Arrow file"),
        (LINES_ENDINGS, JsonLinesReader, "a file of JSON lines"),
    ):
        if ending in endings:
            _check_form(form, what)
            return reader(path, ending[1:], note)
    if ending == ARX_ENDING:
        raise UsageError(
            "a project of ARX is no table",
            where=str(path),
            remedy="`sfumato policy arx` writes a policy and hierarchies from it; hand in the data as CSV.",
        )
    if ending == CATALOG_ENDING:
        raise UsageError(
            "a catalogue of SAS holds labels and no table",
            where=str(path),
            remedy="Hand in the .sas7bdat or .xpt file, and name the catalogue with --catalog.",
        )
    raise UsageError(
        "the ending of the path names no format",
        where=str(path),
        remedy="Use .csv, .csv.gz, .parquet, .xlsx, .xls, .ods, .sav, .dta, .sas7bdat, .xpt, .arrow, .jsonl"
        " or, with --query, .sqlite.",
    )


def open_query(data: str | PathLike[str], expected: SourceForm) -> RowSource:
    """What a database answers to a query that is said, or that a policy names."""
    from sfumato.table.reading.records import QueryReader

    form, note = (data.form, data.note) if isinstance(data, DataFile) else (NO_FORM, None)
    _check_form(form, "a database", "query")
    query = form.query or expected.query
    if query is None:
        raise UsageError("a database is asked a query", remedy="Say which rows with --query 'SELECT …'.")
    address = DatabaseAddress.of(fspath(data))
    return RowSource(QueryReader(Path(address.kind), "sql", note, address, query))


def _check_form(form: SourceForm, what: str, *keys: str) -> None:
    """Raises where something was said of a file that its kind does not have."""
    for key in form.words:
        if key not in (*keys, *OF_EVERY_KIND):
            raise UsageError(f"{what} has no {key}", remedy=f"Leave --{key} out.")


# The formats of released tables.

FORMATS = ("csv", "parquet", "xlsx", "sav", "dta", "arrow", "jsonl")
"""Each is also the ending of the file, `data` by name."""

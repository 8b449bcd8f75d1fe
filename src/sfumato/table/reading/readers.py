"""Files as sources, by their endings: each reader says in a decorator which it reads (`built_in_reader`).

Only the reader of the file that is opened is loaded, besides those of CSV and Parquet.
"""

# ruff: noqa: PLC0415  # most tables are neither spreadsheets nor files of statistics programs

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from sfumato.system.disk import DatabaseAddress
from sfumato.system.errors import BadData, UsageError
from sfumato.table.data_file import NO_FORM, DataFile, SourceForm, readable_formats
from sfumato.table.form_of_source import RowSource
from sfumato.table.reading.csv import CSV_ENDINGS, CsvOptions, CsvReader
from sfumato.table.reading.parquet import PARQUET_ENDINGS, MatchingReader, PartsReader

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
    kind = next((kind for kind in readable_formats() if name.endswith(kind.endings)), None)
    if csv is not None and not name.endswith(CSV_ENDINGS):
        raise UsageError("csv options are for CSV files", where=str(path))
    if not name.endswith(CSV_ENDINGS) and fspath(path) != fspath(path).encode("utf-8", "replace").decode():
        raise BadData(
            "the path is not written in UTF-8", where=path.name, remedy="Rename the file, or move it."
        )
    if kind is None:
        raise _no_format(path)
    _check_form(form, kind.what, *kind.options)
    if csv is not None:
        return RowSource(CsvReader(path, csv, expected=expected, note=note))
    return RowSource(kind.reader.load().of_file(path, form, expected, note))


def _no_format(path: Path) -> UsageError:
    """Why a file is not read whose ending is none of a table."""
    from sfumato.table.reading.statistics import CATALOG_ENDING

    ending = path.suffix.lower()
    if ending == ARX_ENDING:
        return UsageError(
            "a project of ARX is no table",
            where=str(path),
            remedy="`sfumato policy arx` writes a policy and hierarchies from it; hand in the data as CSV.",
        )
    if ending == CATALOG_ENDING:
        return UsageError(
            "a catalogue of SAS holds labels and no table",
            where=str(path),
            remedy="Hand in the .sas7bdat or .xpt file, and name the catalogue with --catalog.",
        )
    endings = [ending for kind in readable_formats() for ending in kind.named]
    return UsageError(
        "the ending of the path names no format",
        where=str(path),
        remedy=f"Use {', '.join(endings)} or, with --query, .sqlite.",
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

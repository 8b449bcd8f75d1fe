"""The readers of files, by their endings: CSV, Parquet, and Parquet in parts."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from sfumato.core.data_file import NO_FORM, DataFile, SourceForm
from sfumato.core.errors import BadData, WrongCall
from sfumato.engine.csv.reader import CsvOptions, CsvReader
from sfumato.engine.csv.utf8 import LONGEST_CELL
from sfumato.engine.files.parquet import ParquetReader
from sfumato.engine.files.parts import MatchingReader, PartsReader
from sfumato.engine.rows import RowSource

CSV_ENDINGS = tuple(f"{kind}{packed}" for packed in ("", ".gz", ".zst") for kind in (".csv", ".tsv", ".txt"))
PARQUET_ENDINGS = (".parquet", ".pq")
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
        _check_form(form, "a CSV file", "encoding", "delimiter", "longest-cell")
        longest = int(form.longest_cell or expected.longest_cell or LONGEST_CELL)
        options = csv or CsvOptions(form.delimiter, form.encoding, longest)
        return RowSource(CsvReader(path, options, expected=expected, note=note))
    if csv is not None:
        raise WrongCall("csv options are for CSV files", where=str(path))
    if name.endswith(PARQUET_ENDINGS):
        _check_form(form, "a Parquet file")
        return RowSource(ParquetReader(path))
    raise WrongCall(
        "the ending of the path names no format", where=str(path), remedy="Use .csv, .csv.gz or .parquet."
    )


def _check_form(form: SourceForm, what: str, *keys: str) -> None:
    """Raises where something was said of a file that its kind does not have."""
    for key in form.words:
        if key not in (*keys, *OF_EVERY_KIND):
            raise WrongCall(f"{what} has no {key}", remedy=f"Leave --{key} out.")

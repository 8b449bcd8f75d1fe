"""The first line of a file that a caller hands in: asked about where it may be somebody's row."""

from __future__ import annotations

from sfumato.core.errors import BadData
from sfumato.engine.csv.reader import CsvReader
from sfumato.engine.files.spreadsheet import SpreadsheetReader
from sfumato.engine.rows import RowSource
from sfumato.engine.source import Source
from sfumato.policy.header_row import marks_in_one_column, may_be_a_row

FIRST_ROWS = 1000
"""So many rows are compared with the first line."""


def check_header(source: Source, *, header: bool) -> None:
    """Raises `BadData` where the first line of a CSV file may be a row, unless the caller says it is none.

    Its cells would be shown as names of columns. Raises it, too, where one column seems to hold several:
    below a title, or divided by blanks.
    """
    reader = source.reader if isinstance(source, RowSource) else None
    if header or not isinstance(reader, CsvReader | SpreadsheetReader):
        return
    rows = reader.first_rows(FIRST_ROWS)
    if may_be_a_row(source.columns, rows):
        raise BadData(
            "the first line may be a row, and no line of column names; its cells are not shown",
            where=reader.path.name,
            remedy="Write a line of names into the file; if it has one, say so with --header (header=True).",
        )
    is_divided = isinstance(reader, CsvReader) and reader.options.delimiter is not None
    if not is_divided and (marks := marks_in_one_column(source.columns, rows)):
        raise BadData(
            f"the file was read as one column, and {marks} divide its cells",
            where=reader.path.name,
            remedy="Delete titles above the line of names, or name what divides columns with --delimiter;"
            " if it is one column, say so with --header (header=True).",
        )

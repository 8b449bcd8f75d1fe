"""The texts that a published file shows, column by column, from its bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.judge.tables.database import strictly
from sfumato.judge.tables.file_form import FileForm
from sfumato.judge.tables.relation import Relation, header, rows_and_empty_cells, text_of
from sfumato.judge.taxonomies.value_tree import Text

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class ColumnTexts:
    """One column of a file: its SQL type, its empty cells, and its different texts with their rows.

    `texts` stand most frequent first and hold no empty cell. It is `None` for a column whose texts were not
    asked for, or which has too many.
    """

    name: str
    kind: str
    empty: int
    texts: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True)
class FileTexts:
    """A published file: its rows, and its columns in their order."""

    rows: int
    columns: tuple[ColumnTexts, ...]


def file_texts(
    path: Path, listed: Sequence[str], *, most: int, form: Mapping[str, str] | None = None
) -> FileTexts:
    """Returns what a file shows; of the columns `listed`, the different texts, unless more than `most`.

    `form` names the encoding and the delimiter of a CSV file, where these are not UTF-8 and commas.
    """
    told = FileForm.of(form)
    names = header(path, form=told)

    def ask(db: duckdb.DuckDBPyConnection) -> FileTexts:
        table = Relation.of_file(db, path, names, told)
        rows, empty = rows_and_empty_cells(db, table, names)
        each = zip(names, empty, strict=True)
        columns = (_column(db, table, name, gaps, most if name in listed else 0) for name, gaps in each)
        return FileTexts(rows, tuple(columns))

    return strictly(path.name, ask)


def _column(db: duckdb.DuckDBPyConnection, table: Relation, name: str, empty: int, most: int) -> ColumnTexts:
    cell, kind = table.cell(name), table.kind(name)
    if not most:
        return ColumnTexts(name, kind, empty)
    asked = f"SELECT {cell} AS cell, count(*) AS n FROM {table.query} GROUP BY ALL"  # noqa: S608  # columns by number
    several = f"SELECT cell, n FROM ({asked}) WHERE cell IS NOT NULL LIMIT {most + 1}"  # noqa: S608  # as above
    found = db.execute(several).fetchall()
    if len(found) > most:
        return ColumnTexts(name, kind, empty)
    texts = [(_shown(text_of(value, kind)), int(rows)) for value, rows in found]
    return ColumnTexts(name, kind, empty, tuple(sorted(texts, key=lambda pair: (-pair[1], pair[0]))))


def _shown(text: Text) -> str:
    return "" if text is None else text

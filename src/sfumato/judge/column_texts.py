"""The texts that a published file shows, column by column, from its bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.judge.tables.database import strictly
from sfumato.judge.tables.file_form import FileForm
from sfumato.judge.tables.relation import Relation, different_cells, header, rows_and_empty_cells, text_of
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
        cells = different_cells(db, table, [name for name in names if name in listed], most=most)
        each = zip(names, empty, strict=True)
        columns = (_column(table, name, gaps, cells.get(name), most) for name, gaps in each)
        return FileTexts(rows, tuple(columns))

    return strictly(path.name, ask)


def _column(
    table: Relation, name: str, empty: int, cells: Sequence[tuple[object, int]] | None, most: int
) -> ColumnTexts:
    kind = table.kind(name)
    if cells is None or len(cells) > most:
        return ColumnTexts(name, kind, empty)
    texts = [(_shown(text_of(value, kind)), rows) for value, rows in cells]
    return ColumnTexts(name, kind, empty, tuple(sorted(texts, key=lambda pair: (-pair[1], pair[0]))))


def _shown(text: Text) -> str:
    return "" if text is None else text

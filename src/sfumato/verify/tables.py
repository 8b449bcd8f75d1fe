"""Rows that can be asked in SQL: a published file, from its bytes, or rows that were handed over."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import BadData
from sfumato.judge.tables.cell_text import label, moment
from sfumato.judge.tables.database import strictly
from sfumato.judge.tables.file_form import RELEASED, FileForm
from sfumato.judge.tables.parquet import check_notes, columns, is_parquet, literal, parts_of, relation
from sfumato.judge.tables.whole_file import is_whole, whole_table
from sfumato.judge.taxonomies.value_tree import Text

if TYPE_CHECKING:
    import duckdb

APART = "\0told apart"
"""The name of a column that no policy has: what tells rows apart beside their texts."""
COLUMNS_TOGETHER = 16
"""So many columns are counted in one scan: each takes a table of its different cells."""
TERMS = "TERMS"
"""The kind of a column whose lists of terms have become texts already."""


@dataclass(frozen=True)
class Relation:
    """Rows whose columns are c0, c1, … in SQL: names in a file may differ by case alone.

    `query` stands behind FROM, `kinds` are the SQL types. `weight` counts rows; a table that was added up
    before has a column for that.
    """

    query: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    weight: str = "count(*)"

    @classmethod
    def of_file(
        cls, db: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str], form: FileForm = RELEASED
    ) -> Relation:
        """Returns the rows of a published file with these columns; `form` is that of a CSV file."""
        if is_whole(path):
            return cls(_whole_in_sql(db, path), tuple(names), ("VARCHAR",) * len(names))
        query = relation(path, names) if is_parquet(path) else _csv_in_sql(db, path, names, form)
        described = db.execute(f"DESCRIBE SELECT * FROM {query}").fetchall()  # noqa: S608
        return cls(query, tuple(names), tuple(str(row[1]) for row in described))

    def place(self, name: str) -> str:
        """Returns the column of this name, as SQL knows it."""
        return f"c{self._places[name]}"

    def kind(self, name: str) -> str:
        return self.kinds[self._places[name]]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def cell(self, name: str) -> str:
        """Returns a column as it is compared: not-a-number is a missing cell, and there is one zero."""
        column, kind = self.place(name), self.kind(name)
        if kind in ("FLOAT", "DOUBLE"):
            known = f"CASE WHEN isnan({column}) THEN NULL ELSE {column} + 0::{kind} END"
            return f"({known})::VARCHAR" if kind == "FLOAT" else known
        return f"{column}::VARCHAR" if kind.startswith("TIMESTAMP") else column

    def told_apart(self, names: Sequence[str]) -> str | None:
        """Returns what tells cells of these columns apart that are compared as one value, if anything does.

        Those are bits of zeros and of what is not a number, missing cells among them, and marks that came
        with the rows.
        """
        floats = [self.place(name) for name in names if self.kind(name) in ("FLOAT", "DOUBLE")]
        parts = [
            f"CASE WHEN {cell} IS NULL THEN '-' WHEN isnan({cell}) OR {cell} = 0 THEN {cell}::BIT::VARCHAR "
            "ELSE '' END"
            for cell in floats
        ]
        parts += [self.place(APART)] if APART in self.names else []
        return f"concat_ws('|', {', '.join(parts)})" if parts else None

    def as_text(self, names: Sequence[str]) -> str:
        """Returns a query for these columns as text, in this order."""
        cells = ", ".join(f"({self.cell(name)})::VARCHAR" for name in names)
        return f"SELECT {cells} FROM {self.query}"  # noqa: S608


def text_of(cell: object, kind: str) -> Text:
    """Returns the label of a cell that was fetched as `Relation.cell` says."""
    if isinstance(cell, str) and kind.startswith("TIMESTAMP"):
        return moment(cell)
    if isinstance(cell, str) and kind == "FLOAT":
        return cell.removesuffix(".0")
    return label(cell)


def header(path: Path, *, notes: bool = False, form: FileForm = RELEASED) -> tuple[str, ...]:
    """Returns the columns of a published file, as they stand in it; `form` is that of a CSV file.

    Unless `notes` are allowed, a Parquet file that carries more than its columns is refused.
    """
    if is_parquet(path):
        return _parquet_header(path, notes=notes)
    if is_whole(path):
        return tuple(whole_table(path).column_names)
    if not path.is_file():
        raise BadData("there is no such file", where=path.name)
    return _csv_header(path, form)


def rows(path: Path, *, form: FileForm = RELEASED) -> int:
    """Returns how many rows a published file holds."""
    names = header(path, form=form)

    def ask(db: duckdb.DuckDBPyConnection) -> int:
        return number(db, f"SELECT count(*) FROM {Relation.of_file(db, path, names, form).query}")  # noqa: S608

    return strictly(path.name, ask)


def number(db: duckdb.DuckDBPyConnection, query: str) -> int:
    """Returns the one number that a query comes to."""
    rows = db.execute(query).fetchall()  # to the end: the connection is busy until then
    return int(rows[0][0]) if rows else 0


def rows_and_empty_cells(
    db: duckdb.DuckDBPyConnection, table: Relation, names: Sequence[str]
) -> tuple[int, list[int]]:
    """Returns how many rows a table has, and how many cells of each of these columns are missing."""
    missing = [f"count(*) FILTER (WHERE {table.cell(name)} IS NULL)" for name in names]
    counts = db.execute(f"SELECT {', '.join(['count(*)', *missing])} FROM {table.query}").fetchall()[0]  # noqa: S608
    return int(counts[0]), [int(count) for count in counts[1:]]


def different_cells(
    db: duckdb.DuckDBPyConnection, table: Relation, names: Sequence[str], *, most: int | None = None
) -> dict[str, list[tuple[object, int]]]:
    """Returns the different cells of each of these columns, and in how many rows they stand, in one scan.

    Missing cells are left out. Of a column with more than `most`, one more than that is returned.
    """
    found: dict[str, list[tuple[object, int]]] = {name: [] for name in names}
    for begin in range(0, len(names), COLUMNS_TOGETHER):
        some = list(enumerate(names[begin : begin + COLUMNS_TOGETHER]))
        cells = ", ".join(f"{table.cell(name)} AS k{j}" for j, name in some)
        every, each = ", ".join(f"k{j}" for j, _ in some), ", ".join(f"(k{j})" for j, _ in some)
        column = " ".join(f"WHEN grouping(k{j}) = 0 THEN {j}" for j, _ in some)
        counted = (
            f"SELECT CASE {column} END AS place, {every}, {table.weight} AS n"  # noqa: S608  # columns by number
            f" FROM (SELECT {cells} FROM {table.query}) GROUP BY GROUPING SETS ({each})"
        )
        there = " ".join(f"WHEN {j} THEN k{j} IS NOT NULL" for j, _ in some)
        asked = f"SELECT * FROM ({counted}) WHERE CASE place {there} END"  # noqa: S608  # as above
        if most is not None:
            asked += f" QUALIFY row_number() OVER (PARTITION BY place) <= {most + 1}"
        for place, *values, count in db.execute(asked).fetchall():
            found[some[place][1]].append((values[place], int(count)))
    return found


def _csv_in_sql(db: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str], form: FileForm) -> str:
    """Returns a CSV file as a relation.

    It must have the encoding and the separator that it is said to have, double quotes and a header; an
    unquoted empty cell, or one with a text that stands for that, is missing, a quoted one is text; nothing is
    repaired or skipped. A file in another encoding is first copied to UTF-8, where the database keeps what
    has no room in memory.
    """
    if not form.is_utf8:
        folder = db.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
        path = form.utf8_copy(path, Path(folder))
    place, mark = _quoted(literal(path)), _quoted(form.separator)
    types = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    missing = ", ".join(_quoted(text) for text in ("", *form.empty))
    return (
        f"read_csv({place}, auto_detect=false, header=true, columns={{{types}}}, delim={mark}, quote='\"', "
        f"escape='\"', nullstr=[{missing}], allow_quoted_nulls=false, strict_mode=true, null_padding=false, "
        "ignore_errors=false, encoding='utf-8')"
    )


def _whole_in_sql(db: duckdb.DuckDBPyConnection, path: Path) -> str:
    """Returns a file that is read as a whole as a relation whose columns are c0, c1, …"""
    table = whole_table(path)
    name = f"whole_{sha256(os.fsencode(path)).hexdigest()[:16]}"
    db.register(name, table.rename_columns([f"c{i}" for i in range(table.num_columns)]))
    return name


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _csv_header(path: Path, form: FileForm) -> tuple[str, ...]:
    if form.is_utf8:
        _check_ends(path)
    names: list[str] = []
    try:
        with path.open(encoding=form.encoding, newline="") as text:
            names = next(csv.reader(text, strict=True, delimiter=form.separator))
    except (csv.Error, UnicodeError, StopIteration):
        names = []
    if not names:
        raise BadData("the header cannot be read", where=path.name)
    return tuple(names)


def _check_ends(path: Path) -> None:
    """Raises where a file in UTF-8 begins with a mark, or ends within a line."""
    with path.open("rb") as file:
        start = file.read(3)
        ending = b""
        if file.seek(0, 2):
            file.seek(-1, 2)
            ending = file.read(1)
    if start == b"\xef\xbb\xbf":
        raise BadData("the file begins with a byte-order mark", where=path.name)
    if ending != b"\n":
        raise BadData("the last line has no end", where=path.name, remedy="The file is empty or truncated.")


def _parquet_header(path: Path, *, notes: bool) -> tuple[str, ...]:
    """Returns the columns of the file, or of every part of a folder."""

    def read(db: duckdb.DuckDBPyConnection) -> set[tuple[str, ...]]:
        for part in () if notes else parts:
            check_notes(db, part)
        return {columns(db, part) for part in parts}

    parts = parts_of(path)
    found = strictly(path.name, read)
    if len(found) > 1:
        raise BadData("the parts have different columns", where=path.name)
    return found.pop()

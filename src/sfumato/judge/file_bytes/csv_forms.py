"""How the cells of a CSV file are written: one text with and without quotes, lines with different ends.

A reader of rows sees no difference; whoever reads the bytes tells the rows apart. A file in the shortest
form, in which releases are written, has one way to write each text, and is known by its length. Cells may be
separated by commas, semicolons, tabs or bars.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import BadData
from sfumato.judge.file_bytes.parquet_surplus import Surplus
from sfumato.judge.tables.database import NO_LIMIT, strictly
from sfumato.judge.tables.relation import Relation, header, number
from sfumato.judge.taxonomies.value_tree import Text
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    import duckdb

LARGEST = 256 << 20
"""Files of more bytes are looked at only as far as their length tells."""

SEPARATORS = ",;\t|"
_CELLS = {
    mark: re.compile(rf'("(?:[^"]|"")*"|[^{re.escape(mark)}"\r\n]*)({re.escape(mark)}|\r\n|\n|\r|\Z)')
    for mark in SEPARATORS
}
_IN_SQL = "'[,\"\\n\\r' || chr(65279) || ']'"


@dataclass(frozen=True)
class WrittenRow:
    """One row: its cells as text, and how each of them and the end of its line are written."""

    cells: tuple[Text, ...]
    quoted: tuple[bool, ...]
    end: str


def is_shortest(path: Path, *, memory: Memory = NO_LIMIT) -> bool:
    """Tells whether a CSV file is in the shortest form: no quotes but where needed, short line ends."""
    names = header(path)

    def ask(db: duckdb.DuckDBPyConnection) -> int:
        table = Relation.of_file(db, path, names)
        cells = _sum_of([_length(table.place(name)) for name in names])
        return number(db, f"SELECT coalesce(sum({cells} + {len(names)}), 0)::BIGINT FROM {table.query}")  # noqa: S608

    try:
        return path.stat().st_size - _header_bytes(path) == strictly(path.name, ask, memory)
    except BadData:  # lines that end in different ways are among what a strict reader refuses
        return False


def _sum_of(terms: Sequence[str]) -> str:
    """Returns the sum of terms in SQL, nested no deeper than need be: databases bound that."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_sum_of(terms[:half])} + {_sum_of(terms[half:])})"


def separator_of(path: Path, columns: Sequence[str]) -> str | None:
    """Returns what separates the cells of a file that begins with these columns; `None` for none we know."""
    for mark in SEPARATORS:
        try:
            with path.open(encoding="utf-8-sig", newline="") as text:
                if next(csv.reader(text, delimiter=mark, strict=True), []) == list(columns):
                    return mark
        except (csv.Error, UnicodeDecodeError):
            continue
    return None


def written_rows(path: Path, columns: Sequence[str], separator: str = ",") -> Iterator[WrittenRow]:
    """Yields the rows of a CSV file as they are written; raises `BadData` where it is too large for that.

    The last line may lack its end: it is taken to end as the line before.
    """
    if path.stat().st_size > LARGEST:
        raise BadData("the file is too large to look at every quote", where=path.name)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadData("the file is not in UTF-8", where=path.name) from None
    cells: list[Text] = []
    quoted: list[bool] = []
    place, first, before = 0, True, "\n"
    while place < len(text):
        found = _CELLS[separator].match(text, place)
        if found is None:
            raise BadData("the file cannot be read", where=path.name)
        raw, end = found[1], found[2]
        is_quoted = raw.startswith('"')
        cells.append(raw[1:-1].replace('""', '"') if is_quoted else raw or None)
        quoted.append(is_quoted)
        place = found.end()
        if end != separator:
            blank = len(columns) > 1 and cells == [None] and not is_quoted
            if len(cells) != len(columns) and not blank:
                raise BadData("a row has more or fewer cells than the header", where=path.name)
            before = end or before
            if not first and not blank:
                yield WrittenRow(tuple(cells), tuple(quoted), before)
            cells, quoted, first = [], [], False


def csv_surplus(path: Path, columns: Sequence[str], *, memory: Memory = NO_LIMIT) -> tuple[Surplus, ...]:
    """Returns what the form of a CSV file tells beyond its rows; raises `BadData` where it cannot be read.

    `columns` are those that somebody else has read. Of a file in a form that is not known here (compressed,
    another encoding or separator) it is said that nobody looked.
    """
    separator = separator_of(path, columns)
    if separator is None:
        return (Surplus("how the cells of the file are written was not looked at", certain=False),)
    if separator == "," and _is_released_form(path, columns, memory):
        return ()
    forms: list[dict[Text, bool]] = [{} for _ in columns]
    several = [False] * len(columns)
    ends = set()
    for row in written_rows(path, columns, separator):
        ends.add(row.end)
        for i, (cell, quoted) in enumerate(zip(row.cells, row.quoted, strict=True)):
            several[i] |= forms[i].setdefault(cell, quoted) != quoted
    found = []
    if any(several):
        named = tuple(name for name, many in zip(columns, several, strict=True) if many)
        found.append(Surplus("one text is written with quotes and without", named, certain=False))
    if len(ends) > 1:
        found.append(Surplus("lines end in different ways", certain=False))
    return tuple(found)


def _is_released_form(path: Path, columns: Sequence[str], memory: Memory) -> bool:
    try:
        return header(path) == tuple(columns) and is_shortest(path, memory=memory)
    except BadData:
        return False


def marks_of(row: WrittenRow, places: Sequence[int]) -> str:
    """Returns what tells a row from others with the same texts in these columns."""
    return "".join('"' if row.quoted[i] else "," for i in places) + row.end


def _length(cell: str) -> str:
    """Returns how many bytes a cell takes in the shortest form, in SQL."""
    quotes = f"strlen({cell}) - strlen(replace({cell}, '\"', ''))"
    return (
        f"CASE WHEN {cell} IS NULL THEN 0 WHEN {cell} = '' THEN 2 "
        f"WHEN regexp_matches({cell}, {_IN_SQL}) THEN strlen({cell}) + 2 + {quotes} ELSE strlen({cell}) END"
    )


def _header_bytes(path: Path) -> int:
    """Returns how many bytes the first line takes, with its end."""
    inside, size = False, 0
    with path.open("rb") as file:
        for line in file:
            size += len(line)
            inside ^= line.count(b'"') % 2 == 1
            if not inside:
                break
    return size

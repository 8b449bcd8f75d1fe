"""How the cells of a CSV file are written: one text with and without quotes, lines with different ends.

A reader of rows sees no difference; whoever reads the bytes tells the rows apart. A file in the shortest
form, in which releases are written, has one way to write each text, and is known by its length.
"""

from __future__ import annotations

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

_CELL = re.compile(r'("(?:[^"]|"")*"|[^,"\r\n]*)(,|\r\n|\n|\r|\Z)')
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
        cells = " + ".join(_length(table.place(name)) for name in names)
        return number(db, f"SELECT coalesce(sum({cells} + {len(names)}), 0)::BIGINT FROM {table.query}")  # noqa: S608

    try:
        return path.stat().st_size - _header_bytes(path) == strictly(path.name, ask, memory)
    except BadData:  # lines that end in different ways are among what a strict reader refuses
        return False


def written_rows(path: Path) -> Iterator[WrittenRow]:
    """Yields the rows of a CSV file as they are written; raises `BadData` where it is too large for that."""
    if path.stat().st_size > LARGEST:
        raise BadData("the file is too large to look at every quote", where=path.name)
    names = header(path)
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        raise BadData("the file is not in UTF-8", where=path.name) from None
    cells: list[Text] = []
    quoted: list[bool] = []
    place, first = 0, True
    while place < len(text):
        found = _CELL.match(text, place)
        if found is None:
            raise BadData("the file cannot be read", where=path.name)
        raw, end = found[1], found[2]
        is_quoted = raw.startswith('"')
        cells.append(raw[1:-1].replace('""', '"') if is_quoted else raw or None)
        quoted.append(is_quoted)
        place = found.end()
        if end != ",":
            blank = len(names) > 1 and cells == [None] and not is_quoted
            if len(cells) != len(names) and not blank:
                raise BadData("a row has more or fewer cells than the header", where=path.name)
            if not first and not blank:
                yield WrittenRow(tuple(cells), tuple(quoted), end)
            cells, quoted, first = [], [], False


def csv_surplus(path: Path, columns: Sequence[str], *, memory: Memory = NO_LIMIT) -> tuple[Surplus, ...]:
    """Returns what the form of a CSV file tells beyond its rows; raises `BadData` where it cannot be read.

    `columns` are those that somebody else has read. A file in another form than releases have (another
    separator, compressed) is not looked at.
    """
    try:
        names = header(path)
    except BadData:
        return ()
    if names != tuple(columns) or is_shortest(path, memory=memory):
        return ()
    forms: list[dict[Text, bool]] = [{} for _ in names]
    several = [False] * len(names)
    ends = set()
    for row in written_rows(path):
        ends.add(row.end)
        for i, (cell, quoted) in enumerate(zip(row.cells, row.quoted, strict=True)):
            several[i] |= forms[i].setdefault(cell, quoted) != quoted
    found = []
    if any(several):
        named = tuple(name for name, many in zip(names, several, strict=True) if many)
        found.append(Surplus("one text is written with quotes and without", named, certain=False))
    if len(ends) > 1:
        found.append(Surplus("lines end in different ways", certain=False))
    return tuple(found)


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

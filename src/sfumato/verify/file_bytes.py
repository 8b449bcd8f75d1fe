"""How the cells of a CSV file are written: one text with and without quotes, lines with different ends.

A reader of rows sees no difference; whoever reads the bytes tells the rows apart. A file in the shortest
form, in which releases are written, has one way to write each text, and is known by its length. Cells may be
separated by commas, semicolons, tabs or bars, or by what the judge is told.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import BadData
from sfumato.judge.file_bytes.parquet_surplus import Surplus
from sfumato.judge.tables.database import NO_LIMIT, strictly
from sfumato.judge.tables.file_form import RELEASED, FileForm
from sfumato.judge.tables.relation import Relation, header, number
from sfumato.judge.tables.whole_file import is_whole, whole_table
from sfumato.judge.taxonomies.value_tree import Text
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    import duckdb

LARGEST = 256 << 20
"""Files of more bytes are looked at only as far as their length tells."""

SEPARATORS = ",;\t|"


@cache
def _cell(mark: str) -> re.Pattern[str]:
    """Returns what a cell and its end look like, where this mark separates cells."""
    return re.compile(rf'("(?:[^"]|"")*"|[^{re.escape(mark)}"\r\n]*)({re.escape(mark)}|\r\n|\n|\r|\Z)')


@dataclass(frozen=True)
class WrittenRow:
    """One row: its cells as text, and how each of them and the end of its line are written."""

    cells: tuple[Text, ...]
    quoted: tuple[bool, ...]
    end: str


def is_shortest(path: Path, *, memory: Memory = NO_LIMIT, form: FileForm = RELEASED) -> bool:
    """Tells whether a CSV file is in the shortest form: no quotes but where needed, short line ends."""
    names = header(path, form=form)

    def ask(db: duckdb.DuckDBPyConnection) -> int:
        table = Relation.of_file(db, path, names, form)
        return number(db, length_query(table, form.separator))

    try:
        return _size(path, form) - _header_bytes(path, form) == strictly(path.name, ask, memory)
    except BadData:  # lines that end in different ways are among what a strict reader refuses
        return False


def length_query(table: Relation, separator: str) -> str:
    """Returns how many bytes all rows take in the shortest form, each with its end, as a query.

    What a cell takes is said once, for a list of all cells of a row: said for each column, ten thousand of
    them take a database a minute to understand.
    """
    cells = ", ".join(map(table.place, table.names))
    lengths = f"list_transform([{cells}], lambda cell: {_length('cell', separator)})"
    return f"SELECT coalesce(sum(list_sum({lengths}) + {len(table.names)}), 0)::BIGINT FROM {table.query}"  # noqa: S608


def form_of_file(path: Path, columns: Sequence[str], told: FileForm = RELEASED) -> FileForm | None:
    """Returns the form of a file that begins with these columns, as told or found; `None` for none we know.

    A mark at the beginning of a file in UTF-8 is passed over.
    """
    encoding = "utf-8-sig" if told.is_utf8 else told.encoding
    for mark in dict.fromkeys((told.separator, *SEPARATORS)):
        try:
            with path.open(encoding=encoding, newline="") as text:
                if next(csv.reader(text, delimiter=mark, strict=True), []) == list(columns):
                    return FileForm(told.encoding, mark)
        except (csv.Error, UnicodeError):
            continue
    return None


def written_rows(path: Path, columns: Sequence[str], form: FileForm = RELEASED) -> Iterator[WrittenRow]:
    """Yields the rows of a CSV file as they are written; raises `BadData` where it is too large for that.

    The last line may lack its end: it is taken to end as the line before.
    """
    if path.stat().st_size > LARGEST:
        raise BadData("the file is too large to look at every quote", where=path.name)
    try:
        text = path.read_bytes().decode("utf-8-sig" if form.is_utf8 else form.encoding)
    except UnicodeError:
        raise BadData("the file is not in the encoding that was expected", where=path.name) from None
    cells: list[Text] = []
    quoted: list[bool] = []
    place, first, before = 0, True, "\n"
    while place < len(text):
        found = _cell(form.separator).match(text, place)
        if found is None:
            raise BadData("the file cannot be read", where=path.name)
        raw, end = found[1], found[2]
        is_quoted = raw.startswith('"')
        cells.append(raw[1:-1].replace('""', '"') if is_quoted else raw or None)
        quoted.append(is_quoted)
        place = found.end()
        if end != form.separator:
            blank = len(columns) > 1 and cells == [None] and not is_quoted
            if len(cells) != len(columns) and not blank:
                raise BadData("a row has more or fewer cells than the header", where=path.name)
            before = end or before
            if not first and not blank:
                yield WrittenRow(tuple(cells), tuple(quoted), before)
            cells, quoted, first = [], [], False


def csv_surplus(
    path: Path, columns: Sequence[str], *, memory: Memory = NO_LIMIT, form: FileForm = RELEASED
) -> tuple[Surplus, ...]:
    """Returns what the form of a CSV file tells beyond its rows; raises `BadData` where it cannot be read.

    `columns` are those that somebody else has read, `form` is how. Of a file in a form that is not known here
    (compressed, another encoding or separator) it is said that nobody looked.
    """
    if is_whole(path):
        return _whole_surplus(path, columns)
    found_form = form_of_file(path, columns, form)
    if found_form is None:
        return (Surplus("how the cells of the file are written was not looked at", certain=False),)
    if _is_released_form(path, columns, memory, found_form):
        return ()
    forms: list[dict[Text, bool]] = [{} for _ in columns]
    several = [False] * len(columns)
    ends = set()
    for row in written_rows(path, columns, found_form):
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


def _whole_surplus(path: Path, columns: Sequence[str]) -> tuple[Surplus, ...]:
    """Returns nothing for a file that holds cells alone, as releases do; else that nobody looked further."""
    try:
        if whole_table(path).column_names == list(columns):
            return ()
    except BadData:
        pass
    return (Surplus("what the file holds beside its cells was not looked at", certain=False),)


def _is_released_form(path: Path, columns: Sequence[str], memory: Memory, form: FileForm) -> bool:
    try:
        return header(path, form=form) == tuple(columns) and is_shortest(path, memory=memory, form=form)
    except BadData:
        return False


def marks_of(row: WrittenRow, places: Sequence[int]) -> str:
    """Returns what tells a row from others with the same texts in these columns."""
    return "".join('"' if row.quoted[i] else "," for i in places) + row.end


def _length(cell: str, separator: str) -> str:
    """Returns how many bytes a cell takes in the shortest form, in SQL and in UTF-8."""
    quotes = f"strlen({cell}) - strlen(replace({cell}, '\"', ''))"
    special = " OR ".join(
        f"contains({cell}, chr({ord(mark)}))" for mark in (separator, '"', "\n", "\r", "\ufeff")
    )
    return (
        f"CASE WHEN {cell} IS NULL THEN 0 WHEN {cell} = '' THEN 2 "
        f"WHEN {special} THEN strlen({cell}) + 2 + {quotes} ELSE strlen({cell}) END"
    )


def _size(path: Path, form: FileForm) -> int:
    """Returns how many bytes the text of a file takes in UTF-8."""
    return path.stat().st_size if form.is_utf8 else sum(len(piece.encode()) for piece in form.texts(path))


def _header_bytes(path: Path, form: FileForm) -> int:
    """Returns how many bytes the first line takes, with its end, in UTF-8."""
    inside, size = False, 0
    with path.open("rb") if form.is_utf8 else path.open(encoding=form.encoding, newline="") as file:
        for raw in file:
            line = raw if isinstance(raw, bytes) else raw.encode()
            size += len(line)
            inside ^= line.count(b'"') % 2 == 1
            if not inside:
                break
    return size

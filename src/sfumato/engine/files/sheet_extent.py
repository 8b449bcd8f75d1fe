"""How far a sheet reaches: the library makes room for every cell up to the last one, empty ones included.

A single cell far away, written by mistake or on purpose, would take more memory than there is, and a document
that is cut short would be read forever. Both are seen here, from the parts of the packed file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import IO, NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""What spreadsheet programs can hold."""
FEW_CELLS = 10_000_000
"""So many cells may be empty, wherever they are."""
MOST_PER_HELD = 20
"""Beyond that, so many cells for each that holds something are taken for a table with a cell astray."""
BYTES_OF_CELL = 32
"""What the library takes for a cell, empty or not."""

XLSX_COLUMN = re.compile(rb"\sr=[\"']([A-Za-z]+)[0-9]")
XLSX_ROW = re.compile(rb"\sr=[\"'][A-Za-z]*([0-9]+)[\"']")
XLSX_CELL = re.compile(rb"<(?:\w+:)?c[\s>/]")
XLSX_HELD = re.compile(rb"<(?:\w+:)?c\s(?:[^<>]*?\s)?r=[\"']([A-Za-z]+)([0-9]+)[\"'][^<>]*(?<!/)>")

ODS_TABLE, ODS_ROW = "table:table", "table:table-row"
ODS_CELLS = frozenset({"table:table-cell", "table:covered-table-cell"})
ODS_HOLDS = frozenset({"office:value-type", "table:formula"})
ODS_ROWS_ALIKE, ODS_CELLS_ALIKE = "table:number-rows-repeated", "table:number-columns-repeated"


class NoDocument(ValueError):
    """The part is not a whole document, or counts in a way that no program writes."""


class SheetExtent(NamedTuple):
    """The last row and the last column that hold something, and how many cells do."""

    rows: int = 0
    columns: int = 0
    held: int = 0

    @property
    def cells(self) -> int:
        """All cells up to the last one."""
        return self.rows * self.columns

    @property
    def is_possible(self) -> bool:
        """Whether a spreadsheet program could have written it."""
        return self.rows <= MOST_ROWS and self.columns <= MOST_COLUMNS

    @property
    def is_scattered(self) -> bool:
        """Whether hardly any of very many cells holds something."""
        return self.cells > max(FEW_CELLS, MOST_PER_HELD * self.held)


def xlsx_extent(sheet: bytes) -> SheetExtent:
    """Returns how far a sheet of an XLSX file reaches, by the names of its cells.

    >>> xlsx_extent(b'<row r="1"><c r="A1"/><c r="AB1"/></row><row r="7"><c r="B7"/></row>')
    SheetExtent(rows=7, columns=28, held=3)
    """
    extent = _extent(XLSX_ROW.findall(sheet), XLSX_COLUMN.findall(sheet), len(XLSX_CELL.findall(sheet)))
    if not extent.is_scattered:
        return extent
    held = XLSX_HELD.findall(sheet)  # a cell that is only coloured is written, too, and takes no room
    return _extent([row for _, row in held], [column for column, _ in held], len(held))


def _extent(rows: Sequence[bytes], columns: Sequence[bytes], held: int) -> SheetExtent:
    return SheetExtent(
        max(map(_number, set(rows)), default=0), max(map(_column_number, set(columns)), default=0), held
    )


def ods_extents(content: IO[bytes]) -> list[SheetExtent]:
    """Returns how far each sheet of an ODS file reaches; raises `NoDocument` where it is cut short."""
    seen = _OdsSheets()
    parser = ParserCreate()
    parser.StartElementHandler = seen.begin
    try:
        parser.ParseFile(content)
    except ExpatError:
        raise NoDocument from None
    return [*seen.done, seen.sheet]


class _OdsSheets:
    """Cells of an ODS file one after the other; equal neighbours are written once, with their number."""

    def __init__(self) -> None:
        self.done: list[SheetExtent] = []
        self.sheet = SheetExtent()
        self.row, self.rows_alike, self.column = 0, 0, 0

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if name in ODS_CELLS:
            alike = _number(attributes.get(ODS_CELLS_ALIKE, "1"))
            self.column += alike
            if not ODS_HOLDS.isdisjoint(attributes):
                rows, columns, held = self.sheet
                last = self.row + self.rows_alike
                self.sheet = SheetExtent(
                    max(rows, last), max(columns, self.column), held + alike * self.rows_alike
                )
        elif name == ODS_ROW:
            self.row += self.rows_alike
            self.rows_alike, self.column = _number(attributes.get(ODS_ROWS_ALIKE, "1")), 0
        elif name == ODS_TABLE:
            self.done.append(self.sheet)
            self.sheet, self.row, self.rows_alike, self.column = SheetExtent(), 0, 0, 0


def _column_number(letters: bytes) -> int:
    """Returns the place of a column from its letters: A is 1, AA is 27.

    >>> _column_number(b"A"), _column_number(b"xfd")
    (1, 16384)
    """
    number = 0
    for letter in letters.upper()[:8]:  # eight letters are beyond any sheet
        number = 26 * number + letter - ord("A") + 1
    return number


def _number(digits: bytes | str) -> int:
    """Returns a count; raises `NoDocument` where it is none."""
    try:
        number = int(digits[:20])
    except ValueError:
        raise NoDocument from None
    if number < 0:
        raise NoDocument
    return number

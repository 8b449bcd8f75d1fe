"""Spreadsheets as readers: XLSX, XLS and ODS, a sheet of them.

The first row that holds something names the columns. Numbers, dates and truths keep their types; a column in
which these are mixed with texts is read as text. A text without a character, as formulas give it, is an empty
cell. Rows without a cell hold nobody. What a reader cannot know is refused: names that are missing or merged,
cells that hold an error, sheets of which none was chosen.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.system.disk import DAMAGED
from sfumato.system.errors import BadData, NotEnoughMemory, SfumatoError, UsageError, short
from sfumato.system.expansion import check_expansion, read_part, zip_bytes
from sfumato.system.memory import in_words
from sfumato.system.plugins import without_library_prints
from sfumato.table.arrow_arrays import text_array
from sfumato.table.cell_text import NO_FIRST_NAME, name_first, safe_name
from sfumato.table.data_file import NO_FORM, Note, SourceForm, built_in_reader
from sfumato.table.reading.loaded_file import LoadedFileReader, as_dates, extra_library, is_panic

# How far a sheet reaches: the library makes room for every cell up to the last one, empty ones included.
#
# A single cell far away, written by mistake or on purpose, would take more memory than there is, and a
# document that is cut short would be read forever. Both are seen here, from the parts of the packed file.

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""What spreadsheet programs can hold."""
FEW_CELLS = 10_000_000
"""So many cells may be empty, wherever they are."""
MOST_PER_HELD = 20
"""Beyond that, so many cells for each that holds something are taken for a table with a cell astray."""
BYTES_OF_CELL = 32
"""What the library takes for a cell, empty or not."""
COPIES_OF_TEXT = 4
"""A text is held by the library for each cell that shows it, and again as a column: measured were 4.5."""

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
    """The last row and the last column that hold something, how many cells do, and how long their texts are.

    Counted are only texts that the file writes once for several cells.
    """

    rows: int = 0
    columns: int = 0
    filled: int = 0
    text: int = 0

    @property
    def cells(self) -> int:
        """All cells up to the last one."""
        return self.rows * self.columns

    @property
    def needed_bytes(self) -> int:
        """What the library takes for the sheet."""
        return self.cells * BYTES_OF_CELL + self.text * COPIES_OF_TEXT

    @property
    def is_possible(self) -> bool:
        """Whether a spreadsheet program could have written it."""
        return self.rows <= MOST_ROWS and self.columns <= MOST_COLUMNS

    @property
    def is_scattered(self) -> bool:
        """Whether hardly any of very many cells holds something."""
        return self.cells > max(FEW_CELLS, MOST_PER_HELD * self.filled)


def xlsx_extent(sheet: bytes) -> SheetExtent:
    """Returns how far a sheet of an XLSX file reaches, by the names of its cells.

    >>> xlsx_extent(b'<row r="1"><c r="A1"/><c r="AB1"/></row><row r="7"><c r="B7"/></row>')
    SheetExtent(rows=7, columns=28, filled=3, text=0)
    """
    extent = _extent(XLSX_ROW.findall(sheet), XLSX_COLUMN.findall(sheet), len(XLSX_CELL.findall(sheet)))
    if not extent.is_scattered:
        return extent
    filled = XLSX_HELD.findall(sheet)  # a cell that is only coloured is written, too, and takes no room
    return _extent([row for _, row in filled], [column for column, _ in filled], len(filled))


def _extent(rows: Sequence[bytes], columns: Sequence[bytes], filled: int) -> SheetExtent:
    return SheetExtent(
        max(map(_number, set(rows)), default=0), max(map(_column_number, set(columns)), default=0), filled
    )


XLSX_TEXT = re.compile(rb"<(?:\w+:)?si[\s>/]")
XLSX_SHARED = re.compile(rb"\st=[\"']s[\"'][^<>]*>\s*<(?:\w+:)?v>\s*([0-9]{1,10})\s*<")


def shared_text(numbers: Sequence[int], sizes: np.ndarray) -> int:
    """Returns how long the texts of all cells are that name one of a list by its number."""
    cells = np.asarray(numbers, np.int64)
    return int(sizes[cells[cells < len(sizes)]].sum())


def xlsx_shared_text(sheet: bytes, texts: bytes) -> int:
    """Returns how long the texts are that cells of a sheet take from the list of texts."""
    places = np.array([match.start() for match in XLSX_TEXT.finditer(texts)], np.int64)
    return shared_text([int(text) for text in XLSX_SHARED.findall(sheet)], np.diff(places, append=len(texts)))


def ods_extents(content: bytes) -> list[SheetExtent]:
    """Returns how far each sheet of an ODS file reaches; raises `NoDocument` where it is cut short."""
    sheets = _OdsSheets()
    parser = ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = sheets.begin
    parser.CharacterDataHandler = sheets.add_text
    try:
        parser.Parse(content, True)
    except ExpatError:
        raise NoDocument from None
    return [*sheets.done, sheets.sheet]


class _OdsSheets:
    """Cells of an ODS file one after the other; equal neighbours are written once, with their number."""

    def __init__(self) -> None:
        self.done: list[SheetExtent] = []
        self.sheet = SheetExtent()
        self.row, self.rows_alike, self.column, self.alike = 0, 0, 0, 0

    def add_text(self, text: str) -> None:
        if self.alike:
            more = self.alike * self.rows_alike * len(text)
            self.sheet = self.sheet._replace(text=self.sheet.text + more)

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if name in ODS_CELLS:
            alike = _number(attributes.get(ODS_CELLS_ALIKE, "1"))
            self.column += alike
            self.alike = 0 if ODS_HOLDS.isdisjoint(attributes) else alike
            if self.alike:
                rows, columns, filled, text = self.sheet
                last, cells = self.row + self.rows_alike, alike * self.rows_alike
                text += cells * sum(map(len, attributes.values()))
                self.sheet = SheetExtent(max(rows, last), max(columns, self.column), filled + cells, text)
        elif name == ODS_ROW:
            self.row += self.rows_alike
            self.rows_alike = _number(attributes.get(ODS_ROWS_ALIKE, "1"))
            self.column = self.alike = 0
        elif name == ODS_TABLE:
            self.done.append(self.sheet)
            self.sheet, self.row, self.rows_alike, self.column, self.alike = SheetExtent(), 0, 0, 0, 0


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


# How far sheets of binary workbooks reach: XLSB, packed like XLSX, and the older XLS.
#
# Both are sequences of records, each with its kind and its size. Only what says where a cell stands is looked
# at; whatever cannot be followed is no document (`NoDocument`).

XLSB_ROW, XLSB_SHARED, XLSB_HELD, XLSB_TEXT, XLSB_SHEET = 0, 7, range(2, 12), 19, 156
"""Kinds of records: the head of a row, a cell that names a text of the list, cells that hold something, a
text of the list, a sheet in the list of them."""

XLS_END, XLS_SHEET, XLS_EXTENT, XLS_SEVERAL = 0x0A, 0x85, 0x200, 0xBD
XLS_SHARED, XLS_TEXTS, XLS_MORE = 0xFD, 0xFC, 0x3C
"""A cell that names a text of the list, the list, and what does not fit into the record before."""
XLS_HELD = frozenset({0x06, 0xD6, XLS_SHARED, 0x203, 0x204, 0x205, 0x27E})
"""Records of one cell: formulas, texts, numbers, truths. What is only coloured takes no room."""
MOST_XLS_ROWS, MOST_XLS_COLUMNS = 65_536, 256
OLD_EXTENT = 10
"""So many bytes an extent had before rows were counted in four of them."""

COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1")
"""How a file begins that holds several streams of bytes, in chains of sectors."""
SECTOR_BITS = (9, 12)
NO_SECTOR = 0xFFFFFFFA
"""From here on numbers are no sectors but marks, such as the end of a chain."""
ENTRY = 128
BOOKS = ("workbook", "book")


def xlsb_sheets(book: bytes) -> list[str]:
    """Returns the keys of the sheets of an XLSB workbook, in order; its relations name parts by them."""
    keys = []
    for kind, place, size in _xlsb_records(book):
        if kind == XLSB_SHEET:
            length = int.from_bytes(book[place + 8 : place + 12], "little")
            if 12 + 2 * length > size:
                raise NoDocument
            keys.append(book[place + 12 : place + 12 + 2 * length].decode("utf-16-le", "replace"))
    return keys


def xlsb_extent(sheet: bytes, texts: bytes = b"") -> SheetExtent:
    """Returns how far a sheet of an XLSB file reaches; its cells name texts of a list."""
    row = rows = columns = filled = 0
    shared = []
    for kind, place, _ in _xlsb_records(sheet):
        if kind == XLSB_ROW:
            row = int.from_bytes(sheet[place : place + 4], "little") + 1
        elif kind in XLSB_HELD:
            column = int.from_bytes(sheet[place : place + 4], "little") + 1
            rows, columns, filled = max(rows, row), max(columns, column), filled + 1
            if kind == XLSB_SHARED:
                shared.append(int.from_bytes(sheet[place + 8 : place + 12], "little"))
    sizes = np.array([size for kind, _, size in _xlsb_records(texts) if kind == XLSB_TEXT], np.int64)
    return SheetExtent(rows, columns, filled, shared_text(shared, sizes))


def _xlsb_records(part: bytes) -> Iterator[tuple[int, int, int]]:
    """Yields the kind, place and size of the content of every record; numbers are in groups of 7 bits."""
    place = 0
    try:
        while place < len(part):
            kind, place = part[place], place + 1
            if kind > 127:
                kind, place = kind & 127 | (part[place] & 127) << 7, place + 1
            size, place = part[place], place + 1
            for bits in (7, 14, 21):
                if size >> bits & 1 == 0:
                    break
                size, place = size ^ 1 << bits | part[place] << bits, place + 1
            yield kind, place, size
            place += size
    except IndexError:
        raise NoDocument from None


def xls_extents(file: bytes) -> list[SheetExtent]:
    """Returns how far each sheet of an XLS file reaches; raises `NoDocument` beyond what an XLS can hold."""
    book = _book_stream(file)
    sheets = [
        int.from_bytes(book[place : place + 4], "little")
        for kind, place, _ in _xls_records(book, 0)
        if kind == XLS_SHEET
    ]
    sizes = _xls_text_sizes(book)
    return [_xls_extent(book, place, sizes) for place in sheets]


def _xls_text_sizes(book: bytes) -> np.ndarray:
    """Returns the sizes of the texts that all sheets share: each begins with the number of its letters.

    A text may go on in the next record, where its letters may be of another width.
    """
    pieces: list[bytes] = []
    for kind, place, size in _xls_records(book, 0):
        if kind == XLS_TEXTS or (pieces and kind == XLS_MORE):
            pieces.append(book[place + 8 * (kind == XLS_TEXTS) : place + size])
        elif pieces:
            break
    sizes: list[int] = []
    number = at = 0
    while number < len(pieces):
        if at >= len(pieces[number]):
            number, at = number + 1, at - len(pieces[number])
            continue
        letters, flags = _numbers(pieces[number], at, "<HB")
        at += 3
        runs = blocks = 0
        if flags & 8:
            (runs,) = _numbers(pieces[number], at, "<H")
            at += 2
        if flags & 4:
            (blocks,) = _numbers(pieces[number], at, "<I")
            at += 4
        sizes.append(2 * letters)
        wide = 1 + (flags & 1)
        while letters and number < len(pieces):
            here = min(letters, max(0, len(pieces[number]) - at) // wide)
            letters, at = letters - here, at + here * wide
            if letters:
                number += 1
                wide = 1 + (pieces[number][0] & 1) if number < len(pieces) and pieces[number] else 1
                at = 1
        at += 4 * runs + blocks
    return np.array(sizes, np.int64)


def _xls_extent(book: bytes, start: int, sizes: np.ndarray) -> SheetExtent:
    rows = columns = filled = 0
    shared: list[int] = []
    for kind, place, size in _xls_records(book, start):
        if kind in XLS_HELD:
            row, column = _numbers(book, place, "<HH")
            rows, columns, filled = max(rows, row + 1), max(columns, column + 1), filled + 1
            if kind == XLS_SHARED:
                shared += _numbers(book, place + 6, "<I")
        elif kind == XLS_SEVERAL:  # numbers side by side, with the last column at the end
            row, column = _numbers(book, place, "<HH")
            (last,) = _numbers(book, place + size - 2, "<H")
            rows, columns, filled = max(rows, row + 1), max(columns, last + 1), filled + last + 1 - column
        elif kind == XLS_EXTENT:  # the library makes room for it, but fills it with what there is
            _, last_row, _, last_column = _numbers(book, place, "<IIHH" if size > OLD_EXTENT else "<4H")
            if last_row > MOST_XLS_ROWS or last_column > MOST_XLS_COLUMNS:
                raise NoDocument
    if rows > MOST_XLS_ROWS or columns > MOST_XLS_COLUMNS:
        raise NoDocument
    return SheetExtent(rows, columns, filled, shared_text(shared, sizes))


def _xls_records(book: bytes, start: int) -> Iterator[tuple[int, int, int]]:
    """Yields the kind of every record up to the end of a sheet, where its content stands, and its size."""
    place = start
    while place + 4 <= len(book):
        kind, size = _numbers(book, place, "<HH")
        if kind == XLS_END:
            return
        yield kind, place + 4, size
        place += 4 + size


def _book_stream(file: bytes) -> bytes:
    """Returns the stream of a compound file that is the workbook."""
    if file[:8] != COMPOUND:
        raise NoDocument
    (bits,) = _numbers(file, 30, "<H")
    if bits not in SECTOR_BITS:
        raise NoDocument
    sectors = _Sectors(file[1 << bits :], 1 << bits)
    tables, first_entry, cutoff, first_small, first_more = (
        _numbers(file, place, "<I")[0] for place in (44, 48, 56, 60, 68)
    )
    named = list(_numbers(file, 76, "<109I"))
    more = sectors.all_of(first_more, None)
    entries_of_sector = (1 << bits) // 4
    for place in range(0, len(more), 1 << bits):  # the last number of each leads to the next
        named += _numbers(more, place, f"<{entries_of_sector}I")[:-1]
    table = b"".join(sectors.one(number) for number in named[:tables] if number < NO_SECTOR)
    following = struct.unpack(f"<{len(table) // 4}I", table)
    directory = sectors.all_of(first_entry, following)
    entries = [directory[place : place + ENTRY] for place in range(0, len(directory), ENTRY)]
    for name in BOOKS:
        for entry in entries:
            if _entry_name(entry) == name:
                start, size = _numbers(entry, 116, "<II")
                if size >= cutoff:
                    return sectors.all_of(start, following)[:size]
                small = _Sectors(sectors.all_of(_numbers(entries[0], 116, "<I")[0], following), 64)
                chains = sectors.all_of(first_small, following)
                return small.all_of(start, struct.unpack(f"<{len(chains) // 4}I", chains))[:size]
    raise NoDocument


def _entry_name(entry: bytes) -> str:
    return entry[:64].decode("utf-16-le", "replace").partition("\0")[0].casefold()


class _Sectors:
    """Pieces of equal size, in chains."""

    def __init__(self, content: bytes, size: int) -> None:
        self._content, self._size = content, size

    def one(self, number: int) -> bytes:
        """Returns a piece; the last of a file may be cut short."""
        sector = self._content[number * self._size : (number + 1) * self._size]
        if not sector:
            raise NoDocument
        return sector.ljust(self._size, b"\0")

    def all_of(self, first: int, following: Sequence[int] | None) -> bytes:
        """Returns a chain as one; where nothing says what follows, each piece says so at its end."""
        sectors: list[bytes] = []
        number, most = first, len(self._content) // self._size + 1
        while number < NO_SECTOR:
            if len(sectors) > most or (following is not None and number >= len(following)):
                raise NoDocument
            sectors.append(self.one(number))
            number = int.from_bytes(sectors[-1][-4:], "little") if following is None else following[number]
        return b"".join(sectors)


def _numbers(content: bytes, place: int, form: str) -> tuple[int, ...]:
    try:
        return struct.unpack_from(form, content, place)
    except struct.error:
        raise NoDocument from None


LONGEST_LIST = 8
SHARED_TEXTS, SHARED_BINARY = "xl/sharedStrings.xml", "xl/sharedStrings.bin"
ODS_CONTENT, BINARY_BOOK, SHEETS = "content.xml", "xl/workbook.bin", "xl/worksheets/"
BYTES_PER_BYTE = 4
"""Memory for each byte of an unpacked sheet: measured were 3.2 of XLSX; ODS is taken to be alike."""
PACKED = 3
"""Cells of old binary files take less room than those of unpacked sheets: how much less is a guess."""
MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^<>]*ref=\"([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)\"")
UNREADABLE = (*DAMAGED, KeyError, OSError)
"""What a packed file raises that is damaged, or of another kind."""


@built_in_reader(
    ".xlsx",
    ".xlsm",
    ".xls",
    ".xlsb",
    ".ods",
    what="a spreadsheet",
    place=3,
    options=("sheet",),
    named=(".xlsx", ".xls", ".ods"),
)
@dataclass(frozen=True, eq=False)
class SpreadsheetReader(LoadedFileReader):
    """One sheet: the one that is named, the one that a policy expects, or the only one."""

    named: str | None = None
    expected: SourceForm = field(default=NO_FORM)

    @classmethod
    def of_file(cls, path: Path, form: SourceForm, expected: SourceForm, note: Note | None) -> Self:
        return cls(path, path.suffix.lower()[1:], note, form.sheet, expected)

    @property
    def sheet(self) -> str:
        """The name of the sheet that is read."""
        return self._sheet(self._workbook().sheet_names)

    @property
    def source_form(self) -> SourceForm:
        return SourceForm(sheet=self.sheet)

    def load(self) -> pa.Table:
        workbook = self._workbook()
        name = self._sheet(workbook.sheet_names)
        with self._told_as_unreadable():
            self._check_sheet(workbook.sheet_names.index(name))
            content = self._packed_sheet(workbook.sheet_names.index(name))
            self._check_extent(self._extent(content))
            names = self._names(workbook, name)
            self._refuse_merged(content)
            sheet = workbook.load_sheet(name, header_row=0, schema_sample_rows=None)
            rows, errors = sheet.to_arrow_with_errors()
        if places := _errors_in(workbook, name, errors.errors if errors is not None else []):
            row, column = min(places)
            cells = "1 cell holds" if len(places) == 1 else f"{len(places)} cells hold"
            raise BadData(
                f"{cells} an error such as #N/A, the first in row {row + 1} of column"
                f" {safe_name(names[column])}",
                where=self.path.name,
                remedy="Correct their formulas, or clear the cells if nothing is known.",
            )
        columns = [_without_empty_texts(as_dates(column)) for column in rows.columns]
        return _without_empty_rows(pa.table(columns, names=names))

    def needed_bytes(self) -> int:
        """Returns what it takes to open the file: texts that sheets share are read at once."""
        return self._unpacked(SHARED_TEXTS) * BYTES_PER_BYTE

    def _check_sheet(self, place: int) -> None:
        """Raises where there is no room for the sheet that is read; sizes stand in the file."""
        try:
            with ZipFile(self.path) as file:
                parts = _sheet_parts(file)
        except (*UNREADABLE, NoDocument):  # ODS has one part, older files are not packed
            parts = []
        size = self._unpacked(parts[place] if place < len(parts) else ODS_CONTENT)
        self.check_room((size or self.path.stat().st_size * PACKED) * BYTES_PER_BYTE)

    def _unpacked(self, part: str) -> int:
        """Returns the size of a part of a packed file; 0 where there is none."""
        try:
            with ZipFile(self.path) as file:
                return file.getinfo(part).file_size
        except UNREADABLE:
            return 0

    def _workbook(self) -> Any:  # a reader of fastexcel, which has no types for it
        library = extra_library("fastexcel", "a spreadsheet")
        self._check_parts()
        self._check_extents_of_all()
        with self._told_as_unreadable():
            return library.read_excel(str(self.path))

    @property
    def _ending(self) -> str:
        return self.path.suffix.lower()

    @property
    def _texts(self) -> str:
        """The part with the texts that cells of all sheets share."""
        return SHARED_BINARY if self._ending == ".xlsb" else SHARED_TEXTS

    def _check_parts(self) -> None:
        """Raises where a packed file unpacks to far more than others, or where its list of parts says less
        than what there is in a part that the library reads as soon as it opens the file."""
        if self._ending == ".xls":
            return
        try:
            check_expansion(zip_bytes(self.path) * BYTES_PER_BYTE, self.path)
            with ZipFile(self.path) as file:
                for name in file.namelist():
                    if not name.startswith(SHEETS) and name.endswith((".xml", ".bin", ".rels")):
                        read_part(file, name)
        except UNREADABLE:
            raise self._unreadable() from None

    def _extent(self, content: bytes) -> SheetExtent:
        """Returns how far the chosen sheet reaches, of whose file this is the part."""
        try:
            with ZipFile(self.path) as file:
                texts = read_part(file, self._texts)
        except UNREADABLE:  # a file without such texts, or of another kind
            texts = b""
        if self._ending == ".xlsb":
            return xlsb_extent(content, texts)
        return xlsx_extent(content)._replace(text=xlsx_shared_text(content, texts))

    def _check_extents_of_all(self) -> None:
        """Raises where an ODS or XLS file is no whole document, or one of its sheets reaches too far.

        The library reads all sheets of them as soon as it opens the file.
        """
        try:
            extents = self._all_extents()
        except (*UNREADABLE, NoDocument):
            raise self._unreadable() from None
        for extent in extents:
            self._check_extent(extent)

    def _all_extents(self) -> list[SheetExtent]:
        """Returns how far the sheets reach that are read whichever is asked for."""
        if self._ending == ".ods":
            with ZipFile(self.path) as file:
                return ods_extents(read_part(file, ODS_CONTENT))
        return xls_extents(self.path.read_bytes()) if self._ending == ".xls" else []

    def _check_extent(self, extent: SheetExtent) -> None:
        """Raises where a sheet reaches so far that there is no room for all cells up to its last one."""
        if not extent.is_possible:
            raise self._unreadable()
        if extent.is_scattered:
            raise BadData(
                f"the sheet reaches to row {extent.rows:,} and column {extent.columns:,}, and nearly all"
                " of it is empty",
                where=self.path.name,
                remedy="Delete the rows and columns after the table, with what strayed into them.",
            )
        need = extent.needed_bytes
        check_expansion(need, self.path)
        if need > self.memory.left:
            raise NotEnoughMemory(
                f"reading this sheet as a whole takes about {in_words(need)} of memory, and"
                f" {in_words(self.memory.left)} are left",
                where=self.path.name,
                remedy="Save it as CSV or Parquet: these are read piece by piece.",
            )

    def _sheet(self, there: list[str]) -> str:
        """Returns the name of the sheet to read."""
        if not there:
            raise self._unreadable()
        if self.named is not None and self.named not in there:
            raise UsageError(
                "there is no such sheet", where=self.path.name, remedy=f"There are: {_listed(there)}."
            )
        if self.named is None and self.expected.sheet in there:
            return str(self.expected.sheet)
        if self.named is None and len(there) != 1:
            raise UsageError(
                f"the file has {len(there)} sheets",
                where=self.path.name,
                remedy=f"Name one with --sheet: {_listed(there)}.",
            )
        return self.named or there[0]

    def _names(self, workbook: Any, sheet: str) -> list[str]:
        """Returns the texts of the first row; raises where one is missing."""
        first = workbook.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_arrow()
        names = [column[0].as_py() if len(column) else None for column in first.columns]
        if not names or all(name is None for name in names):
            raise BadData(
                "the sheet is empty", where=self.path.name, remedy="It needs a row of column names."
            )
        texts = ["" if name is None else str(name) for name in names]
        if (own := name_first(texts)) is not None:
            self.tell(NO_FIRST_NAME.format(own))
            return [own, *texts[1:]]
        lacking = [place for place, name in enumerate(names, 1) if not (name or "").strip()]
        if lacking:
            raise BadData(
                f"{len(lacking)} of {len(names)} columns have no name in the first row, the first of them"
                f" column {lacking[0]}",
                where=self.path.name,
                remedy="Delete titles above the row of names, unmerge its cells, and name every column.",
            )
        return [str(name) for name in names]

    def _packed_sheet(self, place: int) -> bytes:
        """Returns the content of a sheet of an XLSX or XLSB file; nothing where the file is another one.

        Whatever raises means that the file is damaged, even where the library would not notice. Only parts
        of an XLSX file may have other names than are known here: the library says what it makes of that.
        """
        if self._ending not in (".xlsx", ".xlsm", ".xlsb"):
            return b""
        with ZipFile(self.path) as file:
            try:
                return read_part(file, _sheet_parts(file)[place])
            except LookupError:
                if self._ending == ".xlsb":
                    raise
                return b""

    def _refuse_merged(self, content: bytes) -> None:
        """Raises where cells of an XLSX sheet are merged: all but one of them would seem to be empty."""
        merged = MERGED.findall(content)
        if merged:
            groups = "1 group of cells is" if len(merged) == 1 else f"{len(merged)} groups of cells are"
            raise BadData(
                f"{groups} merged, the first in row {min(int(row) for _, row, _, _ in merged)}",
                where=self.path.name,
                remedy="Unmerge them, and write the value into each cell that it is about.",
            )

    @contextmanager
    def _told_as_unreadable(self) -> Iterator[None]:
        """Raises `BadData` for whatever the library raises, whose message may quote cells, and so may what it
        prints."""
        try:
            with without_library_prints():
                yield
        except SfumatoError:
            raise
        except BaseException as wrong:
            if isinstance(wrong, Exception) or is_panic(wrong):
                raise self._unreadable() from None
            raise

    def _unreadable(self) -> BadData:
        return BadData(
            "the file cannot be read as a spreadsheet",
            where=self.path.name,
            remedy="Open it in its program and save it again, without a password.",
        )


def _sheet_parts(file: ZipFile) -> list[str]:
    """Returns the files of the sheets, in the order in which the workbook lists them.

    Whatever it holds, looking through it takes time in proportion to its length: patterns begin at the
    beginning of a word, and end before the next element.
    """
    book = BINARY_BOOK if BINARY_BOOK in file.namelist() else "xl/workbook.xml"
    links = file.read(book.replace("xl/", "xl/_rels/") + ".rels").decode("utf-8", "replace")
    targets = {}
    for link in re.findall(r"<(?:\w+:)?Relationship\s[^<>]*>", links):
        attributes = dict(re.findall(r'\b(\w+)="([^"]*)"', link))
        targets[attributes.get("Id")] = attributes.get("Target", "")
    if book == BINARY_BOOK:
        listed = xlsb_sheets(file.read(book))
    else:
        sheets = file.read(book).decode("utf-8", "replace")
        listed = re.findall(r"<(?:\w+:)?sheet\s[^<>]*?\b\w+:id=\"([^\"]*)\"", sheets)
    parts = [targets.get(key, "") for key in listed]
    return [target[1:] if target.startswith("/") else f"xl/{target}" for target in parts]


def _errors_in(workbook: Any, sheet: str, errors: list[Any]) -> list[tuple[int, int]]:
    """Returns the row and column of every cell that holds an error.

    The library also counts empty texts in a column of numbers, such as formulas give: these cells are empty.
    """
    if not errors:
        return []
    columns = sorted({error.position[1] for error in errors})
    texts = workbook.load_sheet(
        sheet, header_row=0, schema_sample_rows=None, dtypes=dict.fromkeys(columns, "string")
    )
    read = texts.to_arrow_with_errors()[0]
    return [
        error.position
        for error in errors
        if read.column(error.position[1])[error.offset_position[0]].as_py() != ""
    ]


def _without_empty_texts(column: pa.Array) -> pa.Array:
    """Returns a column in which a text without a character is an empty cell, as it looks."""
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    empty, missing = text_array(["", None], column.type)
    return pc.if_else(pc.equal(column, empty), missing, column)


def _without_empty_rows(table: pa.Table) -> pa.Table:
    """Returns the rows that hold something."""
    filled = pc.is_valid(table.column(0))
    for column in table.columns[1:]:
        filled = pc.or_(filled, pc.is_valid(column))
    return table.filter(filled)


def _listed(names: list[str]) -> str:
    listed = ", ".join(map(short, names[:LONGEST_LIST]))
    return listed if len(names) <= LONGEST_LIST else f"{listed} and {len(names) - LONGEST_LIST} more"

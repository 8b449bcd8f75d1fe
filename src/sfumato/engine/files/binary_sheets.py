"""How far sheets of binary workbooks reach: XLSB, packed like XLSX, and the older XLS.

Both are sequences of records, each with its kind and its size. Only what says where a cell stands is looked
at; whatever cannot be followed is no document (`NoDocument`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from sfumato.engine.files.sheet_extent import NoDocument, SheetExtent

XLSB_ROW, XLSB_HELD, XLSB_SHEET = 0, range(2, 12), 156
"""Kinds of records: the head of a row, cells that hold something, a sheet in the list of them."""

XLS_END, XLS_SHEET, XLS_EXTENT, XLS_SEVERAL = 0x0A, 0x85, 0x200, 0xBD
XLS_HELD = frozenset({0x06, 0xD6, 0xFD, 0x203, 0x204, 0x205, 0x27E})
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


def xlsb_extent(sheet: bytes) -> SheetExtent:
    """Returns how far a sheet of an XLSB file reaches."""
    row = rows = columns = held = 0
    for kind, place, _ in _xlsb_records(sheet):
        if kind == XLSB_ROW:
            row = int.from_bytes(sheet[place : place + 4], "little") + 1
        elif kind in XLSB_HELD:
            column = int.from_bytes(sheet[place : place + 4], "little") + 1
            rows, columns, held = max(rows, row), max(columns, column), held + 1
    return SheetExtent(rows, columns, held)


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
    return [_xls_extent(book, place) for place in sheets]


def _xls_extent(book: bytes, start: int) -> SheetExtent:
    rows = columns = held = 0
    for kind, place, size in _xls_records(book, start):
        if kind in XLS_HELD:
            row, column = _numbers(book, place, "<HH")
            rows, columns, held = max(rows, row + 1), max(columns, column + 1), held + 1
        elif kind == XLS_SEVERAL:  # numbers side by side, with the last column at the end
            row, column = _numbers(book, place, "<HH")
            (last,) = _numbers(book, place + size - 2, "<H")
            rows, columns, held = max(rows, row + 1), max(columns, last + 1), held + last + 1 - column
        elif kind == XLS_EXTENT:  # the library makes room for it, but fills it with what there is
            _, last_row, _, last_column = _numbers(book, place, "<IIHH" if size > OLD_EXTENT else "<4H")
            if last_row > MOST_XLS_ROWS or last_column > MOST_XLS_COLUMNS:
                raise NoDocument
    if rows > MOST_XLS_ROWS or columns > MOST_XLS_COLUMNS:
        raise NoDocument
    return SheetExtent(rows, columns, held)


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
        found = self._content[number * self._size : (number + 1) * self._size]
        if not found:
            raise NoDocument
        return found.ljust(self._size, b"\0")

    def all_of(self, first: int, following: Sequence[int] | None) -> bytes:
        """Returns a chain as one; where nothing says what follows, each piece says so at its end."""
        found: list[bytes] = []
        number, most = first, len(self._content) // self._size + 1
        while number < NO_SECTOR:
            if len(found) > most or (following is not None and number >= len(following)):
                raise NoDocument
            found.append(self.one(number))
            number = int.from_bytes(found[-1][-4:], "little") if following is None else following[number]
        return b"".join(found)


def _numbers(content: bytes, place: int, form: str) -> tuple[int, ...]:
    try:
        return struct.unpack_from(form, content, place)
    except struct.error:
        raise NoDocument from None

"""Workbooks in the binary forms that no library here writes: XLSB, and XLS in its compound file.

`cells` are texts and numbers by their row and column, counted from 0.
"""

from __future__ import annotations

import io
import struct
import zipfile

LINKS = (
    '<?xml version="1.0"?><Relationships>'
    '<Relationship Id="rId1" Type="worksheet" Target="worksheets/sheet1.bin"/></Relationships>'
)
NOTHING, END, TABLE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def cells_of(rows):
    """The cells of rows with a line of names above them; what is missing is none."""
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    return {
        (r, c): cell if isinstance(cell, str) else float(cell)
        for r, line in enumerate(lines)
        for c, cell in enumerate(line)
        if cell is not None
    }


def xlsb(cells, *, stored=False):
    out = io.BytesIO()
    book = _record(156, struct.pack("<II", 0, 1) + _text("rId1") + _text("people"))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as file:
        file.writestr(
            "xl/workbook.bin", b"".join([_record(131), _record(143), book, _record(144), _record(132)])
        )
        file.writestr("xl/_rels/workbook.bin.rels", LINKS)
        file.writestr("xl/worksheets/sheet1.bin", xlsb_sheet(cells))
    return out.getvalue()


def xlsb_sheet(cells):
    parts, at = [_record(129), _record(148, struct.pack("<4I", 0, 1, 0, 1)), _record(145)], None
    for (row, column), cell in sorted(cells.items()):
        if row != at:
            parts.append(_record(0, struct.pack("<IIHBBBI", row, 0, 300, 0, 0, 0, 0)))
            at = row
        place = struct.pack("<II", column, 0)
        text = isinstance(cell, str)
        parts.append(_record(6, place + _text(cell)) if text else _record(5, place + struct.pack("<d", cell)))
    return b"".join([*parts, _record(146), _record(130)])


def _record(kind, content=b""):
    size, sizes = len(content), []
    while size > 127:
        sizes.append(size & 127 | 128)
        size >>= 7
    kinds = [kind] if kind < 128 else [kind & 127 | 128, kind >> 7]
    return bytes([*kinds, *sizes, size]) + content


def _text(text):
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def xls(cells, *, extent=None, small=False):
    """`extent` are the last row and column that the sheet claims; `small` keeps it in the room for such."""
    sheet = [_begin(0x10)]
    if extent is not None:
        sheet.append(_old(0x200, struct.pack("<IIHHH", 0, extent[0], 0, extent[1], 0)))
    for (row, column), cell in sorted(cells.items()):
        if isinstance(cell, str):
            place = struct.pack("<HHHHB", row, column, 0, len(cell), 0)
            sheet.append(_old(0x204, place + cell.encode("latin-1")))
        else:
            sheet.append(_old(0x203, struct.pack("<HHHd", row, column, 0, cell)))
    stream = b"".join([_book(len(_book(0))), *sheet, _old(0x0A)])
    return _compound(stream if small else stream.ljust(4096, b"\0"))


def _book(place):
    name = struct.pack("<IBBBB", place, 0, 0, 6, 0) + b"people"
    return b"".join([_begin(5), _old(0x42, struct.pack("<H", 1200)), _old(0x85, name), _old(0x0A)])


def _begin(kind):
    return _old(0x809, struct.pack("<HHHHII", 0x600, kind, 0, 0, 0, 6))


def _old(kind, content=b""):
    return struct.pack("<HH", kind, len(content)) + content


def _compound(stream):
    """The stream `Workbook` in sectors of 512 bytes, or of 64 if it is small; then directory and tables."""
    small = len(stream) < 4096
    count = -(-len(stream) // 512)
    content, chain = stream.ljust(512 * count, b"\0"), [*range(1, count), END]
    first_small, root, size = END, (END, 0), len(stream)
    if small:
        pieces = -(-len(stream) // 64)
        content += struct.pack("<128I", *[*range(1, pieces), END], *[NOTHING] * (128 - pieces))
        first_small, root, chain = count, (0, 512 * count), [*chain, END]
        count += 1
    entries = [_entry("Root Entry", 5, *root, 1), _entry("Workbook", 2, 0, size), _entry("", 0, 0, 0) * 2]
    tables = 1
    while tables * 128 < count + 1 + tables:
        tables += 1
    chain += [END, *[TABLE] * tables]
    head = (
        bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    )
    head += struct.pack("<9I", 0, tables, count, 0, 4096, first_small, int(small), END, 0)
    head += struct.pack("<109I", *range(count + 1, count + 1 + tables), *[NOTHING] * (109 - tables))
    table = struct.pack(f"<{128 * tables}I", *chain, *[NOTHING] * (128 * tables - len(chain)))
    return b"".join([head, content, *entries, table])


def _entry(name, kind, start, size, child=NOTHING):
    raw = name.encode("utf-16-le")
    about = struct.pack("<HBBIII", len(raw) + 2 if name else 0, kind, 1, NOTHING, NOTHING, child)
    return raw.ljust(64, b"\0") + about + bytes(36) + struct.pack("<IQ", start, size)

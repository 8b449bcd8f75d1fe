"""XLSX files, as a release writes them: read from the bytes, by a grammar that has room for cells alone.

Whatever else a workbook may hold (properties, other sheets, formulas, comments, styles, bytes between its
parts) is no such file. One that another program saved is refused here, and judged by its rows instead.
"""

from __future__ import annotations

import re
import zlib
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from sfumato.core.errors import BadData
from sfumato.judge.tables.cell_text import label
from sfumato.judge.taxonomies.value_tree import Text

SHEET = "xl/worksheets/sheet1.xml"
KNOWN_PARTS = {
    "[Content_Types].xml": "2bb85ed4ca1edbd73bc2df269dd0e0f61feb70a3f926a80b0a8db4f8633e3a8c",
    "_rels/.rels": "9f96bb683e71c45171c7ae310bf6c37fb5a834bb9738497ac7084c42ac9c2d9a",
    "xl/workbook.xml": "87daec00a41ef0b53ff23c4a14e05e978b94919841a29711f578b9c44fd0ce4a",
    "xl/_rels/workbook.xml.rels": "1b2fc82d18a622c89e94093d1d5a256857ac9641b8ee51a8290ea82796b1060f",
    "xl/styles.xml": "4d2f544936654995212724e440a8bb6a08c07c729017847cd3927399e3c193af",
}
"""The parts of a release beside its cells, and the SHA-256 of each: they say nothing of anybody."""

PLAIN_FILE = 0o600 << 16
UNREADABLE = (
    BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError, RuntimeError, UnicodeError, OSError
)  # fmt: skip
"""What a file raises that is damaged, or no workbook."""
LOCAL_BYTES, CENTRAL_BYTES, END_BYTES = 30, 46, 22
"""What a ZIP file has, beside names and contents, for each part, in its list of parts, and at its end."""
BEGIN = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
)
END = "</sheetData></worksheet>"
ROW = re.compile(r'<row r="([0-9]+)">(.*?)</row>', re.DOTALL)
CELL = re.compile(
    r'<c r="([A-Z]+)([0-9]+)"(?:'
    r' t="inlineStr"><is><t xml:space="preserve">([^<]+)</t></is>'
    r'|( t="b"| s="1"|)><v>([^<>&]+)</v>)</c>'
)
OTHER_ESCAPE = re.compile("&(?!amp;|lt;|gt;|#13;)|[\x00-\x08\x0b-\x1f]")
DAY_ZERO = date(1899, 12, 30)


def workbook_columns(path: Path) -> dict[str, list[Text]]:
    """Returns the cells of every column as texts; raises `BadData` where the file holds anything else."""
    sheet = _sheet(path)
    if not sheet.startswith(BEGIN) or not sheet.endswith(END):
        raise _more(path)
    place, last = len(BEGIN), len(sheet) - len(END)
    names: list[str] = []
    columns: list[list[Text]] = []
    number = 0
    while place < last:
        row = ROW.match(sheet, place, last)
        number += 1
        if row is None or int(row[1]) != number:
            raise _more(path)
        cells = _cells(row[2], number, path)
        if number == 1:
            names = [str(cells[j]) for j in range(len(cells)) if cells.get(j) is not None]
            columns = [[] for _ in names]
            if len(names) != len(cells) or len(set(names)) < len(names):
                raise BadData("the names of columns cannot be read", where=path.name)
        elif not cells or max(cells) >= len(names):
            raise BadData(f"row {number} has no cells, or more than the first", where=path.name)
        else:
            for j, column in enumerate(columns):
                column.append(cells.get(j))
        place = row.end()
    if not names:
        raise BadData("the sheet is empty", where=path.name)
    return dict(zip(names, columns, strict=True))


def _sheet(path: Path) -> str:
    """Returns the XML of the only sheet of a file that holds the known parts and nothing else."""
    try:
        with ZipFile(path) as file:
            entries = file.infolist()
            expected = [*KNOWN_PARTS, SHEET]
            bare = all(not (e.extra or e.comment or e.internal_attr) for e in entries)
            bare &= all((e.create_system, e.external_attr) == (0, PLAIN_FILE) for e in entries)
            names = sum(2 * len(e.filename.encode()) + e.compress_size for e in entries)
            size = names + len(entries) * (LOCAL_BYTES + CENTRAL_BYTES) + END_BYTES
            if [e.filename for e in entries] != expected or not bare or size != path.stat().st_size:
                raise _more(path)
            if any(e.date_time != (1980, 1, 1, 0, 0, 0) for e in entries):
                raise _more(path)
            if any(sha256(file.read(name)).hexdigest() != mark for name, mark in KNOWN_PARTS.items()):
                raise _more(path)
            return file.read(SHEET).decode("utf-8")
    except UNREADABLE:
        raise BadData("the file cannot be read as XLSX", where=path.name, remedy="Write it again.") from None


def _cells(text: str, row: int, path: Path) -> dict[int, Text]:
    """Returns the cells of a row by the number of their column, which rises."""
    found: dict[int, Text] = {}
    place, before = 0, -1
    while place < len(text):
        cell = CELL.match(text, place)
        if cell is None or int(cell[2]) != row or (column := _number(cell[1])) <= before:
            raise _more(path)
        found[column] = _value(cell[4], cell[5], path) if cell[3] is None else _text(cell[3], path)
        place, before = cell.end(), column
    return found


def _text(written: str, path: Path) -> str:
    if OTHER_ESCAPE.search(written):
        raise _more(path)
    from xml.sax.saxutils import unescape  # noqa: PLC0415  # slow to load, and only workbooks need it

    return unescape(written, {"&#13;": "\r"})


def _value(kind: str, text: str, path: Path) -> Text:
    try:
        if kind == ' t="b"':
            return {"0": "false", "1": "true"}[text]
        if kind == ' s="1"':
            return (DAY_ZERO + timedelta(days=int(text))).isoformat()
        return label(float(text))
    except (ValueError, KeyError, OverflowError):
        raise BadData("a cell cannot be read", where=path.name) from None


def _number(letters: str) -> int:
    """Returns the number of a column, counted from nought.

    >>> [_number(letters) for letters in ("A", "Z", "AA", "ZZ")]
    [0, 25, 26, 701]
    """
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _more(path: Path) -> BadData:
    return BadData(
        "the workbook holds more or other things than a release writes",
        where=path.name,
        remedy="Write it again.",
    )

"""XLSX files of published rows, written from scratch: one sheet, its cells, and nothing else.

The same table gives the same bytes: no program, no author and no time of day is named. Texts stand in their
cells, numbers and truths keep their types, dates are dates. What XLSX would not carry without change (empty
texts, rows without a cell, control characters, very long texts) is refused.
"""

from __future__ import annotations

import re
from datetime import date
from html import escape
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.errors import BadData
from sfumato.core.progress import Progress
from sfumato.engine.arrow_arrays import text_array, to_arrow
from sfumato.engine.published_rows import PublishedRows
from sfumato.engine.text import LARGEST_EXACT, canonical

MOST_ROWS, MOST_COLUMNS, LONGEST_TEXT = 1_048_575, 16_384, 32_767
ROWS_AT_A_TIME = 1 << 16
OWN_FILE = 0o600 << 16
"""The attributes of every part."""
SHEET = "xl/worksheets/sheet1.xml"
FIRST_DAY = date(1899, 12, 30)
FIRST_SURE_DAY = date(1900, 3, 1)
"""Earlier days have other numbers in different programs."""
REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")
REMEDY = "Write CSV or Parquet."

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/styles.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
    '<sheets><sheet name="data" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">'
    '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="14" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}
"""Everything but the cells; style 1 is that of dates, shown as the reader's own country writes them."""


def write_xlsx(published: PublishedRows, file: BinaryIO, progress: Progress) -> None:
    """Writes the rows of a published table as one sheet called `data`."""
    if published.rows > MOST_ROWS or len(published.names) > MOST_COLUMNS:
        raise BadData(
            f"a sheet holds at most {MOST_ROWS} rows and {MOST_COLUMNS} columns below its names",
            remedy=REMEDY,
        )
    with ZipFile(file, "w", ZIP_DEFLATED) as out:
        for name, text in PARTS.items():
            out.writestr(_entry(name), _XML + text)
        with out.open(_entry(SHEET), "w") as sheet:
            sheet.write(f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
            names = [f'<c r="{_letters(j)}1"{_text_cell(name)}' for j, name in enumerate(published.names)]
            sheet.write(f'<row r="1">{"".join(names)}</row>'.encode())
            done = 0
            cells = [_cells(values) for values in published.values]
            for codes in published.blocks(ROWS_AT_A_TIME):
                _refuse_bare_rows(published, codes)
                sheet.write(_lines(cells, codes, first=done + 2))
                done += len(codes[0])
                progress("writing", done, published.rows)
            sheet.write(b"</sheetData></worksheet>")


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type, entry.create_system, entry.external_attr = ZIP_DEFLATED, 0, OWN_FILE
    return entry


def _lines(cells: list[pa.Array], codes: list[np.ndarray], *, first: int) -> bytes:
    """Returns some rows as XML: the cells of each value are written once, then joined."""
    rows = len(codes[0])
    numbers = pa.array(np.arange(first, first + rows)).cast(pa.large_string())
    parts: list[pa.Array | pa.Scalar] = [_scalar('<row r="'), numbers, _scalar('">')]
    nothing = _scalar("")
    for j, (values, code) in enumerate(zip(cells, codes, strict=True)):
        told = values.take(to_arrow(code))
        place = pc.binary_join_element_wise(_scalar(f'<c r="{_letters(j)}'), numbers, told, nothing)
        parts.append(pc.if_else(pc.equal(told, nothing), nothing, place))
    line = pc.binary_join_element_wise(*parts, _scalar("</row>"), nothing)
    _, offsets, data = line.buffers()
    bounds = np.frombuffer(offsets, np.int64)
    return bytes(memoryview(data)[int(bounds[line.offset]) : int(bounds[line.offset + rows])])


def _refuse_bare_rows(published: PublishedRows, codes: list[np.ndarray]) -> None:
    missing = np.ones(len(codes[0]), bool)
    for values, code in zip(published.values, codes, strict=True):
        missing &= code == len(values)
    if missing.any():
        raise BadData("a row has no cell that holds anything, which XLSX cannot carry", remedy=REMEDY)


def _scalar(text: str) -> pa.Scalar:
    return text_array([text])[0]


def _cells(values: pa.Array) -> pa.Array:
    """Returns each value as the rest of a cell behind its row number; at the end that of a missing one."""
    kind, types = values.type, pa.types
    texts = canonical(values).to_pylist()
    if types.is_boolean(kind):
        made = [f'" t="b"><v>{int(text == "true")}</v></c>' for text in texts]
    elif types.is_date(kind) and all(day >= FIRST_SURE_DAY for day in values.to_pylist()):
        made = [f'" s="1"><v>{(day - FIRST_DAY).days}</v></c>' for day in values.to_pylist()]
    elif (types.is_integer(kind) or types.is_floating(kind)) and _are_exact(values):
        made = [f'"><v>{text}</v></c>' for text in texts]
    else:
        made = [f'"{_text_cell(text)}' for text in texts]
    return text_array([*made, ""])


def _are_exact(values: pa.Array) -> bool:
    """Whether numbers are finite doubles that no spreadsheet changes."""
    if pa.types.is_float32(values.type):
        return False
    numbers = values.to_numpy(zero_copy_only=False).astype(np.float64)
    fine = np.isfinite(numbers)
    if pa.types.is_integer(values.type):
        fine &= np.abs(numbers) < LARGEST_EXACT
    return bool(fine.all())


def _text_cell(text: str) -> str:
    if not text or len(text) > LONGEST_TEXT or REFUSED.search(text):
        raise BadData("a text is empty, too long, or has a character that XLSX cannot carry", remedy=REMEDY)
    told = escape(text, quote=False).replace("\r", "&#13;")
    return f' t="inlineStr"><is><t xml:space="preserve">{told}</t></is></c>'


def _letters(column: int) -> str:
    """Returns the letters of a column, counted from nought.

    >>> [_letters(j) for j in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    text, left = "", column + 1
    while left:
        left, letter = divmod(left - 1, 26)
        text = chr(ord("A") + letter) + text
    return text

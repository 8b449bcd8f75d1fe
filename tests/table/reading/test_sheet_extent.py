"""Sheets that are cut short or reach too far are refused before the library makes room for them."""

from __future__ import annotations

import contextlib
import io
import re
import zipfile

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from sfumato.system.errors import BadData, NotEnoughMemory
from sfumato.system.memory import Memory
from sfumato.table.reading.spreadsheet import NoDocument, SheetExtent, _sheet_parts, ods_extents, xlsx_extent
from sfumato.table.source import open_source
from table.reading.files_of_rows import write

ROWS = [{"zip": f"0{2100 + n % 7}", "age": 20 + n % 9} for n in range(24)]
SHEET = "xl/worksheets/sheet1.xml"


def packed_again(path, part, change):
    """The same file with another content of one part."""
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in parts.items():
            new.writestr(name, change(content) if name == part else content)
    return path


def content_of(path, part):
    with zipfile.ZipFile(path) as file:
        return file.read(part)


def in_workbook(cells, *, coloured=()):
    """The sheet of a workbook that another library writes, and what that library says of its size."""
    book, out = openpyxl.Workbook(), io.BytesIO()
    sheet = book.active
    for row, column in cells:
        sheet.cell(row, column, "x")
    size = sheet.max_row, sheet.max_column
    for row, column in coloured:
        sheet.cell(row, column).font = Font(bold=True)
    book.save(out)
    return content_of(out, SHEET), size


@given(st.sets(st.tuples(st.integers(1, 60), st.integers(1, 800)), min_size=1, max_size=8))
def test_the_extent_of_a_workbook_is_what_another_library_says(cells):
    content, (rows, columns) = in_workbook(cells)
    assert xlsx_extent(content) == SheetExtent(rows, columns, len(cells))


def test_cells_that_are_only_coloured_take_no_room(tmp_path):
    content, _ = in_workbook([(1, 1), (2, 2)], coloured=[(1_048_576, 16_384)])
    assert xlsx_extent(content) == SheetExtent(2, 2, 2)
    path = write("xlsx", ROWS, tmp_path)
    book = openpyxl.load_workbook(path)
    book.active["XFD1048576"].font = Font(bold=True)
    book.save(path)
    assert open_source(path).survey().rows == len(ROWS)


def test_a_cell_far_away_is_told(tmp_path):
    """The library asked for the memory of 17 thousand million cells, and the program was ended (exit 134)."""
    path = write("xlsx", ROWS, tmp_path)
    book = openpyxl.load_workbook(path)
    book.active["XFD1048576"] = "astray"
    book.save(path)
    with pytest.raises(BadData, match="reaches to row 1,048,576 and column 16,384"):
        open_source(path).survey()


@pytest.mark.parametrize("reference", [b"XFE1", b"ZZZZZZZZZZ1", b"A1048577", b"A" + b"9" * 30])
def test_cells_beyond_every_sheet(tmp_path, reference):
    path = write("xlsx", ROWS, tmp_path)
    packed_again(path, SHEET, lambda content: content.replace(b'"B25"', b'"' + reference + b'"'))
    with pytest.raises(BadData, match=r"cannot be read as a spreadsheet|reaches to row"):
        open_source(path).survey()


def test_a_document_that_is_cut_short_anywhere_is_refused(tmp_path):
    """Found by a soak: the library read the end of such a file again and again."""
    path = write("ods", ROWS[:3], tmp_path)
    whole = content_of(path, "content.xml")
    assert ods_extents(whole)[-1][:3] == (4, 2, 8)
    for length in range(len(whole.rstrip()) - 1):
        with pytest.raises(NoDocument):
            ods_extents(whole[:length])
    packed_again(path, "content.xml", lambda content: content[: len(content) // 2])
    with pytest.raises(BadData, match="cannot be read as a spreadsheet"):
        open_source(path).survey()


@pytest.mark.parametrize("what", [b"row", b"cell"])
@pytest.mark.parametrize("times", [b"4000000000", b"9" * 5000, b"-3", b"many"])
def test_repetitions_beyond_every_sheet_are_refused(tmp_path, what, times):
    """A repetition of four thousand million cells was written out, cell by cell."""
    kind = b"rows" if what == b"row" else b"columns"
    said = b"<table:table-%s table:number-%s-repeated='%s'" % (what, kind, times)
    path = packed_again(
        write("ods", ROWS, tmp_path),
        "content.xml",
        lambda content: content.replace(b"<table:table-" + what, said, 3),
    )
    with pytest.raises(BadData, match="cannot be read as a spreadsheet"):
        open_source(path).survey()


def test_empty_cells_after_the_table_are_left_out_as_programs_write_them(tmp_path):
    """Programs write what is empty up to the end of the sheet as one repetition."""
    rest = (
        b"<table:table-row table:number-rows-repeated='1048550'>"
        b"<table:table-cell table:number-columns-repeated='16384'/></table:table-row></table:table>"
    )
    path = packed_again(
        write("ods", ROWS, tmp_path), "content.xml", lambda content: content.replace(b"</table:table>", rest)
    )
    assert ods_extents(content_of(path, "content.xml"))[-1].rows == 1 + len(ROWS)
    assert open_source(path).survey().rows == len(ROWS)


def test_a_sheet_that_is_full_and_too_large_for_the_memory(tmp_path):
    alike = b"<table:table-row table:number-rows-repeated='20000'>"
    wide = b"<table:table-cell table:number-columns-repeated='100' "
    path = packed_again(
        write("ods", ROWS, tmp_path),
        "content.xml",
        lambda content: content.replace(b"<table:table-row>", alike, 1).replace(
            b"<table:table-cell ", wide, 1
        ),
    )
    with pytest.raises(NotEnoughMemory, match="of memory"):
        open_source(path, memory=Memory.of("400MB")).survey()


def test_sheets_are_told_apart(tmp_path):
    content = content_of(write("ods", ROWS[:3], tmp_path), "content.xml")
    table = content[content.index(b"<table:table ") : content.index(b"</table:table>") + 14]
    both = content.replace(
        table,
        table + table.replace(b"<table:table-row>", b"<table:table-row/>" * 5 + b"<table:table-row>", 1),
    )
    assert [extent[:3] for extent in ods_extents(both)[1:]] == [(4, 2, 8), (9, 2, 8)]


def test_columns_are_numbered_as_another_library_numbers_them():
    for column in (1, 26, 27, 52, 702, 703, 16_384):
        name = get_column_letter(column).encode()
        assert xlsx_extent(b'<c r="%s1"><v>1</v></c>' % name).columns == column


LONG = b"x" * 1_000_000
LONG_PARTS = {
    "a long word of a link": ("xl/_rels/workbook.xml.rels", b"<Relationship " + LONG + b">"),
    "links that do not end": ("xl/_rels/workbook.xml.rels", b"<Relationship " * 100_000),
    "a long word of a sheet": ("xl/workbook.xml", b"<sheet " + LONG + b">"),
    "sheets that do not end": ("xl/workbook.xml", b"<sheet " * 200_000),
    "a long word of a cell": (SHEET, b'<c r="XFD1048576" ' + LONG + b">"),
    "cells that do not end": (SHEET, b'<c r="XFD1048576"' + b"<c " * 500_000),
    "merged cells that do not end": (SHEET, b"<mergeCell " * 100_000),
}


@pytest.mark.parametrize("case", LONG_PARTS)
def test_long_parts_are_looked_through_once(tmp_path, case):
    """Found by a soak: a word of 200,000 letters in a list of links took minutes."""
    part, content = LONG_PARTS[case]
    path = packed_again(write("xlsx", ROWS, tmp_path), part, lambda whole: content + whole)
    with contextlib.suppress(BadData):  # the library is lenient, and reads some of them
        open_source(path).survey()
    with zipfile.ZipFile(path) as file:
        assert _sheet_parts(file) == [SHEET]
    assert xlsx_extent(content_of(path, SHEET)).filled


def test_a_workbook_without_a_sheet(tmp_path):
    """Found by a soak: it was asked which of no sheets is meant."""
    path = packed_again(
        write("xlsx", ROWS, tmp_path),
        "xl/workbook.xml",
        lambda whole: re.sub(rb"<sheets>.*</sheets>", b"<sheets></sheets>", whole),
    )
    with pytest.raises(BadData, match="cannot be read as a spreadsheet"):
        open_source(path).survey()

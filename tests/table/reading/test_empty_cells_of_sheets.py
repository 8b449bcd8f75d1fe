"""Formulas that give an empty text leave an empty cell; errors are refused, and counted apart from these."""

from __future__ import annotations

import re
import zipfile

import openpyxl
import pytest

from sfumato.system.errors import BadData
from sfumato.table.source import open_source

EMPTY = '<c r="{0}" t="str"><f>IF(1,"","")</f><v></v></c>'
WRONG = '<c r="{0}" t="e"><v>#N/A</v></c>'


def sheet(path, **cells):
    """Writes three people; some cells are what a spreadsheet program would write for a formula."""
    book = openpyxl.Workbook()
    for row in [("age", "town"), (41, "Bari"), (42, "Rome"), (43, "Rome")]:
        book.active.append(row)
    book.save(path.parent / "plain.xlsx")
    with zipfile.ZipFile(path.parent / "plain.xlsx") as plain, zipfile.ZipFile(path, "w") as changed:
        for name in plain.namelist():
            content = plain.read(name).decode("utf-8")
            for place, cell in cells.items() if name.endswith("sheet1.xml") else ():
                content = re.sub(rf'<c r="{place}"[^>]*>.*?</c>', cell.format(place), content)
            changed.writestr(name, content)
    return path


def test_an_empty_text_is_an_empty_cell_among_numbers_and_among_texts(tmp_path):
    path = sheet(tmp_path / "formulas.xlsx", A3=EMPTY, B4=EMPTY)
    columns = open_source(path).survey().columns
    counted = {name: (one.missing, one.distinct) for name, one in columns.items()}
    assert counted == {"age": (1, 2), "town": (1, 2)}


def test_a_row_of_empty_texts_holds_nobody(tmp_path):
    source = open_source(sheet(tmp_path / "formulas.xlsx", A3=EMPTY, B3=EMPTY))
    assert source.survey().rows == 2


def test_errors_are_counted_apart(tmp_path):
    source = open_source(sheet(tmp_path / "wrong.xlsx", A2=EMPTY, A3=WRONG))
    with pytest.raises(
        BadData, match=r"1 cell holds an error such as #N/A, the first in row 3 of column 'age'"
    ):
        source.survey()

"""Sheets of binary workbooks are read, and refused where they reach too far."""

from __future__ import annotations

import os
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.damage import damaged
from sfumato.system.errors import BadData, NotEnoughMemory
from sfumato.system.memory import Memory
from sfumato.system.plugins import without_library_prints
from sfumato.table.reading.spreadsheet import NoDocument, SheetExtent, xls_extents, xlsb_extent
from sfumato.table.source import open_source
from table.reading.binary_workbooks import cells_of, xls, xlsb, xlsb_sheet

ROWS = [{"zip": f"0{2100 + n % 7}", "age": 20 + n % 9} for n in range(24)]
PEOPLE = cells_of(ROWS)
MAKE = {"xls": xls, "xlsb": xlsb}


def written(folder, kind, cells, **how):
    path = folder / f"people.{kind}"
    path.write_bytes(MAKE[kind](cells, **how))
    return path


@pytest.mark.parametrize(("kind", "how"), [("xlsb", {}), ("xls", {}), ("xls", {"small": True})])
def test_binary_workbooks_are_read(tmp_path, kind, how):
    survey = open_source(written(tmp_path, kind, PEOPLE, **how)).survey()
    assert survey.rows == len(ROWS) and list(survey.columns) == ["zip", "age"]


@given(st.sets(st.tuples(st.integers(0, 60), st.integers(0, 200)), min_size=1, max_size=40))
def test_the_extent_is_that_of_the_cells(places):
    rows, columns = (max(place[axis] for place in places) + 1 for axis in (0, 1))
    cells = dict.fromkeys(places, 1.0) | {min(places): "x" * 200}
    extent = SheetExtent(rows, columns, len(places))
    assert xlsb_extent(xlsb_sheet(cells)) == extent
    assert xls_extents(xls(cells)) == xls_extents(xls(cells, small=len(places) < 20)) == [extent]


@pytest.mark.parametrize(
    ("kind", "place", "said"),
    [
        ("xlsb", (1_048_575, 16_383), "reaches to row 1,048,576 and column 16,384"),
        ("xlsb", (1, 1 << 31), "cannot be read as a spreadsheet"),
        ("xls", (65_535, 255), "reaches to row 65,536 and column 256"),
        ("xls", (65_535, 65_535), "cannot be read as a spreadsheet"),
    ],
)
def test_a_cell_far_away_is_told(tmp_path, kind, place, said):
    """The library asked for the memory of all cells up to it, and the program was ended (exit 134)."""
    with pytest.raises(BadData, match=said):
        open_source(written(tmp_path, kind, {**PEOPLE, place: 1.0})).survey()


def test_an_extent_that_is_only_claimed(tmp_path):
    assert open_source(written(tmp_path, "xls", PEOPLE, extent=(65_536, 256))).survey().rows == len(ROWS)
    with pytest.raises(BadData, match="cannot be read"):
        open_source(written(tmp_path, "xls", PEOPLE, extent=(1 << 31, 256))).survey()


@pytest.mark.parametrize("kind", MAKE)
def test_a_sheet_that_has_no_room_is_refused(tmp_path, kind):
    cells = {**PEOPLE, (65_535, 150): 1.0}
    with pytest.raises(NotEnoughMemory, match="of memory"):
        open_source(written(tmp_path, kind, cells), memory=Memory.of("400MB")).survey()


@pytest.mark.parametrize("kind", MAKE)
def test_damaged_workbooks_are_refused_and_nothing_else(tmp_path, kind):
    whole = written(tmp_path, kind, PEOPLE).read_bytes()
    for seed in range(300):
        (tmp_path / f"people.{kind}").write_bytes(damaged(whole, random.Random(seed)))
        try:
            open_source(tmp_path / f"people.{kind}").survey()
        except (BadData, NotEnoughMemory) as wrong:
            assert "02101" not in str(wrong)


def test_what_the_library_prints_as_it_gives_up_is_not_shown(tmp_path, capfd):
    """It quotes what it was about; a program that is asked for more shows it."""
    whole, path = xlsb(PEOPLE), tmp_path / "people.xlsb"
    printed = {"": 0, "1": 0}
    for debug in printed:
        for seed in range(300):
            path.write_bytes(damaged(whole, random.Random(seed)))
            with pytest.MonkeyPatch.context() as patch, suppress(BadData, NotEnoughMemory):
                patch.setenv("SFUMATO_DEBUG", debug)
                open_source(path).survey()
        printed[debug] = capfd.readouterr().err.count("panicked")
    assert printed[""] == 0 and printed["1"] > 0
    os.write(2, b"shown again")
    assert capfd.readouterr().err == "shown again"


def test_stderr_is_hidden_as_long_as_anybody_needs_it(capfd):
    with without_library_prints():
        with without_library_prints():
            os.write(2, b"inside")
        os.write(2, b"still inside")
    os.write(2, b"outside")
    assert capfd.readouterr().err == "outside"


def test_a_part_whose_check_fails_is_not_left_to_the_library(tmp_path):
    """It does not look at checksums: a cell far away that the guard could not read ended the program."""
    path = tmp_path / "people.xlsb"
    whole = xlsb({**PEOPLE, (1_048_575, 16_383): 1.0}, stored=True)
    content = xlsb_sheet({**PEOPLE, (1_048_575, 16_383): 1.0})
    place = whole.index(content) + content.index("zip".encode("utf-16-le"))
    path.write_bytes(whole[:place] + b"Z" + whole[place + 1 :])
    with pytest.raises(BadData, match="cannot be read as a spreadsheet"):
        open_source(path).survey()


def test_chains_of_sectors_that_lead_round_are_no_document():
    whole = bytearray(xls(PEOPLE))
    table = len(whole) - 512
    whole[table : table + 4] = bytes(4)
    with pytest.raises(NoDocument):
        xls_extents(bytes(whole))
    for length in range(0, len(whole), 97):
        with pytest.raises(NoDocument):
            xls_extents(bytes(whole[:length]))

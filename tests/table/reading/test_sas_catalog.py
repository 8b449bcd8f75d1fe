"""Labels of SAS are in a catalogue: it is read where it is named, as labels of SPSS are, or refused."""

from __future__ import annotations

import os
import struct

import polars as pl
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.system.errors import BadData, NotEnoughMemory, UsageError
from sfumato.system.memory import Memory, resident
from sfumato.table.form_of_source import source_form
from sfumato.table.reading.statistics import LARGEST_CATALOG, labels_in
from sfumato.table.source import open_source
from table.reading.sas_files import BITS, LABELS, codes, lay_out, unpacked, write_spss

SECRET = "Xq7-canary"


def opened(path, **said):
    notes = []
    return open_source(sf.DataFile(path, note=notes.append, **said)), notes


def values(source, name):
    return set(source.survey().columns[name].values)


@pytest.mark.parametrize("data", BITS)
@pytest.mark.parametrize("catalog", BITS)
def test_the_same_rows_and_labels_are_the_same_through_spss(tmp_path, data, catalog):
    visits, formats = lay_out(tmp_path, data=data, catalog=catalog)
    source, notes = opened(visits, catalog=formats)
    spss, _ = opened(write_spss(tmp_path / "visits.sav"))
    assert source.columns == spss.columns
    assert source.digest() == spss.digest()
    assert values(source, "region") == {"north", "south", "île", "elsewhere"}
    assert values(source, "illness") == {"flu", "measles", "asthma", None}
    assert values(source, "ward") == {"1", "2", "3", "4", "5"}
    (about_ages,) = notes
    assert "37 of 40 values of 'age' have no label" in about_ages


def test_without_a_name_no_catalogue_is_read_and_it_says_so(tmp_path):
    visits, formats = lay_out(tmp_path)
    source, notes = opened(visits)
    assert source.digest() == open_source(codes()).digest()
    (note,) = notes
    assert "'formats.sas7bcat' beside it is not read (--catalog" in note
    formats.unlink()
    source, notes = opened(visits)
    source.survey()
    assert notes == []


def test_a_file_whose_formats_show_cells_as_they_are_needs_no_catalogue(tmp_path):
    _, formats = lay_out(tmp_path)
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(pl.DataFrame({"n": [1.0]}), str(path), variable_format={"n": "BEST12."})
    source, notes = opened(path)
    assert values(source, "n") == {"1"}
    assert notes == []
    source, notes = opened(path, catalog=formats)
    assert values(source, "n") == {"1"}
    assert ["no column has a format that the catalogue" in note for note in notes] == [True]


@pytest.mark.parametrize("form", ["REGION8.", "region.", "Region8.2"])
def test_a_format_is_known_by_its_name_whatever_its_width(tmp_path, form):
    _, formats = lay_out(tmp_path)
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(pl.DataFrame({"place": [1.0, 2.0]}), str(path), variable_format={"place": form})
    assert values(opened(path, catalog=formats)[0], "place") == {"north", "south"}


@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(
        st.sampled_from([1.0, 2.0, 3.0, -4.5, 7.0, 8.0, 9.5, 10.0, None]), min_size=1, max_size=12
    ).filter(lambda cells: any(cell is not None for cell in cells))
)
def test_labels_are_used_unless_most_codes_lack_one(tmp_path_factory, cells):
    folder = tmp_path_factory.mktemp("xpt")
    _, formats = lay_out(folder)
    path = folder / "t.xpt"
    frame = pl.DataFrame({"place": cells}, schema={"place": pl.Float64})
    pyreadstat.write_xport(frame, str(path), variable_format={"place": "REGION8."})
    source, notes = opened(path, catalog=formats)
    held = {cell for cell in cells if cell is not None}
    lacking = held - set(LABELS["region"])
    labels = {} if len(lacking) > len(held) - len(lacking) else LABELS["region"]
    spss = folder / "t.sav"
    pyreadstat.write_sav(frame, str(spss), variable_value_labels={"place": labels} if labels else None)
    assert source.digest() == opened(spss)[0].digest()
    told = f"{len(lacking)} of {len(held)} values of 'place' have no label"
    assert [told in note for note in notes] == [True] * bool(lacking)


def test_a_special_missing_value_stays_missing_though_it_has_a_label(tmp_path):
    visits, formats = lay_out(tmp_path)
    plain, special = struct.pack(">d", -98.0), b"\x00\x00\xad\xff\xff\xff\xff\xff"
    content = formats.read_bytes()
    assert content.count(plain) == 1
    formats.write_bytes(content.replace(plain, special))
    labels = labels_in(formats)["ILLNESS_AT_VISIT"]
    assert ("refused" in labels.values(), 98.0 in labels) == (True, False)
    source, _ = opened(visits, catalog=formats)
    assert source.survey().columns["illness"].missing == 20
    assert values(source, "illness") == {"flu", "measles", "asthma", None}


def test_another_catalogue_makes_another_table(tmp_path):
    visits, formats = lay_out(tmp_path)
    before = opened(visits, catalog=formats)[0].digest()
    formats.write_bytes(formats.read_bytes().replace(b"measles", b"rubella"))
    assert opened(visits, catalog=formats)[0].digest() != before


def refused(visits, catalog, kind=BadData):
    with pytest.raises(kind) as refusal:
        opened(visits, catalog=catalog)[0].survey()
    assert SECRET not in str(refusal.value) + repr(refusal.value)
    assert refusal.value.remedy
    return refusal.value.message


def test_what_is_no_catalogue_is_refused(tmp_path):
    visits, formats = lay_out(tmp_path)
    whole = formats.read_bytes()
    assert refused(visits, tmp_path / "none.sas7bcat") == "there is no such catalogue"
    for no_file in (tmp_path, "/dev/zero"):
        assert refused(visits, no_file) == "the catalogue is no file"
    assert refused(visits, visits) == "the file cannot be read as a catalogue of SAS"
    for damaged in (b"", SECRET.encode() * 20, whole[:40], whole[: len(whole) // 2]):
        formats.write_bytes(damaged)
        assert refused(visits, formats) == "the file cannot be read as a catalogue of SAS"
    os.truncate(formats, LARGEST_CATALOG + 1)
    assert "more than" in refused(visits, formats)


def test_labels_are_not_told_where_they_cannot_be_read(tmp_path):
    visits, formats = lay_out(tmp_path)
    formats.write_bytes(formats.read_bytes().replace(b"elsewhere", b"Xq7\xff\xfearyy"))
    with pytest.raises(BadData) as refusal:
        opened(visits, catalog=formats)[0].survey()
    assert "Xq7" not in str(refusal.value) + repr(refusal.value)
    assert refusal.value.__suppress_context__


@pytest.mark.parametrize("bits", BITS)
def test_whatever_byte_is_damaged_a_catalogue_is_read_or_refused(tmp_path, bits):
    whole, path = unpacked(f"formats_{bits}.sas7bcat"), tmp_path / "formats.sas7bcat"
    said = [place for place, byte in enumerate(whole) if byte]
    told = {"read": 0, "refused": 0}
    for place in said:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            labels_in(path)
            told["read"] += 1
        except BadData:
            told["refused"] += 1
    assert min(told.values()) > 0


def test_a_catalogue_is_for_files_of_sas(tmp_path):
    _, formats = lay_out(tmp_path)
    (tmp_path / "t.csv").write_text("a\n1\n")
    for path in (write_spss(tmp_path / "t.sav"), tmp_path / "t.csv"):
        assert "has no catalog" in refused(path, formats, UsageError)
        expected = open_source(path, expected=sf.DataFile(path, catalog=formats).form)
        assert expected.digest() == open_source(path).digest()
    with pytest.raises(UsageError, match="holds labels and no table"):
        open_source(formats)


def test_a_catalogue_takes_room_and_is_remembered(tmp_path):
    visits, formats = lay_out(tmp_path)
    source, _ = opened(visits, catalog=formats)
    assert source_form(source.reader).words == {"catalog": formats.as_posix()}
    os.truncate(formats, LARGEST_CATALOG)
    little = Memory.of(resident() + 500_000_000)
    assert open_source(sf.DataFile(visits), memory=little).survey().rows == 240
    with pytest.raises(NotEnoughMemory):
        open_source(sf.DataFile(visits, catalog=formats), memory=little).survey()


@pytest.mark.parametrize("bits", BITS)
def test_a_file_that_claims_more_rows_than_it_has_bytes_is_refused_before_room_is_made(
    tmp_path, monkeypatch, bits
):
    """The library makes room for all rows that a header claims: here for 150 million, 7 GB."""
    visits, _ = lay_out(tmp_path, data=bits)
    said, rows, read = visits.read_bytes(), struct.pack("<I", 240), pyreadstat.read_sas7bdat

    asked = []

    def asks(path, **words):
        asked.append(words)
        return read(path, metadataonly=True)

    claims = 0
    monkeypatch.setattr(pyreadstat, "read_sas7bdat", asks)
    for at in (at for at in range(0, len(said) - 4, 4) if said[at : at + 4] == rows):
        visits.write_bytes(said[:at] + struct.pack("<I", 0x8FFFFFF) + said[at + 4 :])
        if read(str(visits), metadataonly=True)[1].number_rows == 0x8FFFFFF:
            claims += 1
            with pytest.raises(BadData, match="cannot be read as one of SPSS, Stata or SAS"):
                opened(visits)[0].survey()
    assert claims == 1 and asked and all(words == {"metadataonly": True} for words in asked)

"""Formats that the judge reads as a whole: what the engine wrote, and nothing hidden beside it."""

from __future__ import annotations

import datetime as dt
import shutil
import zipfile
from pathlib import Path

import openpyxl
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.system.errors import BadData
from sfumato.table.source import open_source
from sfumato.verify.formats import whole_table
from sfumato.workflows.protect_file import protect_file
from table.kinds import FOLDER

pytestmark = pytest.mark.slow

KINDS = ("xlsx", "sav", "dta", "arrow", "jsonl")
TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"),
    min_size=1,
    max_size=6,
).filter(lambda text: text == text.rstrip(" ") and "_x" not in text)
ROW = st.tuples(
    TEXT,
    st.one_of(st.none(), st.integers(-(2**52), 2**52)),
    st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    st.one_of(st.none(), st.booleans()),
    st.one_of(st.none(), st.dates(dt.date(1583, 1, 1), dt.date(2500, 1, 1))),
)
COLUMNS = {"a": pl.String, "n": pl.Int64, "f": pl.Float64, "b": pl.Boolean, "d": pl.Date}


def published(frame, kind, name="safe"):
    """The file that `protect` writes of a table in which nothing has to change."""
    path = Path(FOLDER.name) / f"{name}.{kind}"
    rules = {name: {"role": "insensitive"} for name in frame.columns} | {"a": {"role": "quasi"}}
    policy = {
        "columns": rules,
        "promises": [{"k-anonymity": {"k": 1}}],
        "protect": {"suppress": 0, "search": "top-down"},
        "formulas": "keep",
    }
    protect_file(frame, policy, path, overwrite=True)
    return path


def sorted_rows(table):
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@given(st.lists(ROW, min_size=1, max_size=6), st.sampled_from(KINDS))
def test_both_readers_see_the_texts_that_were_published(rows, kind):
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    path = published(frame, kind)
    judged = sorted_rows(whole_table(path))
    csv = published(frame, "csv", "plain")
    source = open_source(csv)
    plain = pa.concat_tables(pa.Table.from_batches([b]) for b in source.reader.batches(source.columns))
    decoded = pa.table([c.cast(pa.string()) for c in plain.columns], names=plain.column_names)
    assert judged == sorted_rows(decoded)
    assert open_source(path).digest() == source.digest()


@pytest.fixture
def safe():
    frame = pl.DataFrame({"a": ["x", "y"] * 3, "n": [1, 2, 3, 4, 5, None]})
    return lambda kind: published(frame, kind, "tampered")


def refused(path):
    with pytest.raises(BadData):
        whole_table(path)


def repacked(path, change, **more):
    """The same workbook with its parts changed."""
    aside = path.with_suffix(".aside")
    shutil.copy(path, aside)
    with zipfile.ZipFile(aside) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry, change(entry.filename, old.read(entry)))
        for name, content in more.items():
            new.writestr(name, content)


CHANGES = {
    "a comment in the sheet": lambda xml: xml.replace(b"</sheetData>", b"</sheetData><!-- Zuleika -->"),
    "a comment in a row": lambda xml: xml.replace(b'<row r="2">', b'<row r="2"><!-- Zuleika -->'),
    "a formula": lambda xml: xml.replace(b"<v>", b"<f>1+1</f><v>", 1),
    "another style": lambda xml: xml.replace(b'<c r="B2">', b'<c r="B2" s="0">'),
    "a hidden row": lambda xml: xml.replace(b'<row r="2">', b'<row r="2" hidden="1">'),
    "a gap between rows": lambda xml: xml.replace(b'<row r="3">', b'<row r="30">'),
    "a cell beyond the names": lambda xml: xml.replace(b'<c r="B2">', b'<c r="C2">'),
    "an entity": lambda xml: xml.replace(b">x<", b">&#120;<", 1),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_workbook_that_holds_more_than_cells_is_refused(case, safe):
    path = safe("xlsx")

    def change(name, content):
        changed = CHANGES[case](content) if name.endswith("sheet1.xml") else content
        assert changed != content or not name.endswith("sheet1.xml")
        return changed

    whole_table(path)
    repacked(path, change)
    refused(path)


def test_parts_notes_and_bytes_between_are_refused(safe):
    path = safe("xlsx")
    same = lambda name, content: content  # noqa: ARG005, E731
    repacked(path, same)
    whole_table(path)
    repacked(path, same, **{"docProps/core.xml": "<a>Zuleika</a>"})
    refused(path)
    with zipfile.ZipFile(safe("xlsx"), "a") as file:
        file.comment = b"Zuleika"
    refused(path)
    content = safe("xlsx").read_bytes()
    path.write_bytes(b"Zuleika" + content)
    refused(path)
    repacked(safe("xlsx"), lambda name, content: content + b" " if name.endswith("styles.xml") else content)
    refused(path)
    book = openpyxl.load_workbook(safe("xlsx"))
    book.save(path)
    refused(path)


def test_every_damaged_byte_of_packed_rows_is_refused(safe):
    path = safe("xlsx")
    with zipfile.ZipFile(path) as file:
        entry = next(e for e in file.infolist() if e.filename.endswith("sheet1.xml"))
    content = path.read_bytes()
    start = entry.header_offset + 30 + len(entry.filename)
    last = start + entry.compress_size - 1  # says that the rows are at their end, which their number says too
    for place in range(start, last):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        refused(path)


def test_labels_and_notes_of_statistics_files_are_refused(safe):
    frame = pl.DataFrame({"a": ["x", "y"], "n": [1.0, 2.0]})
    for kind in ("sav", "dta"):
        path = safe(kind)
        whole_table(path)
        write = getattr(pyreadstat, f"write_{kind}")
        beside = {"column_labels": {"a": "Zuleika"}, "file_label": "Zuleika"}
        beside["variable_value_labels"] = {"n": {1: "Zuleika"} if kind == "dta" else {1.0: "Zuleika"}}
        for key, words in beside.items():
            numbers = frame if kind == "sav" else frame.cast({"n": pl.Int32})
            write(numbers, str(path), **{key: words})
            refused(path)
        path.write_bytes(b"Zuleika")
        refused(path)


def test_metadata_of_arrow_and_odd_lines_of_json_are_refused(safe):
    path = safe("arrow")
    whole_table(path)
    noted = pa.table({"a": ["x"]}).replace_schema_metadata({"note": "Zuleika"})
    with pa.ipc.new_file(str(path), noted.schema) as out:
        out.write_table(noted)
    refused(path)
    path = safe("jsonl")
    good = path.read_text()
    first = good.splitlines()[0]
    assert first == '{"a": "x", "n": 1}'
    for bad in (
        good.replace("}\n", "} \n", 1),
        good + '{"a": "x"}\n',
        good + '{"a": "x", "n": 1, "m": 2}\n',
        good + '{"a": "x", "n": [1]}\n',
        good + '{"a": "x", "a": 1}\n',
        good + "\n",
        good[:-1],
        "",
    ):
        path.write_text(bad)
        refused(path)

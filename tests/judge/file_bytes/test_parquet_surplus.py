"""What Parquet files tell beyond their rows: nothing as libraries write them, and every planted canary."""

from __future__ import annotations

import contextlib
import datetime as dt
import struct
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.both import recheck
from sfumato.core.errors import BadData
from sfumato.core.microdata import Coding, Role
from sfumato.core.taxonomy import Taxonomy
from sfumato.engine import open_source
from sfumato.judge.file_bytes.parquet_layout import _plain_values, layout_of
from sfumato.judge.file_bytes.parquet_pages import BYTE_ARRAY, LeafColumn, surplus_bytes
from sfumato.judge.file_bytes.parquet_surplus import parquet_surplus
from sfumato.judge.file_bytes.thrift import Fields
from sfumato.policy.policy import Policy

CANARY = "Alma Canary"
KINDS = {
    "text": st.text(st.characters(exclude_categories=["Cs"]), max_size=90),
    "whole": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(),
    "truth": st.booleans(),
    "day": st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    "moment": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)),
    "decimal": st.decimals(-999, 999, places=2, allow_nan=False).map(lambda d: d.quantize(Decimal("0.01"))),
}
TYPES = {
    "text": pa.string(),
    "whole": pa.int64(),
    "float": pa.float64(),
    "truth": pa.bool_(),
    "day": pa.date32(),
    "moment": pa.timestamp("us"),
    "decimal": pa.decimal128(7, 2),
}
WRITERS = {
    "pyarrow": lambda table, path: pq.write_table(table, path, row_group_size=3),
    "with an index": lambda table, path: pq.write_table(table, path, write_page_index=True),
    "pages of version 2": lambda table, path: pq.write_table(
        table, path, data_page_version="2.0", compression="gzip", use_dictionary=False
    ),
    "pandas": lambda table, path: table.to_pandas(types_mapper=pd.ArrowDtype).to_parquet(path),
    "polars": lambda table, path: pl.DataFrame(pl.from_arrow(table)).write_parquet(path),
    "duckdb": lambda table, path: duckdb.from_arrow(table).write_parquet(str(path)),
}


@pytest.mark.parametrize("writer", WRITERS)
@given(data=st.data())
def test_files_of_libraries_tell_nothing_more(writer, data, tmp_path_factory):
    rows = data.draw(st.integers(1, 7))
    columns = {
        kind: pa.array(data.draw(st.lists(st.none() | values, min_size=rows, max_size=rows)), TYPES[kind])
        for kind, values in KINDS.items()
    }
    path = tmp_path_factory.mktemp("files") / "table.parquet"
    WRITERS[writer](pa.table(columns), path)
    found = [
        some
        for some in parquet_surplus(path)
        if some.sentence != "a filter tells which values a column may hold"
    ]
    assert found == []


def written(path, **options):
    table = pa.table({"zip": ["021**"] * 4, "disease": ["HIV", "cold", "burn", "flu"]})
    pq.write_table(table, path, **options)
    return path


def replaced(path, old, new, *, last=False):
    raw = path.read_bytes()
    place = raw.rfind(old) if last else raw.find(old)
    assert place >= 0
    path.write_bytes(raw[:place] + new + raw[place + len(old) :])


def said(path):
    return [(some.sentence, some.columns, some.certain) for some in parquet_surplus(path)]


def test_an_entry_of_a_dictionary_that_no_row_has(tmp_path):
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), pa.array(["x", "y", CANARY]))
    pq.write_table(pa.table({"a": cells, "b": [1, 2, 3]}), tmp_path / "t.parquet")
    assert said(tmp_path / "t.parquet") == [("a dictionary holds values that no row has", ("a",), True)]


def test_an_entry_that_rows_of_another_group_have_is_none_of_these(tmp_path):
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 1]), pa.array(["x", "y"]))
    pq.write_table(pa.table({"a": cells}), tmp_path / "t.parquet", row_group_size=2)
    assert said(tmp_path / "t.parquet") == []


def test_equal_cells_that_a_dictionary_tells_apart(tmp_path):
    """Two entries of one value, and rows that name either: nobody sees it who reads values alone."""
    path, cells = tmp_path / "t.parquet", [3.0, 3.0, 4.0, 4.0]
    pq.write_table(pa.table({"a": cells}), path, compression="none", write_statistics=False)
    assert said(path) == []
    replaced(path, struct.pack("<d", 4), struct.pack("<d", 3))
    assert pq.read_table(path)["a"].to_pylist() == [3.0] * 4
    assert said(path) == [
        ("a dictionary holds a value twice, so that equal cells can be told apart", ("a",), True)
    ]


def test_texts_that_a_dictionary_holds_twice_are_not_read(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"town": ["North"] * 3 + ["Sorth"] * 3})
    pq.write_table(table, path, compression="none", write_statistics=False)
    replaced(path, b"Sorth", b"North")
    with pytest.raises(BadData, match="lacks, or has twice"):
        open_source(path).count([Coding("town", Role.IDENTIFIER, Taxonomy.flat)])


@pytest.mark.parametrize("index", [False, True])
def test_a_value_in_statistics_that_no_row_has(index, tmp_path):
    path = written(tmp_path / "t.parquet", compression="none", use_dictionary=False, write_page_index=index)
    replaced(path, b"HIV", b"Ann", last=True)
    assert said(path) == [("statistics name values that no row has", ("disease",), True)]


def test_a_count_in_statistics_of_cells_that_are_not_there(tmp_path):
    path = tmp_path / "t.parquet"
    cells = pa.array([1, 2, None], pa.int64())
    pq.write_table(pa.table({"a": cells}), path, compression="none", use_dictionary=False)
    assert [chunk.claims.nulls for chunk in layout_of(path).chunks] == [1]
    # In the footer's statistics the count of missing cells follows the field header 0x16: 1 is written as 2.
    raw = path.read_bytes()
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    place = raw.index(b"\x16\x02", raw.index(b"\x3c", footer))
    path.write_bytes(raw[:place] + b"\x16\x08" + raw[place + 2 :])
    assert [chunk.claims.nulls for chunk in layout_of(path).chunks] == [4]
    assert said(path) == [("statistics count other cells than there are", ("a",), True)]


def test_bytes_between_the_pages_and_the_footer(tmp_path):
    path = written(tmp_path / "t.parquet")
    raw = path.read_bytes()
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    path.write_bytes(raw[:footer] + CANARY.encode() + raw[footer:])
    assert said(path) == [("11 bytes of the file belong to no column", (), True)]
    path.write_bytes(raw[:footer] + bytes(8) + raw[footer:])
    assert said(path) == []


@pytest.mark.parametrize(
    "notes",
    [
        {"note": CANARY},
        {"org.apache.spark.version": f"4.0 {CANARY}"},
        {"pandas": '{"columns": [], "attributes": {"who": "Alma"}}'},
        {"pandas": '{"columns": [{"name": "Alma"}]}'},
        {"pandas": '{"index_columns": ["Alma"]}'},
        {"pandas": "Alma"},
    ],
)
def test_notes(notes, tmp_path):
    table = pa.table({"a": ["x"]})
    with pq.ParquetWriter(tmp_path / "t.parquet", table.schema) as file:
        file.write_table(table)
        file.add_key_value_metadata(notes)
    assert said(tmp_path / "t.parquet") == [("the file carries a note besides its columns", (), False)]


def test_notes_of_a_column_within_the_schema(tmp_path):
    schema = pa.schema([pa.field("a", pa.list_(pa.field("x", pa.string(), metadata={"who": CANARY})))])
    pq.write_table(pa.table({"a": [["x"]]}, schema=schema), tmp_path / "t.parquet")
    assert said(tmp_path / "t.parquet") == [("the file carries a note besides its columns", (), False)]


def test_what_tells_more_is_not_published(tmp_path):
    path = tmp_path / "t.parquet"
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0]), pa.array(["x", CANARY]))
    pq.write_table(pa.table({"a": cells}), path)
    asked = Policy.from_dict(
        {
            "columns": {"a": {"role": "quasi"}},
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    with pytest.raises(BadData, match="a dictionary holds values that no row has: a") as refused:
        recheck(path, asked)
    assert "Canary" not in str(refused.value)


@given(data=st.data())
def test_damaged_files_are_refused_and_nothing_else(data, tmp_path_factory):
    path = written(tmp_path_factory.mktemp("files") / "t.parquet")
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(raw[: data.draw(st.integers(0, len(raw)))]))
    try:
        parquet_surplus(path)
    except BadData as refused:
        assert "HIV" not in str(refused)


@pytest.mark.parametrize("kind", [0x11, 0x15, 0x18, 0x19, 0x1C])
def test_headers_whose_fields_are_of_other_kinds_are_refused(tmp_path, kind):
    """Found by a soak: a truth stood where a list of pages was to be (exit 70). Every byte is tried."""
    path = tmp_path / "t.parquet"
    table = pa.table({"a": ["x", "y"], "b": [["u"], []]})
    pq.write_table(table, path, write_page_index=True, store_schema=False)
    whole, refused = path.read_bytes(), 0
    for place in range(4, len(whole) - 8):
        path.write_bytes(whole[:place] + bytes([kind]) + whole[place + 1 :])
        try:
            parquet_surplus(path)
        except BadData:
            refused += 1
    assert refused


def with_footer(path, change):
    """The file with other bytes in place of the headers at its end."""
    whole = path.read_bytes()
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    footer = change(whole[start:-8])
    path.write_bytes(whole[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return path


@pytest.mark.parametrize(
    "harm", [b"\x19" * 3000, b"\x9c" * 3000, b"\xff" * 9 + b"\x01", b"\x1b\x01\x99" * 999]
)
def test_headers_that_are_deep_or_count_without_end_are_refused(tmp_path, harm):
    """Lists of lists of lists ended in a recursion error that only a list of seven kinds of errors caught."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x", "y"]}), path)
    whole = path.read_bytes()
    for place in range(0, int.from_bytes(whole[-8:-4], "little"), 7):
        path.write_bytes(whole)
        with_footer(path, lambda footer, place=place: footer[:place] + harm + footer[place + 1 :])
        with contextlib.suppress(BadData):
            parquet_surplus(path)


def test_texts_and_names_need_not_be_unicode(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"aaaa": ["xxxx", "yyyy", None]}), path, compression="none", store_schema=False)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"xxxx", b"\xff\xfe\xff\xfe"))
    assert parquet_surplus(path) == ()
    path.write_bytes(whole.replace(b"aaaa", b"\xff\xfe\xff\xfe"))
    with pytest.raises(BadData, match="cannot be read as Parquet"):
        parquet_surplus(path)


def test_a_page_does_not_count_without_end():
    """A dictionary of 2**60 values without a byte, and a page of as many texts, would be read for years."""
    column = LeafColumn(BYTE_ARRAY, 0, 0, 0)
    page = Fields({5: Fields({1: 1 << 60, 2: 0, 3: 3, 4: 3})})
    with pytest.raises(BadData):
        surplus_bytes(b"\1\0\0\0x", page, column)
    with pytest.raises(BadData):
        list(_plain_values(b"", 7, 0, 1 << 60))


def test_fields_are_asked_for_by_their_kind():
    fields = Fields({1: 7, 2: True, 3: b"x", 4: [b"x", 1], 5: Fields({1: -1})})
    assert fields.one(1, int) == 7 and fields.one(9, int, 3) == 3 and fields.maybe(9, bytes) is None
    assert fields.several(9, bytes, []) == []
    for ask in (
        lambda: fields.one(2, int),
        lambda: fields.one(1, bool),
        lambda: fields.one(9, int),
        lambda: fields.several(4, bytes),
        lambda: fields.several(3, int),
        lambda: fields.one(5, Fields).count(1),
        lambda: fields.maybe(3, Fields),
    ):
        with pytest.raises(BadData):
            ask()


def test_numbers_of_all_sizes(tmp_path):
    table = pa.table(
        {
            "a": pa.array([2**64 - 1, 0], pa.uint64()),
            "b": pa.array([-128, 127], pa.int8()),
            "c": pa.array([1.5, -0.0], pa.float32()),
            "d": pa.array([dt.time(1, 2), None]),
            "e": pa.array([Decimal("1" * 30), None], pa.decimal128(38, 2)),
            "f": pa.array(np.array([1, 2]), pa.timestamp("ns")),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    assert said(tmp_path / "t.parquet") == []

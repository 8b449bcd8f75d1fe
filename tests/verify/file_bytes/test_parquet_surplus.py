"""What Parquet files of other programs tell beyond their rows: what a reader shows, and what stays open."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from sfumato.system.errors import BadData
from sfumato.table.microdata import Coding, Role
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy
from sfumato.verify.file_bytes import parquet_surplus
from verify.file_bytes.parquet_files import (
    CANARY,
    WRITERS,
    released,
    replaced,
    small_table,
    tables,
    with_stray_bytes,
)

pytestmark = pytest.mark.slow

OPEN = ("bytes of the file that readers pass over were not looked at", (), False)


@pytest.mark.parametrize("writer", WRITERS)
@given(table=tables())
def test_files_of_libraries_tell_nothing_more_for_certain(writer, table, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "table.parquet"
    WRITERS[writer](table, path)
    assert sentences(path) == [OPEN]


def test_nothing_is_open_in_a_file_in_the_form_of_releases(tmp_path):
    assert sentences(released(tmp_path / "t.parquet")) == []


def written(path, **options):
    pq.write_table(small_table(), path, **options)
    return path


def sentences(path):
    return [(surplus.sentence, surplus.columns, surplus.certain) for surplus in parquet_surplus(path)]


@pytest.mark.parametrize("store_schema", [True, False])
def test_an_entry_of_a_dictionary_that_no_row_has(tmp_path, store_schema):
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), pa.array(["x", "y", CANARY]))
    pq.write_table(pa.table({"a": cells, "b": [1, 2, 3]}), tmp_path / "t.parquet", store_schema=store_schema)
    assert sentences(tmp_path / "t.parquet") == [
        ("a dictionary holds values that no row has", ("a",), True),
        OPEN,
    ]


def test_an_entry_that_rows_of_another_group_have_is_none_of_these(tmp_path):
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 1]), pa.array(["x", "y"]))
    pq.write_table(pa.table({"a": cells}), tmp_path / "t.parquet", row_group_size=2)
    assert sentences(tmp_path / "t.parquet") == [OPEN]


def test_texts_that_a_dictionary_holds_twice_are_not_read(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"town": ["North"] * 3 + ["Sorth"] * 3})
    pq.write_table(table, path, compression="none", write_statistics=False)
    replaced(path, b"Sorth", b"North")
    with pytest.raises(BadData, match="lacks, or has twice"):
        open_source(path).count([Coding("town", Role.IDENTIFIER, Taxonomy.flat)])
    with pytest.raises(BadData, match="cannot be read as Parquet"):
        parquet_surplus(path)


def test_a_value_in_statistics_that_no_row_has(tmp_path):
    path = written(tmp_path / "t.parquet", compression="none", use_dictionary=False)
    replaced(path, b"HIV", b"Ann", last=True)
    assert sentences(path) == [("statistics name values that no row has", ("disease",), True), OPEN]


@pytest.mark.parametrize("cells", [["-0.0", "5"], ["12", "123"], ["", "a"]])
@pytest.mark.parametrize("writer", WRITERS)
def test_texts_of_numbers_are_texts(writer, cells, tmp_path):
    WRITERS[writer](pa.table({"a": cells}), tmp_path / "t.parquet")
    assert sentences(tmp_path / "t.parquet") == [OPEN]


def test_a_number_is_no_longer_one_cut_short(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [123, 124]}), path, compression="none", use_dictionary=False)
    replaced(path, struct.pack("<q", 123), struct.pack("<q", 12), last=True)
    assert sentences(path) == [("statistics name values that no row has", ("a",), True), OPEN]


@pytest.mark.parametrize("text", ["a" * 300, "\u00e9" * 200, "z" * 64 + "b", "\U0010ffff" * 90])
@pytest.mark.parametrize("writer", WRITERS)
def test_bounds_that_are_cut_short_are_values_of_rows(writer, text, tmp_path):
    WRITERS[writer](pa.table({"a": [text, text + "b"]}), tmp_path / "t.parquet")
    assert sentences(tmp_path / "t.parquet") == [OPEN]


def test_a_count_in_statistics_of_cells_that_are_not_there(tmp_path):
    path = tmp_path / "t.parquet"
    cells = pa.array([1, 2, None], pa.int64())
    pq.write_table(pa.table({"a": cells}), path, compression="none", use_dictionary=False)
    # In the footer's statistics the count of missing cells follows the field header 0x16: 1 is written as 2.
    raw = path.read_bytes()
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    place = raw.index(b"\x16\x02", raw.index(b"\x3c", footer))
    path.write_bytes(raw[:place] + b"\x16\x08" + raw[place + 2 :])
    assert sentences(path) == [("statistics count other cells than there are", ("a",), True), OPEN]


def test_bytes_between_the_pages_and_the_footer_stay_open(tmp_path):
    with_stray_bytes(written(tmp_path / "t.parquet"))
    assert sentences(tmp_path / "t.parquet") == [OPEN]


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
    assert sentences(tmp_path / "t.parquet") == [
        ("the file carries a note besides its columns", (), False),
        OPEN,
    ]


def test_notes_of_a_column_within_the_schema(tmp_path):
    schema = pa.schema([pa.field("a", pa.list_(pa.field("x", pa.string(), metadata={"who": CANARY})))])
    pq.write_table(pa.table({"a": [["x"]]}, schema=schema), tmp_path / "t.parquet")
    assert sentences(tmp_path / "t.parquet") == [
        ("the file carries a note besides its columns", (), False),
        OPEN,
    ]


def test_damaged_files_are_refused_and_nothing_else(tmp_path):
    """Bytes all over the file are changed in turn, and it is cut short."""
    path = written(tmp_path / "t.parquet")
    whole, refused = path.read_bytes(), 0
    spoiled = [whole[:i] + bytes([whole[i] ^ 0x55]) + whole[i + 1 :] for i in range(0, len(whole), 7)]
    for harmed in [*spoiled, *(whole[:end] for end in range(0, len(whole), 97))]:
        path.write_bytes(harmed)
        try:
            parquet_surplus(path)
        except BadData as problem:
            refused += 1
            assert "HIV" not in str(problem)
    assert refused


def test_texts_and_names_that_are_not_unicode(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"aaaa": ["xxxx", "yyyy", None]}), path, compression="none", store_schema=False)
    whole = path.read_bytes()
    for old in (b"xxxx", b"aaaa"):
        path.write_bytes(whole.replace(old, b"\xff\xfe\xff\xfe"))
        with pytest.raises(BadData, match="cannot be read as Parquet"):
            parquet_surplus(path)


def test_numbers_of_all_sizes(tmp_path):
    table = pa.table(
        {
            "a": pa.array([2**64 - 1, 0], pa.uint64()),
            "b": pa.array([-128, 127], pa.int8()),
            "c": pa.array([1.5, -0.0], pa.float32()),
            "d": pa.array([dt.time(1, 2), None]),
            "e": pa.array([Decimal("1" * 30), None], pa.decimal128(38, 2)),
            "f": pa.array(np.array([1, 2]), pa.timestamp("ns")),
            "g": pa.array([["x"], []]),
            "h": pa.array([{"x": 1}, None]),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    assert sentences(tmp_path / "t.parquet") == [OPEN]

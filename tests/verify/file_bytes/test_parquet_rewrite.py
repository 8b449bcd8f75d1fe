"""Parquet files written again from their rows: equal to releases, and to nothing that holds more."""

from __future__ import annotations

import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData
from sfumato.table import writing as writer
from sfumato.verify import file_bytes as parquet_rewrite
from sfumato.verify.file_bytes import is_as_released
from verify.both import recheck
from verify.file_bytes.parquet_files import (
    CANARY,
    WRITERS,
    hide_last,
    released,
    replaced,
    small_table,
    tables,
    with_stray_bytes,
)

pytestmark = pytest.mark.slow

PINNED = {"compression": "zstd", "store_schema": False, "version": "2.6"}
"""How releases are written, but for the note of their schema and the order of their dictionaries."""


@given(table=tables())
def test_a_file_in_the_form_of_releases_is_written_again_byte_by_byte(table, tmp_path_factory):
    path = released(tmp_path_factory.mktemp("files") / "t.parquet", table)
    assert is_as_released(path)
    assert pq.read_table(path).equals(table) or "nan" in str(table["float"].to_pylist())


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 7, 9])
def test_files_of_several_groups(tmp_path, monkeypatch, rows):
    """Each of the first groups is full, and has a dictionary of its own values alone."""
    path = tmp_path / "t.parquet"
    table = pa.table({"a": pa.array([f"v{i % 5}" for i in range(rows)], pa.string()), "n": range(rows)})
    pq.write_table(table, path, row_group_size=2)
    monkeypatch.setattr(writer, "ROW_GROUP", 3)
    writer.write_parquet_again(path)
    assert pq.read_table(path).equals(table)
    assert pq.read_metadata(path).num_row_groups == -(-rows // 3)
    assert is_as_released(path) is (rows <= 3)
    monkeypatch.setattr(parquet_rewrite, "ROWS_OF_A_GROUP", 3)
    assert is_as_released(path)


@pytest.mark.parametrize("other", WRITERS)
def test_files_of_other_writers_are_not_in_the_form_of_releases(other, tmp_path):
    WRITERS[other](small_table(), tmp_path / "t.parquet")
    assert not is_as_released(tmp_path / "t.parquet")


def test_every_byte_is_compared(tmp_path):
    """Whatever byte is changed: the file is refused, or is that of other rows."""
    path = released(tmp_path / "t.parquet")
    whole, rows = path.read_bytes(), small_table()
    noticed = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            same = is_as_released(path)
        except BadData:
            same = False
        assert not same or not pq.read_table(path).equals(rows)
        noticed += not same
    assert noticed > 0.9 * len(whole)


def unused_entry(path):
    released(path, pa.table({"a": ["x", "x", "x"]}))
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0], pa.int32()), pa.array(["x", CANARY]))
    note = pq.read_metadata(path).metadata
    with pq.ParquetWriter(path, pa.schema([("a", cells.type)]), **PINNED) as file:
        file.add_key_value_metadata(note)
        file.write_batch(pa.record_batch([cells], ["a"]))


def entries_out_of_order(path):
    """The order of unequal rows before they were sorted, say."""
    released(path, pa.table({"a": ["x", "y"]}))
    cells = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), pa.array(["y", "x"]))
    note = pq.read_metadata(path).metadata
    with pq.ParquetWriter(path, pa.schema([("a", cells.type)]), **PINNED) as file:
        file.add_key_value_metadata(note)
        file.write_batch(pa.record_batch([cells], ["a"]))


def note_in_the_file(path):
    released(path, pa.table({"a": ["x", "x"]}))
    note = pq.read_metadata(path).metadata
    cells = pa.array(["x", "x"]).dictionary_encode()
    with pq.ParquetWriter(path, pa.schema([("a", cells.type)]), **PINNED) as file:
        file.add_key_value_metadata({**note, b"org.apache.spark.version": b"4.0"})
        file.write_batch(pa.record_batch([cells], ["a"]))


def row_beyond_the_headers(path):
    cells = pa.array([7, 8, 9, 2**40])
    table = pa.table([cells], schema=pa.schema([pa.field("a", cells.type, nullable=False)]))
    pq.write_table(table, path, use_dictionary=False, write_statistics=False)
    hide_last(path, 4)


def equal_cells_told_apart(path):
    table = pa.table({"a": [3.0, 3.0, 4.0, 4.0]})
    pq.write_table(table, path, compression="none", write_statistics=False)
    replaced(path, struct.pack("<d", 4), struct.pack("<d", 3))


def stray_bytes(path):
    with_stray_bytes(released(path, pa.table({"a": ["x", "x"]})))


def padding(path):
    with_stray_bytes(released(path, pa.table({"a": ["x", "x"]})), bytes(8))


def bytes_behind_the_end(path):
    released(path, pa.table({"a": ["x", "x"]}))
    path.write_bytes(path.read_bytes() + CANARY.encode())


def foreign_statistics(path):
    pq.write_table(pa.table({"a": ["xyz", "xyz"]}), path, compression="none", use_dictionary=False)
    replaced(path, b"xyz", b"Ann", last=True)


def smaller_groups(path):
    released(path, pa.table({"a": ["x"] * 4}))
    table = pq.read_table(path)
    with pq.ParquetWriter(path, table.schema, **PINNED) as file:
        file.write_table(table, row_group_size=2)


PLANTED = [
    unused_entry,
    entries_out_of_order,
    note_in_the_file,
    row_beyond_the_headers,
    equal_cells_told_apart,
    stray_bytes,
    padding,
    bytes_behind_the_end,
    foreign_statistics,
    smaller_groups,
]


@pytest.mark.parametrize("plant", PLANTED)
def test_what_tells_more_is_not_published(plant, tmp_path):
    path = tmp_path / "t.parquet"
    plant(path)
    asked = Policy.from_dict({"columns": {"a": {"role": "quasi"}}, "promises": [{"k-anonymity": {"k": 2}}]})
    with pytest.raises(BadData) as refused:
        recheck(path, asked)
    assert "Canary" not in str(refused.value)


@pytest.mark.parametrize("plant", [*PLANTED[:3], *PLANTED[5:7], *PLANTED[8:]])
def test_only_the_bytes_differ(plant, tmp_path):
    plant(tmp_path / "t.parquet")
    assert is_as_released(tmp_path / "t.parquet") is False
    released(tmp_path / "again.parquet", pq.read_table(tmp_path / "t.parquet"))
    assert is_as_released(tmp_path / "again.parquet")


def test_a_folder_of_parts_is_compared_part_by_part(tmp_path):
    (tmp_path / "t.parquet").mkdir()
    for name in ("part-0.parquet", "part-1.parquet"):
        released(tmp_path / "t.parquet" / name, pa.table({"a": ["x", "x"]}))
    asked = Policy.from_dict({"columns": {"a": {"role": "quasi"}}, "promises": [{"k-anonymity": {"k": 2}}]})
    assert recheck(tmp_path / "t.parquet", asked)[0].holds
    with_stray_bytes(tmp_path / "t.parquet" / "part-1.parquet")
    with pytest.raises(BadData, match="other bytes than its rows give"):
        recheck(tmp_path / "t.parquet", asked)

"""Bytes in Parquet pages behind the last value: none as libraries write them, and every planted one."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.judge.file_bytes.packed_page import has_surplus
from sfumato.judge.file_bytes.parquet_pages import BYTE_ARRAY, LeafColumn, read_runs, surplus_bytes
from sfumato.judge.file_bytes.parquet_surplus import parquet_surplus
from sfumato.judge.file_bytes.thrift import Fields

HIDDEN = "bytes stand in pages behind the last value"


def hide_last(path, rows):
    """Makes a file say that it has one row less than its pages hold."""
    raw = path.read_bytes()
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    pages, rest = raw[:footer], raw[footer:]
    old, new = bytes([2 * rows]), bytes([2 * rows - 2])
    assert pages.count(b"\x2c\x15" + old) == 1 and rest.count(b"\x16" + old) >= 3
    path.write_bytes(
        pages.replace(b"\x2c\x15" + old, b"\x2c\x15" + new) + rest.replace(b"\x16" + old, b"\x16" + new)
    )
    assert pq.read_table(path).num_rows == rows - 1


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize(
    "cells", [["HIV", "cold", "burn", "Alma Canary"], [1.5, 2.5, 3.5, 4.5], [7, 8, 9, 2**40], [True] * 9]
)
def test_a_row_more_than_the_headers_say(cells, compression, tmp_path):
    path, rows = tmp_path / "t.parquet", len(cells)
    array = pa.array(cells)
    table = pa.table([array], schema=pa.schema([pa.field("a", array.type, nullable=False)]))
    pq.write_table(table, path, compression=compression, use_dictionary=False, write_statistics=False)
    assert parquet_surplus(path) == ()
    hide_last(path, rows)
    (found,) = parquet_surplus(path)
    assert (found.sentence, found.columns, found.certain) == (HIDDEN, ("a",), True)


numbers = st.integers(1, 9).flatmap(
    lambda width: st.tuples(st.just(width), st.lists(st.integers(0, 2**width - 1), min_size=1, max_size=30))
)


@given(numbers, st.data())
def test_runs_against_plain_python(case, data):
    """Numbers cut into runs of one number and packed groups of eight, at random."""
    width, values = case
    raw, place = bytearray(), 0
    while place < len(values):
        same = next((i for i, v in enumerate(values[place:]) if v != values[place]), len(values) - place)
        if data.draw(st.booleans()):
            raw += bytes([same << 1]) + values[place].to_bytes((width + 7) // 8, "little")
            place += same
        else:
            some = values[place:]
            some = some if len(some) < 8 else some[:8]
            packed = sum(v << (i * width) for i, v in enumerate(some))
            raw += bytes([1 << 1 | 1]) + packed.to_bytes(width, "little")
            place += 8
    runs = read_runs(bytes(raw) + b"Alma", 0, width, len(values), values[0])
    assert (runs.stop, runs.wanted, runs.filled) == (len(raw), values.count(values[0]), False)


@given(st.lists(st.none() | st.binary(max_size=5), min_size=1, max_size=20), st.binary(max_size=6))
def test_a_page_of_texts_with_missing_cells(cells, extra):
    """One page of version 1: levels of one bit in a packed run, then lengths and texts."""
    groups = (len(cells) + 7) // 8
    bits = sum((cell is not None) << i for i, cell in enumerate(cells)).to_bytes(groups, "little")
    levels = bytes([groups << 1 | 1]) + bits
    texts = b"".join(len(cell).to_bytes(4, "little") + cell for cell in cells if cell is not None)
    page = len(levels).to_bytes(4, "little") + levels + texts + extra
    header = Fields({5: Fields({1: len(cells), 2: 0, 3: 3, 4: 3})})
    assert surplus_bytes(page, header, LeafColumn(BYTE_ARRAY, 0, 1, 0)) == len(extra.strip(b"\0"))


def test_bits_that_fill_up_a_run_are_looked_at():
    header = Fields({5: Fields({1: 3, 2: 8, 3: 3, 4: 3})})
    column = LeafColumn(BYTE_ARRAY, 0, 0, 0)
    assert surplus_bytes(bytes([1, 3, 0b00000101]), header, column) == 0
    assert surplus_bytes(bytes([1, 3, 0b01100101]), header, column) == 1


def test_other_encodings_are_not_known(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"a": [1, 2]}), path, use_dictionary=False, column_encoding={"a": "DELTA_BINARY_PACKED"}
    )
    (found,) = parquet_surplus(path)
    assert "could not be told" in found.sentence and not found.certain


@pytest.mark.parametrize("size", [0, 1, 40, 300, 70_000, 300_000])
@pytest.mark.parametrize("kind", ["same", "mixed"])
def test_frames_behind_a_packed_page(size, kind):
    raw = bytes(size) if kind == "same" else bytes((i * i * 2654435761 >> 7) & 255 for i in range(size))
    page = pa.Codec("zstd").compress(raw, asbytes=True)
    assert has_surplus(page, 6) is False
    assert has_surplus(page + bytes.fromhex("502a4d180b000000") + b"Alma Canary", 6) is True
    assert has_surplus(page, 4) is None and has_surplus(page, 1) is False

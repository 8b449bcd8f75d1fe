"""Parquet files of several writers, with and without a canary, for tests of what stands beside the rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from sfumato.table.writing import write_parquet_again

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


@st.composite
def tables(draw):
    """Tables of a few rows with a column of every kind."""
    rows = draw(st.integers(0, 7))
    return pa.table(
        {
            kind: pa.array(draw(st.lists(st.none() | values, min_size=rows, max_size=rows)), TYPES[kind])
            for kind, values in KINDS.items()
        }
    )


def small_table():
    return pa.table({"zip": ["021**"] * 4, "disease": ["HIV", "cold", "burn", "flu"]})


def released(path, table=None):
    """A file in the form of releases."""
    pq.write_table(small_table() if table is None else table, path)
    write_parquet_again(path)
    return path


def replaced(path, old, new, *, last=False):
    raw = path.read_bytes()
    place = raw.rfind(old) if last else raw.find(old)
    assert place >= 0
    path.write_bytes(raw[:place] + new + raw[place + len(old) :])


def with_stray_bytes(path, stray=b"Alma Canary"):
    """Puts bytes between the last page and the footer."""
    raw = path.read_bytes()
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    path.write_bytes(raw[:footer] + stray + raw[footer:])


def hide_last(path, rows):
    """Makes a file of one column say that it has one row less than its pages hold."""
    raw = path.read_bytes()
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    pages, rest = raw[:footer], raw[footer:]
    old, new = bytes([2 * rows]), bytes([2 * rows - 2])
    assert pages.count(b"\x2c\x15" + old) == 1 and rest.count(b"\x16" + old) >= 3
    path.write_bytes(
        pages.replace(b"\x2c\x15" + old, b"\x2c\x15" + new) + rest.replace(b"\x16" + old, b"\x16" + new)
    )
    assert pq.read_table(path).num_rows == rows - 1

"""Every kind of source, made from a table of text, and what it publishes read back."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.table.source import open_source

FOLDER = tempfile.TemporaryDirectory()


def arrow(cells):
    return pa.table({name: pa.array(column, pa.string()) for name, column in cells.items()})


def csv_bytes(cells):
    """RFC 4180 text, written by hand: a missing cell is empty, everything else quoted."""
    out = io.StringIO()
    rows = [list(cells), *map(list, zip(*cells.values(), strict=True))]
    for row in rows:
        out.write(",".join("" if c is None else '"' + c.replace('"', '""') + '"' for c in row) + "\r\n")
    return out.getvalue().encode()


def _file(name):
    number = len(list(Path(FOLDER.name).iterdir()))
    return Path(FOLDER.name) / f"{number}.{name}"


def csv_file(cells):
    path = _file("csv")
    path.write_bytes(csv_bytes(cells))
    return path


def parquet_file(cells):
    path = _file("parquet")
    pq.write_table(arrow(cells), path, row_group_size=2)
    return path


MAKERS = {
    "pandas": lambda cells: pd.DataFrame({n: pd.Series(list(c), dtype="str") for n, c in cells.items()}),
    "pandas-object": lambda cells: pd.DataFrame(
        {n: pd.Series(list(c), dtype=object) for n, c in cells.items()}
    ),
    "pandas-category": lambda cells: pd.DataFrame(
        {n: pd.Series(list(c), dtype="str").astype("category") for n, c in cells.items()}
    ),
    "polars": lambda cells: pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String)),
    "polars-lazy": lambda cells: pl.LazyFrame(cells, schema=dict.fromkeys(cells, pl.String)),
    "polars-category": lambda cells: pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.Categorical)),
    "pyarrow": arrow,
    "pyarrow-dictionary": lambda cells: pa.table(
        {n: pa.array(c, pa.string()).dictionary_encode() for n, c in cells.items()}
    ),
    "duckdb": lambda cells: duckdb.from_arrow(arrow(cells)),
    "csv": csv_file,
    "parquet": parquet_file,
}


def make_source(kind):
    return lambda cells: open_source(MAKERS[kind](cells))


def read(native):
    """Any published table as lists."""
    if isinstance(native, pl.LazyFrame):
        native = native.collect()
    if isinstance(native, pl.DataFrame):
        return native.to_dict(as_series=False)
    if isinstance(native, pd.DataFrame):
        return {n: [None if pd.isna(v) else v for v in native[n]] for n in native.columns}
    if isinstance(native, duckdb.DuckDBPyRelation):
        native = native.to_arrow_table()
    return native.to_pydict()


def read_csv(path):
    """A CSV file as lists, by the standard library; quoted and empty cells are not told apart."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, strict=True))
    return {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}

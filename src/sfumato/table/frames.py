"""Dataframes as sources: pandas, Polars eager and lazy, PyArrow tables, DuckDB relations, PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
from narwhals import dependencies as loaded

from sfumato.core.errors import WrongCall
from sfumato.engine.frames.arrow import ArrowReader
from sfumato.engine.rows import RowSource

if TYPE_CHECKING:
    from sfumato.engine.spark.source import SparkSource


def open_frame(data: object) -> RowSource | SparkSource:
    """A dataframe as a source; only libraries that the caller has already loaded are asked about it."""
    frame = nw.to_native(data, pass_through=True)
    if loaded.is_pandas_dataframe(frame):
        from sfumato.engine.frames.pandas import PandasReader  # noqa: PLC0415  # loads pandas

        return RowSource(PandasReader(frame))
    if loaded.is_polars_dataframe(frame) or loaded.is_polars_lazyframe(frame):
        from sfumato.engine.frames.polars import LazyReader, PolarsReader  # noqa: PLC0415  # loads Polars

        return RowSource(LazyReader(frame) if loaded.is_polars_lazyframe(frame) else PolarsReader(frame))
    if loaded.is_pyarrow_table(frame):
        return RowSource(ArrowReader(frame))
    duckdb = loaded.get_duckdb()
    if duckdb is not None and isinstance(frame, duckdb.DuckDBPyRelation):
        from sfumato.engine.frames.duckdb import DuckDbReader  # noqa: PLC0415  # loads DuckDB

        return RowSource(DuckDbReader(frame))
    if loaded.is_pyspark_dataframe(frame) or loaded.is_pyspark_connect_dataframe(frame):
        from sfumato.engine.spark.source import SparkSource  # noqa: PLC0415  # loads PySpark

        return SparkSource(frame)
    raise WrongCall(
        f"an object of type {type(data).__name__} is no table",
        remedy="Hand in a pandas, Polars, PyArrow, DuckDB or PySpark table, or the path of a file.",
    )

"""Dataframes as sources: pandas, Polars eager and lazy, PyArrow tables, DuckDB relations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals as nw
from narwhals import dependencies as loaded

from sfumato.engine.names import check_names, shown
from sfumato.engine.rows import Reader
from sfumato.terms.errors import BadData, WrongCall

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

ROWS_AT_A_TIME = 1 << 18


def frame_reader(data: Any) -> Reader:
    """The reader for a dataframe; asks only libraries that the caller has already loaded."""
    frame = nw.to_native(data, pass_through=True)
    if loaded.is_pandas_dataframe(frame):
        return PandasReader(frame)
    if loaded.is_polars_dataframe(frame):
        return PolarsReader(frame)
    if loaded.is_polars_lazyframe(frame):
        return LazyReader(frame)
    if loaded.is_pyarrow_table(frame):
        return ArrowReader(frame)
    duckdb = loaded.get_duckdb()
    if duckdb is not None and isinstance(frame, duckdb.DuckDBPyRelation):
        return DuckDbReader(frame)
    raise WrongCall(
        f"an object of type {type(data).__name__} is no table",
        remedy="Hand in a pandas, Polars, PyArrow or DuckDB table, or a path to a CSV or Parquet file.",
    )


@dataclass(frozen=True, eq=False)
class ArrowReader:
    """A PyArrow table."""

    frame: pa.Table
    kind: str = "pyarrow"

    @property
    def schema(self) -> pa.Schema:
        return self.frame.schema.remove_metadata()

    @property
    def total(self) -> int | None:
        return int(self.frame.num_rows)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return batches_of(self.frame.select(list(names)))

    def native(self, table: pa.Table) -> pa.Table:
        return table


def batches_of(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows of a table, also of one without columns."""
    import pyarrow as pa

    if table.num_columns == 0:
        yield pa.RecordBatch.from_struct_array(pa.nulls(table.num_rows, pa.struct([])))
    else:
        yield from table.to_batches(max_chunksize=ROWS_AT_A_TIME)


@dataclass(frozen=True, eq=False)
class PolarsReader:
    """A Polars frame."""

    frame: pl.DataFrame
    kind: str = "polars"

    @cached_property
    def schema(self) -> pa.Schema:
        return _polars_schema(self.frame.clear())

    @property
    def total(self) -> int | None:
        return self.frame.height

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not names:
            yield from batches_of(_no_columns(self.frame.height))
        for start in range(0, self.frame.height if names else 0, ROWS_AT_A_TIME):
            yield from _polars_batches(self.frame.select(names).slice(start, ROWS_AT_A_TIME))

    def native(self, table: pa.Table) -> pl.DataFrame:
        return _to_polars(table, self.frame.schema)


@dataclass(frozen=True, eq=False)
class LazyReader:
    """A Polars query, run once per pass; what is published is a query again."""

    frame: pl.LazyFrame
    kind: str = "polars-lazy"
    total: int | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        return _polars_schema(self.frame.collect_schema().to_frame())

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not names:
            import polars as pl

            yield from batches_of(_no_columns(int(self.frame.select(pl.len()).collect().item())))
            return
        for frame in self.frame.select(names).collect_batches(chunk_size=ROWS_AT_A_TIME):
            yield from _polars_batches(frame)

    def native(self, table: pa.Table) -> pl.LazyFrame:
        return _to_polars(table, self.frame.collect_schema()).lazy()


def _no_columns(rows: int) -> pa.Table:
    import pyarrow as pa

    return pa.table({"": pa.nulls(rows)}).select([])


def _polars_schema(empty: pl.DataFrame) -> pa.Schema:
    import polars as pl

    for name, kind in empty.schema.items():
        if kind == pl.Object:
            raise BadData(f"column {shown(name)} holds Python objects", remedy="Turn it into text.")
    return empty.to_arrow(compat_level=pl.CompatLevel.oldest()).schema


def _polars_batches(frame: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    import polars as pl

    return iter(frame.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches(max_chunksize=ROWS_AT_A_TIME))


def _to_polars(table: pa.Table, source: pl.Schema) -> pl.DataFrame:
    """A frame of fresh columns in the source's types; key columns, categories and enums are plain text."""
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    keep = {
        name: source[name]
        for name, kind in frame.schema.items()
        if kind != pl.String and source[name] not in (pl.Categorical, pl.Enum) and source[name] != kind
    }
    return frame.cast(keep) if keep else frame  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class PandasReader:
    """A pandas frame; its index is no column and is not read."""

    frame: pd.DataFrame
    kind: str = "pandas"

    @cached_property
    def schema(self) -> pa.Schema:
        import pyarrow as pa

        check_names(list(self.frame.columns))
        return pa.schema([pa.field(name, self._column(name).type) for name in self.frame.columns])

    @property
    def total(self) -> int | None:
        return len(self.frame)

    def _column(self, name: str) -> pa.ChunkedArray:
        import pyarrow as pa

        try:
            cells = pa.array(self.frame[name], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # The library's own message would quote a cell.
            raise BadData(
                f"column {shown(name)} holds values of several types, or of one that has no text",
                remedy="Turn it into one type, or into text.",
            ) from None
        return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        if not names:
            return batches_of(_no_columns(len(self.frame)))
        return batches_of(pa.table([self._column(name) for name in names], names=list(names)))

    def native(self, table: pa.Table) -> pd.DataFrame:
        import pandas as pd

        columns = {}
        for name in table.column_names:
            columns[name] = _to_pandas(
                table.column(name), self.frame[name].dtype, self.schema.field(name).type
            )
        return pd.DataFrame(columns, columns=table.column_names)


def _to_pandas(cells: pa.ChunkedArray, dtype: Any, source: pa.DataType) -> pd.Series[Any]:
    """A column of the source's dtype; where the type changed (a key column), plain text."""
    import pandas as pd

    from sfumato.engine.text import published_type

    if isinstance(dtype, pd.CategoricalDtype):
        text = cells.to_pandas()
        if published_type(source) != cells.type:
            return text
        used = set(text.dropna())
        seen = [value for value in dtype.categories if value in used]
        kept = pd.CategoricalDtype(seen if dtype.ordered else sorted(seen), ordered=dtype.ordered)
        return text.astype(kept)
    if published_type(source) != cells.type:
        return cells.to_pandas()
    if isinstance(dtype, pd.api.extensions.ExtensionDtype) and hasattr(dtype, "__from_arrow__"):
        return pd.Series(dtype.__from_arrow__(cells), dtype=dtype)
    return cells.to_pandas().astype(dtype)


@dataclass(frozen=True, eq=False)
class DuckDbReader:
    """A DuckDB relation; what is published is a relation of the same connection."""

    frame: duckdb.DuckDBPyRelation
    kind: str = "duckdb"
    total: int | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        check_names(self.frame.columns)
        return self.frame.limit(0).to_arrow_table().schema

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not names:
            rows = self.frame.aggregate("count(*)").fetchall()[0][0]
            return batches_of(_no_columns(rows))
        chosen = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        return iter(self.frame.project(chosen).to_arrow_reader(ROWS_AT_A_TIME))

    def native(self, table: pa.Table) -> duckdb.DuckDBPyRelation:
        published = table  # found by its name in the query
        assert published is not None
        return self.frame.query("source", "select * from published")

"""Dataframes as sources: pandas, Polars eager and lazy, PyArrow tables, DuckDB relations, PySpark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb
import narwhals as nw
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import polars.selectors as cs
import pyarrow as pa
from narwhals import dependencies as loaded

from sfumato.system.disk import read_document
from sfumato.system.errors import BadData, WrongCall
from sfumato.system.json_object import JsonMapping, read_json
from sfumato.table.arrow import ROWS_AT_A_TIME, ArrowReader, batches_of, no_columns
from sfumato.table.arrow_arrays import text_array
from sfumato.table.cell_text import canonical, published_type, with_sound_text
from sfumato.table.columns import check_names, safe_name
from sfumato.table.form_of_source import RowSource

if TYPE_CHECKING:
    from sfumato.table.spark.source import SparkSource


def open_frame(data: object) -> RowSource | SparkSource:
    """A dataframe as a source; only libraries that the caller has already loaded are asked about it."""
    frame = nw.to_native(data, pass_through=True)
    if loaded.is_pandas_dataframe(frame):
        return RowSource(PandasReader(frame))
    if loaded.is_polars_dataframe(frame) or loaded.is_polars_lazyframe(frame):
        return RowSource(LazyReader(frame) if loaded.is_polars_lazyframe(frame) else PolarsReader(frame))
    if loaded.is_pyarrow_table(frame):
        return RowSource(ArrowReader(frame))
    duckdb = loaded.get_duckdb()
    if duckdb is not None and isinstance(frame, duckdb.DuckDBPyRelation):
        return RowSource(DuckDbReader(frame))
    if loaded.is_pyspark_dataframe(frame) or loaded.is_pyspark_connect_dataframe(frame):
        from sfumato.table.spark.source import SparkSource  # noqa: PLC0415  # loads PySpark

        return SparkSource(frame)
    raise WrongCall(
        f"an object of type {type(data).__name__} is no table",
        remedy="Hand in a pandas, Polars, PyArrow, DuckDB or PySpark table, or the path of a file.",
    )


# DuckDB relations as sources.


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
            return batches_of(no_columns(rows))
        chosen = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        return iter(self.frame.project(chosen).to_arrow_reader(ROWS_AT_A_TIME))

    def native(self, table: pa.Table) -> duckdb.DuckDBPyRelation:
        # The query finds a local variable by its name, but only if no table of the connection has that name.
        sfumato_published_rows = table  # noqa: F841
        query = self.frame.query("sfumato_source_rows", "select * from sfumato_published_rows")
        relation = cast(duckdb.DuckDBPyRelation, query)
        if relation.columns != table.column_names or len(relation) != table.num_rows:
            raise WrongCall("the connection has a table of its own named sfumato_published_rows")
        return relation


# pandas frames as sources.


@dataclass(frozen=True, eq=False)
class PandasReader:
    """A pandas frame; its index is no column and is not read."""

    frame: pd.DataFrame
    kind: str = "pandas"

    @cached_property
    def schema(self) -> pa.Schema:
        check_names(list(self.frame.columns))
        return pa.schema([pa.field(name, self._column(name).type) for name in self.frame.columns])

    @property
    def total(self) -> int | None:
        return len(self.frame)

    def _column(self, name: str) -> pa.ChunkedArray:
        try:
            cells = pa.array(self.frame[name], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # The library's own message would quote a cell.
            raise BadData(
                f"column {safe_name(name)} holds values of several types, or of one that has no text",
                remedy="Turn it into one type, or into text.",
            ) from None
        return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not names:
            return batches_of(no_columns(len(self.frame)))
        table = pa.table([self._column(name) for name in names], names=list(names))
        return with_sound_text(batches_of(table))

    def native(self, table: pa.Table) -> pd.DataFrame:
        columns = {}
        for name in table.column_names:
            columns[name] = _to_pandas(
                table.column(name), self.frame[name].dtype, self.schema.field(name).type
            )
        return pd.DataFrame(columns, columns=table.column_names)


def _to_pandas(
    cells: pa.ChunkedArray, dtype: Any, source: pa.DataType
) -> pd.Series[Any]:  # pandas is untyped
    """A column of the source's dtype; where the type changed (a key column), text, or categories of text."""
    if isinstance(dtype, pd.CategoricalDtype):
        return _to_categories(cells.to_pandas(), dtype, same=published_type(source) == cells.type)
    if published_type(source) != cells.type:
        return cells.to_pandas()
    if isinstance(dtype, pd.api.extensions.ExtensionDtype) and hasattr(dtype, "__from_arrow__"):  # optional
        return pd.Series(dtype.__from_arrow__(cells), dtype=dtype)
    if pd.api.types.is_object_dtype(dtype):
        return pd.Series(cells.to_pylist(), dtype=object)
    return cells.to_pandas().astype(dtype)


def _to_categories(text: pd.Series[Any], dtype: Any, *, same: bool) -> pd.Series[Any]:  # pandas is untyped
    """The cells as categories, of which there are those that occur: the source's first, in its order.

    They stay ordered where no other text is among them. Of a key column all are texts.
    """
    used = set(text.dropna())
    own = [value if same else str(value) for value in dtype.categories]
    seen = [value for value in own if value in used]
    others = sorted(used - set(own))
    ordered = dtype.ordered and not others
    kept = seen if dtype.ordered else sorted(seen)
    return text.astype(pd.CategoricalDtype([*kept, *others], ordered=ordered))


# Polars frames and queries as sources.


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
            yield from batches_of(no_columns(self.frame.height))
        for start in range(0, self.frame.height if names else 0, ROWS_AT_A_TIME):
            yield from _polars_batches(_columns(self.frame, names).slice(start, ROWS_AT_A_TIME))

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
            yield from batches_of(no_columns(int(self.frame.select(pl.len()).collect().item())))
            return
        chosen = self.frame.select(cs.by_name(*names))
        for frame in chosen.collect_batches(chunk_size=ROWS_AT_A_TIME):
            yield from _polars_batches(_columns(frame, names))

    def native(self, table: pa.Table) -> pl.LazyFrame:
        return _to_polars(table, self.frame.collect_schema()).lazy()


def _columns(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """These columns, by nothing but their names: `select` would read `*` and `^…$` as patterns."""
    return pl.DataFrame([frame.get_column(name) for name in names])


def _polars_schema(empty: pl.DataFrame) -> pa.Schema:
    for name, kind in empty.schema.items():
        if kind == pl.Object:
            raise BadData(f"column {safe_name(name)} holds Python objects", remedy="Turn it into text.")
    return empty.to_arrow(compat_level=pl.CompatLevel.oldest()).schema


def _polars_batches(frame: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    return iter(frame.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches(max_chunksize=ROWS_AT_A_TIME))


def _to_polars(table: pa.Table, source: pl.Schema) -> pl.DataFrame:
    """A frame of fresh columns in the source's types; of other key columns the texts."""
    frame = pl.DataFrame(pl.from_arrow(table))
    return pl.DataFrame([_cast(cells, source[cells.name]) for cells in frame])


def _cast(cells: pl.Series, kind: pl.DataType) -> pl.Series:
    """A column in the source's type; an enum has the texts that occur, the source's first, in its order."""
    if isinstance(kind, pl.Enum):
        used = set(cells.cast(pl.String).drop_nulls().to_list())
        own = [value for value in kind.categories.to_list() if value in used]
        return cells.cast(pl.String).cast(pl.Enum([*own, *sorted(used - set(own))]))
    if isinstance(kind, pl.Categorical):
        return cells.cast(pl.String).cast(kind)
    return cells if cells.dtype in (pl.String, kind) else cells.cast(kind)


# Single records as a source: mappings of column names to cells, from Python or from a JSON file.

JSON_ENDINGS = (".json", ".jsonl", ".ndjson")


def open_records(records: Sequence[JsonMapping]) -> RowSource:
    """Records as a source; a column that a record lacks is a missing cell of it.

    >>> source = open_records([{"age": 34.0, "sex": "m"}, {"age": "37"}])
    >>> source.columns, source.survey(["age"]).columns["age"].values
    (('age', 'sex'), ('34', '37'))
    """
    names = list(dict.fromkeys(str(name) for record in records for name in record))
    columns = {name: [_text(record.get(name), name) for record in records] for name in names}
    return RowSource(ArrowReader(pa.table({name: text_array(cells) for name, cells in columns.items()})))


def open_json(path: Path) -> RowSource:
    """A JSON file: one record, a list of records, or one record on each line."""
    if not path.is_file():
        raise BadData("there is no such file", where=str(path), remedy="Check the path.")
    try:
        text = read_document(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadData("the file is not in UTF-8", where=path.name) from None
    records = _whole(text) or _line_by_line(text, path.name)
    if not all(isinstance(record, dict) for record in records):
        raise BadData("the file does not hold records", where=path.name, remedy="Each is an object {…}.")
    return open_records(records)


def _whole(text: str) -> list[JsonMapping] | None:
    """The records of a text that is one JSON document; whether they are objects is checked later."""
    try:
        document = read_json(text)
    except ValueError:
        return None
    return document if isinstance(document, list) else [document]


def _line_by_line(text: str, name: str) -> list[JsonMapping]:
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                records.append(read_json(line))
            except ValueError:
                raise BadData(f"line {number} is no JSON", where=name) from None
    return records


def _text(cell: object, column: str) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    try:
        text: str | None = canonical(pa.array([cell]), column)[0].as_py()
    except (pa.ArrowException, TypeError, OverflowError):
        raise BadData(f"column {safe_name(column)} holds a cell that has no text") from None
    return text

"""Dataframes as sources: pandas, Polars eager and lazy, PyArrow tables, DuckDB relations, PySpark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import narwhals as nw
import pyarrow as pa
from narwhals import dependencies as loaded

from sfumato.system.disk import read_document
from sfumato.system.errors import BadData, UsageError
from sfumato.system.json_object import JsonMapping, read_json
from sfumato.table.arrow_arrays import text_array
from sfumato.table.cell_text import canonical, check_names, safe_name
from sfumato.table.form_of_source import RowSource
from sfumato.table.reader import ROWS_AT_A_TIME, ArrowReader, batches_of, no_columns

if TYPE_CHECKING:
    import duckdb

    from sfumato.table.spark.source import SparkSource


def open_frame(data: object) -> RowSource | SparkSource:
    """A dataframe as a source; only libraries that the caller has already loaded are asked about it."""
    frame = nw.to_native(data, pass_through=True)
    if loaded.is_pandas_dataframe(frame):
        from sfumato.table.pandas_frames import PandasReader  # noqa: PLC0415  # loads pandas

        return RowSource(PandasReader(frame))
    if loaded.is_polars_dataframe(frame) or loaded.is_polars_lazyframe(frame):
        from sfumato.table.polars_frames import LazyReader, PolarsReader  # noqa: PLC0415  # loads Polars

        return RowSource(LazyReader(frame) if loaded.is_polars_lazyframe(frame) else PolarsReader(frame))
    if loaded.is_pyarrow_table(frame):
        return RowSource(ArrowReader(frame))
    library = loaded.get_duckdb()
    if library is not None and isinstance(frame, library.DuckDBPyRelation):
        return RowSource(DuckDbReader(frame))
    if loaded.is_pyspark_dataframe(frame) or loaded.is_pyspark_connect_dataframe(frame):
        from sfumato.table.spark.source import SparkSource  # noqa: PLC0415  # loads PySpark

        return SparkSource(frame)
    raise UsageError(
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
        relation = cast("duckdb.DuckDBPyRelation", query)
        if relation.columns != table.column_names or len(relation) != table.num_rows:
            raise UsageError("the connection has a table of its own named sfumato_published_rows")
        return relation


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

"""Polars frames and queries as sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl
import polars.selectors as cs
import pyarrow as pa

from sfumato.system.errors import BadData
from sfumato.table.cell_text import safe_name
from sfumato.table.reader import ROWS_AT_A_TIME, batches_of, no_columns


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
    return pl.DataFrame([_cast(cells, source.get(cells.name, pl.String())) for cells in frame])


def _cast(cells: pl.Series, kind: pl.DataType) -> pl.Series:
    """A column in the source's type; an enum has the texts that occur, the source's first, in its order."""
    if isinstance(kind, pl.Enum):
        used = set(cells.cast(pl.String).drop_nulls().to_list())
        own = [value for value in kind.categories.to_list() if value in used]
        return cells.cast(pl.String).cast(pl.Enum([*own, *sorted(used - set(own))]))
    if isinstance(kind, pl.Categorical):
        return cells.cast(pl.String).cast(kind)
    return cells if cells.dtype in (pl.String, kind) else cells.cast(kind)

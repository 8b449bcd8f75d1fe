"""DuckDB relations as sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import duckdb
import pyarrow as pa

from sfumato.engine.arrow import ROWS_AT_A_TIME, batches_of, no_columns
from sfumato.engine.names import check_names


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
        published = table  # noqa: F841 (the query finds it by its name)
        return cast(duckdb.DuckDBPyRelation, self.frame.query("source", "select * from published"))

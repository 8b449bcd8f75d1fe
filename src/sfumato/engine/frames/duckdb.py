"""DuckDB relations as sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import duckdb
import pyarrow as pa

from sfumato.core.errors import WrongCall
from sfumato.engine.column_names import check_names
from sfumato.engine.frames.arrow import ROWS_AT_A_TIME, batches_of, no_columns


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

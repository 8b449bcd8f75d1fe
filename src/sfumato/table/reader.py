"""Readers: what a source needs of a table that hands out Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import pyarrow as pa

from sfumato.system.memory import Memory
from sfumato.table.cell_text import with_sound_text


class Reader(Protocol):
    """Hands out rows as Arrow batches, as often as asked, and takes a published table back."""

    @property
    def kind(self) -> str: ...

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""

    @property
    def total(self) -> int | None:
        """The number of rows, if known without reading them."""

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of these columns."""

    def native(self, table: pa.Table) -> Any:  # pandas, Polars, ...: what the caller handed in decides
        """A published table in this reader's own kind."""


@runtime_checkable
class CanBeBounded(Protocol):
    """A reader that unpacks what it reads, and can be held to a limit of memory meanwhile."""

    def within(self, memory: Memory) -> Reader:
        """The same reader, held to that limit."""


@dataclass(frozen=True, eq=False)
class FileReader:
    """A reader of files that unpacks what it reads, held to a limit of memory; it publishes Arrow tables."""

    memory: Memory = field(default_factory=Memory, kw_only=True)

    def within(self, memory: Memory) -> Self:
        """The same reader, held to that limit."""
        return replace(self, memory=memory)

    def native(self, table: pa.Table) -> pa.Table:
        """A published table as it is."""
        return table


@dataclass(eq=False)
class PassingReader:
    """A reader that stands before another one; whoever derives from it says what becomes of the batches."""

    reader: Reader

    @property
    def kind(self) -> str:
        return self.reader.kind

    @property
    def schema(self) -> pa.Schema:
        return self.reader.schema

    @property
    def total(self) -> int | None:
        return self.reader.total

    def native(self, table: pa.Table) -> Any:  # whatever kind of table the reader reads
        """A published table in the kind of the reader behind."""
        return self.reader.native(table)


# PyArrow tables as sources, and rows without columns.

ROWS_AT_A_TIME = 1 << 18


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
        return with_sound_text(batches_of(self.frame.select(list(names))))

    def native(self, table: pa.Table) -> pa.Table:
        return table


def batches_of(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows of a table, also of one without columns."""
    if table.num_columns == 0:
        yield pa.RecordBatch.from_struct_array(pa.nulls(table.num_rows, pa.struct([])))
    else:
        yield from table.to_batches(max_chunksize=ROWS_AT_A_TIME)


def whole_table(reader: Reader, names: Sequence[str]) -> pa.Table:
    """All rows of some columns."""
    batches = list(reader.batches(names))
    if not batches:
        return pa.schema([reader.schema.field(name) for name in names]).empty_table()
    return pa.Table.from_batches(batches)


def no_columns(rows: int) -> pa.Table:
    """A table with rows but no columns."""
    return pa.table({"": pa.nulls(rows)}).select([])


@dataclass(eq=False)
class NumberedReader(PassingReader):
    """A reader whose rows carry their number in one more column, under a name that no other column has."""

    number: str

    @cached_property
    def schema(self) -> pa.Schema:
        return self.reader.schema.append(pa.field(self.number, pa.int64()))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        own = [name for name in names if name != self.number]
        done = 0
        for batch in self.reader.batches(own or self.reader.schema.names[:1]):
            rows = batch.num_rows
            columns = {name: batch.column(name) for name in own}
            if self.number in names:
                columns[self.number] = pa.array(np.arange(done, done + rows, dtype=np.int64))
            yield pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))
            done += rows

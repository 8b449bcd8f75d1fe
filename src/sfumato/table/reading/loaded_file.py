"""Files that are read as a whole: their rows are held in memory as Arrow columns, and handed out again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.system.errors import UsageError
from sfumato.table.cell_text import check_names
from sfumato.table.data_file import NO_FORM, Note, SourceForm
from sfumato.table.reader import FileReader, batches_of, no_columns


@dataclass(frozen=True, eq=False)
class LoadedFileReader(FileReader, ABC):
    """A file that is loaded when something is first asked of it, if `memory` has room for that."""

    path: Path
    kind: str
    note: Note | None = None

    @classmethod
    def of_file(cls, path: Path, form: SourceForm, expected: SourceForm, note: Note | None) -> Self:
        """Returns the reader of a file, of which so much is said, and so much expected."""
        del form, expected
        return cls(path, path.suffix.lower()[1:], note)

    @abstractmethod
    def load(self) -> pa.Table:
        """Returns all rows; raises `BadData` where the file cannot be read without loss."""

    @property
    def source_form(self) -> SourceForm:
        """What has to be said so that the same table is read again."""
        return NO_FORM

    def needed_bytes(self) -> int:
        """Returns about how much it takes to load the file, measured on files of its kind.

        It is 0 where only loading tells; `load` then asks for room as it goes.
        """
        return 0

    def check_room(self, need: int) -> None:
        """Raises `NotEnoughMemory` unless so many more bytes are within the limit, if there is one."""
        self.memory.check(
            need,
            f"reading this table ({self.kind}) as a whole",
            "save it as CSV or Parquet: these are read piece by piece.",
        )

    @cached_property
    def table(self) -> pa.Table:
        """All rows, once loaded."""
        self.check_room(self.needed_bytes())
        table = self.load()
        check_names(table.column_names)
        return table.replace_schema_metadata(None)

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    @property
    def total(self) -> int | None:
        return int(self.table.num_rows)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of these columns."""
        yield from batches_of(self.table.select(list(names)) if names else no_columns(self.table.num_rows))

    def first_rows(self, most: int) -> list[list[str]]:
        """The cells of the first rows as texts, so many at most; missing ones are empty."""
        rows = self.table.slice(0, most).to_pylist()
        return [["" if cell is None else str(cell) for cell in row.values()] for row in rows]

    def tell(self, sentence: str) -> None:
        """Tells what the owner of the file should know; it holds no cell."""
        if self.note is not None:
            self.note(f"{self.path.name}: {sentence}")


def as_dates(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Returns points in time as dates, where all of them are midnights without a zone."""
    if not pa.types.is_timestamp(column.type) or column.type.tz is not None:
        return column
    dates = column.cast(pa.date32(), safe=False)
    all_midnight = pc.all(pc.equal(dates.cast(column.type), column), min_count=0).as_py()
    return dates if all_midnight else column


# The types in which columns are written to Parquet: the same for the same values, whatever held them
# before.
#
# Libraries keep text with short or long offsets, and points in time in units and zones of their own. A file
# shows none of that: text has short offsets where these are enough, points in time count microseconds, or
# nanoseconds where some value needs them, and zones are UTC.

LONGEST_SHORT = 2**31 - 1
"""So many bytes of text short offsets can reach."""


def as_written(values: pa.Array) -> pa.Array:
    """The values of a column in the type that files have for them.

    >>> as_written(pa.array(["a"], pa.large_string())).type
    DataType(string)
    >>> as_written(pa.array([0], pa.timestamp("s", "CET"))).type
    TimestampType(timestamp[us, tz=UTC])
    """
    kind, types = values.type, pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        length = pc.sum(pc.binary_length(values), min_count=0).as_py() or 0
        return values.cast(pa.string() if length <= LONGEST_SHORT else pa.large_string())
    if types.is_timestamp(kind):
        return _moments(values)
    return values.cast(pa.date32()) if types.is_date64(kind) else values


def _moments(values: pa.Array) -> pa.Array:
    kind = values.type
    zone = None if kind.tz is None else "UTC"
    same_ticks = values.cast(pa.int64()).cast(pa.timestamp(kind.unit, zone))
    if kind.unit == "us":
        return same_ticks
    try:
        return same_ticks.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:  # a part of a microsecond, or a second too far away for microseconds
        return same_ticks


# Libraries that read and write files beyond CSV and Parquet: extras, named where they are missing.

EXTRAS = {
    "fastexcel": "excel",
    "pyreadstat": "stats",
    "adbc_driver_sqlite.dbapi": "sql",
    "adbc_driver_postgresql.dbapi": "sql",
}


def extra_library(name: str, what: str) -> ModuleType:
    """Returns a library; raises `UsageError` with the extra to install where it is missing."""
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(
            f"{what} needs the library {name.partition('.')[0]}, which is not installed",
            remedy=f"Run `pip install 'sfumato[{EXTRAS[name]}]'`.",
        ) from None


def is_panic(error: BaseException) -> bool:
    """Tells whether a library that is written in Rust gave up; what it raises is no `Exception`, and has no
    name that could be imported."""
    return type(error).__name__ == "PanicException"

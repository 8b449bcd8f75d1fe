"""A source: any table that rows can be counted in and published from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from sfumato.system.address import Address, is_address, is_database
from sfumato.system.errors import UsageError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.table.data_file import NO_FORM, SourceForm
from sfumato.table.microdata import Coding, Microdata, Missing
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import Label

if TYPE_CHECKING:
    from sfumato.table.survey import Survey


SPARK, PARQUET = "spark", "parquet"
"""The kind of a source whose rows other machines hold, and write as Parquet; and that of Parquet files."""


class Source(Protocol):
    """A table that can be surveyed, counted, and published under a recoding."""

    @property
    def memory(self) -> Memory:
        """How much a call may hold while it reads this table; `Memory()` where there is no limit."""

    @property
    def kind(self) -> str:
        """What it is: pandas, polars, polars-lazy, pyarrow, duckdb, spark, csv or parquet."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in order."""

    def survey(
        self, names: Sequence[str] | None = None, *, limit: int = ..., progress: Progress = silent
    ) -> Survey:
        """What the columns hold."""

    def count(
        self,
        codings: Sequence[Coding],
        *,
        missing: Missing = Missing.OWN_VALUE,
        person: str | None = None,
        progress: Progress = silent,
    ) -> Microdata:
        """All rows as leaf ranks, equal rows once; one pass."""

    def recode(
        self, recoding: Recoding, *, drop: Sequence[str] = (), progress: Progress = silent
    ) -> Any:  # a table of the kind that was handed in, of one of many libraries
        """The published table, of the same kind as this one (a path gives a PyArrow table)."""

    def write(
        self,
        recoding: Recoding,
        path: str | PathLike[str],
        *,
        drop: Sequence[str] = (),
        overwrite: bool = False,
        formula_safe: bool = False,
        numbered: Sequence[str] = (),
        progress: Progress = silent,
    ) -> Path:
        """The published table, as a CSV or Parquet file; from Spark, as a folder of Parquet files.

        The columns `numbered` come last, and a number stands for each of their values: it tells which rows
        are alike in that column, and nothing else. Only its owner may read such a file.
        """

    def digest(self, *, progress: Progress = silent) -> str:
        """A fingerprint of all rows as text: equal for equal multisets of rows, on every engine."""


class Frame(Protocol):
    """A dataframe of pandas, Polars (eager or lazy), PyArrow, DuckDB or PySpark.

    Names of columns are all that their classes have in common; which library it is, opening it finds out.
    """

    @property
    def columns(self) -> object: ...


AnyTable = str | PathLike[str] | Source | Frame
"""A path of a CSV or Parquet file or of a folder of Parquet files, a dataframe, or a source."""


@runtime_checkable
class CanSample(Protocol):
    """A source that can be too long to be looked at row by row."""

    @property
    def sample_of(self) -> int | None:
        """How many rows the table has that this one is a sample of; none if it is whole."""

    def sampled(self, rows: int) -> Source:
        """About so many of its rows, always the same ones."""


@runtime_checkable
class SurveysFirstRows(Protocol):
    """A source that can be surveyed without reading all of it."""

    def survey_first(self, names: Sequence[str], *, rows: int = ...) -> Survey:
        """What these columns hold in the first rows."""


@runtime_checkable
class ShowsFirstRows(Protocol):
    """A source whose first rows can be looked at without reading all of it."""

    def first_texts(self, names: Sequence[str], *, rows: int = ...) -> Mapping[str, Sequence[Label]]:
        """The canonical texts of these columns in the first rows, row by row."""


def open_source(
    data: AnyTable,
    *,
    memory: Memory | None = None,
    expected: SourceForm = NO_FORM,
    digits: Mapping[str, int] | None = None,
) -> Source:
    """A source for a dataframe (pandas, Polars, PyArrow, DuckDB, PySpark) or a path; a source is one already.

    A path is a CSV file, a Parquet file, or a folder of Parquet files with a manifest; a `DataFile` also says
    how it is to be read.

    `expected` is what a policy says of its data, for what a `DataFile` leaves open. `memory` bounds what is
    held while rows are counted and written; sources of another make look after themselves. With `digits`,
    columns of numbers are rounded (see `with_digits`).
    """
    source = _opened(data, expected)
    return with_digits(source if memory is None else _bounded(source, memory), digits or {})


def with_digits(source: Source, digits: Mapping[str, int]) -> Source:
    """Returns the source with so many digits behind the point in these columns, and no more.

    Columns that it lacks are passed over. Raises `UsageError` for a source that hands out no rows.
    """
    wanted = {name: places for name, places in digits.items() if name in source.columns}
    if not wanted:
        return source
    from sfumato.table.form_of_source import RowSource  # noqa: PLC0415  # loads Arrow
    from sfumato.table.row_steps import RoundingReader  # noqa: PLC0415  # loads Arrow

    if not isinstance(source, RowSource):
        raise UsageError(
            f"numbers of a {source.kind} table are not rounded here, and the policy says `digits`",
            where=f"column {next(iter(wanted))}",
            remedy="Round them in the table itself, and drop `digits` from the policy.",
        )
    return replace(source, reader=RoundingReader(source.reader, wanted))


def _bounded(source: Source, memory: Memory) -> Source:
    from sfumato.table.form_of_source import RowSource  # noqa: PLC0415  # loads Arrow
    from sfumato.table.reader import CanBeBounded  # noqa: PLC0415  # loads Arrow

    if not isinstance(source, RowSource):
        return source
    reader = source.reader.within(memory) if isinstance(source.reader, CanBeBounded) else source.reader
    return replace(source, reader=reader, memory=memory)


def _opened(data: object, expected: SourceForm) -> Source:
    if isinstance(data, str | PathLike) and is_database(data):
        from sfumato.table.form_of_source import open_query  # noqa: PLC0415  # loads Arrow

        return open_query(data, expected)
    if isinstance(data, str | Address) and is_address(data):
        Address.of(data)
        raise UsageError(
            "rows are not read from a store here",
            remedy="A released table can be audited there; copy any other first, or have Spark read it.",
        )
    if isinstance(data, str | PathLike):
        from sfumato.table.form_of_source import open_file  # noqa: PLC0415  # loads Arrow

        return open_file(data, expected=expected)
    # A source of another package is told by its type: a dataframe may have columns of any name as attributes.
    if all(callable(getattr(type(data), verb, None)) for verb in ("survey", "count", "recode", "write")):
        source = cast(Source, data)
        if not isinstance(getattr(source, "memory", None), Memory):
            raise UsageError(
                f"a source of type {type(data).__name__} lacks the member `memory`",
                remedy="Give it one: `memory = Memory()`, from sfumato.system.memory.",
            )
        return source
    from sfumato.table.frames import open_frame  # noqa: PLC0415  # loads Arrow

    return open_frame(data)


# The engine: tables of many kinds as sources, counted, recoded and written.

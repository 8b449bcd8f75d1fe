"""A survey: what the columns of a table hold, taken in one pass over the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.table.dictionary import BYTES_TO_NUMBER, Dictionary, check_values
from sfumato.table.taxonomy import Label

FIRST_ROWS = 10_000
"""Rows that are surveyed where a column has too many values to list."""

MOST_LISTED_VALUES = 200_000
"""Columns with more distinct values than this are not listed value by value."""

VALUES_PER_KNOWN = 4
"""Values wait until so many came for each known one: telling them apart looks at all known ones, too."""
MOST_WAITING_BYTES = 1 << 25
"""Values wait while they take no more memory than this; where memory is limited, none waits."""


@dataclass(frozen=True, eq=False)
class ColumnSurvey:
    """What one column holds.

    `kind` is text, integer, decimal, date, boolean or list. `values` are canonical texts in ascending order,
    `None` at the end where cells are missing, and `counts` stand beside them. Where there are more distinct
    values than the limit, `complete` is False, `values` is empty and `distinct` a lower bound. `repeats` says
    that a value was seen twice, as far as values were told apart. `is_text` says that the cells are texts,
    whatever these look like.
    """

    name: str
    kind: str
    distinct: int
    missing: int
    values: tuple[Label, ...]
    counts: NDArray[np.int64]
    complete: bool = True
    repeats: bool = False
    is_text: bool = True

    def __repr__(self) -> str:
        return f"ColumnSurvey({self.name!r}, {self.kind}, {self.distinct} distinct, {self.missing} missing)"


@dataclass(frozen=True, eq=False)
class Survey:
    """What a table holds: its number of rows and its columns by name."""

    rows: int
    columns: Mapping[str, ColumnSurvey]


def survey(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    names: Sequence[str],
    *,
    limit: int = MOST_LISTED_VALUES,
    progress: Progress = silent,
    total: int | None = None,
    memory: Memory | None = None,
) -> Survey:
    """Survey some columns in one pass over the rows."""
    surveyor = Surveyor({name: schema.field(name).type for name in names}, limit=limit, memory=memory)
    for batch in batches:
        surveyor.add(batch)
        progress("surveying", surveyor.rows, None if total is None else max(total, surveyor.rows))
    progress("surveying", surveyor.rows, surveyor.rows)
    return surveyor.result()


class Surveyor:
    """Surveys columns, given by name and type, while their rows go by.

    Raises `NotEnoughMemory` where their values are more than `memory` allows to be told apart.
    """

    def __init__(
        self,
        columns: Mapping[str, pa.DataType],
        *,
        limit: int = MOST_LISTED_VALUES,
        memory: Memory | None = None,
    ) -> None:
        self._tallies = [_ColumnTally(name, kind, limit) for name, kind in columns.items()]
        self._memory = memory
        self.rows = 0
        if memory is not None and memory.limit is not None:
            for tally in self._tallies:
                tally.most_waiting = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Survey some more rows; the batch may hold other columns, too."""
        self.rows += len(batch)
        for tally in self._tallies:
            tally.add(batch.column(tally.name))
        if self._memory is not None:
            dictionaries = [tally.seen for tally in self._tallies]
            check_values(dictionaries, [BYTES_TO_NUMBER] * len(dictionaries), self._memory, rows=self.rows)

    def result(self) -> Survey:
        """Returns what the rows so far hold."""
        return Survey(self.rows, {tally.name: tally.result() for tally in self._tallies})


def first_rows(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches up to so many rows."""
    left = rows
    for batch in batches:
        yield batch.slice(0, left)
        left -= len(batch)
        if left <= 0:
            return


class _ColumnTally:
    """Counts the values of one column until there are too many, and watches what kind they are."""

    def __init__(self, name: str, kind: pa.DataType, limit: int) -> None:
        self.name, self.limit = name, limit
        self.nested = pa.types.is_nested(kind)
        self.seen = Dictionary(name, pa.null() if self.nested else kind)
        self.guess = KindGuess(kind)
        self.counts = np.zeros(1, np.int64)
        self.missing = 0
        self.checked = 0
        self.complete = not self.nested
        self.most_waiting = MOST_WAITING_BYTES
        self._waiting: list[tuple[pa.Array, NDArray[np.int64]]] = []
        self._waiting_values = self._waiting_bytes = 0

    def add(self, cells: pa.Array) -> None:
        if self.nested:
            self.missing += cells.null_count
        elif not self.complete and self.guess.settled:
            self.missing += self.seen.missing_among(cells)
        else:
            values, times, missing = self.seen.values_among(cells)
            self.missing += missing
            self._waiting.append((values, times))
            self._waiting_values += len(values)
            self._waiting_bytes += values.nbytes
            many = self._waiting_values > max(self.limit, VALUES_PER_KNOWN * self.seen.size)
            if many or self._waiting_bytes > self.most_waiting:
                self._settle()

    def _settle(self) -> None:
        """Counts the values that wait: together, unless they are too many; then it is found out where."""
        waiting, self._waiting, self._waiting_values, self._waiting_bytes = self._waiting, [], 0, 0
        if self.complete and len(waiting) > 1:
            numbers = self.seen.take_in([values for values, _ in waiting], self.limit)
            if numbers is not None:
                self._count(numbers, np.concatenate([times for _, times in waiting]))
                return
        for values, times in waiting:
            if self.complete:
                self._count(self.seen.numbers(values), times)
            else:
                self.guess.observe(self.seen.texts(values))

    def _count(self, numbers: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        grown = np.zeros(self.seen.size, np.int64)
        grown[: len(self.counts)] = self.counts
        np.add.at(grown, numbers, times)
        self.counts = grown
        values, _ = self.seen.distinct_values()
        self.guess.observe(self.seen.texts(values[self.checked :]))
        self.checked = len(values)
        self.complete = len(values) <= self.limit

    def result(self) -> ColumnSurvey:
        self._settle()
        if self.nested:
            return ColumnSurvey(self.name, "list", 0, self.missing, (), np.zeros(0, np.int64), False)
        values, index = self.seen.distinct_values()
        if not self.complete:
            repeats = int(self.counts[1:].sum()) > len(values)
            return self._survey(len(values), (), np.zeros(0, np.int64), complete=False, repeats=repeats)
        texts = self.seen.texts(values)
        sums = np.zeros(len(texts) + 1, np.int64)
        np.add.at(sums, index, self.counts[: len(index)])
        sums[-1] = self.missing
        order = sorted(range(len(texts)), key=texts.__getitem__)
        labels: list[Label] = [texts[i] for i in order]
        if self.missing:
            labels.append(None)
            order.append(len(texts))
        repeats = int(sums[:-1].max(initial=0)) > 1
        return self._survey(len(texts), tuple(labels), sums[order], complete=True, repeats=repeats)

    def _survey(
        self,
        distinct: int,
        labels: tuple[Label, ...],
        counts: NDArray[np.int64],
        *,
        complete: bool,
        repeats: bool,
    ) -> ColumnSurvey:
        kind, is_text = self.guess.kind, not self.guess.fixed
        return ColumnSurvey(
            self.name, kind, distinct, self.missing, labels, counts, complete, repeats, is_text
        )


PATTERNS = {
    "boolean": "true|false",
    "integer": "-?(0|[1-9][0-9]*)",
    "decimal": r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?",
    "date": "[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+([+-][0-9:]+)?)?",
}
"""Kinds of text from the narrowest on; a date must also be a day of the calendar."""


DECIMAL = "decimal"


class KindGuess:
    """The narrowest kind that every value so far fits; typed columns know their kind.

    Spreadsheets and statistics programs store every number as a decimal one: where all are whole, the kind is
    that of whole numbers.
    """

    def __init__(self, kind: pa.DataType) -> None:
        self.fixed = _typed(kind)
        self.open = list(PATTERNS) if not self.fixed else ["integer"] if self.fixed == DECIMAL else []
        self.any = False

    @property
    def kind(self) -> str:
        if self.open and self.any:
            return self.open[0]
        return self.fixed or "text"

    @property
    def settled(self) -> bool:
        """Whether no further value can change the kind."""
        return bool(self.fixed) or not self.open

    def observe(self, texts: Sequence[str]) -> None:
        if not self.open or not texts:
            return
        self.any = True
        self.open = [kind for kind in self.open if all(map(_FITS[kind], texts))]


def _typed(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_dictionary(kind):
        return _typed(kind.value_type)
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind):
        return "integer"
    if types.is_floating(kind) or types.is_decimal(kind):
        return DECIMAL
    return "date" if types.is_date(kind) or types.is_timestamp(kind) else ""


def _fits(kind: str) -> Callable[[str], bool]:
    pattern = re.compile(PATTERNS[kind])
    if kind == "date":
        return lambda text: pattern.fullmatch(text) is not None and _is_day(text[:10])
    return lambda text: pattern.fullmatch(text) is not None


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


_FITS = {kind: _fits(kind) for kind in PATTERNS}

"""The rows of a table on their way out: read once, published in as many versions as asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from weakref import ref

import numpy as np

from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.columns import number_last
from sfumato.table.counting import GatheredRows, expected_rows, gather
from sfumato.table.dictionary import BYTES_TO_NUMBER, BYTES_TO_PUBLISH, Dictionary
from sfumato.table.microdata import Column, Counts, Microdata, Words
from sfumato.table.publication import (
    OrderedValues,
    PublishedColumn,
    another_table,
    block_rows,
    code_by_rank,
    equal_when_published,
    key_column,
    planned_ranks,
    publish,
)
from sfumato.table.published_rows import PublishedRows, PublishedRowsBuilder
from sfumato.table.reader import Reader
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.set_columns import SetReader
from sfumato.table.spill import Spill

# Rows that were counted, published without a second pass over the source.
#
# Where every published column was counted, the distinct rows and their counts say all that is published.
# Then
# the source need not be read again: only the values of the columns that are no keys are kept from the
# count.

ROWS_AT_A_TIME = 1 << 17
"""Distinct rows whose combinations are counted at a time."""

CELLS_PER_ROW = 4
"""Combinations of a class and its other columns are counted in an array of so many cells per row, at most."""


@dataclass(frozen=True, eq=False)
class CountedRows:
    """What a source keeps of a count: which rows they are, and the values of columns that are no keys.

    The rows belong to whoever counted them, and are not kept alive here.
    """

    columns: tuple[Column, ...]
    dictionaries: dict[str, Dictionary]
    _words: ref[Words]

    @classmethod
    def of(cls, table: Microdata, dictionaries: Sequence[Dictionary]) -> CountedRows:
        """Returns what is to be kept of a table that was counted with these dictionaries."""
        by_name = {
            column.name: dictionary
            for column, dictionary in zip(table.columns, dictionaries, strict=False)
            if not column.role.is_key
        }
        return cls(table.columns, by_name, ref(table.words))

    def tell(self, recoding: Recoding, names: Sequence[str]) -> list[PublishedColumn] | None:
        """Returns how each of these columns is published; `None` where the counted rows do not tell it.

        They do not tell columns that were not counted, copies of a row that publish different things, nor
        values that share a leaf.
        """
        table = recoding.table
        is_counted = table.words is self._words() and table.columns is self.columns
        if not is_counted or recoding.rewritten or not names:
            return None
        keys = {column.name: j for j, column in enumerate(table.keys)}
        parts: list[PublishedColumn] = []
        for name in names:
            part = key_column(recoding, keys[name]) if name in keys else self._own_values(table, name)
            if part is None:
                return None
            parts.append(part)
        return parts

    def _own_values(self, table: Microdata, name: str) -> PublishedColumn | None:
        """How a column that is no key is published, if every value has a leaf of its own."""
        dictionary = self.dictionaries.get(name)
        if dictionary is None:
            return None
        j = next(j for j, column in enumerate(table.columns) if column.name == name)
        order = OrderedValues.of(dictionary)
        code = code_by_rank(order, planned_ranks(order, dictionary, table.columns[j]))
        return None if code is None else PublishedColumn(order.values, code, j)


@dataclass(eq=False)
class LastCount:
    """The last count of a source, if there was one."""

    rows: CountedRows | None = field(default=None)


def publish_counted(
    parts: Sequence[PublishedColumn],
    recoding: Recoding,
    names: Sequence[str],
    *,
    spill: Spill,
    progress: Progress = silent,
) -> PublishedRows:
    """The published rows, sorted, from the distinct rows of the table alone.

    `parts` says how each of the `names` is published (`CountedRows.tell`). Rows of a class that agree in all
    other columns are published alike: they are counted together first, where the combinations are few.
    """
    builder = PublishedRowsBuilder(names, [part.values for part in parts], spill)
    table = recoding.table
    others = [part for part in parts if part.column is not None]
    sizes = [len(part.code) for part in others]
    cells = recoding.count * int(np.prod(sizes, dtype=np.float64))
    most = min(CELLS_PER_ROW * table.distinct, spill.memory.room // 8)
    together = _Combinations(recoding.count, sizes) if cells <= most else None
    rows, done = block_rows(spill.memory) if together is None else ROWS_AT_A_TIME, 0
    for start in range(0, table.distinct, rows):
        span = slice(start, start + rows)
        class_of, counts = recoding.class_of[span], table.counts[span]
        words = table.words[:, span]
        done += int(counts.sum())
        published = class_of != SUPPRESSED
        if not published.all():
            class_of, counts, words = class_of[published], counts[published], words[:, published]
        codes = [table.packing.unpack(words, part.column) for part in others if part.column is not None]
        if together is None:
            _add(builder, parts, class_of, codes, counts)
        else:
            together.add(class_of, codes, counts)
        progress("ordering", done, table.rows)
    if together is not None:
        _add(builder, parts, *together.counted())
    return builder.finish()


class _Combinations:
    """Counts how often a class occurs with the codes of other columns, in one cell for each combination."""

    def __init__(self, classes: int, sizes: Sequence[int]) -> None:
        self._sizes = list(sizes)
        self._counts = np.zeros(classes * int(np.prod(sizes, dtype=np.int64)), np.int64)

    def add(self, class_of: np.ndarray, codes: Sequence[np.ndarray], counts: Counts) -> None:
        """Adds rows."""
        cells = class_of.astype(np.int64)
        for size, code in zip(self._sizes, codes, strict=True):
            cells *= size
            cells += code
        np.add.at(self._counts, cells, counts)

    def counted(self) -> tuple[np.ndarray, list[np.ndarray], Counts]:
        """Returns the combinations that occur: their classes, their codes, and how often each occurs."""
        cells = np.flatnonzero(self._counts)
        counts, codes = self._counts[cells], list[np.ndarray]()
        for size in reversed(self._sizes):
            cells, code = np.divmod(cells, size)
            codes.insert(0, code)
        return cells, codes, counts


def _add(
    builder: PublishedRowsBuilder,
    parts: Sequence[PublishedColumn],
    class_of: np.ndarray,
    codes: Sequence[np.ndarray],
    counts: Counts,
) -> None:
    """Adds rows by their class and the codes of their other columns."""
    own = iter(codes)
    published = (part.code[class_of if part.column is None else next(own)] for part in parts)
    builder.add(len(class_of), published, None if (counts == 1).all() else counts)


WriteVersion = Callable[[Recoding, Path, Path | None], None]
"""Writes a recoding of the table to a path and, where a second path is given, its witness to that one.

A witness holds the same rows, with a number in place of each value of the numbered columns.
"""


@dataclass(eq=False)
class RowsToPublish:
    """The rows of a counted table, read again when the first version is asked for that needs it.

    `names` are the published columns in order; of the last `numbered` ones only numbers are published. Rows
    that memory has no room for wait in `spill` until the last version is made. A version whose columns were
    all `counted` is published from the counted rows.
    """

    reader: Reader
    table: Microdata
    names: Sequence[str]
    numbered: int
    spill: Spill
    progress: Progress
    counted: CountedRows | None = None
    _taken: bool = field(default=False, init=False)

    def published(self, recoding: Recoding, spill: Spill, *, last: bool) -> PublishedRows:
        """Returns the rows under a recoding of the table, coded and sorted; after the `last` there are none.

        Raises `BadData` if these are not the rows that were counted. `spill` is for this version alone.
        """
        if self._taken:
            raise UsageError("the last version of these rows was published already")
        self._taken = last
        parts = self.counted.tell(recoding, self.names) if self.counted is not None else None
        if parts is not None:
            rows = publish_counted(parts, recoding, self.names, spill=spill, progress=self.progress)
        else:
            gathered = self._gathered
            gathered = gathered if last else replace(gathered, chunks=list(gathered.chunks))
            if last:
                del self._gathered
            rows = publish(gathered, recoding, self.names, spill=spill, progress=self.progress)
        return number_last(rows, self.numbered, spill) if self.numbered else rows

    def without_numbers(self, rows: PublishedRows) -> PublishedRows:
        """Returns published rows without the numbered columns: rows stay in order, since these are last."""
        return rows.first_columns(len(self.names) - self.numbered) if self.numbered else rows

    def native(self, rows: PublishedRows, spill: Spill) -> PublishedRows:
        """Returns published rows with term sets written as the source writes them."""
        return self.reader.written_back(rows, spill) if isinstance(self.reader, SetReader) else rows

    @cached_property
    def _gathered(self) -> GatheredRows:
        """All rows, as codes: the pass over the source."""
        table, reader = self.table, self.reader
        person = table.person_column
        if table.has_person and person is None:
            raise UsageError("the planned table does not name its person column")
        planned = [c.name for c in table.columns] + ([person] if person is not None else [])
        counted = set(planned)
        others = [name for name in self.names if name not in counted]
        gathered = gather(
            reader.batches(list(dict.fromkeys([*planned, *others]))),
            reader.schema,
            [*planned, *others],
            required=[c.name for c in table.keys] if table.dropped else (),
            each=[BYTES_TO_NUMBER] * len(planned) + [BYTES_TO_PUBLISH] * len(others),
            phase="recoding",
            progress=self.progress,
            total=expected_rows(reader),
            memory=self.spill.memory,
            equivalence=equal_when_published(table),
            spill=self.spill,
        )
        if gathered.dropped != table.dropped:
            raise another_table()
        return gathered

    def __enter__(self) -> RowsToPublish:
        self.spill.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.spill.__exit__(kind, error, trace)

"""The rows of a table on their way out: read once, published in as many versions as asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType

from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress
from sfumato.core.recoding import Recoding
from sfumato.engine.counted_rows import CountedRows, publish_counted
from sfumato.engine.dictionary import BYTES_TO_NUMBER, BYTES_TO_PUBLISH
from sfumato.engine.expected_rows import expected_rows
from sfumato.engine.publication import equal_when_published, publish
from sfumato.engine.published_columns import another_table
from sfumato.engine.published_rows import PublishedRows
from sfumato.engine.reader import Reader
from sfumato.engine.row_pass import GatheredRows, gather
from sfumato.engine.set_columns import SetReader
from sfumato.engine.spill.folder import Spill
from sfumato.engine.value_numbers import number_last

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
            raise WrongCall("the last version of these rows was published already")
        self._taken = last
        told = self.counted.tell(recoding, self.names) if self.counted is not None else None
        if told is not None:
            rows = publish_counted(told, recoding, self.names, spill=spill, progress=self.progress)
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
            raise WrongCall("the planned table does not name its person column")
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

"""Observers: what looks at rows while they are read for something else, such as a survey or a fingerprint."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.system.errors import SfumatoError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.table.cell_text import canonical
from sfumato.table.counting import expected_rows
from sfumato.table.digest import RowSums
from sfumato.table.form_of_source import RowSource
from sfumato.table.keyed_hashes import Marks, label_marks, order_of_marks
from sfumato.table.microdata import Coding, Role, SetForm
from sfumato.table.reader import PassingReader, Reader
from sfumato.table.row_steps import TEXT, SetReader
from sfumato.table.source import CanSample, Source
from sfumato.table.survey import FIRST_ROWS, ColumnSurvey, Survey, Surveyor
from sfumato.table.taxonomy import Label, Taxonomy

Seen_co = TypeVar("Seen_co", covariant=True)
"""What somebody says who was shown rows."""

Report = Callable[[Survey, Survey], None]
"""Receives a survey of columns, and one of term sets, whose values are the texts of coded columns."""


def survey_on_first_pass(
    source: Source, names: Sequence[str], forms: Mapping[str, SetForm], report: Report
) -> Source | None:
    """Returns the same source, whose first whole pass also surveys `names` and the term sets `forms`.

    `report` gets the surveys at the end of that pass; a survey that fails is given up, and the pass goes on.
    Returns `None` for a source that hands out no rows, and for one that is held to a limit of memory: there,
    a survey would take room from what the pass is for.
    """
    if not isinstance(source, RowSource) or source.memory.limit is not None:
        return None
    reader = source.reader
    wanted = _columns_of(names, forms)

    def tell(surveys: tuple[Survey, Survey]) -> None:
        report(*surveys)

    begin = partial(_SurveyWithSets, reader, names, forms)
    return RowSource(RowObserver(reader, wanted, begin, tell), source.memory)


def show_first_texts(
    source: Source, names: Sequence[str], report: Callable[[Mapping[str, Sequence[Label]]], None]
) -> Source:
    """Returns the same source, whose first pass also shows these columns in its first rows, as texts.

    `report` gets them as soon as these rows are read. A source that hands out no rows shows none, nor does
    one that is held to a limit of memory.
    """
    if not names or not isinstance(source, RowSource) or source.memory.limit is not None:
        return source
    return RowSource(
        RowObserver(source.reader, names, lambda: FirstTexts(names), report, FIRST_ROWS), source.memory
    )


def survey_first_texts(source: Source, names: Sequence[str], report: Callable[[Survey], None]) -> Source:
    """Returns the same source, whose first pass also surveys texts among `names`, in its first rows.

    `report` gets the survey as soon as these rows are read, and may raise: nothing more is read then. Where a
    source hands out no rows, a sample of it is surveyed here, if it can give one.
    """
    if isinstance(source, RowSource):
        schema = source.reader.schema
        times = Counter(schema.names)
        own = [name for name in names if times[name] == 1]  # others are refused later
        texts = [name for name in own if _is_text(schema.field(name).type)]
        if not texts:
            return source
        kinds = {name: schema.field(name).type for name in texts}
        return RowSource(
            RowObserver(source.reader, texts, lambda: Surveyor(kinds), report, FIRST_ROWS), source.memory
        )
    if isinstance(source, CanSample):
        report(source.sampled(FIRST_ROWS).survey([name for name in names if name in source.columns]))
    return source


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def survey_with_sets(
    source: Source, names: Sequence[str], forms: Mapping[str, SetForm], *, progress: Progress = silent
) -> tuple[Survey, Survey]:
    """Returns a survey of columns and one of term sets, in one pass where the source hands out rows."""
    if not isinstance(source, RowSource):
        return source.survey(names, progress=progress), _counted_sets(source, forms)
    survey = _SurveyWithSets(source.reader, names, forms, source.memory)
    total = expected_rows(source.reader)
    for batch in source.reader.batches(_columns_of(names, forms)):
        survey.add(batch)
        progress("surveying", survey.rows, None if total is None else max(total, survey.rows))
    progress("surveying", survey.rows, survey.rows)
    return survey.result()


def _counted_sets(source: Source, forms: Mapping[str, SetForm]) -> Survey:
    """The same survey of term sets, of a source that can only count them."""
    columns, rows = {}, 0
    for name, form in forms.items():
        table = source.count([Coding(name, Role.QUASI_SENSITIVE, Taxonomy.flat_in_order, form)])
        texts = table.column(name).taxonomy.leaf_labels
        missing = int(table.counts[[text is None for text in texts]].sum())
        distinct = sum(text is not None for text in texts)
        columns[name] = ColumnSurvey(name, "text", distinct, missing, texts, table.counts)
        rows = table.rows
    return Survey(rows, columns)


def _columns_of(names: Sequence[str], forms: Mapping[str, SetForm]) -> list[str]:
    """The columns that are read to survey columns and term sets, each once."""
    parts = [part for name, form in forms.items() for part in (form.parts or (name,))]
    return list(dict.fromkeys([*names, *parts]))


class _SurveyWithSets:
    """A survey of columns beside one of term sets, from the same batches."""

    def __init__(
        self,
        reader: Reader,
        names: Sequence[str],
        forms: Mapping[str, SetForm],
        memory: Memory | None = None,
    ) -> None:
        self._forms, self._sets = forms, SetReader(reader, forms)
        self._of_columns = Surveyor({name: reader.schema.field(name).type for name in names}, memory=memory)
        self._of_sets = Surveyor(dict.fromkeys(forms, TEXT), limit=sys.maxsize, memory=memory)

    @property
    def rows(self) -> int:
        return self._of_columns.rows

    def add(self, batch: pa.RecordBatch) -> None:
        self._of_columns.add(batch)
        if self._forms:
            cells = {name: self._sets.cells(batch, name) for name in self._forms}
            self._of_sets.add(pa.RecordBatch.from_pydict(cells))

    def result(self) -> tuple[Survey, Survey]:
        return self._of_columns.result(), self._of_sets.result()


class FirstTexts:
    """The texts of some columns, row by row."""

    def __init__(self, names: Sequence[str]) -> None:
        self.rows = 0
        self._texts: dict[str, list[Label]] = {name: [] for name in names}

    def add(self, batch: pa.RecordBatch) -> None:
        for name, texts in self._texts.items():
            texts.extend(canonical(batch.column(name), name).to_pylist())
        self.rows += len(batch)

    def result(self) -> Mapping[str, Sequence[Label]]:
        return self._texts


class LooksAtRows(Protocol[Seen_co]):
    """What is shown rows, batch by batch, and then says what it saw."""

    @property
    def rows(self) -> int: ...

    def add(self, batch: pa.RecordBatch) -> None: ...

    def result(self) -> Seen_co: ...


@dataclass(eq=False)
class RowObserver(PassingReader, Generic[Seen_co]):
    """A reader whose first pass also shows these columns, and reports what was seen.

    It shows `most` rows, and reports as soon as these are read; without `most` all rows of the first whole
    pass. Where looking at rows fails, nothing is reported, and the pass goes on.
    """

    names: Sequence[str]
    begin: Callable[[], LooksAtRows[Seen_co]]
    report: Callable[[Seen_co], None]
    most: int | None = None
    _done: bool = field(default=False, init=False)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if self._done:
            yield from self.reader.batches(names)
            return
        look = self.begin()
        for batch in self.reader.batches(list(dict.fromkeys([*names, *self.names]))):
            if not self._done:
                self._show(look, batch.select(list(self.names)))
            yield batch.select(list(names))
        if not self._done:
            self._tell(look)

    def _show(self, look: LooksAtRows[Seen_co], batch: pa.RecordBatch) -> None:
        try:
            look.add(batch if self.most is None else batch.slice(0, self.most - look.rows))
        except (
            SfumatoError,
            pa.ArrowException,
        ):  # whoever reads these rows runs into it, if it concerns them
            self._done = True
            return
        if self.most is not None and look.rows >= self.most:
            self._tell(look)

    def _tell(self, look: LooksAtRows[Seen_co]) -> None:
        self._done = True
        self.report(look.result())


# A table known again: its digest and marks of its people, taken while rows are read for something else.

NOBODY: Marks = np.zeros((0, 2), np.uint64)


@dataclass
class TableFingerprint:
    """The digest of all rows, and a mark for everybody whom one of the person columns names.

    Both are empty until the rows were read, and where the cells have no text that could be told again.
    """

    digest: str = ""
    people: Marks = field(default_factory=lambda: NOBODY)


def with_fingerprint(source: Source, person_columns: Sequence[str]) -> tuple[Source, TableFingerprint]:
    """Returns the source to read from now on, and the fingerprint that its first whole pass fills in.

    A source that hands out no rows is asked for its digest, and to count its people, at once.
    """
    taken = TableFingerprint()
    persons = [name for name in dict.fromkeys(person_columns) if name in source.columns]
    if isinstance(source, RowSource):
        reader = source.reader

        def fill_in(fingerprint: tuple[str, Marks]) -> None:
            taken.digest, taken.people = fingerprint

        begin = partial(_FingerprintInTheMaking, reader, persons)
        return RowSource(RowObserver(reader, reader.schema.names, begin, fill_in), source.memory), taken
    taken.digest = source.digest()
    for name in persons:
        counted = source.count([Coding(name, Role.IDENTIFIER, Taxonomy.flat_in_order)])
        labels = counted.column(name).taxonomy.leaf_labels
        taken.people = _joined(taken.people, [_marks_of(labels)])
    return source, taken


class _FingerprintInTheMaking:
    """Takes the fingerprint of all rows that it is shown."""

    def __init__(self, reader: Reader, persons: Sequence[str]) -> None:
        self.rows = 0
        self._persons, self._people = persons, NOBODY
        self._sets = {f.name: SetForm() for f in reader.schema if pa.types.is_nested(f.type)}
        self._as_text = SetReader(reader, self._sets)
        self._sums = RowSums(reader.schema.names)

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += len(batch)
        self._sums.add(_with_texts(batch, self._as_text, list(self._sets)))
        texts = [pc.unique(canonical(batch.column(name), name)).to_pylist() for name in self._persons]
        self._people = _joined(self._people, list(map(_marks_of, texts)))

    def result(self) -> tuple[str, Marks]:
        return self._sums.result(), self._people


def _with_texts(batch: pa.RecordBatch, as_text: SetReader, names: Sequence[str]) -> pa.RecordBatch:
    """The batch with lists as the texts of their term sets, as every digest takes them."""
    if not names:
        return batch
    cells = {
        name: as_text.cells(batch, name) if name in names else batch.column(name)
        for name in batch.schema.names
    }
    return pa.RecordBatch.from_pydict(cells)


def _marks_of(labels: Sequence[Label]) -> Marks:
    return label_marks([label for label in labels if label is not None])


def _joined(people: Marks, more: Sequence[Marks]) -> Marks:
    """The marks of everybody, each once, in order: no text of anybody is held longer than its batch."""
    if not any(len(marks) for marks in more):
        return people
    every = np.concatenate([people, *more])
    order, fresh = order_of_marks(every)
    distinct: Marks = every[order[fresh]]
    return distinct

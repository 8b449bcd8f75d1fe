"""A survey taken on the way: a reader that surveys columns while its rows are read for something else."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from sfumato.system.errors import SfumatoError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.table.cell_text import canonical
from sfumato.table.counting import expected_rows
from sfumato.table.form_of_source import RowSource
from sfumato.table.microdata import Coding, Role, SetForm
from sfumato.table.reader import PassingReader, Reader
from sfumato.table.set_columns import TEXT, SetReader
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
    return RowSource(SurveyingReader(source.reader, names, forms, report), source.memory)


def show_first_texts(
    source: Source, names: Sequence[str], report: Callable[[Mapping[str, Sequence[Label]]], None]
) -> Source:
    """Returns the same source, whose first pass also shows these columns in its first rows, as texts.

    `report` gets them as soon as these rows are read. A source that hands out no rows shows none, nor does
    one that is held to a limit of memory.
    """
    if not names or not isinstance(source, RowSource) or source.memory.limit is not None:
        return source
    return RowSource(FirstRowsReader(source.reader, names, lambda: FirstTexts(names), report), source.memory)


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
            FirstRowsReader(source.reader, texts, lambda: Surveyor(kinds), report), source.memory
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
    for batch in source.reader.batches(survey.wanted):
        survey.add(batch)
        progress("surveying", survey.rows, None if total is None else max(total, survey.rows))
    progress("surveying", survey.rows, survey.rows)
    return survey.result()


def _counted_sets(source: Source, forms: Mapping[str, SetForm]) -> Survey:
    """The same survey of term sets, of a source that can only count them."""
    columns, rows = {}, 0
    for name, form in forms.items():
        table = source.count([Coding(name, Role.QUASI_SENSITIVE, _flat, form)])
        texts = table.column(name).taxonomy.leaf_labels
        missing = int(table.counts[[text is None for text in texts]].sum())
        distinct = sum(text is not None for text in texts)
        columns[name] = ColumnSurvey(name, "text", distinct, missing, texts, table.counts)
        rows = table.rows
    return Survey(rows, columns)


def _flat(values: Sequence[Label]) -> Taxonomy:
    return Taxonomy.flat(sorted(values, key=lambda value: (value is None, value or "")))


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
        parts = [part for name, form in forms.items() for part in (form.parts or (name,))]
        self.wanted = list(dict.fromkeys([*names, *parts]))
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

    rows: int

    def add(self, batch: pa.RecordBatch) -> None: ...

    def result(self) -> Seen_co: ...


@dataclass(eq=False)
class FirstRowsReader(PassingReader, Generic[Seen_co]):
    """A reader whose first pass also shows these columns of its first rows, and reports what was seen."""

    names: Sequence[str]
    begin: Callable[[], LooksAtRows[Seen_co]]
    report: Callable[[Seen_co], None]
    most: int = FIRST_ROWS
    _reported: bool = field(default=False, init=False)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if self._reported:
            yield from self.reader.batches(names)
            return
        look = self.begin()
        for batch in self.reader.batches(list(dict.fromkeys([*names, *self.names]))):
            if not self._reported:
                self._show(look, batch)
            yield batch.select(list(names))
        if not self._reported:
            self._tell(look)

    def _show(self, look: LooksAtRows[Seen_co], batch: pa.RecordBatch) -> None:
        try:
            look.add(batch.select(list(self.names)).slice(0, self.most - look.rows))
        except SfumatoError:  # whoever reads these rows runs into it, if it concerns them
            self._reported = True
            return
        if look.rows >= self.most:
            self._tell(look)

    def _tell(self, look: LooksAtRows[Seen_co]) -> None:
        self._reported = True
        self.report(look.result())


@dataclass(eq=False)
class SurveyingReader(PassingReader):
    """A reader whose first whole pass also surveys columns and term sets, and reports them at its end."""

    names: Sequence[str]
    forms: Mapping[str, SetForm]
    report: Report
    _reported: bool = field(default=False, init=False)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if self._reported:
            yield from self.reader.batches(names)
            return
        survey: _SurveyWithSets | None = _SurveyWithSets(self.reader, self.names, self.forms)
        wanted = list(dict.fromkeys([*names, *survey.wanted])) if survey else names
        for batch in self.reader.batches(wanted):
            try:
                if survey is not None:
                    survey.add(batch)
            except SfumatoError:  # whoever reads these rows runs into it, if it concerns them
                survey = None
            yield batch.select(list(names))
        self._reported = True
        if survey is not None:
            self.report(*survey.result())

"""The form in which a source was read: what a policy remembers, and how what is published is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.system.address import DatabaseAddress
from sfumato.system.errors import BadData, UsageError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, one_step, silent
from sfumato.table.cell_text import canonical, check_names, safe_name
from sfumato.table.counting import WronglyMerged, equal_by_leaf, expected_rows, gather, microdata
from sfumato.table.data_file import NO_FORM, DataFile, SourceForm, readable_formats
from sfumato.table.dictionary import BYTES_TO_CODE, BYTES_TO_NUMBER
from sfumato.table.microdata import ROW_NUMBER, Coding, Microdata, Missing, SetForm
from sfumato.table.publication import CountedRows, LastCount, RowsToPublish, WriteVersion
from sfumato.table.reader import ArrowReader, NumberedReader, PassingReader, Reader, whole_table
from sfumato.table.reading.csv import CSV_ENDINGS, PLAIN_FORM, CsvReader, TextForm
from sfumato.table.reading.loaded_file import LoadedFileReader
from sfumato.table.reading.parquet import PARQUET_ENDINGS, MatchingReader, PartsReader
from sfumato.table.recoding import Recoding
from sfumato.table.row_steps import SetReader
from sfumato.table.spill import Equivalence, Spill
from sfumato.table.survey import FIRST_ROWS, MOST_LISTED_VALUES, Survey, first_rows, survey
from sfumato.table.taxonomy import Label
from sfumato.table.writing import writer


def first_reader(reader: Reader) -> Reader:
    """Returns the reader that reads, behind all that stand before it."""
    while isinstance(reader, PassingReader | SetReader):
        reader = reader.reader
    return reader


def text_form(reader: Reader) -> TextForm:
    """Returns the form of the CSV file that a reader reads; UTF-8 with commas where it reads none."""
    first = first_reader(reader)
    return first.form if isinstance(first, CsvReader) else PLAIN_FORM


def source_form(reader: Reader) -> SourceForm:
    """Returns what has to be said so that the same source is read the same way again."""
    first = first_reader(reader)
    if isinstance(first, LoadedFileReader):
        return first.source_form
    if not isinstance(first, CsvReader):
        return NO_FORM
    empty = {"empty": ",".join(first.empty)} if first.empty else {}
    return SourceForm.of_words({**first.form.words, **empty})


# The one implementation of a source for everything that can hand out Arrow batches.


@dataclass(frozen=True, eq=False)
class RowSource:
    """A source over a reader; `memory` bounds what is held while rows are counted and written."""

    reader: Reader
    memory: Memory = field(default_factory=Memory)
    _last_count: LastCount = field(default_factory=LastCount, init=False, repr=False)

    @property
    def kind(self) -> str:
        return self.reader.kind

    @cached_property
    def columns(self) -> tuple[str, ...]:
        names = tuple(self.reader.schema.names)
        check_names(names)
        return names

    def survey(
        self,
        names: Sequence[str] | None = None,
        *,
        limit: int = MOST_LISTED_VALUES,
        progress: Progress = silent,
    ) -> Survey:
        """What the columns hold."""
        wanted = self._wanted(self.columns if names is None else names)
        reader = self.reader
        return survey(
            reader.batches(wanted),
            reader.schema,
            wanted,
            limit=limit,
            progress=progress,
            total=expected_rows(reader),
            memory=self.memory,
        )

    def survey_first(self, names: Sequence[str], *, rows: int = FIRST_ROWS) -> Survey:
        """What these columns hold in the first rows."""
        reader = self.reader
        return survey(first_rows(reader.batches(list(names)), rows), reader.schema, names)

    def first_texts(self, names: Sequence[str], *, rows: int = FIRST_ROWS) -> dict[str, list[Label]]:
        """The canonical texts of these columns in the first rows, row by row."""
        cells: dict[str, list[Label]] = {name: [] for name in names}
        for batch in first_rows(self.reader.batches(list(names)), rows):
            for name in names:
                cells[name] += canonical(batch.column(name), name).to_pylist()
        return cells

    def count(
        self,
        codings: Sequence[Coding],
        *,
        missing: Missing = Missing.OWN_VALUE,
        person: str | None = None,
        progress: Progress = silent,
    ) -> Microdata:
        """All rows as leaf ranks, equal rows once; one pass. ROW_NUMBER as person numbers the rows."""
        source = self._with_numbers(person)._with_sets({c.name: c.form for c in codings if c.form})
        names = [c.name for c in codings] + ([] if person is None else [person])
        keys = [c.name for c in codings if c.role.is_key]

        def count(equivalence: Equivalence | None) -> Microdata:
            gathered = gather(
                source.reader.batches(source._wanted(dict.fromkeys(names))),
                source.reader.schema,
                names,
                required=keys if missing is Missing.SUPPRESS else (),
                each=[BYTES_TO_CODE] * len(codings) + [BYTES_TO_NUMBER] * (len(names) - len(codings)),
                phase="counting",
                progress=progress,
                total=expected_rows(self.reader),
                memory=self.memory,
                equivalence=equivalence,
            )
            with one_step(progress, "sorting"):
                table = microdata(gathered, codings, missing=missing, person=person)
            self._last_count.rows = CountedRows.of(table, gathered.dictionaries)
            return table

        try:
            return count(equal_by_leaf(codings))
        except WronglyMerged:  # a taxonomy whose leaves depend on all values: no rows are joined before
            return count(None)

    def recode(
        self, recoding: Recoding, *, drop: Sequence[str] = (), progress: Progress = silent
    ) -> Any:  # the reader's kind
        """The published table, of the same kind as this one (a path gives a PyArrow table)."""
        with self._to_publish(recoding.table, drop, (), progress) as rows, Spill(self.memory) as spill:
            published = rows.native(rows.published(recoding, spill, last=True), spill)
            return self.reader.native(published.table())

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
        """The published table, as a CSV or Parquet file.

        The columns `numbered` come last, and a number stands for each of their values: it tells which rows
        are alike in that column, and nothing else. Only its owner may read such a file.
        """
        write = writer(
            Path(path),
            overwrite=overwrite,
            formula_safe=formula_safe,
            form=text_form(self.reader),
            private=len(numbered) > 0,
        )
        with self._to_publish(recoding.table, drop, numbered, progress) as rows, Spill(self.memory) as spill:
            return write(rows.native(rows.published(recoding, spill, last=True), spill), progress)

    @contextmanager
    def versions(
        self,
        table: Microdata,
        *,
        count: int,
        drop: Sequence[str] = (),
        numbered: Sequence[str] = (),
        progress: Progress = silent,
    ) -> Iterator[WriteVersion]:
        """Yields what writes up to `count` versions of the counted table; rows are read at the first one."""
        unpublished = [name for name in drop if name not in numbered]
        left, form = count, text_form(self.reader)

        def write(recoding: Recoding, path: Path, witness: Path | None) -> None:
            nonlocal left
            left -= 1
            to_path, to_witness = writer(path, form=form), None
            if witness is not None:
                to_witness = writer(witness, form=form, private=True)
            with Spill(self.memory) as spill:
                published = rows.published(recoding, spill, last=left <= 0)
                to_path(rows.native(rows.without_numbers(published), spill), progress)
                if to_witness is not None:
                    to_witness(rows.native(published, spill), progress)

        with self._to_publish(table, unpublished, numbered, progress) as rows:
            yield write

    def digest(self, *, progress: Progress = silent) -> str:
        """The digest of all rows, whatever their order; lists are taken for term sets."""
        from sfumato.table.digest import digest  # noqa: PLC0415  # it loads a database

        lists = {f.name: SetForm() for f in self.reader.schema if pa.types.is_nested(f.type)}
        with one_step(progress, "digest"):
            return digest(self._with_sets(lists).reader.batches(self.columns), self.columns)

    @contextmanager
    def _to_publish(
        self, table: Microdata, drop: Sequence[str], numbered: Sequence[str], progress: Progress
    ) -> Iterator[RowsToPublish]:
        """The rows of a table that was counted here: read again where the counts do not tell them."""
        source = self._with_numbers(table.person_column)
        source = source._with_sets({c.name: c.form for c in table.columns if c.form})
        drop = [*drop, ROW_NUMBER] if table.person_column == ROW_NUMBER else drop
        gone = set(source._wanted(drop))
        last = [name for name in source._wanted(dict.fromkeys(numbered)) if name not in gone]
        apart = gone.union(last)
        names = [name for name in source.columns if name not in apart] + last
        person = [] if table.person_column is None else [table.person_column]
        source._wanted([*(c.name for c in table.columns), *person])
        counted = self._last_count.rows
        with Spill(self.memory) as spill:
            yield RowsToPublish(source.reader, table, names, len(last), spill, progress, counted)

    def _with_numbers(self, person: str | None) -> RowSource:
        """This source with the numbers of its rows, where they stand for people."""
        if person != ROW_NUMBER:
            return self
        return RowSource(NumberedReader(self.reader, ROW_NUMBER), self.memory)

    def _with_sets(self, forms: Mapping[str, SetForm]) -> RowSource:
        """This source with term sets as text."""
        if not forms:
            return self
        self._wanted([part for form in forms.values() for part in form.parts])
        return RowSource(SetReader(self.reader, forms), self.memory)

    def _wanted(self, names: Sequence[str] | dict[str, None]) -> list[str]:
        """These names, if the table has all of them."""
        there = set(self.columns)
        lacking = [name for name in names if name not in there]
        if lacking:
            raise BadData(
                f"the table has no column {safe_name(lacking[0])}", remedy="Check the policy's names."
            )
        return list(names)

    def __repr__(self) -> str:
        return f"<{self.kind} source, {len(self.columns)} columns>"


# Files as sources, by their endings: each reader says in a decorator which it reads (`built_in_reader`).
#
# Only the reader of the file that is opened is loaded, besides those of CSV and Parquet.

ARX_ENDING = ".deid"
OF_EVERY_KIND = ("decimal", "date-format")
"""What may be said of any file: how its texts are to be understood."""


def in_memory(source: RowSource) -> RowSource:
    """Returns the same rows, read once for all passes that follow."""
    return RowSource(ArrowReader(whole_table(source.reader, source.columns)), source.memory)


def open_file(data: str | PathLike[str], *, expected: SourceForm = NO_FORM) -> RowSource:
    """A file as a source, by its ending; or several Parquet files, by a pattern or by their manifest.

    What a `DataFile` says is obeyed, or refused where it makes no sense; what is `expected` of the file is
    passed over where it is about another kind.
    """
    path, form, note = Path(data), NO_FORM, None
    if isinstance(data, DataFile):
        form, note = data.form, data.note
    name = path.name.lower()
    if path.is_dir():
        _check_form(form, "a folder of Parquet files")
        return RowSource(PartsReader(path))
    if not path.exists() and set("*?[") & set(path.name) and name.endswith(PARQUET_ENDINGS):
        _check_form(form, "Parquet files")
        return RowSource(MatchingReader(path))
    if not path.is_file():
        raise BadData("there is no such file", where=str(path), remedy="Check the path.")
    kind = next((kind for kind in readable_formats() if name.endswith(kind.endings)), None)
    if not name.endswith(CSV_ENDINGS) and fspath(path) != fspath(path).encode("utf-8", "replace").decode():
        raise BadData(
            "the path is not written in UTF-8", where=path.name, remedy="Rename the file, or move it."
        )
    if kind is None:
        raise _no_format(path)
    _check_form(form, kind.what, *kind.options)
    return RowSource(kind.reader.load().of_file(path, form, expected, note))


def _no_format(path: Path) -> UsageError:
    """Why a file is not read whose ending is none of a table."""
    from sfumato.table.reading.statistics import CATALOG_ENDING  # noqa: PLC0415  # needed for this alone

    ending = path.suffix.lower()
    if ending == ARX_ENDING:
        return UsageError(
            "a project of ARX is no table",
            where=str(path),
            remedy="`sfumato policy arx` writes a policy and hierarchies from it; hand in the data as CSV.",
        )
    if ending == CATALOG_ENDING:
        return UsageError(
            "a catalogue of SAS holds labels and no table",
            where=str(path),
            remedy="Hand in the .sas7bdat or .xpt file, and name the catalogue with --catalog.",
        )
    endings = [ending for kind in readable_formats() for ending in kind.named]
    return UsageError(
        "the ending of the path names no format",
        where=str(path),
        remedy=f"Use {', '.join(endings)} or, with --query, .sqlite.",
    )


def open_query(data: str | PathLike[str], expected: SourceForm) -> RowSource:
    """What a database answers to a query that is said, or that a policy names."""
    from sfumato.table.reading.records import QueryReader  # noqa: PLC0415  # few tables are answers

    form, note = (data.form, data.note) if isinstance(data, DataFile) else (NO_FORM, None)
    _check_form(form, "a database", "query")
    query = form.query or expected.query
    if query is None:
        raise UsageError("a database is asked a query", remedy="Say which rows with --query 'SELECT …'.")
    address = DatabaseAddress.of(fspath(data))
    return RowSource(QueryReader(Path(address.kind), "sql", note, address, query))


def _check_form(form: SourceForm, what: str, *keys: str) -> None:
    """Raises where something was said of a file that its kind does not have."""
    for key in form.words:
        if key not in (*keys, *OF_EVERY_KIND):
            raise UsageError(f"{what} has no {key}", remedy=f"Leave --{key} out.")

"""A source as somebody else may read it: the path of its file, or its rows as plain Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.cell_text import canonical
from sfumato.table.data_file import written_format_of
from sfumato.table.form_of_source import RowSource, text_form
from sfumato.table.microdata import Coding, Microdata, Missing, Role, SetForm, terms_of
from sfumato.table.publication import WriteVersion
from sfumato.table.reader import PassingReader, Reader, batches_of, no_columns
from sfumato.table.reading.csv import PLAIN_FORM, CsvReader
from sfumato.table.reading.loaded_file import LoadedFileReader
from sfumato.table.reading.parquet import ParquetReader, PartsReader
from sfumato.table.recoding import Recoding
from sfumato.table.source import Source
from sfumato.table.taxonomy import Label, Taxonomy
from sfumato.table.writing import form_for

Batch = tuple[pa.RecordBatch, pa.Array | None]
"""Rows, and how many rows of the table each stands for; one, if nothing is said."""


def file_of(source: Source) -> Path | None:
    """Returns the file or folder that a source reads as it is, `None` where there is no such thing."""
    reader = source.reader if isinstance(source, RowSource) else None
    if isinstance(reader, ParquetReader | PartsReader):
        return reader.path
    if isinstance(reader, LoadedFileReader) and written_format_of(reader.path):
        return reader.path
    return reader.path if isinstance(reader, CsvReader) else None


def form_of(source: Source, target: Path | None = None) -> dict[str, str]:
    """Returns the encoding and the delimiter of a CSV file, where they are not UTF-8 and commas.

    It is the file that the source reads or, with a `target`, the one that it would write there.
    """
    form = text_form(source.reader) if isinstance(source, RowSource) else PLAIN_FORM
    return (form if target is None else form_for(target, form)).words


class HandingReader(PassingReader):
    """A reader that hands every batch on to somebody else, too, whenever all `names` are among its columns.

    `restart` is called before each such pass, `take` with each of its batches; `complete` says that one came
    to its end.
    """

    def __init__(
        self,
        reader: Reader,
        names: Sequence[str],
        restart: Callable[[], None],
        take: Callable[[pa.RecordBatch], None],
    ) -> None:
        super().__init__(reader)
        self._names, self._restart, self._take = list(names), restart, take
        self.complete = False

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        shared = bool(self._names) and set(self._names) <= set(names)
        if shared:
            self.complete = False
            self._restart()
        for batch in self.reader.batches(names):
            if shared:
                self._take(batch.select(self._names))
            yield batch
        self.complete |= shared


def arrow_rows(
    source: Source,
    names: Sequence[str],
    *,
    person: str | None = None,
    sets: Mapping[str, SetForm] | None = None,
    progress: Progress = silent,
) -> Iterator[Batch]:
    """Yields all rows of these columns, in the order of the names.

    A source that hands out no batches is asked to count: equal rows come once, each cell as its text.
    `person` is the column that tells people apart, `sets` says which columns hold sets of terms.
    """
    if isinstance(source, RowSource):
        for batch in source.reader.batches(list(names)):
            yield (batch.select(list(names)) if names else _bare(batch.num_rows)), None
        return
    wanted = [name for name in names if name != person]
    forms = {name: form for name, form in (sets or {}).items() if not form.parts}
    codings = [
        Coding(
            name,
            Role.QUASI_SENSITIVE if name in forms else Role.SENSITIVE,
            Taxonomy.flat_in_order,
            forms.get(name),
        )
        for name in wanted
    ]
    wanted_person = person if person in names else None
    table = source.count(codings, missing=Missing.OWN_VALUE, person=wanted_person, progress=progress)
    columns = [_people(table) if name == person else _cells(table, name, forms) for name in names]
    batch = pa.RecordBatch.from_arrays(columns, names=list(names)) if names else _bare(table.distinct)
    yield batch, pa.array(table.counts)


def _cells(table: Microdata, name: str, forms: Mapping[str, SetForm]) -> pa.Array:
    """The cells of a column, row by row; sets of terms as lists."""
    labels = table.column(name).taxonomy.leaf_labels
    if name in forms:
        term_lists = [None if text is None else list(terms_of(text)) for text in labels]
        return pa.array(term_lists, pa.list_(pa.string())).take(pa.array(table.codes(name)))
    return pa.array(labels, pa.large_string()).take(pa.array(table.codes(name)))


def _people(table: Microdata) -> pa.Array:
    return pa.array(table.person)


def _bare(rows: int) -> pa.RecordBatch:
    """So many rows without a column."""
    return next(iter(batches_of(no_columns(rows))))


# Where certain keys stand, so that somebody can delete these rows, and what stands in rows.


def rows_of_keys(source: Source, column: str, keys: Sequence[str]) -> list[int] | None:
    """Returns the numbers of the rows, from 1, in which a column holds one of the keys.

    `None` where the source does not hand out its rows in an order.
    """
    if not isinstance(source, RowSource):
        return None
    numbers, before = list[int](), 0
    for batch in source.reader.batches([column]):
        texts = canonical(batch.column(0), column)
        hits = pc.indices_nonzero(pc.is_in(texts, value_set=pa.array(keys, texts.type)))
        numbers += [before + 1 + row for row in hits.to_pylist()]
        before += batch.num_rows
    return numbers


def texts_of_rows(source: Source, columns: Sequence[str], rows: Sequence[int]) -> list[tuple[Label, ...]]:
    """Returns what some columns hold in the rows of these numbers, from 1, in the order of the table.

    Raises `UsageError` where the table has no such row, or hands out its rows in no order.
    """
    if not isinstance(source, RowSource):
        raise UsageError("this table hands out its rows in no order", remedy="Name people by their keys.")
    wanted, cells, before = sorted(set(rows)), list[tuple[Label, ...]](), 0
    for batch in source.reader.batches(list(columns)):
        here = [row - before - 1 for row in wanted if before < row <= before + batch.num_rows]
        if here:
            chosen = batch.take(pa.array(here))
            texts = [canonical(chosen.column(name), name).to_pylist() for name in columns]
            cells += zip(*texts, strict=True)
        before += batch.num_rows
    if len(cells) != len(wanted) or not wanted:
        raise UsageError(
            f"{len(wanted) - len(cells)} of {len(wanted)} rows are not in the table",
            remedy="Number rows from 1, without the header.",
        )
    return cells


# Versions of one table: all are published from rows that were read once.


@runtime_checkable
class CanWriteVersions(Protocol):
    """A source that writes several versions of a table, and their witnesses, in one pass over its rows."""

    def versions(
        self,
        table: Microdata,
        *,
        count: int,
        drop: Sequence[str] = (),
        numbered: Sequence[str] = (),
        progress: Progress = silent,
    ) -> AbstractContextManager[WriteVersion]:
        """Returns what writes up to `count` versions of the counted table; rows are read at the first one."""


@contextmanager
def version_writer(
    source: Source,
    table: Microdata,
    *,
    count: int,
    drop: Sequence[str] = (),
    numbered: Sequence[str] = (),
    progress: Progress = silent,
) -> Iterator[WriteVersion]:
    """Yields what writes up to `count` versions of a table that was counted in this source.

    The columns `drop` are not published; those among them that are also `numbered` stand, as numbers, in a
    witness. A source that cannot write several files at a time reads its rows for each of them.
    """
    if isinstance(source, CanWriteVersions):
        with source.versions(table, count=count, drop=drop, numbered=numbered, progress=progress) as write:
            yield write
        return

    def one_by_one(recoding: Recoding, path: Path, witness: Path | None) -> None:
        source.write(recoding, path, drop=drop, progress=progress)
        if witness is not None:
            unpublished = [name for name in drop if name not in numbered]
            source.write(recoding, witness, drop=unpublished, numbered=numbered, progress=progress)

    yield one_by_one

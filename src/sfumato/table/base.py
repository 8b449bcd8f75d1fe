"""The base of a chain: every row that was ever published, in the class that it was published in.

People are put into groups when they first come, and nobody ever changes group. A class holds one row of every
member of a group, and all its rows show the same box. Every file of the chain is a view of this one table: so
what several files tell together is never more than the base tells, which is judged.

The base is a second copy of personal data: it lies beside the ledger, encrypted, and is never published.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.system.errors import BadData, BadLedger
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.table.arrow_arrays import text_array
from sfumato.table.cell_text import canonical
from sfumato.table.form_of_source import RowSource, text_form
from sfumato.table.keyed_hashes import Marks, joined_marks
from sfumato.table.microdata import ROW_NUMBER, Microdata
from sfumato.table.reader import ArrowReader, NumberedReader, PassingReader, Reader
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.writing import writer

Numbers = NDArray[np.int64]
Truth = NDArray[np.bool_]

PERSON, ROW, GROUP, CLASS, HOME, RELEASE, BARE_ROW, LOSS = (
    "\x1fperson",
    "\x1frow",
    "\x1fgroup",
    "\x1fclass",
    "\x1fhome",
    "\x1frelease",
    "\x1fbare",
    "\x1floss",
)
"""Columns of the base that are never published: who a row is about and which of their rows it is, as hashes;
its group and class; the group of its person; the release that first showed it; whether it is bare; what it
lost.
"""

BARE = "bare_row"
"""The published column that tells bare rows from others, in views that have any."""
HASH = pa.binary(16)
VERSION = b"1"


@dataclass(frozen=True, eq=False)
class Base:
    """All rows that a chain ever published, and what is known of them.

    `batches` are hashes of the batches that were published, in chains that tell batches apart; `withheld` are
    groups that are shown no more; `releases` counts the releases.
    """

    rows: pa.Table
    published: tuple[str, ...]
    keys: tuple[str, ...]
    releases: int = 0
    groups: int = 0
    classes: int = 0
    withheld: tuple[int, ...] = ()
    batches: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()

    @cached_property
    def is_bare(self) -> Truth:
        """Which rows are bare."""
        return np.asarray(self.rows.column(BARE_ROW).to_numpy(zero_copy_only=False), dtype=np.bool_)

    @property
    def people(self) -> int:
        """How many people were ever published."""
        return pc.count_distinct(self.rows.column(PERSON)).as_py() if len(self.rows) else 0

    def shown(self, *, newcomers: bool = False) -> Truth:
        """Returns which rows a view shows: all but withheld groups, or those of the newest release alone."""
        gone = np.array(self.withheld, np.int64)
        group, home = self._numbers(GROUP), self._numbers(HOME)
        shown = ~np.isin(group, gone) & ~np.isin(home, gone)
        return shown & (self._numbers(RELEASE) == self.releases) if newcomers else shown

    def view(self, rows: Truth) -> pa.Table:
        """Returns the columns that are published of some rows, with one that names bare rows where there are
        any.
        """
        table = self.rows.filter(pa.array(rows))
        shown = table.select(list(self.published))
        bare = table.column(BARE_ROW)
        if pc.any(bare).as_py():
            words = pc.if_else(bare, "yes", "no")
            shown = shown.append_column(BARE, words)
        return shown

    def loss(self, rows: Truth) -> float:
        """Returns the mean loss of some rows as it was when they were first shown, without bare rows."""
        lost = self.rows.column(LOSS).to_numpy()[rows & ~self.is_bare]
        return float(lost.mean()) if len(lost) else 0.0

    def _numbers(self, name: str) -> Numbers:
        return np.asarray(self.rows.column(name).to_numpy(), dtype=np.int64)

    def with_rows(self, rows: pa.Table, *, groups: int, classes: int) -> Base:
        """Returns the base after one more release, with these rows in new groups and classes."""
        if set(rows.column_names) != set(self.rows.column_names):
            raise BadData(
                "the columns of this chain were others before",
                remedy="A column that comes or goes begins a new chain of people who were never published.",
            )
        try:
            joined = pa.concat_tables(
                [self.rows, rows.select(self.rows.column_names)], promote_options="permissive"
            )
        except pa.ArrowInvalid:
            changed = [f.name for f in self.rows.schema if f.type != rows.schema.field(f.name).type]
            raise BadData(
                f"columns have other types than in earlier releases: {', '.join(changed)}",
                remedy="Write them as before: numbers as numbers, dates as dates.",
            ) from None
        return replace(
            self,
            rows=joined,
            releases=self.releases + 1,
            groups=self.groups + groups,
            classes=self.classes + classes,
        )

    # -- as bytes -----------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Returns the base as a file."""
        notes = {name: value for name, value in vars(self).items() if name not in ("rows", "is_bare")}
        meta = {b"sfumato base": VERSION, b"notes": json.dumps(notes).encode()}
        out = io.BytesIO()
        pq.write_table(self.rows.replace_schema_metadata(meta), out, compression="zstd")
        return out.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Base:
        """Reads a base; raises `BadLedger` where it is none."""
        try:
            rows = pq.read_table(io.BytesIO(content))
            meta = rows.schema.metadata or {}
            notes = json.loads(meta[b"notes"])
        except (pa.ArrowException, KeyError, ValueError):
            raise BadLedger("this is no base of a chain", remedy="Restore it from a backup.") from None
        if meta.get(b"sfumato base") != VERSION:
            raise BadLedger(
                "the base of this chain was written by another version", remedy="Use that version."
            )
        kept = {name: tuple(value) if isinstance(value, list) else value for name, value in notes.items()}
        return cls(rows.replace_schema_metadata(None), **kept)


# Rows that become part of a base.


@dataclass(eq=False)
class ChosenRowsReader(PassingReader):
    """A reader that hands out some rows of another one, in their order."""

    chosen: Truth

    @property
    def total(self) -> int | None:
        return int(self.chosen.sum())

    def batches(self, names: Sequence[str]):  # type: ignore[no-untyped-def]
        """The chosen rows of these columns."""
        done = 0
        for batch in self.reader.batches(names):
            mask = self.chosen[done : done + batch.num_rows]
            done += batch.num_rows
            yield batch if mask.all() else batch.filter(pa.array(mask))


def chosen_rows(source: RowSource, chosen: Truth) -> RowSource:
    """Returns a source of some rows of another one."""
    return RowSource(ChosenRowsReader(source.reader, chosen), source.memory)


def hash_array(marks: Marks) -> pa.Array:
    """Returns hashes as a column.

    >>> len(hash_array(np.zeros((3, 2), np.uint64)))
    3
    """
    whole = np.ascontiguousarray(marks.astype("<u8"))
    return pa.Array.from_buffers(HASH, len(whole), [None, pa.py_buffer(whole.tobytes())])


def hashes_of_cells(reader: Reader, names: Sequence[str]) -> Marks:
    """Returns a hash for every row of a table, over the texts of these columns."""
    columns: list[list[pa.Array]] = [[] for _ in names]
    for batch in reader.batches(list(names)):
        for cells, name in zip(columns, names, strict=True):
            cells.append(canonical(batch.column(name), name).dictionary_encode())
    coded, rows = [], 0
    for cells in columns:
        whole = pa.chunked_array(cells, pa.dictionary(pa.int32(), text_array([]).type)) if cells else None
        if whole is None:
            continue
        one = whole.unify_dictionaries().combine_chunks()
        one = one.chunk(0) if isinstance(one, pa.ChunkedArray) else one
        rows = len(one)
        labels = [*one.dictionary.to_pylist(), None]
        codes = pc.fill_null(one.indices, len(labels) - 1).to_numpy(zero_copy_only=False).astype(np.int32)
        coded.append((labels, codes))
    return joined_marks(coded, rows) if coded else np.zeros((0, 2), np.uint64)


def ranks_of_cells(reader: Reader, name: str) -> Numbers:
    """Returns for every row the place of its value among those of a column in ascending order; empty cells
    last.
    """
    cells = _plain(reader, [name]).column(0).dictionary_encode()
    encoded = cells.unify_dictionaries().combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = len(order)
    return rank[pc.fill_null(encoded.indices, len(order)).to_numpy(zero_copy_only=False)]


def recoded_rows(
    source: RowSource, recoding: Recoding, published: Sequence[str]
) -> tuple[pa.Table, Numbers, Numbers]:
    """Returns the published rows of a plan in the order of the source, the class of each, and which rows they
    are.

    The plan's rows are people: each person has one row in the source.
    """
    table = recoding.table
    person = table.person_column or ROW_NUMBER
    reader = NumberedReader(source.reader, ROW_NUMBER) if person == ROW_NUMBER else source.reader
    names = list(dict.fromkeys([person, *published]))
    rows = _plain(reader, names)
    class_of_row = _class_of_people(table, recoding)[_ranks(rows.column(person), person)]
    here = np.flatnonzero(class_of_row != SUPPRESSED)
    rows, classes = rows.take(pa.array(here)), class_of_row[here].astype(np.int64)
    columns = []
    places = {column.name: j for j, column in enumerate(table.keys)}
    for name in published:
        if name not in places:
            columns.append(rows.column(name))
            continue
        texts, which = recoding.texts(places[name])
        columns.append(text_array(texts).take(pa.array(np.asarray(which)[classes])))
    return pa.table(columns, names=list(published)), classes, here


def _plain(reader: Reader, names: Sequence[str]) -> pa.Table:
    """Returns all rows of some columns, no column coded by a dictionary."""
    batches = list(reader.batches(names))
    if not batches:
        return pa.schema([reader.schema.field(name) for name in names]).empty_table()
    table = pa.Table.from_batches(batches)
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            plain = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field.name, plain)
    return table


def _class_of_people(table: Microdata, recoding: Recoding) -> Numbers:
    person = table.person
    if person is None:
        raise AssertionError
    class_of = np.full(int(person.max(initial=-1)) + 1, SUPPRESSED, np.int64)
    class_of[person] = recoding.class_of
    return class_of


def _ranks(cells: pa.ChunkedArray, name: str) -> Numbers:
    """Returns the number of every row's person, as people are numbered when they are counted."""
    texts = canonical(cells.combine_chunks(), name)
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    encoded = texts.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[encoded.indices.to_numpy()]


def write_rows(rows: pa.Table, path: Path, like: Reader, memory: Memory, progress: Progress = silent) -> None:
    """Writes rows that are to be published as they are, in an order that their own cells give.

    CSV files have the form of the file that `like` reads.
    """
    table = Microdata.of_codes((), (), counts=np.array([len(rows)]))
    here = np.zeros(table.distinct, np.int32)
    nothing = np.zeros((table.distinct, 0), np.int32)
    source = RowSource(ArrowReader(rows), memory)
    write = writer(path, form=text_form(like))
    from sfumato.table.spill import Spill  # noqa: PLC0415  # as writers do

    with source._to_publish(table, (), (), progress) as publishing, Spill(memory) as spill:
        published = publishing.published(Recoding(table, here, nothing, nothing), spill, last=True)
        write(publishing.native(published, spill), progress)

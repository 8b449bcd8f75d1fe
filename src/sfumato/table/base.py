"""The base of a chain: every row that was ever published, in the class that it was published in.

People are put into groups when they first come, and nobody ever changes group. A class holds one row of every
member of a group, and all its rows show the same box. Every file of the chain is a view of this one table: so
what several files tell together is never more than the base tells, which is judged.

The base is a second copy of personal data: it lies beside the ledger, encrypted, and is never published.
"""
# ruff: noqa: PLC0415  # Parquet's library is loaded where there is a chain

from __future__ import annotations

import io
import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.system.errors import BadLedger, RefusedByHistory
from sfumato.system.json_object import JsonObject
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.table.form_of_source import RowSource, text_form
from sfumato.table.microdata import BARE, Microdata
from sfumato.table.published_rows import PublishedRows
from sfumato.table.reader import ArrowReader, Reader
from sfumato.table.recoding import Recoding
from sfumato.table.spill import Spill
from sfumato.table.taxonomy import Label
from sfumato.table.writing import writer

Numbers = NDArray[np.int64]
Truth = NDArray[np.bool_]

PERSON, ROW, KEYS, GROUP, HOME, RELEASE, BARE_ROW, LOSS = (
    "\x1fperson",
    "\x1frow",
    "\x1fkeys",
    "\x1fgroup",
    "\x1fhome",
    "\x1frelease",
    "\x1fbare",
    "\x1floss",
)
"""Columns of the base that are never published: who a row is about, which of their rows it is, and its
quasi-identifiers, as hashes; the group whose box it shows; the group of its person; the release that first
showed it; whether it is bare; what it lost."""

PERSON_NUMBER, GROUP_NUMBER, CLASS_NUMBER = "number_of_person", "number_of_group", "number_of_class"
"""Columns of files that the judge alone reads: whose a row is, their group, the class whose box it shows."""
CELL = "\x1fcell:"
"""What begins the name of a column of hashes: those of the cells of a column that may tell people apart."""
HASH = pa.binary(16)
VERSION = b"1"
SALT_BYTES = 16

MARKS = pa.schema(
    [
        ("group", pa.int64()),
        ("first_column", pa.string()),
        ("first_text", pa.string()),
        ("first_cost", pa.float64()),
        ("second_column", pa.string()),
        ("second_text", pa.string()),
        ("second_cost", pa.float64()),
        ("bias", pa.float64()),
    ]
)
"""Marks of groups: two columns, the coarser text that each would show, and what a row would then lose more.
A symbol of 0 raises the first one, 1 the second; `bias` is how probable 1 is."""


@dataclass(frozen=True, eq=False)
class GroupBoxes:
    """The boxes of classes: their numbers and groups, and per quasi-identifier the text of each."""

    classes: Numbers
    homes: Numbers
    texts: Mapping[str, Sequence[Label]]


@dataclass(frozen=True, eq=False)
class Base:
    """All rows that a chain ever published, and what is known of them.

    `published` are the columns of its files, `keys` those that show boxes. `releases` and `groups` count what
    was made so far. `withheld` are groups that are shown no more, `batches` hashes of the batches that were
    published in chains that tell batches apart, with their numbers of rows. `policies` are what groups were
    made by, as the judge reads it, and `made_by` tells for every release which of them it followed. `marks`
    say by which of two columns versions for recipients differ in a group, and `marks_key` is the key of the
    coins that choose one. `person`, `by` and `since` are the columns that tell people, their rows and batches
    apart, as far as any was named. `erased` holds, by column, keyed hashes of people who were erased and are
    not to come back; `salt` is their key.
    """

    rows: pa.Table
    published: tuple[str, ...]
    keys: tuple[str, ...]
    releases: int = 0
    groups: int = 0
    withheld: tuple[int, ...] = ()
    batches: Mapping[str, int] = field(default_factory=dict)
    policies: tuple[JsonObject, ...] = ()
    made_by: tuple[int, ...] = ()
    marks: pa.Table = field(default_factory=MARKS.empty_table)
    marks_key: str = field(default="", repr=False)
    person: str | None = None
    by: str | None = None
    since: str | None = None
    erased: Mapping[str, Sequence[str]] = field(default_factory=dict)
    salt: str = field(default="", repr=False)

    # -- what is in it ------------------------------------------------------------------------------------

    def numbers(self, name: str) -> Numbers:
        """Returns one of its own columns as numbers."""
        return np.asarray(self.rows.column(name).to_numpy(), dtype=np.int64)

    def hashes(self, name: str) -> pa.Array:
        """Returns one of its columns of hashes."""
        return whole_array(self.rows.column(name))

    @cached_property
    def is_bare(self) -> Truth:
        """Which rows are bare."""
        return np.asarray(self.rows.column(BARE_ROW).to_numpy(), dtype=np.bool_)

    def shows_values_of(self, rows: pa.Array) -> Truth:
        """Returns which of these rows, by their hashes, it shows with their values."""
        with_values = whole_array(self.rows.column(ROW)).filter(pa.array(~self.is_bare))
        shown: Truth = pc.is_in(rows, with_values).to_numpy(zero_copy_only=False)
        return shown

    @property
    def is_new(self) -> Truth:
        """Which rows the newest release was the first to show."""
        new: Truth = self.numbers(RELEASE) == self.releases
        return new

    def shown(self) -> Truth:
        """Returns which rows are not those of withheld groups."""
        gone, groups = np.array(self.withheld, np.int64), self.numbers(GROUP)
        shown: Truth = ~np.isin(groups, gone) & ~np.isin(self.numbers(HOME), gone)
        of_bare_rows = np.setdiff1d(groups[self.is_bare], groups[~self.is_bare])
        torn = np.intersect1d(of_bare_rows, groups[~shown])
        return shown & ~np.isin(groups, torn)

    def made_under(self, policy: int) -> Truth:
        """Which rows, bare ones aside, are in groups that were made by one of its policies."""
        releases = 1 + np.flatnonzero(np.array(self.made_by, np.int64) == policy)
        made: Truth = np.isin(self.numbers(RELEASE), releases) & ~self.is_bare
        return made

    def sizes(self, rows: Truth) -> Numbers:
        """Returns how many people each group has that shows any of these rows."""
        return np.unique(self.numbers(GROUP)[rows & ~self.is_bare], return_counts=True)[1]

    def loss(self, rows: Truth) -> float:
        """Returns the mean loss of some rows as it was when they were first shown, without bare rows."""
        lost = self.rows.column(LOSS).to_numpy()[rows & ~self.is_bare]
        return float(lost.mean()) if len(lost) else 0.0

    def boxes(self, *, new: bool = False) -> GroupBoxes:
        """Returns what the groups show that are not withheld, or those of the newest release alone."""
        here = self.rows.filter(pa.array(self.shown() & ~self.is_bare & (self.is_new | (not new))))
        groups = np.asarray(here.column(GROUP).to_numpy(), np.int64)
        numbers, first = np.unique(groups, return_index=True)
        one_each = here.take(pa.array(first))
        homes = np.asarray(one_each.column(HOME).to_numpy(), np.int64)
        return GroupBoxes(numbers, homes, {name: one_each.column(name).to_pylist() for name in self.keys})

    def homes_of(self, people: pa.Array) -> Numbers:
        """Returns the group that each of these people is in, or -1."""
        first = self.rows.filter(pa.array(~self.is_bare))
        place = pc.index_in(people, whole_array(first.column(PERSON)))
        homes = pc.fill_null(whole_array(first.column(HOME)).take(place), -1)
        return np.asarray(homes.to_numpy(zero_copy_only=False), np.int64)

    def people_by(self, column: str | None) -> pa.Array | None:
        """Returns the hash of every row's person by a column, or `None` where it has none."""
        if column is None or column == self.person:
            return self.hashes(PERSON) if self.person is not None else None
        return self.hashes(CELL + column) if CELL + column in self.rows.column_names else None

    def without(
        self, people: pa.Array, column: str | None = None, *, forget: bool = False
    ) -> tuple[Base, Truth]:
        """Returns the base without any row of these people, their groups withheld; and whom of them it had.

        A class of bare rows alone goes with a row of it.
        Unless it is to `forget` them, a keyed hash stays by which they are known again, and stay out.
        """
        of_rows, column = self.people_by(column), column or self.person
        if of_rows is None or column is None:
            return self, np.zeros(len(people), dtype=bool)
        theirs = pc.is_in(of_rows, people)
        gone = self.rows.filter(theirs)
        of_bare_rows = np.setdiff1d(gone.column(GROUP).to_numpy(), self.numbers(GROUP)[~self.is_bare])
        groups = {*self.withheld, *pc.unique(gone.column(HOME)).to_pylist(), *of_bare_rows.tolist()}
        left = replace(self, withheld=tuple(sorted(groups)), rows=self.rows.filter(pc.invert(theirs)))
        found = pc.unique(of_rows.filter(theirs))
        if len(found) and not forget:
            salted = replace(left, salt=self.salt or secrets.token_bytes(SALT_BYTES).hex())
            marks = [*self.erased.get(column, ()), *salted._keyed(found)]
            left = replace(salted, erased={**self.erased, column: sorted(set(marks))})
        return left, np.asarray(pc.is_in(people, found).to_numpy(zero_copy_only=False), np.bool_)

    def were_erased(self, column: str, people: pa.Array) -> Truth:
        """Returns which of these people, told apart by a column, were erased and are not to come back."""
        marks = set(self.erased.get(column, ()))
        if not marks:
            return np.zeros(len(people), dtype=bool)
        coded = people.dictionary_encode()
        out = np.array([mark in marks for mark in self._keyed(coded.dictionary)], dtype=bool)
        return np.asarray(out[coded.indices.to_numpy()], np.bool_)

    def _keyed(self, people: pa.Array) -> list[str]:
        key = bytes.fromhex(self.salt)
        return [blake2b(one, key=key, digest_size=16).hexdigest() for one in people.to_pylist()]

    # -- views --------------------------------------------------------------------------------------------

    def view(self, rows: Truth, *, marked: bool | None = None, numbered: bool = False) -> pa.Table:
        """Returns the published columns of some rows.

        `marked` says whether a column tells bare rows from others; unless said, where there are any. With
        `numbered`, for the judge alone, columns tell people, groups and classes apart.
        """
        table = self.rows.filter(pa.array(rows))
        shown, bare = table.select(list(self.published)), table.column(BARE_ROW)
        if numbered:
            people = whole_array(table.column(PERSON)).dictionary_encode().indices
            shown = shown.append_column(PERSON_NUMBER, people.cast(pa.string()))
            shown = shown.append_column(GROUP_NUMBER, table.column(HOME).cast(pa.string()))
            shown = shown.append_column(CLASS_NUMBER, table.column(GROUP).cast(pa.string()))
        if marked if marked is not None else bool((rows & self.is_bare).any()):
            shown = shown.append_column(BARE, pc.if_else(bare, "yes", "no"))
        return shown

    # -- how it grows -------------------------------------------------------------------------------------

    def after_release(
        self, rows: pa.Table, *, policy: JsonObject, batches: Mapping[str, int], leaving: Sequence[int]
    ) -> Base:
        """Returns the base after one more release, with these rows in new groups and some groups withheld."""
        groups = int(pc.max(rows.column(GROUP)).as_py()) + 1 if len(rows) else self.groups
        policies = self.policies if policy in self.policies else (*self.policies, policy)
        return replace(
            self._with(rows),
            releases=self.releases + 1,
            groups=groups,
            withheld=tuple(sorted({*self.withheld, *leaving})),
            batches={**self.batches, **batches},
            policies=policies,
            made_by=(*self.made_by, policies.index(policy)),
        )

    def with_bare_rows(
        self, hashes: Mapping[str, pa.Array], groups: Numbers, texts: Mapping[str, Sequence[Label]]
    ) -> Base:
        """Returns the base with bare rows in its newest release, in boxes of these groups.

        `hashes` are the columns of their hashes.
        """
        count = len(groups)
        columns: dict[str, Any] = {
            **hashes,
            GROUP: pa.array(groups),
            HOME: pa.array(self.homes_of(hashes[PERSON])),
            RELEASE: pa.array(np.full(count, self.releases, np.int32)),
            BARE_ROW: pa.array(np.ones(count, dtype=bool)),
            LOSS: pa.array(np.zeros(count)),
        }
        for name in self.published:
            kind = self.rows.schema.field(name).type
            columns[name] = pa.array(texts[name], kind) if name in texts else pa.nulls(count, kind)
        return replace(
            self._with(pa.table(columns)), groups=max(self.groups, int(groups.max(initial=-1)) + 1)
        )

    def _with(self, rows: pa.Table) -> Base:
        """Returns the base with more rows: cells take the types that earlier releases have."""
        if not len(self.rows):
            return replace(self, rows=rows)
        names = [
            *self.rows.column_names,
            *(name for name in rows.column_names if name not in self.rows.schema.names),
        ]
        earlier, added = _with_columns(self.rows, names), _with_columns(rows, names)
        for place, cells in enumerate(earlier.schema):
            if added.schema.field(place).type == cells.type:
                continue
            if pa.types.is_null(cells.type):  # no earlier release had a value in this column
                empty = pa.nulls(len(earlier), added.schema.field(place).type)
                earlier = earlier.set_column(place, cells.name, empty)
            else:
                added = added.set_column(place, cells.name, _cast(added.column(place), cells))
        return replace(self, rows=pa.concat_tables([earlier, added]))

    def with_marks(self, columns: Mapping[str, Any]) -> Base:
        """Returns the base with marks of more groups, as columns of `MARKS`."""
        added = pa.table([pa.array(columns[cells.name], cells.type) for cells in MARKS], schema=MARKS)
        return replace(self, marks=pa.concat_tables([self.marks, added]).combine_chunks())

    def raised(self, symbols: Truth) -> Base:
        """Returns the base as a recipient sees it who has these symbols, one for each of `marks`."""
        marks, second = self.marks, pa.array(symbols)
        names, texts, costs = (
            pc.if_else(second, *(whole_array(marks.column(f"{side}_{part}")) for side in ("second", "first")))
            for part in ("column", "text", "cost")
        )
        mark_of = np.full(self.groups, -1, np.int64)
        mark_of[marks.column("group").to_numpy()] = np.arange(len(marks))
        mark = mark_of[self.numbers(GROUP)]
        place = pa.array(mark, mask=mark < 0)
        rows = self.rows
        name_of, text_of = names.take(place), texts.take(place)
        for column in self.keys:
            here = pc.fill_null(pc.equal(name_of, column), fill_value=False)
            field_of, at = rows.schema.field(column), rows.schema.get_field_index(column)
            cells = pc.if_else(here, text_of.cast(field_of.type), whole_array(rows.column(column)))
            rows = rows.set_column(at, field_of, cells)
        more = pc.if_else(pa.array(self.is_bare), 0.0, pc.fill_null(costs.take(place), 0.0))
        at = rows.schema.get_field_index(LOSS)
        return replace(self, rows=rows.set_column(at, LOSS, pc.add(rows.column(LOSS), more)))

    # -- as bytes -----------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Returns the base as a file."""
        notes = {part.name: getattr(self, part.name) for part in fields(self) if part.name not in TABLES}
        marks = b64encode(_as_parquet(self.marks))
        meta = {b"sfumato base": VERSION, b"notes": json.dumps(notes).encode(), b"marks": marks}
        return _as_parquet(self.rows.replace_schema_metadata(meta))

    @classmethod
    def from_bytes(cls, content: bytes) -> Base:
        """Reads a base; raises `BadLedger` where it is none."""
        import pyarrow.parquet as pq

        try:
            rows = pq.read_table(io.BytesIO(content))
            meta = rows.schema.metadata or {}
            notes: dict[str, Any] = json.loads(meta[b"notes"])
        except (pa.ArrowException, KeyError, ValueError):
            raise BadLedger("this is no base of a chain", remedy="Restore it from a backup.") from None
        if meta.get(b"sfumato base") != VERSION:
            raise BadLedger("another version wrote the base of this chain", remedy="Use that version.")
        for name in ("published", "keys", "withheld", "policies", "made_by"):
            notes[name] = tuple(notes[name])
        marks = pq.read_table(io.BytesIO(b64decode(meta[b"marks"])))
        return cls(rows.replace_schema_metadata(None), marks=marks, **notes)


TABLES = ("rows", "marks")


def _as_parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def _with_columns(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Returns rows with these columns; hashes that they have not got are missing."""
    for name in names:
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.nulls(len(rows), HASH))
    return rows.select(list(names))


FAMILIES = {
    "a text": (pa.types.is_string, pa.types.is_large_string),
    "a number": (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
    "a day": (pa.types.is_date,),
    "a moment": (pa.types.is_timestamp,),
}


def _family(kind: pa.DataType) -> str:
    """Returns what values of a type are: those of one family may be written in the type of another.

    >>> _family(pa.int8()), _family(pa.float64()), _family(pa.bool_())
    ('a number', 'a number', 'bool')
    """
    return next((name for name, tests in FAMILIES.items() if any(test(kind) for test in tests)), str(kind))


def _cast(cells: pa.ChunkedArray, earlier: pa.Field) -> pa.ChunkedArray:
    """Returns cells in the type of an earlier release; raises where that would change a value.

    Numbers do not become texts, nor moments days: the same value could be written in two ways.
    """
    try:
        if pa.types.is_null(cells.type) or _family(cells.type) == _family(earlier.type):
            return cells.cast(earlier.type, safe=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    raise RefusedByHistory(
        f"column {earlier.name} was published as {earlier.type}, and is {cells.type} now",
        remedy="Write it as before: numbers as numbers of the same kind, dates as dates, texts as texts.",
    )


def whole_array(column: pa.ChunkedArray) -> pa.Array:
    """Returns the cells of a column as one array."""
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def write_rows(
    rows: pa.Table,
    path: Path,
    like: Reader,
    memory: Memory,
    progress: Progress = silent,
    *,
    private: bool = False,
) -> None:
    """Writes rows that are to be published as they are, in an order that their own cells give.

    CSV files have the form of the file that `like` reads. A `private` file can be read by its owner alone.
    """
    write = writer(path, form=text_form(like), private=private)
    with _in_own_order(rows, memory, progress) as published:
        write(published, progress)


def native_rows(rows: pa.Table, like: Reader, memory: Memory, progress: Progress = silent) -> Any:
    """Returns such rows as a table of the kind that `like` reads."""
    with _in_own_order(rows, memory, progress) as published:
        return like.native(published.table())


@contextmanager
def _in_own_order(rows: pa.Table, memory: Memory, progress: Progress) -> Iterator[PublishedRows]:
    table = Microdata.of_codes((), (), counts=np.array([len(rows)]))
    here = np.zeros(table.distinct, np.int32)
    nothing = np.zeros((table.distinct, 0), np.int32)
    source = RowSource(ArrowReader(rows), memory)
    with source._to_publish(table, (), (), progress) as publishing, Spill(memory) as spill:
        published = publishing.published(Recoding(table, here, nothing, nothing), spill, last=True)
        yield publishing.native(published, spill)

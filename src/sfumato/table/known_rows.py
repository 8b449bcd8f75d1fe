"""Rows on their way into a base: who is new, and what newcomers show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.system.coins import Coins
from sfumato.system.errors import BadData, RefusedByHistory
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.arrow_arrays import text_array
from sfumato.table.base import (
    BARE_ROW,
    GROUP,
    HASH,
    HOME,
    KEYS,
    LOSS,
    PERSON,
    RELEASE,
    ROW,
    Base,
    native_rows,
    whole_array,
)
from sfumato.table.cell_text import canonical
from sfumato.table.form_of_source import RowSource
from sfumato.table.keyed_hashes import Marks, joined_marks
from sfumato.table.microdata import ROW_NUMBER, Microdata
from sfumato.table.publication import another_table
from sfumato.table.reader import NumberedReader, PassingReader, Reader
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.source import Source
from sfumato.table.taxonomy import Label

Numbers = NDArray[np.int64]
Truth = NDArray[np.bool_]


ShowsRows = Callable[[Numbers], Numbers]
"""Tells in how many rows people show values, by how many they have."""


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Whose rows those of a table are, beside the base of its chain.

    `first` are the rows in which newcomers show their values, `further` other rows that are new; `people`,
    `rows` and `keys` are hashes, one per row of the table, `keys` those of all quasi-identifiers. `batches`
    counts the rows of batches that come now. `left` counts people of earlier releases who are not in the
    table, `left_groups` lists the groups that they are in, `changed` counts rows that stay as they were
    published, `late` rows of batches that were published before. `alike` counts newcomers whose
    quasi-identifiers are those of somebody who left. `place` is the place of every
    row among its person's, where people may show several.
    """

    first: Truth
    further: Truth
    people: pa.Array
    rows: pa.Array
    keys: pa.Array
    newcomers: int
    place: Numbers | None = None
    batches: Mapping[str, int] = field(default_factory=dict)
    left: int = 0
    left_groups: tuple[int, ...] = ()
    changed: int = 0
    late: int = 0
    alike: int = 0

    def people_of(self, rows: Numbers) -> pa.Array:
        """Returns the hashes of the people that some rows are about."""
        return self.people.take(pa.array(rows))

    def hashes_of(self, rows: Numbers) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Returns the hashes of people, of rows and of quasi-identifiers, of some rows."""
        where = pa.array(rows)
        return self.people.take(where), self.rows.take(where), self.keys.take(where)

    def numbers_of(self, rows: Numbers) -> Numbers:
        """Returns a number for the person of each of some rows, the same for the same person."""
        return np.asarray(self.people_of(rows).dictionary_encode().indices.to_numpy(), np.int64)


def known_rows(
    source: RowSource,
    keys: Sequence[str],
    base: Base | None,
    coins: Coins,
    *,
    person: str | None,
    by: str | None = None,
    since: str | None = None,
    shows: ShowsRows = np.ones_like,
) -> KnownRows:
    """Returns which rows of a table are new, and whose.

    Who is who tells the column `person`; without one, everybody has one row, and the column of batches tells
    who came when.
    """
    if person is not None:
        return _rows_of_people(source, person, keys, base, coins, by, shows)
    return _rows_of_batches(source, keys, base, since)


def _rows_of_people(
    source: RowSource,
    person: str,
    keys: Sequence[str],
    base: Base | None,
    coins: Coins,
    by: str | None,
    shows: ShowsRows,
) -> KnownRows:
    _refuse_nobody(source, person)
    people = hash_array(hashes_of_cells(source.reader, [person], trimmed=person))
    number = pc.dictionary_encode(people).indices.to_numpy()
    told_apart = hashes_of_cells(source.reader, [person, *([by] if by else keys)], trimmed=person)
    rows = hash_array(_with_occurrence(told_apart))
    boxed = hash_array(hashes_of_cells(source.reader, keys))
    count = len(people)
    if base is None:
        known, there = np.zeros(count, bool), np.zeros(count, bool)
    else:
        known = pc.is_in(people, base.hashes(PERSON)).to_numpy(zero_copy_only=False)
        there = pc.is_in(rows, base.hashes(ROW)).to_numpy(zero_copy_only=False)
    first, place = _first_rows(source, number, known, by, coins, shows)
    further = ~first & ~there
    changed = 0
    if base is not None:
        further, changed = _without_changed(base, people, known, further, rows, exact=by is not None)
    newcomers = len(np.unique(number[~known]))
    known_rows = KnownRows(first, further, people, rows, boxed, newcomers, place=place, changed=changed)
    return known_rows if base is None else _with_leavers(known_rows, base)


def people_with_several_rows(source: RowSource, person: str) -> int:
    """Returns how many people have several rows, by the column that tells them apart."""
    people = hashes_of_cells(source.reader, [person], trimmed=person)
    return int((np.unique(people, axis=0, return_counts=True)[1] > 1).sum())


def _refuse_nobody(source: RowSource, person: str) -> None:
    nobody = sum(_empty_cells(batch.column(0), person) for batch in source.reader.batches([person]))
    if nobody:
        raise BadData(
            f"{pluralize(nobody, 'row names', 'rows name')} nobody",
            where=f"column {person}",
            remedy="Give every row a person, or leave such rows out.",
        )


def _empty_cells(cells: pa.Array, name: str) -> int:
    """Returns how many cells are empty, or hold nothing but blanks."""
    texts = pc.utf8_trim_whitespace(canonical(cells, name).cast(pa.large_string()))
    return int(texts.null_count + pc.sum(pc.equal(texts, ""), min_count=0).as_py())


def _with_occurrence(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns hashes that tell equal ones apart by how many of them came before."""
    order = np.lexsort((np.arange(len(hashes)), hashes[:, 1], hashes[:, 0]))
    ordered = hashes[order]
    fresh = np.ones(len(hashes), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    start = np.maximum.accumulate(np.where(fresh, np.arange(len(hashes)), 0))
    counted = hashes.copy()
    counted[order, 1] ^= (np.arange(len(hashes)) - start).astype(np.uint64)
    return counted


def _first_rows(
    source: RowSource, number: Numbers, known: Truth, by: str | None, coins: Coins, shows: ShowsRows
) -> tuple[Truth, Numbers]:
    """Returns the rows of newcomers that show values, the first by `by`, equal ones by coins.

    The numbers are the place of every row among its person's.
    """
    coin = coins.draw("first rows", len(number))
    order = np.zeros(len(number), np.int64)
    if by is not None:
        order = ranks_of_cells(source.reader, by)
    places = np.lexsort((coin, order, number))
    places = places[~known[places]]
    first, place = np.zeros(len(number), dtype=bool), np.zeros(len(number), np.int64)
    _, begin, owner, counts = np.unique(
        number[places], return_index=True, return_inverse=True, return_counts=True
    )
    place[places] = np.arange(len(places)) - begin[owner.ravel()]
    first[places] = place[places] < shows(counts)[owner.ravel()]
    return first, place


def _without_changed(
    base: Base,
    people: pa.Array,
    known: Truth,
    further: Truth,
    rows: pa.Array,
    *,
    exact: bool,
) -> tuple[Truth, int]:
    """Returns the further rows without those that are a published row with other quasi-identifiers.

    Where a column orders a person's rows, it tells which row is which. Otherwise as many new rows of a person
    as published ones are missing are taken to be these, changed: they stay as they were published.
    """
    if exact:
        return further, 0
    missing = base.hashes(ROW)
    gone = ~pc.is_in(missing, rows).to_numpy(zero_copy_only=False)
    gone_people = base.hashes(PERSON).filter(pa.array(gone))
    counts = pc.value_counts(gone_people)
    lacking = dict(zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True))
    candidates = np.flatnonzero(further & known)
    changed = 0
    for row in candidates.tolist():
        who = people[row].as_py()
        if lacking.get(who, 0) > 0:
            lacking[who] -= 1
            further[row] = False
            changed += 1
    return further, changed


def _with_leavers(known: KnownRows, base: Base) -> KnownRows:
    """Returns the same, with who of the base is not in the table."""
    there = pc.is_in(base.hashes(PERSON), pc.unique(known.people)).to_numpy(zero_copy_only=False)
    gone = base.rows.filter(pa.array(~there & base.shown()))
    alike = pc.is_in(known.keys.filter(pa.array(known.first)), whole_array(gone.column(KEYS)))
    return replace(
        known,
        left=pc.count_distinct(gone.column(PERSON)).as_py(),
        left_groups=tuple(sorted(pc.unique(gone.column(HOME)).to_pylist())),
        alike=int(pc.sum(alike, min_count=0).as_py()),
    )


def _rows_of_batches(
    source: RowSource, keys: Sequence[str], base: Base | None, since: str | None
) -> KnownRows:
    if since is None and base is not None:
        raise RefusedByHistory(
            "nothing tells who is in earlier releases of this chain already",
            remedy="Name the column that tells people apart (`person: COLUMN`), or the column of batches"
            " (`chain: {since: COLUMN}`), where nobody has two rows.",
        )
    boxed = hashes_of_cells(source.reader, keys)
    count = len(boxed)
    fresh, batches, late = np.ones(count, dtype=bool), {}, 0
    if since is not None:
        _refuse_no_batch(source, since)
        names = [mark.tobytes().hex() for mark in hashes_of_cells(source.reader, [since])]
        published = {} if base is None else base.batches
        fresh = np.array([name not in published for name in names], dtype=bool)
        counts = Counter(names)
        batches = {name: counts[name] for name in sorted(counts) if name not in published}
        late = sum(max(0, counts[name] - rows) for name, rows in published.items())
    own = np.stack([np.arange(count, dtype=np.uint64), np.zeros(count, np.uint64)], axis=1)
    own[:, 1] = np.uint64(0 if base is None else base.releases)
    people, none = hash_array(own), np.zeros(count, dtype=bool)
    newcomers = int(fresh.sum())
    return KnownRows(fresh, none, people, people, hash_array(boxed), newcomers, batches=batches, late=late)


def _refuse_no_batch(source: RowSource, since: str) -> None:
    lacking = sum(_empty_cells(batch.column(0), since) for batch in source.reader.batches([since]))
    if lacking:
        raise BadData(
            f"{pluralize(lacking, 'row names', 'rows name')} no batch",
            where=f"column {since}",
            remedy="Say of every row with which batch it came, or leave such rows out.",
        )


# Rows that become part of a base.


@dataclass(eq=False)
class ChosenRowsReader(PassingReader):
    """A reader that hands out some rows of another one, in their order."""

    chosen: Truth

    @property
    def total(self) -> int | None:
        return int(self.chosen.sum())

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in self.reader.batches(names):
            mask = self.chosen[done : done + batch.num_rows]
            done += batch.num_rows
            yield batch if mask.all() else batch.filter(pa.array(mask))


def rows_where(reader: Reader, name: str, text: str) -> Truth:
    """Returns which rows have a text in a column."""
    found = [pc.equal(canonical(batch.column(0), name), text) for batch in reader.batches([name])]
    parts = [pc.fill_null(part, False).to_numpy(zero_copy_only=False) for part in found]
    return np.concatenate([np.zeros(0, dtype=bool), *parts]).astype(np.bool_)


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


def hashes_of_people(keys: Sequence[str]) -> pa.Array:
    """Returns the hashes that a base has of people, by the texts of their keys."""
    labels: list[Label] = [key.strip() for key in keys]
    return hash_array(joined_marks([(labels, np.arange(len(keys), dtype=np.int32))], len(keys)))


def hashes_of_cells(reader: Reader, names: Sequence[str], *, trimmed: str | None = None) -> Marks:
    """Returns a hash for every row of a table, over the texts of these columns.

    Blanks around the texts of the column `trimmed` do not count.
    """
    columns: list[list[pa.Array]] = [[] for _ in names]
    for batch in reader.batches(list(names)):
        for cells, name in zip(columns, names, strict=True):
            texts = canonical(batch.column(name), name)
            if name == trimmed:
                texts = pc.utf8_trim_whitespace(texts.cast(pa.large_string()))
            cells.append(texts.dictionary_encode())
    coded, rows = [], 0
    for cells in columns:
        if not cells:
            continue
        one = whole_array(pa.chunked_array(cells).unify_dictionaries())
        rows = len(one)
        labels = [*one.dictionary.to_pylist(), None]
        codes = pc.fill_null(one.indices, len(labels) - 1).to_numpy(zero_copy_only=False).astype(np.int32)
        coded.append((labels, codes))
    return joined_marks(coded, rows) if coded else np.zeros((0, 2), np.uint64)


def ranks_of_cells(reader: Reader, name: str) -> Numbers:
    """Returns for every row the place of its value among those of a column in ascending order; empty cells
    last.
    """
    encoded = whole_array(_plain(reader, [name]).column(0).dictionary_encode().unify_dictionaries())
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = len(order)
    places: Numbers = rank[pc.fill_null(encoded.indices, len(order)).to_numpy(zero_copy_only=False)]
    return places


def codes_of_cells(reader: Reader, name: str) -> Numbers:
    """Returns for every row a number of its value in a column; empty cells have one, too."""
    texts = [canonical(batch.column(0), name).cast(pa.large_string()) for batch in reader.batches([name])]
    encoded = whole_array(pa.chunked_array(texts, pa.large_string()).dictionary_encode("encode"))
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


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
    for place, cells in enumerate(table.schema):
        if pa.types.is_dictionary(cells.type):
            plain = table.column(place).cast(cells.type.value_type)
            table = table.set_column(place, cells.name, plain)
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
    if name == ROW_NUMBER:
        return np.asarray(cells.to_numpy(), np.int64)
    encoded = canonical(whole_array(cells), name).dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    places: Numbers = rank[encoded.indices.to_numpy()]
    return places


def people_of_plan(
    source: RowSource,
    recoding: Recoding,
    base: Base | None,
    known: KnownRows,
    published: Sequence[str],
    homes: Numbers | None = None,
) -> pa.Table:
    """Returns the rows of newcomers as they enter the base: each class of the plan is a new one.

    The rows of `source` are those in which newcomers show their values. `homes` is the first class of the
    group of each class, where groups have several.
    """
    table, classes, which = recoded_rows(source, recoding, published)
    where = pa.array(np.flatnonzero(known.first)[which])
    before = 0 if base is None else base.groups
    homes = np.arange(recoding.count) if homes is None else homes
    release = 1 if base is None else base.releases + 1
    columns: dict[str, Any] = {
        PERSON: known.people.take(where),
        ROW: known.rows.take(where),
        KEYS: known.keys.take(where),
        GROUP: pa.array(classes + before),
        HOME: pa.array(homes[classes] + before),
        RELEASE: pa.array(np.full(len(classes), release, np.int32)),
        BARE_ROW: pa.array(np.zeros(len(classes), dtype=bool)),
        LOSS: pa.array(_loss_of_classes(recoding)[classes]),
    }
    return pa.table({**columns, **{name: table.column(name) for name in table.column_names}})


def _loss_of_classes(recoding: Recoding) -> NDArray[np.float64]:
    """Returns the mean share of values that the box of each class stands for."""
    lost, keys = np.zeros(recoding.count), recoding.table.keys
    for j, column in enumerate(keys):
        leaves = len(column.taxonomy.leaves)
        if leaves > 1:
            lost += (recoding.high[:, j] - recoding.low[:, j] - 1) / (leaves - 1)
    return lost / max(1, len(keys))


# A planned table, published later: its rows have to be those that were planned.


def mark_of_table(source: RowSource, names: Sequence[str]) -> int:
    """Returns a number that other rows would hardly have, whatever their order."""
    return int(hashes_of_cells(source.reader, names)[:, 0].sum(dtype=np.uint64))


def planned_rows(
    source: Source, names: Sequence[str], base: Base, mark: int, *, progress: Progress = silent
) -> Any:  # the source's kind
    """Returns what a base shows, as a table of the kind of the source, if that holds the planned rows."""
    if not isinstance(source, RowSource) or mark_of_table(source, names) != mark:
        raise another_table()
    return native_rows(base.view(base.shown()), source.reader, source.memory, progress)

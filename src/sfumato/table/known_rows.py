"""Rows on their way into a base: who is new, and what newcomers show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
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
    CELL,
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
from sfumato.table.keyed_hashes import Marks, joined_marks, marks_together
from sfumato.table.microdata import ROW_NUMBER, Microdata
from sfumato.table.publication import another_table
from sfumato.table.reader import ArrowReader, NumberedReader, PassingReader, Reader, whole_table
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.source import Source
from sfumato.table.taxonomy import Label

Numbers = NDArray[np.int64]
Truth = NDArray[np.bool_]


ShowsRows = Callable[[Numbers], Numbers]
"""Tells in how many rows people show values, by how many they have."""


@dataclass(frozen=True)
class WhoIsWho:
    """What tells whose the rows of a table are: columns of it.

    `person` tells people apart, and `by` their rows, which it orders. Without a person everybody has one row,
    and `since`, the column of batches, tells who came when. `keys` are the quasi-identifiers, `others` the
    columns that are not published.
    """

    keys: tuple[str, ...]
    person: str | None = None
    by: str | None = None
    since: str | None = None
    others: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose cells a base remembers as hashes, so that each of them may tell people later."""
        named = [name for name in (self.person, self.by, self.since) if name is not None]
        return tuple(dict.fromkeys([*named, *self.others, *sorted(self.keys)]))


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Whose rows those of a table are, beside the base of its chain.

    `first` are the rows in which newcomers show their values, `further` other rows that are new; `people`,
    `rows` and `keys` are hashes, one per row of the table, `keys` those of all quasi-identifiers, and `cells`
    those of every column that may tell people apart. `before` is the base, as these columns tell it apart.
    `batches` counts the rows of batches that come now. `left` counts people of earlier releases who are not
    in the table, `left_groups` lists the groups that they are in, `changed` counts rows that are not as they
    were published, `late` rows of batches that were published before, `erased` rows of people who were
    erased. `alike` counts newcomers whose quasi-identifiers are those of somebody who left. `place` is the
    place of every row among its person's, where people may show several.
    """

    first: Truth
    further: Truth
    people: pa.Array
    rows: pa.Array
    keys: pa.Array
    cells: Mapping[str, pa.Array]
    newcomers: int
    before: Base | None = None
    place: Numbers | None = None
    batches: Mapping[str, int] = field(default_factory=dict)
    left: int = 0
    left_groups: tuple[int, ...] = ()
    changed: int = 0
    late: int = 0
    alike: int = 0
    erased: int = 0

    def people_of(self, rows: Numbers) -> pa.Array:
        """Returns the hashes of the people that some rows are about."""
        return self.people.take(pa.array(rows))

    def hashes_of(self, rows: Numbers) -> dict[str, pa.Array]:
        """Returns the columns of hashes that a base has of some rows."""
        where = pa.array(rows)
        own = {PERSON: self.people, ROW: self.rows, KEYS: self.keys}
        own |= {CELL + name: cells for name, cells in self.cells.items()}
        return {name: cells.take(where) for name, cells in own.items()}

    def numbers_of(self, rows: Numbers) -> Numbers:
        """Returns a number for the person of each of some rows, the same for the same person."""
        return np.asarray(self.people_of(rows).dictionary_encode().indices.to_numpy(), np.int64)


def known_rows(
    source: RowSource,
    who: WhoIsWho,
    base: Base | None,
    coins: Coins,
    *,
    again: bool = False,
    shows: ShowsRows = np.ones_like,
) -> KnownRows:
    """Returns which rows of a table are new, and whose.

    With `again`, a published row that changed counts as a further one.
    """
    cells = hashes_by_column(source.reader, who.columns, trimmed=(who.person, who.since, *who.others))
    base = None if base is None else told_by(base, who)
    if who.person is not None:
        return _rows_of_people(source, who, cells, base, coins, again=again, shows=shows)
    return _rows_of_batches(who, cells, base)


def _rows_of_people(
    source: RowSource,
    who: WhoIsWho,
    cells: Mapping[str, Marks],
    base: Base | None,
    coins: Coins,
    *,
    again: bool,
    shows: ShowsRows,
) -> KnownRows:
    own = cells[str(who.person)]
    _refuse_empty(own, str(who.person), "nobody", "Give every row a person, or leave such rows out.")
    boxed = marks_together([cells[name] for name in sorted(who.keys)], len(own))
    people, keys = hash_array(own), hash_array(boxed)
    rows = hash_array(_marks_of_rows(own, boxed if who.by is None else cells[who.by]))
    number = np.asarray(pc.dictionary_encode(people).indices.to_numpy(), np.int64)
    known, there = np.zeros(len(own), dtype=bool), np.zeros(len(own), dtype=bool)
    out = np.zeros(len(own), dtype=bool)
    if base is not None:
        out = base.were_erased(str(who.person), people)
        known = _is_in(people, base.hashes(PERSON))
        there = _is_in(rows, base.hashes(ROW))
    first, place = _first_rows(source, number, known | out, who.by, coins, shows)
    further, changed = ~first & ~there & ~out, 0
    if base is not None:
        moved = _changed_rows(base, people, rows, keys, further, exact=who.by is not None)
        further, changed = further | moved if again else further & ~moved, int(moved.sum())
    found = KnownRows(
        first,
        further,
        people,
        rows,
        keys,
        {name: hash_array(marks) for name, marks in cells.items()},
        len(np.unique(number[~known & ~out])),
        base,
        place=place,
        changed=changed,
        erased=int(out.sum()),
    )
    return found if base is None else _with_leavers(found, base)


def people_with_several_rows(source: RowSource, person: str) -> int:
    """Returns how many people have several rows, by the column that tells them apart."""
    people = hashes_by_column(source.reader, [person], trimmed=(person,))[person]
    return int((np.unique(people, axis=0, return_counts=True)[1] > 1).sum())


def _is_in(hashes: pa.Array, among: pa.Array) -> Truth:
    return np.asarray(pc.is_in(hashes, among).to_numpy(zero_copy_only=False), np.bool_)


def _refuse_empty(marks: Marks, name: str, what: str, remedy: str) -> None:
    """Raises where a cell that has to name somebody, or a batch, is empty or blank."""
    empty = joined_marks([([None, ""], np.arange(2, dtype=np.int32))], 2)
    lacking = int((marks[:, None, :] == empty[None, :, :]).all(axis=2).any(axis=1).sum())
    if lacking:
        raise BadData(
            f"{pluralize(lacking, 'row names', 'rows name')} {what}", where=f"column {name}", remedy=remedy
        )


def _marks_of_rows(people: Marks, told_apart_by: Marks) -> Marks:
    """Returns a mark for every row of a person; of equal ones each has another."""
    marks = marks_together([people, told_apart_by], len(people))
    order = np.lexsort((np.arange(len(marks)), marks[:, 1], marks[:, 0]))
    ordered = marks[order]
    fresh = np.ones(len(marks), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    start = np.maximum.accumulate(np.where(fresh, np.arange(len(marks)), 0))
    marks[order, 1] ^= (np.arange(len(marks)) - start).astype(np.uint64)
    return marks


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


def _changed_rows(
    base: Base, people: pa.Array, rows: pa.Array, keys: pa.Array, further: Truth, *, exact: bool
) -> Truth:
    """Returns the rows that are a published row with other quasi-identifiers.

    Where a column orders a person's rows, it tells which row is which. Otherwise as many new rows of a person
    as published ones are missing are taken to be these, in a table that has most rows of whoever is in it
    still: in one that has not, they are new visits.
    """
    if exact:
        same, as_it_was = _is_in(rows, base.hashes(ROW)), _pairs(rows, keys)
        return same & ~_is_in(as_it_was, _pairs(base.hashes(ROW), base.hashes(KEYS)))
    theirs = _is_in(base.hashes(PERSON), people)
    gone = theirs & ~_is_in(base.hashes(ROW), rows)
    if 2 * gone.sum() > theirs.sum():
        return np.zeros(len(further), dtype=bool)
    numbered = pa.chunked_array([people, base.hashes(PERSON)]).dictionary_encode().unify_dictionaries()
    number = whole_array(numbered).indices.to_numpy()
    lacking = np.bincount(number[len(people) :][gone], minlength=int(number.max(initial=-1)) + 1)
    candidates = np.flatnonzero(further)
    whose = number[candidates]
    order = np.argsort(whose, kind="stable")
    start = np.searchsorted(whose[order], whose[order])
    moved = np.zeros(len(further), dtype=bool)
    moved[candidates[order]] = np.arange(len(order)) - start < lacking[whose[order]]
    return moved


def _pairs(left: pa.Array, right: pa.Array) -> pa.Array:
    """Returns two hashes of every row as one."""
    return hash_array(marks_together([marks_of(left), marks_of(right)], len(left)))


def _with_leavers(known: KnownRows, base: Base) -> KnownRows:
    """Returns the same, with who of the base is not in the table."""
    there = _is_in(base.hashes(PERSON), pc.unique(known.people))
    gone = base.rows.filter(pa.array(~there & base.shown()))
    alike = _is_in(known.keys.filter(pa.array(known.first)), whole_array(gone.column(KEYS)))
    return replace(
        known,
        left=pc.count_distinct(gone.column(PERSON)).as_py(),
        left_groups=tuple(sorted(pc.unique(gone.column(HOME)).to_pylist())),
        alike=int(alike.sum()),
    )


def _rows_of_batches(who: WhoIsWho, cells: Mapping[str, Marks], base: Base | None) -> KnownRows:
    if who.since is None and base is not None:
        raise AssertionError
    boxed = [cells[name] for name in sorted(who.keys)]
    count = len(next(iter(cells.values())))
    fresh, batches, late = np.ones(count, dtype=bool), {}, 0
    if who.since is not None:
        remedy = "Say of every row with which batch it came, or leave such rows out."
        _refuse_empty(cells[who.since], who.since, "no batch", remedy)
        rows_of = _batches(hash_array(cells[who.since]))
        published = {} if base is None else base.batches
        batches = {name: rows for name, rows in rows_of.items() if name not in published}
        late = sum(max(0, rows_of.get(name, 0) - rows) for name, rows in published.items())
        known = pa.array([bytes.fromhex(name) for name in published], HASH)
        fresh = ~_is_in(hash_array(cells[who.since]), known)
    out = np.zeros(count, dtype=bool)
    for name in () if base is None else base.erased:
        out |= base.were_erased(name, hash_array(cells[name])) if base is not None and name in cells else out
    fresh &= ~out
    own = np.stack([np.arange(count, dtype=np.uint64), np.zeros(count, np.uint64)], axis=1)
    own[:, 1] = np.uint64(0 if base is None else base.releases)
    people, none = hash_array(own), np.zeros(count, dtype=bool)
    return KnownRows(
        fresh,
        none,
        people,
        people,
        hash_array(marks_together(boxed, count)),
        {name: hash_array(marks) for name, marks in cells.items()},
        int(fresh.sum()),
        base,
        batches=batches,
        late=late,
        erased=int(out.sum()),
    )


def _batches(cells: pa.Array) -> dict[str, int]:
    """Returns the hash of every batch with its number of rows, in an order that hashes give."""
    counts = pc.value_counts(cells)
    names = [name.hex() for name in counts.field(0).to_pylist()]
    return dict(sorted(zip(names, counts.field(1).to_pylist(), strict=True)))


# A base as other columns tell its people apart: whoever began a chain without a word names one later.


def told_by(base: Base, who: WhoIsWho) -> Base:
    """Returns a base whose people and rows are told apart by these columns; raises where they cannot be."""
    if who.person is None and who.since is None:
        raise RefusedByHistory(
            "nothing tells who is in earlier releases of this chain already",
            remedy="Name the column that tells people apart (`person: COLUMN`), or the column of batches"
            " (`chain: {since: COLUMN}`), where nobody has two rows.",
        )
    if (who.person, who.since, who.by) == (base.person, base.since, base.by):
        return base
    if base.person is not None and who.person is None:
        raise RefusedByHistory(
            f"earlier releases of this chain tell people apart by {base.person}",
            where="policy, chain",
            remedy=f"Write `person: {base.person}`, as before.",
        )
    if who.person is None:
        counts = _batches(_cells_of(base, str(who.since), "chain.since"))
        return replace(base, since=who.since, by=None, batches=counts)
    people = _cells_of(base, who.person, "person")
    if not _same_people(base, people, who.person):
        raise RefusedByHistory(
            f"{who.person} does not tell the people of earlier releases apart as these did",
            where="policy, person",
            remedy=f"Write `person: {base.person}`, as before." if base.person else "Name another column.",
        )
    rows = _cells_of(base, who.by, "chain.by") if who.by is not None else base.hashes(KEYS)
    marks = _marks_of_rows(marks_of(people), marks_of(rows))
    told = base.rows.set_column(base.rows.column_names.index(PERSON), PERSON, people)
    told = told.set_column(told.column_names.index(ROW), ROW, hash_array(marks))
    return replace(base, rows=told, person=who.person, by=who.by, since=None, batches={})


def _same_people(base: Base, people: pa.Array, name: str) -> bool:
    """Whether a column tells the people of a base apart as they were told apart when they came.

    Where nothing told them apart, everybody had one row.
    """
    empty = joined_marks([([None, ""], np.arange(2, dtype=np.int32))], 2)
    if name != base.person and _is_in(people, hash_array(empty)).any():
        return False
    pairs = pc.count_distinct(_pairs(base.hashes(PERSON), people)).as_py()
    both = (pc.count_distinct(base.hashes(PERSON)).as_py(), pc.count_distinct(people).as_py())
    return both == (pairs, pairs)


def _cells_of(base: Base, name: str, place: str) -> pa.Array:
    """Returns the hashes of a column in all rows of a base; raises where it does not have them."""
    if CELL + name in base.rows.column_names:
        cells = base.hashes(CELL + name)
        if not cells.null_count:
            return cells
    elif name in base.published and name not in base.keys and not base.is_bare.any():
        shown = hashes_by_column(ArrowReader(base.rows.select([name])), [name])
        return hash_array(shown[name])
    raise RefusedByHistory(
        f"what {name} was in earlier releases of this chain is not known",
        where=f"policy, {place}",
        remedy="Name a column that was in all of them.",
    )


# What looks as if people, their ids or codes had changed since the last release.

FEW = Fraction(1, 10)
"""Where more people share all quasi-identifiers with somebody else, that says nothing of who they are."""
MANY_LEAVERS = 10
"""Fewer people who seem to have left may have twins among newcomers by chance."""
FREQUENT = Fraction(1, 50)
"""Values of more rows than this share, and of `FEWEST_ROWS`, do not vanish by chance."""
FEWEST_ROWS = 5


@dataclass(frozen=True)
class Doubts:
    """What may be wrong with who is who: counts of people, and columns.

    `two_ids` people share all quasi-identifiers with somebody of another id, where few do. Rows of
    `two_people` ids differ in most quasi-identifiers. In `renamed` columns a frequent value is gone and
    another one is new. With `new_ids`, most people who left seem to have come back under another id.
    """

    two_ids: int = 0
    two_people: int = 0
    renamed: tuple[str, ...] = ()
    new_ids: bool = False


def doubts_of(known: KnownRows, who: WhoIsWho, source: RowSource) -> Doubts:
    """Returns what looks wrong with the people of a table and of the base before it."""
    base = known.before
    renamed = () if base is None else _renamed(known, who, base, source.reader)
    if who.person is None:
        return Doubts(renamed=renamed)
    people, boxed = _numbers(known, base, PERSON), _numbers(known, base, KEYS)
    pairs = np.unique(np.stack([boxed, people]), axis=1)
    people_of = np.bincount(pairs[0])
    sharing = int(people_of[people_of > 1].sum())
    everybody, boxes = len(np.unique(people)), len(np.unique(boxed))
    tell_apart = known.newcomers > 0 and boxes > everybody * (1 - FEW) / 2
    differing = np.zeros(int(people.max(initial=-1)) + 1, np.int64)
    order = np.argsort(people, kind="stable")
    start = np.flatnonzero(np.diff(people[order], prepend=-1))
    for name in who.keys if len(order) else ():
        cells = _numbers(known, base, CELL + name)[order]
        varies = np.minimum.reduceat(cells, start) < np.maximum.reduceat(cells, start)
        differing[people[order][start]] += varies
    return Doubts(
        sharing if sharing <= FEW * everybody else 0,
        int((2 * differing > max(2, len(who.keys))).sum()),
        renamed,
        known.left >= MANY_LEAVERS and 2 * known.alike > known.left and tell_apart,
    )


def _numbers(known: KnownRows, base: Base | None, name: str) -> Numbers:
    """Returns the cells of a column of hashes as numbers: those of the table, then those of the base."""
    parts = [known.hashes_of(np.arange(len(known.people)))[name]]
    if base is not None and name in base.rows.column_names:
        parts.append(base.hashes(name))
    coded = whole_array(pa.chunked_array(parts).dictionary_encode().unify_dictionaries())
    return np.asarray(pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False), np.int64) + 1


def _renamed(known: KnownRows, who: WhoIsWho, base: Base, reader: Reader) -> tuple[str, ...]:
    """Returns the columns in which a few frequent values of the base are gone, and others are new.

    Where most frequent values changed, they tell of time or place, and are no codes.
    """
    columns = []
    for name in base.published:
        if name in (who.by, who.since):
            continue
        if name in base.keys:
            cells = CELL + name
            if cells not in base.rows.column_names:
                continue
            before, now = base.hashes(cells), known.cells[name]
        else:
            shown = base.rows.filter(pa.array(~base.is_bare)).select([name])
            before, now = (_texts(each, name) for each in (ArrowReader(shown), reader))
        frequent, new = _frequent(before), _frequent(now)
        gone = len(frequent) - int(pc.sum(pc.is_in(frequent, now), min_count=0).as_py())
        come = len(new) - int(pc.sum(pc.is_in(new, before), min_count=0).as_py())
        if come and 0 < 3 * gone <= len(frequent):
            columns.append(name)
    return tuple(columns)


def _texts(reader: Reader, name: str) -> pa.Array:
    parts = [canonical(batch.column(0), name).cast(pa.large_string()) for batch in reader.batches([name])]
    return whole_array(pa.chunked_array(parts, pa.large_string()))


def _frequent(cells: pa.Array) -> pa.Array:
    counts = pc.value_counts(cells.drop_null())
    enough = pc.greater_equal(counts.field(1), max(FEWEST_ROWS, int(FREQUENT * len(cells))))
    return counts.field(0).filter(enough)


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


def marks_of(hashes: pa.Array) -> Marks:
    """Returns the marks that a column of hashes holds.

    >>> marks_of(hash_array(np.ones((3, 2), np.uint64))[1:]).tolist()
    [[1, 1], [1, 1]]
    """
    cells = np.frombuffer(hashes.buffers()[1], "<u8").astype(np.uint64).reshape(-1, 2)
    return cells[hashes.offset : hashes.offset + len(hashes)]


def hashes_of_people(keys: Sequence[str]) -> pa.Array:
    """Returns the hashes that a base has of people, by the texts of their keys."""
    labels: list[Label] = [key.strip() for key in keys]
    return hash_array(joined_marks([(labels, np.arange(len(keys), dtype=np.int32))], len(keys)))


def hashes_by_column(
    reader: Reader, names: Sequence[str], *, trimmed: Collection[str | None] = ()
) -> dict[str, Marks]:
    """Returns a hash for every cell of some columns.

    Blanks around the texts of the columns `trimmed` do not count.
    """
    columns: dict[str, list[pa.Array]] = {name: [] for name in names}
    for batch in reader.batches(list(names)):
        for name, cells in columns.items():
            texts = canonical(batch.column(name), name)
            if name in trimmed:
                texts = pc.utf8_trim_whitespace(texts.cast(pa.large_string()))
            cells.append(texts.dictionary_encode())
    return {name: _marks_of_texts(cells) for name, cells in columns.items()}


def _marks_of_texts(cells: Sequence[pa.Array]) -> Marks:
    if not cells:
        return np.zeros((0, 2), np.uint64)
    one = whole_array(pa.chunked_array(cells).unify_dictionaries())
    labels = [*one.dictionary.to_pylist(), None]
    codes = pc.fill_null(one.indices, len(labels) - 1).to_numpy(zero_copy_only=False).astype(np.int32)
    return joined_marks([(labels, codes)], len(one))


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
    table = whole_table(reader, names)
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
    before = 0 if base is None else base.groups
    homes = np.arange(recoding.count) if homes is None else homes
    release = 1 if base is None else base.releases + 1
    columns: dict[str, Any] = {
        **known.hashes_of(np.flatnonzero(known.first)[which]),
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
    cells = list(hashes_by_column(source.reader, names).values())
    return int(marks_together(cells, len(cells[0]))[:, 0].sum(dtype=np.uint64))


def planned_rows(
    source: Source, names: Sequence[str], base: Base, mark: int, *, progress: Progress = silent
) -> Any:  # the source's kind
    """Returns what a base shows, as a table of the kind of the source, if that holds the planned rows."""
    if not isinstance(source, RowSource) or mark_of_table(source, names) != mark:
        raise another_table()
    return native_rows(base.view(base.shown()), source.reader, source.memory, progress)

"""Microdata: a table about persons, as integer codes."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.table.taxonomy import Label, Taxonomy

# Keys of people: which texts are other writings of one key.
#
# Two texts are one key where they are equal once composed (NFC) and without blanks around them. Case and
# leading zeros tell keys apart: random keys use both.


def plain_key(key: str) -> str:
    """Returns the key composed, without blanks around it.

    >>> plain_key(" b3\\t"), plain_key("B3"), plain_key("e\\u0301") == "\\u00e9"
    ('b3', 'B3', True)
    """
    return unicodedata.normalize("NFC", key).strip()


def keys_written_twice(keys: Sequence[Label]) -> int:
    """Returns how many of these different texts are further writings of another one.

    >>> keys_written_twice(["1", " 1", "1 ", "2 ", "01"])
    2
    """
    written = ((key, plain_key(key)) for key in keys if key is not None)
    rewritten = [plain for key, plain in written if plain != key]
    if not rewritten:
        return 0
    plain = set(keys)
    return sum(count - (key not in plain) for key, count in Counter(rewritten).items())


# Term sets: what a cell of a set-valued column holds, as one text.

UNIT = "\x1f"
"""Joins the terms of a set in a coded column, whatever joins them in the source."""


BARE = "bare_row"
"""The published column that tells bare rows from others, in views that have any."""
VALUE_MARK = "="
"""Stands between the name of a column and its value where the value is a term."""


@dataclass(frozen=True)
class PartForm:
    """How one column says which term of a set a row has: 0 and 1 unless said; two other `marks`, of absence
    and presence; or its `values`, each of which is a term.

    >>> PartForm(values=True).term("blood group", "AB"), PartForm().term("fever", "1")
    ('blood group=AB', 'fever')
    """

    marks: tuple[str, str] | None = None
    values: bool = False

    def term(self, column: str, value: str) -> str:
        """The term of a row that has one."""
        return f"{column}{VALUE_MARK}{value}" if self.values else column

    def value(self, column: str, terms: Iterable[str]) -> str | None:
        """The value of a column of values in a row with these terms; `None` where its term is not there."""
        start = f"{column}{VALUE_MARK}"
        return next((term.removeprefix(start) for term in terms if term.startswith(start)), None)


@dataclass(frozen=True)
class SetForm:
    """How a source writes term sets: text with a `separator`, lists, or several columns (`parts`).

    A part is a column of 0 and 1 that stands for one term, unless `part_forms` says otherwise. Engines
    translate to and from the one text that all other code sees: the terms joined by `UNIT`.
    """

    separator: str = ";"
    parts: tuple[str, ...] = ()
    part_forms: tuple[PartForm, ...] = ()

    def form_of(self, part: str) -> PartForm:
        """How one of the parts is read."""
        return self.part_forms[self.parts.index(part)] if self.part_forms else PartForm()


def terms_of(text: Label) -> tuple[str, ...]:
    """The terms of a set, each once, in the order in which they stand; nothing between two marks is no term.

    >>> terms_of("fever\x1fcough\x1f\x1ffever"), terms_of(""), terms_of(None)
    (('fever', 'cough'), (), ())
    """
    return tuple(dict.fromkeys(term for term in (text or "").split(UNIT) if term))


def text_of(terms: Iterable[str]) -> str:
    """The text of a set."""
    return UNIT.join(terms)


def shortened(text: Label, gone: Sequence[str]) -> Label:
    """The set without some of its terms; untouched where none is gone, missing where nothing is left.

    >>> shortened("fever\x1fcough", ["fever"]), shortened("fever", ["fever"])
    ('cough', None)
    """
    if not gone:
        return text
    left = [term for term in terms_of(text) if term not in set(gone)]
    return text_of(left) if left else None


ROW_NUMBER = "\x1frow"
"""Named as the person column where every row is a person: a source then numbers its rows."""


# Several small codes in one integer key.

WORD_BITS = 63
"""Bits used of a 64-bit word: keys stay non-negative when seen as signed."""

Words = NDArray[np.int64]


@dataclass(frozen=True)
class Packing:
    """Where each column's code sits in the key; schemas wider than 63 bits take several words.

    The first column is the most significant, so that sorting keys sorts rows column by column.

    >>> packing = Packing((3, 500))
    >>> words = packing.pack([np.array([0, 2, 1]), np.array([7, 499, 0])])
    >>> packing.unpack(words, 1).tolist()
    [7, 499, 0]
    """

    sizes: tuple[int, ...]

    @cached_property
    def places(self) -> tuple[tuple[int, int, int], ...]:
        """(word, shift, bits) of every column."""
        bits = [max(1, int(size - 1).bit_length()) for size in self.sizes]
        word_of, word, used = [], 0, 0
        for width in bits:
            if used + width > WORD_BITS:
                word, used = word + 1, 0
            word_of.append(word)
            used += width
        places, left = [], dict.fromkeys(range(word + 1), 0)
        for column in reversed(range(len(bits))):
            w = word_of[column]
            places.append((w, left[w], bits[column]))
            left[w] += bits[column]
        return tuple(reversed(places))

    @property
    def words(self) -> int:
        """How many 64-bit words a key takes."""
        return max((word for word, _, _ in self.places), default=0) + 1

    def pack(self, columns: Sequence[NDArray[np.integer]]) -> Words:
        """One key per row, an array of shape (words, rows)."""
        rows = len(columns[0]) if columns else 0
        packed = np.zeros((self.words, rows), dtype=np.int64)
        for codes, (word, shift, _) in zip(columns, self.places, strict=True):
            packed[word] |= codes.astype(np.int64) << shift
        return packed

    def unpack(self, packed: Words, column: int) -> NDArray[np.int32]:
        """The codes of one column."""
        word, shift, bits = self.places[column]
        codes: NDArray[np.int64] = (packed[word] >> shift) & ((1 << bits) - 1)
        return codes.astype(np.int32)


BLOCK_ROWS = 1 << 16
"""Rows handled at a time where memory matters."""


def sorted_keys(packed: Words) -> Words:
    """The keys in ascending order; one-word keys are sorted in place."""
    if len(packed) == 1:
        packed[0].sort()
        return packed
    return packed[:, np.lexsort(packed[::-1])]


def sort_and_count(packed: Words, counts: NDArray[np.int64] | None = None) -> tuple[Words, NDArray[np.int64]]:
    """The distinct keys in ascending order, and how often each occurs.

    One-word keys without counts are sorted in place and may share memory with the result.
    """
    if counts is None:
        keys = sorted_keys(packed)
        return _run_lengths(keys, _first_of_equals(keys))
    order = np.argsort(packed[0]) if len(packed) == 1 else np.lexsort(packed[::-1])
    keys, counts = packed[:, order], counts[order].astype(np.int64, copy=False)
    del order
    return _run_sums(keys, counts, _first_of_equals(keys)) if len(counts) else (keys, counts)


def numbered_keys(packed: Words) -> tuple[NDArray[np.int32], Words]:
    """The number of every key among the distinct keys, and these, ascending."""
    if len(packed) == 1:
        size = int(packed[0].max(initial=-1)) + 1
        if size <= 4 * packed.shape[1] + 1024:  # then a table of all keys is no larger than the keys
            there = np.zeros(size, dtype=bool)
            there[packed[0]] = True
            number = np.cumsum(there, dtype=np.int32) - np.int32(1)
            return number[packed[0]], np.flatnonzero(there)[None, :].astype(np.int64)
    distinct, _ = sort_and_count(packed.copy())
    if len(packed) > 1:
        return np.unique(packed.T, axis=0, return_inverse=True)[1].ravel().astype(np.int32), distinct
    ids = np.empty(packed.shape[1], np.int32)
    for start in range(0, len(ids), BLOCK_ROWS):
        span = slice(start, start + BLOCK_ROWS)
        ids[span] = np.searchsorted(distinct[0], packed[0, span])
    return ids, distinct


def _first_of_equals(keys: Words) -> NDArray[np.bool_]:
    """Which of keys in order differ from the one before."""
    rows = keys.shape[1]
    fresh = np.ones(rows, dtype=bool)
    for start in range(1, rows, BLOCK_ROWS):
        span = slice(start, min(rows, start + BLOCK_ROWS))
        before = slice(span.start - 1, span.stop - 1)
        np.not_equal(keys[0, span], keys[0, before], out=fresh[span])
        for line in keys[1:]:
            fresh[span] |= line[span] != line[before]
    return fresh


def _run_sums(
    keys: Words, counts: NDArray[np.int64], fresh: NDArray[np.bool_]
) -> tuple[Words, NDArray[np.int64]]:
    """Compress sorted keys and their counts in place."""
    done = 0
    for start in range(0, len(fresh), BLOCK_ROWS):
        here, block = np.flatnonzero(fresh[start : start + BLOCK_ROWS]), counts[start : start + BLOCK_ROWS]
        before = int(here[0]) if len(here) else len(block)
        if before:
            counts[done - 1] += block[:before].sum()
        if len(here):
            counts[done : done + len(here)] = np.add.reduceat(block, here)
            keys[:, done : done + len(here)] = keys[:, here + start]
            done += len(here)
    return _tight(keys, done), counts[:done] if done * 4 > len(counts) * 3 else counts[:done].copy()


def _run_lengths(keys: Words, fresh: NDArray[np.bool_]) -> tuple[Words, NDArray[np.int64]]:
    """Compress sorted keys in place; beside them the number of rows in each run."""
    rows, distinct = len(fresh), int(np.count_nonzero(fresh))
    lengths = np.empty(distinct, np.int64)
    done = 0
    for start in range(0, rows, BLOCK_ROWS):
        here = np.flatnonzero(fresh[start : start + BLOCK_ROWS])
        lengths[done : done + len(here)] = here + start
        keys[:, done : done + len(here)] = keys[:, here + start]
        done += len(here)
    for start in range(0, distinct, BLOCK_ROWS):
        stop = min(distinct, start + BLOCK_ROWS)
        after = lengths[stop] if stop < distinct else rows
        lengths[start:stop] = np.diff(lengths[start:stop], append=after)
    return _tight(keys, distinct), lengths


def _tight(keys: Words, distinct: int) -> Words:
    """The first keys, without the memory of the others where that is worth a copy."""
    tight = keys[:, :distinct]
    return tight if distinct * 4 > keys.shape[1] * 3 and len(keys) == 1 else tight.copy()


# Joint columns: the term sets that a row holds in several columns, taken together as one.
#
# Whoever knows what terms of two columns say about the same labels looks at both. A joint column has no place
# in a table: its values are made from those of its parts, every term with a mark that says which part it is
# of.

PART_END = "\x1e"
"""Stands between the number of a part and a term of it."""


@dataclass(frozen=True)
class JointColumn:
    """Columns of term sets that are looked at together; one may be a part twice, for two tables."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return " and ".join(self.parts)


def tagged(part: int, terms: Iterable[str]) -> list[str]:
    """Returns the terms of one part as they stand in a joint column.

    >>> untagged(0, tagged(0, ["fever"]) + tagged(1, ["rash"]))
    ['fever']
    """
    return [f"{part}{PART_END}{term}" for term in terms]


def untagged(part: int, terms: Iterable[str]) -> list[str]:
    """Returns those of some terms of a joint column that are of one part."""
    start = f"{part}{PART_END}"
    return [term.removeprefix(start) for term in terms if term.startswith(start)]


def joined(
    trees: Sequence[Taxonomy], codes: Sequence[NDArray[np.integer]]
) -> tuple[Taxonomy, NDArray[np.int32]]:
    """Returns the joint values that rows hold, as a flat taxonomy, and the leaf rank of every row."""
    packing = Packing(tuple(max(1, len(tree.leaves)) for tree in trees))
    number, distinct = numbered_keys(packing.pack(codes))
    columns = [packing.unpack(distinct, j).tolist() for j in range(len(trees))]
    labels = [tree.leaf_labels for tree in trees]
    texts = [_text([labels[j][v] for j, v in enumerate(row)]) for row in zip(*columns, strict=True)]
    order = sorted(set(texts))
    rank = {text: i for i, text in enumerate(order)}
    of_value = np.array([rank[text] for text in texts], np.int32)
    return Taxonomy.flat(order), of_value[number]


def _text(texts: Sequence[Label]) -> str:
    return text_of(term for part, text in enumerate(texts) for term in tagged(part, terms_of(text)))


Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


class Role(StrEnum):
    """What a column says about a person."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    QUASI_SENSITIVE = "quasi-sensitive"
    FREE = "free"
    INSENSITIVE = "insensitive"

    @property
    def is_key(self) -> bool:
        """Whether the column is part of the class key and is generalized."""
        return self in (Role.QUASI, Role.FREE)

    @property
    def needs_promise(self) -> bool:
        """Whether it means nothing in a policy without a promise that it belongs to."""
        return self in (Role.FREE, Role.QUASI_SENSITIVE)


class Missing(StrEnum):
    """What an empty cell of a key column means."""

    OWN_VALUE = "own-value"
    """A value like any other: a leaf of its own, right below the root."""
    SUPPRESS = "suppress"
    """The row is not published."""
    REFUSE = "refuse"
    """The table is not accepted."""


@dataclass(frozen=True)
class Coding:
    """How a column is to be coded: `build` makes its taxonomy from the values that occur (`None`: empty).

    `form` is set for a column of term sets; it may stand for several columns of the source.
    """

    name: str
    role: Role
    build: Callable[[Sequence[Label]], Taxonomy]
    form: SetForm | None = None


@dataclass(frozen=True)
class Column:
    """A coded column; its codes are leaf ranks of its taxonomy."""

    name: str
    role: Role
    taxonomy: Taxonomy
    form: SetForm | None = None


@dataclass(frozen=True, eq=False)
class Microdata:
    """The columns that promises look at, coded; equal rows are one row with a count.

    Rows are sorted by their packed keys, so the same multiset of rows always gives the same arrays, whatever
    order the source had. `person`, if the policy names such a column, numbers people within the table;
    classes then count people, not rows. `dropped` counts the rows left out beforehand because a key cell
    is empty and the policy suppresses such rows; they are suppressed rows like any other. `person_column` is
    the source's name of the person column, where the table came from a source. `rows_only` says that rows may
    not be people and nobody knows whose they are: what is told of them speaks of rows. `joints` are columns
    of term sets that are looked at together: they can be asked for by name like others, and are no columns of
    the table.
    """

    columns: tuple[Column, ...]
    packing: Packing
    words: Words
    counts: Counts
    has_person: bool = False
    dropped: int = 0
    person_column: str | None = None
    rows_only: bool = False
    joints: tuple[JointColumn, ...] = ()

    @classmethod
    def of_codes(
        cls,
        columns: Sequence[Column],
        codes: Sequence[NDArray[np.integer]],
        *,
        counts: Counts | None = None,
        person: NDArray[np.integer] | None = None,
        dropped: int = 0,
    ) -> Microdata:
        """From one array of leaf ranks per column, row by row."""
        sizes = [max(1, len(c.taxonomy.leaves)) for c in columns]
        arrays = list(codes)
        if person is not None:
            sizes.append(int(person.max(initial=0)) + 1)
            arrays.append(person)
        packing = Packing(tuple(sizes))
        if not arrays:
            rows = 0 if counts is None else int(counts.sum())
            distinct = min(rows, 1)
            return cls((), packing, np.zeros((1, distinct), np.int64), np.array([rows] * distinct, np.int64))
        words, sums = sort_and_count(packing.pack(arrays), counts)
        return cls(tuple(columns), packing, words, sums, person is not None, dropped)

    @property
    def rows(self) -> int:
        """How many rows are coded."""
        return int(self.counts.sum())

    @property
    def distinct(self) -> int:
        """How many different rows there are."""
        return len(self.words[0])

    @cached_property
    def keys(self) -> tuple[Column, ...]:
        """The columns of the class key."""
        return tuple(c for c in self.columns if c.role.is_key)

    @property
    def sensitive(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.role is Role.SENSITIVE)

    def column(self, name: str) -> Column:
        if name in self._joined:
            return self._joined[name][0]
        return self.columns[self._places[name]]

    def codes(self, name: str) -> Codes:
        """The leaf rank of every distinct row in this column."""
        if name in self._joined:
            return self._joined[name][1]
        return self.packing.unpack(self.words, self._places[name])

    def held_codes(self, name: str) -> Codes:
        """The leaf ranks that occur in this column, ascending: `np.unique(self.codes(name))`, found once."""
        if name in self._held:
            return self._held[name]
        occurs = np.zeros(len(self.column(name).taxonomy.leaves), bool)
        if name in self._joined:
            occurs[self.codes(name)] = True
        else:
            place = self._places[name]
            for start in range(0, self.distinct, BLOCK_ROWS):  # until every leaf was found
                occurs[self.packing.unpack(self.words[:, start : start + BLOCK_ROWS], place)] = True
                if occurs.all():
                    break
        self._held[name] = np.flatnonzero(occurs).astype(np.int32)
        return self._held[name]

    @cached_property
    def _held(self) -> dict[str, Codes]:
        """The leaf ranks that occur, of the columns that somebody asked for."""
        return {}

    @cached_property
    def _joined(self) -> dict[str, tuple[Column, Codes]]:
        """The joint columns, by name, and the leaf rank of every distinct row in each."""
        columns = {}
        for joint in self.joints:
            places = [self._places[part] for part in joint.parts]
            codes = [self.packing.unpack(self.words, place) for place in places]
            tree, ranks = joined([self.columns[place].taxonomy for place in places], codes)
            columns[joint.name] = Column(joint.name, Role.QUASI_SENSITIVE, tree), ranks
        return columns

    @property
    def person(self) -> Codes | None:
        """The number of the person each distinct row is about, if rows and people differ."""
        return self.packing.unpack(self.words, len(self.columns)) if self.has_person else None

    @property
    def people(self) -> int:
        """How many people the table is about."""
        person = self.person
        return self.rows if person is None else len(np.unique(person))

    @property
    def people_with_several_rows(self) -> int:
        """How many people have more than one row; nobody, where rows stand for people."""
        person = self.person
        if person is None:
            return 0
        rows = np.zeros(int(person.max(initial=-1)) + 1, np.int64)
        np.add.at(rows, person, self.counts)
        return int((rows > 1).sum())

    @property
    def digest(self) -> str:
        """A fingerprint of the coded table; equal for equal multisets of rows."""
        h = hashlib.sha256()
        for c in self.columns:
            h.update(f"{c.name}\0{c.role}\0{c.taxonomy.digest}\0".encode())
        h.update(self.words.tobytes())
        h.update(self.counts.tobytes())
        return h.hexdigest()

    @cached_property
    def _places(self) -> dict[str, int]:
        """The place of every column, by name."""
        return {column.name: place for place, column in enumerate(self.columns)}

    def __repr__(self) -> str:
        return f"Microdata({self.rows} rows, {self.distinct} distinct, {len(self.columns)} columns)"

"""Microdata: a table about persons, as integer codes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.joint_columns import JointColumn, joined
from sfumato.core.packing import BLOCK_ROWS, Packing, Words, sort_and_count
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.term_sets import SetForm

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
    classes then count people, not rows, and promises about a sensitive column ask that nobody has two values
    of it (see `people_with_several_values`). `dropped` counts the rows left out beforehand because a key cell
    is empty and the policy suppresses such rows; they are suppressed rows like any other. `person_column` is
    the source's name of the person column, where the table came from a source. With `profiles`, outsiders are
    taken to know all rows of a person: promises are judged on positions instead of classes
    (`core.positions`). `rows_only` says that rows may not be people and nobody knows whose they are: what is
    told of them speaks of rows. `joints` are columns of term sets that are looked at together: they can be
    asked for by name like others, and are no columns of the table.
    """

    columns: tuple[Column, ...]
    packing: Packing
    words: Words
    counts: Counts
    has_person: bool = False
    dropped: int = 0
    person_column: str | None = None
    profiles: bool = False
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
            some = min(rows, 1)
            return cls((), packing, np.zeros((1, some), np.int64), np.array([rows] * some, np.int64))
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
        return self.columns[self._index(name)]

    def codes(self, name: str) -> Codes:
        """The leaf rank of every distinct row in this column."""
        if name in self._joined:
            return self._joined[name][1]
        return self.packing.unpack(self.words, self._index(name))

    def held_codes(self, name: str) -> Codes:
        """The leaf ranks that occur in this column, ascending: `np.unique(self.codes(name))`, found once."""
        if name not in self._held:
            self._held[name] = self._find_held(name)
        return self._held[name]

    @cached_property
    def _held(self) -> dict[str, Codes]:
        """The leaf ranks that occur, of the columns that somebody asked for."""
        return {}

    def _find_held(self, name: str) -> Codes:
        """Looks at block after block of rows until every leaf was found."""
        held = np.zeros(len(self.column(name).taxonomy.leaves), bool)
        if name in self._joined:
            held[self.codes(name)] = True
        else:
            place = self._index(name)
            for start in range(0, self.distinct, BLOCK_ROWS):
                held[self.packing.unpack(self.words[:, start : start + BLOCK_ROWS], place)] = True
                if held.all():
                    break
        return np.flatnonzero(held).astype(np.int32)

    @cached_property
    def _joined(self) -> dict[str, tuple[Column, Codes]]:
        """The joint columns, by name, and the leaf rank of every distinct row in each."""
        found = {}
        for joint in self.joints:
            places = [self._index(part) for part in joint.parts]
            codes = [self.packing.unpack(self.words, place) for place in places]
            tree, ranks = joined([self.columns[place].taxonomy for place in places], codes)
            found[joint.name] = Column(joint.name, Role.QUASI_SENSITIVE, tree), ranks
        return found

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

    def with_profiles(self) -> Microdata:
        """Returns the table with promises judged on positions; itself where nobody has several rows.

        Then every position is a class, and every class a position.
        """
        return replace(self, profiles=True) if self.has_person and self.people != self.rows else self

    def people_with_several_values(self, name: str) -> int:
        """How many people have several different values in this column.

        Of such a person no class says what the value is, so a promise about the column means nothing to them.
        """
        person = self.person
        if person is None:
            return 0
        pairs = np.unique(np.stack((person, self.codes(name))), axis=1)
        _, values = np.unique(pairs[0], return_counts=True)
        return int((values > 1).sum())

    @property
    def digest(self) -> str:
        """A fingerprint of the coded table; equal for equal multisets of rows."""
        h = hashlib.sha256()
        for c in self.columns:
            h.update(f"{c.name}\0{c.role}\0{c.taxonomy.digest}\0".encode())
        h.update(self.words.tobytes())
        h.update(self.counts.tobytes())
        return h.hexdigest()

    def _index(self, name: str) -> int:
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, int]:
        """The place of every column, by name."""
        return {column.name: place for place, column in enumerate(self.columns)}

    def __repr__(self) -> str:
        return f"Microdata({self.rows} rows, {self.distinct} distinct, {len(self.columns)} columns)"

"""A table as integer codes: all that the search for identifying columns needs to know about values."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.hitting_sets import keys_by_rank
from sfumato.system.errors import BadData, UsageError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent

if TYPE_CHECKING:
    from sfumato.table.source import Source


NULL_RULE = "equal"
"""Missing cells of a column are one value of their own: equal to each other, different from all else."""

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Coded:
    """Every column of a table as codes 0 .. size-1; equal cells have equal codes, missing ones too.

    >>> Coded.of_columns({"zip": ["02138", None, "02138"], "sex": ["f", "f", None]})
    Coded(3 rows, 2 columns)
    """

    names: tuple[str, ...]
    codes: Codes
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        columns = len(self.names)
        if self.codes.ndim != 2 or len(self.codes) != columns or len(self.sizes) != columns:
            raise BadData("a coded table needs one row of codes and one size per column")
        if len(set(self.names)) != columns:
            raise BadData("two columns share a name", remedy="Rename one of them.")

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Hashable]]) -> Coded:
        """Code columns given as sequences; `None` and not-a-number are missing cells."""
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise BadData("the columns differ in length")
        rows = lengths.pop() if lengths else 0
        codes = np.zeros((len(columns), rows), np.int32)
        sizes = []
        for j, values in enumerate(columns.values()):
            code_of: dict[Hashable, int] = {}
            codes[j] = [code_of.setdefault(_cell(v), len(code_of)) for v in values]
            sizes.append(len(code_of))
        return cls(tuple(columns), codes, tuple(sizes))

    @classmethod
    def of_codes(cls, names: Sequence[str], codes: NDArray[np.integer]) -> Coded:
        """Take any whole numbers, one row of `codes` per column, and make them dense.

        >>> Coded.of_codes(["a"], np.array([[7, -3, 7]])).codes
        array([[1, 0, 1]], dtype=int32)
        """
        dense = np.empty(codes.shape, np.int32)
        sizes = []
        for j, column in enumerate(codes):
            values, dense[j] = np.unique(column, return_inverse=True)
            sizes.append(len(values))
        return cls(tuple(names), dense, tuple(sizes))

    @classmethod
    def from_source(
        cls, source: Source, names: Sequence[str] | None = None, *, progress: Progress = silent
    ) -> Coded:
        """Code some columns of a source (all of them, unless named) in one pass over its rows."""
        from sfumato.table.number_forms import column_codes  # noqa: PLC0415  # loads Arrow; codes may be given

        chosen = tuple(source.columns if names is None else names)
        check_names(chosen, source.columns)
        codes, sizes = column_codes(source, chosen, progress=progress)
        return cls(chosen, codes, sizes)

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    def index(self, names: Sequence[str]) -> tuple[int, ...]:
        """The positions of these columns."""
        check_names(names, self.names)
        place = {name: j for j, name in enumerate(self.names)}
        return tuple(place[name] for name in names)

    def select(self, names: Sequence[str]) -> Coded:
        """The same rows, these columns only."""
        chosen = self.index(names)
        return Coded(tuple(names), self.codes[list(chosen)], tuple(self.sizes[j] for j in chosen))

    def take(self, rows: NDArray[np.integer]) -> Coded:
        """These rows only."""
        return Coded(self.names, np.ascontiguousarray(self.codes[:, rows]), self.sizes)

    def __repr__(self) -> str:
        return f"Coded({self.rows} rows, {len(self.names)} columns)"


def check_names(names: Sequence[str], columns: Sequence[str]) -> None:
    """Raises `UsageError` for a name that no column has."""
    there = set(columns)
    unknown = [name for name in names if name not in there]
    if unknown:
        raise UsageError(f"no such column: {', '.join(unknown)}", remedy="Check the spelling.")


def _cell(value: Hashable) -> Hashable:
    """Missing is `None`; numbers and truth values of different types are different values."""
    if value is None or value != value:  # noqa: PLR0124  (not-a-number is the one value unequal to itself)
        return None
    return (type(value), value)


# What it means that a set of columns singles people out: one predicate, five readings of it.

Name = Literal["any", "all", "fraction", "count", "distinct"]


@dataclass(frozen=True)
class Reading:
    """A set of columns is a quasi-identifier if at least t records share their values with fewer than k.

    A record is *exposed* if its group, itself included, has fewer than k records. The readings differ in
    how many exposed records it takes:

    - `any`: one. The risk view, and the definition of Yuan's paper.
    - `all`: every record. For k = 2 such a set is a key of the table.
    - `fraction`: a share p of the records, rounded up.
    - `count`: this many.
    - `distinct`: the columns tell all distinct rows apart, as the paper's algorithm and proof have it.
      It is `all` with k = 2 after equal rows have been merged, and never looks at k.

    More columns never expose fewer records, so every superset of a quasi-identifier is one.

    >>> Reading.of(k=2, fraction=Fraction(1, 3)).threshold(10)
    4
    """

    k: int
    name: Name
    amount: Fraction | None = None

    @classmethod
    def of(
        cls,
        *,
        k: int,
        mode: str | None = None,
        fraction: Fraction | float | str | None = None,
        count: int | None = None,
    ) -> Reading:
        """Choose the reading: exactly one of `mode` (any, all, distinct), `fraction` and `count`."""
        if sum(choice is not None for choice in (mode, fraction, count)) != 1:
            raise UsageError(
                "say when a set of columns counts as identifying",
                remedy='Give exactly one of mode ("any", "all", "distinct"), fraction and count.',
            )
        if mode is not None:
            if mode not in ("any", "all", "distinct"):
                raise UsageError("unknown mode", remedy='Use "any", "all" or "distinct".')
            return cls(k, mode)  # type: ignore[arg-type]
        if fraction is not None:
            return cls(k, "fraction", _exact(fraction))
        return cls(k, "count", Fraction(count or 0))

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise UsageError("k must be a whole number of at least 1")
        if self.name == "distinct" and self.k != 2:
            raise UsageError(
                "the reading `distinct` tells rows apart and never looks at k",
                remedy="Use k=2 with it, or another reading.",
            )
        if self.name == "fraction" and not (self.amount is not None and 0 <= self.amount <= 1):
            raise UsageError("fraction must lie between 0 and 1")
        if self.name == "count" and (self.amount is None or self.amount < 0 or self.amount.denominator != 1):
            raise UsageError("count must be a whole number of at least 0")

    def threshold(self, rows: int) -> int:
        """How many exposed records make a quasi-identifier, in a table of so many rows.

        At least one, unless the caller asked for a count of 0: in an empty table nobody is exposed.
        """
        if self.name == "any":
            return 1
        if self.name in ("all", "distinct"):
            return max(1, rows)
        amount = self.amount or Fraction(0)
        if self.name == "count":
            return int(amount)
        return max(1, -((-amount.numerator * rows) // amount.denominator))

    def terms(self, rows: int) -> Terms:
        """The reading with its numbers filled in, as every answer repeats them."""
        return Terms(self.k, self.threshold(rows), self.name, rows)


@dataclass(frozen=True)
class Terms:
    """What an answer answers: k, t, the reading, over how many rows, and how missing cells compare."""

    k: int
    t: int
    reading: Name
    rows: int
    nulls: str = NULL_RULE

    @property
    def impossible(self) -> str:
        """Why no set of columns can be a quasi-identifier, as far as the numbers alone tell; else empty."""
        if self.t == 0:
            return ""
        if self.rows == 0:
            return "the table has no rows"
        if self.t > self.rows:
            return f"{self.t} exposed records are asked for and the table has {self.rows}"
        return "no group has fewer than 1 record" if self.k == 1 else ""

    @property
    def trivial(self) -> str:
        """Why even the empty set of columns is a quasi-identifier; else empty."""
        if self.impossible:
            return ""
        if self.t == 0:
            return "0 exposed records are asked for"
        return f"the table has fewer than k = {self.k} rows" if self.rows < self.k else ""


def _exact(share: Fraction | float | str) -> Fraction:
    """0.05 means five hundredths, not the nearest binary number."""
    try:
        return Fraction(str(share)) if isinstance(share, float) else Fraction(share)
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError("fraction must be a number between 0 and 1") from error


# How long a search may take, how many steps, and how much it may find and hold, watched from outside.

Clock = Callable[[], float]
Stop = Literal["", "results", "deadline", "steps", "memory"]
"""Why a search ended early: not at all, by the number of sets, the seconds, the counted steps, the memory."""

LEAST_BUDGET = 1 << 33
STEPS_PER_CELL = 512
COPIES = 5
"""What was found is held so many times over while it is put in order."""
SECONDS_PER_SET = 1.5e-6
"""What was found is counted and put in order before a deadline is over: seconds of the processor for each."""
SLOWEST = 20.0
"""A busy machine is reckoned with up to so many seconds for one of the processor."""


def usual_budget(rows: int, columns: int) -> int:
    """The steps that a search gets unless told otherwise: some seconds of work, more for a large table.

    It depends on the size of the table alone, so the same table gives the same answer on every machine.

    >>> usual_budget(30_000, 15) == LEAST_BUDGET, usual_budget(6_000_000, 16)
    (True, 49152000000)
    """
    return max(LEAST_BUDGET, STEPS_PER_CELL * rows * columns)


class OutOfTime(Exception):
    """The deadline was over before something was done that is of no use by halves."""


@dataclass
class Limits:
    """Stops a search at a number of sets, after some seconds or steps, or where memory ends.

    A step is about one look at a row or at an edge. Searches count them, so that a budget ends at the same
    place on every machine; seconds do not. `None` is no limit; `stopped` says which limit was met.
    """

    max_results: int | None = None
    deadline: float | None = None
    clock: Clock = time.monotonic
    budget: int | None = None
    memory: Memory | None = None
    started: float | None = None
    busy_before: float | None = None
    stopped: Stop = field(default="", init=False)

    def __post_init__(self) -> None:
        if self.max_results is not None and self.max_results < 1:
            raise UsageError("max_results must be at least 1")
        if self.deadline is not None and self.deadline < 0:
            raise UsageError("deadline must be a number of seconds from now")
        if self.budget is not None and self.budget < 1:
            raise UsageError("budget must be at least 1 step")
        if self.started is None:
            self.started = self.clock()
        if self.busy_before is None:
            self.busy_before = time.process_time()

    @property
    def remaining(self) -> float | None:
        """Seconds that are left, `None` without a deadline."""
        if self.deadline is None or self.started is None:
            return None
        return max(0.0, self.deadline - (self.clock() - self.started))

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.remaining == 0

    def _too_late_for(self, sets: int) -> bool:
        """Whether the time is needed to put so many sets in order."""
        left = self.remaining
        if left is None or self.started is None or self.busy_before is None:
            return False
        worked = max(time.process_time() - self.busy_before, 1e-3)
        slowness = min(max(1.0, (self.clock() - self.started) / worked), SLOWEST)
        return left <= sets * SECONDS_PER_SET * slowness

    def check(self) -> None:
        """Raises OutOfTime if the time is up."""
        if self.late:
            raise OutOfTime

    def allow(self, sets: int, steps: int = 0) -> bool:
        """Whether to go on after so many sets and so many steps."""
        if self._too_late_for(sets):
            self.stopped = "deadline"
        elif self.max_results is not None and sets >= self.max_results:
            self.stopped = "results"
        elif self.budget is not None and steps >= self.budget:
            self.stopped = "steps"
        else:
            return True
        return False

    def fits(self, more: int, in_sets: int = 0) -> bool:
        """Whether so many bytes more may be taken, where `held` bytes of found sets will be put in order."""
        if self.memory is None:
            return True
        left = self.memory.left if self.memory.limit is not None else self.memory.left // 2
        if more + COPIES * in_sets <= left:
            return True
        self.stopped = "memory"
        return False

    def part(self, share: float) -> Limits:
        """Returns limits for a part of the work: a share of the steps, and of the seconds that are left."""
        left, elapsed = self.remaining, 0.0 if self.started is None else self.clock() - self.started
        return replace(
            self,
            deadline=None if left is None else elapsed + share * left,
            budget=None if self.budget is None else max(1, int(share * self.budget)),
            max_results=None,
        )

    def until(self, share: float, *, max_results: int | None) -> Limits:
        """Returns limits that begin when these did, and end after a share of their seconds."""
        seconds = None if self.deadline is None else share * self.deadline
        return replace(self, deadline=seconds, max_results=max_results)


# Sets of columns that a search found, as bits: counted at once, named only when somebody looks at them.

Words = NDArray[np.uint64]
Bits = NDArray[np.bool_]
Names = tuple[str, ...]

SORTED_AT_ONCE = 1 << 17
"""So many sets of one size are listed by the positions of their columns; of more, look-alikes together."""
MOST_SORTED = 1 << 20
"""So many found sets are put in order; more of them stay in the order in which they were found, by size."""
CHUNK = 1 << 15
"""Sets that are spread out into one byte per column at a time."""


class ColumnSets(Sequence[Names]):
    """Sets of columns, smallest first: a sequence that makes a set when it is asked for, and keeps none.

    `words` has a found set per row, a bit per reduced column; `members[j]` lists the columns of the table
    that reduced column j stands for, each of which is a choice. `most` is how many sets were asked for.
    """

    def __init__(
        self, words: Words, members: Sequence[tuple[int, ...]], names: Names, *, most: int | None = None
    ) -> None:
        self._members, self._names = tuple(members), names
        self._several = [j for j, chosen in enumerate(self._members) if len(chosen) > 1]
        self._words, self._sizes, total = _in_order(words, members)
        self._total = sum(int(choices.sum()) for _, choices in self._chunks()) if total is None else total
        self._ask_for(most)

    def _ask_for(self, most: int | None) -> None:
        self._length = min(self._total, sys.maxsize if most is None else most)
        self.cut = most is not None and most < self._total
        """Whether there are more sets than were asked for."""

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Names]:
        return islice(self._all(), self._length)

    @overload
    def __getitem__(self, index: int) -> Names: ...
    @overload
    def __getitem__(self, index: slice) -> list[Names]: ...
    def __getitem__(self, index: int | slice) -> Names | list[Names]:
        if isinstance(index, slice):
            places = range(self._length)[index]
            if places.step == 1:
                return list(islice(iter(self), places.start, places.stop))
            first = list(islice(iter(self), max(places, default=-1) + 1))
            return [first[place] for place in places]
        place = range(self._length)[index]
        return next(islice(iter(self), place, None))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ColumnSets | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(left == right for left, right in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # equal to lists and tuples alike

    def __repr__(self) -> str:
        beginning = ", ".join(map(repr, self[:20]))
        return f"[{beginning}, … {self._length:,} in all]" if self._length > 20 else f"[{beginning}]"

    def joined(self, sets: Sequence[Names], *, most: int | None) -> ColumnSets:
        """Returns these sets and those, with all that look alike, each once."""
        place = {self._names[column]: j for j, members in enumerate(self._members) for column in members}
        more = np.unique(_words_of_names(sets, place, len(self._members)), axis=0)
        fitting = np.isin(self._sizes, np.unique(_sizes_of(more)))
        alike = np.isin(self._words[:, 0], more[:, 0])  # the first words: few are left to compare
        present = {row.tobytes() for row in self._words[fitting & alike]}
        fresh = np.array([row.tobytes() not in present for row in more], bool)
        if fresh.any():
            return ColumnSets(
                np.concatenate((self._words, more[fresh])), self._members, self._names, most=most
            )
        return self.up_to(most)

    def up_to(self, most: int | None) -> ColumnSets:
        """Returns the same sets, of which so many were asked for."""
        sets = copy(self)
        sets._ask_for(most)
        return sets

    def within(self) -> dict[str, int]:
        """In how many sets each column is, of all that there are; columns in none are left out."""
        counts = [0] * len(self._members)
        for words, choices in self._chunks():
            bits = _bits(words, len(self._members))
            if not self._several:
                counts = [sum(pair) for pair in zip(counts, bits.sum(axis=0).tolist(), strict=True)]
                continue
            for j, members in enumerate(self._members):
                counts[j] += int(choices[bits[:, j]].sum()) // len(members)
        return {
            self._names[column]: count
            for members, count in zip(self._members, counts, strict=True)
            if count
            for column in members
        }

    def _chunks(self) -> Iterator[tuple[Words, NDArray[np.int64 | np.object_]]]:
        """Yields some sets at a time, and how many choices each of them stands for."""
        each = np.array([len(self._members[j]) for j in self._several], np.int64)
        most = prod(each.tolist()) * min(len(self._words), CHUNK)
        for start in range(0, len(self._words), CHUNK):
            words = self._words[start : start + CHUNK]
            if not self._several:
                yield words, np.ones(len(words), np.int64)
                continue
            factors = np.where(_bits(words, len(self._members))[:, self._several], each, 1)
            if most >= 1 << 62 and factors.prod(axis=1, dtype=float).sum() >= 2.0**62:
                factors = factors.astype(object)
            yield words, factors.prod(axis=1)

    def _all(self) -> Iterator[Names]:
        ends = np.flatnonzero(np.diff(self._sizes, append=-1)) + 1
        start = 0
        for end in ends.tolist():
            yield from self._of_one_size(start, end)
            start = end

    def _of_one_size(self, start: int, end: int) -> Iterator[Names]:
        if end - start <= SORTED_AT_ONCE:
            bits = _bits(self._words[start:end], len(self._members))
            each = [len(members) for members in self._members]
            if np.where(bits, each, 1).prod(axis=1, dtype=float).sum() <= SORTED_AT_ONCE:
                for columns in sorted(chosen for row in bits for chosen in self._choices(row)):
                    yield tuple(self._names[column] for column in columns)
                return
        for place in range(start, end):
            for columns in self._choices(_bits(self._words[place : place + 1], len(self._members))[0]):
                yield tuple(self._names[column] for column in columns)

    def _choices(self, bits: Bits) -> Iterator[tuple[int, ...]]:
        """Yields every choice among the columns that look alike, for one found set."""
        for columns in product(*(self._members[j] for j in np.flatnonzero(bits).tolist())):
            yield tuple(sorted(columns))


def listed(sets: Sequence[Names], names: Names) -> ColumnSets:
    """Returns sets of columns, given by name, as such a sequence; none of the columns look alike."""
    place = {name: j for j, name in enumerate(names)}
    return ColumnSets(_words_of_names(sets, place, len(names)), [(j,) for j in place.values()], names)


def _words_of_names(sets: Sequence[Names], place: Mapping[str, int], columns: int) -> Words:
    """Returns sets given by name as words; `place` says which column a name stands for."""
    words = np.zeros((len(sets), max(1, -(-columns // 64))), np.uint64)
    for row, names in zip(words, sets, strict=True):
        for name in names:
            row[place[name] // 64] |= np.uint64(1 << (place[name] % 64))
    return words


def _bits(words: Words, columns: int) -> Bits:
    cells = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(cells, axis=1, count=columns, bitorder="little").view(bool)


def _sizes_of(words: Words) -> NDArray[np.int64]:
    sizes: NDArray[np.int64] = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return sizes


def _in_order(
    words: Words, members: Sequence[tuple[int, ...]]
) -> tuple[Words, NDArray[np.int64], int | None]:
    """Returns the sets by size, those of one size by the positions of their first columns, and their sizes.

    Last comes how many sets they are with every choice among look-alikes; None if that is yet to be counted.
    More than `MOST_SORTED` sets are ordered by size alone.
    """
    if len(words) > MOST_SORTED:
        sizes = _sizes_of(words)
        order = np.argsort(sizes, kind="stable")
        return words[order], sizes[order], None
    ranks = [0] * len(members)
    for rank, j in enumerate(sorted(range(len(members)), key=members.__getitem__)):
        ranks[j] = rank
    each = list(map(len, members))
    keys, sizes, total = keys_by_rank(
        np.ascontiguousarray(words), np.array(ranks, np.int64), np.array(each, np.int64)
    )
    order = np.lexsort((*keys.T[::-1], sizes))
    return words[order], sizes[order], total if prod(each) * len(words) < 1 << 62 else None

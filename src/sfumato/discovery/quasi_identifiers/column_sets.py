"""Sets of columns that a search found, as bits: counted at once, named only when somebody looks at them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import islice, product
from math import prod
from typing import overload

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.sets.bitsets import keys_by_rank

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
            kept = list(islice(iter(self), max(places, default=-1) + 1))
            return [kept[place] for place in places]
        place = range(self._length)[index]
        return next(islice(iter(self), place, None))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ColumnSets | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # equal to lists and tuples alike

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:20]))
        return f"[{shown}, … {self._length:,} in all]" if self._length > 20 else f"[{shown}]"

    def joined(self, sets: Sequence[Names], *, most: int | None) -> ColumnSets:
        """Returns these sets and those, with all that look alike, each once."""
        place = {self._names[column]: j for j, members in enumerate(self._members) for column in members}
        more = np.unique(_words_of_names(sets, place, len(self._members)), axis=0)
        asked = np.isin(self._sizes, np.unique(_sizes_of(more)))
        known = {row.tobytes() for row in self._words[asked & self._may_be_among(more)]}
        fresh = np.array([row.tobytes() not in known for row in more], bool)
        if fresh.any():
            return ColumnSets(
                np.concatenate((self._words, more[fresh])), self._members, self._names, most=most
            )
        return self.up_to(most)

    def up_to(self, most: int | None) -> ColumnSets:
        """Returns the same sets, of which so many were asked for."""
        same = copy(self)
        same._length = min(self._total, sys.maxsize if most is None else most)
        same.cut = most is not None and most < self._total
        return same

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

    def _may_be_among(self, some: Words) -> Bits:
        """Flags the sets whose first word is that of one of some others."""
        return np.isin(self._words[:, 0], some[:, 0])

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
    return ColumnSets(
        _words_of_names(sets, {name: j for j, name in enumerate(names)}, len(names)), _alone(names), names
    )


def _alone(names: Names) -> tuple[tuple[int, ...], ...]:
    return tuple((j,) for j in range(len(names)))


def _words_of_names(sets: Sequence[Names], place: Mapping[str, int], columns: int) -> Words:
    """Returns sets given by name as words; `place` says which column a name stands for."""
    words = np.zeros((len(sets), max(1, -(-columns // 64))), np.uint64)
    for row, names in zip(words, sets, strict=True):
        for name in names:
            row[place[name] // 64] |= np.uint64(1 << (place[name] % 64))
    return words


def _bits(words: Words, columns: int) -> Bits:
    spread = np.unpackbits(
        np.ascontiguousarray(words).view(np.uint8), axis=1, count=columns, bitorder="little"
    )
    return spread.view(bool)


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

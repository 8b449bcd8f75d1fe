"""Equivalence classes: rows that publish the same key values, and histograms of their sensitive values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.core.packing import BLOCK_ROWS, Packing, sort_and_count
from sfumato.core.taxonomy import Taxonomy

CELLS_PER_ENTRY = 4
"""Values are counted in an array of all pairs of a class and a value where it has at most so many cells per
entry; otherwise entries are sorted."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """How often each value of one sensitive column occurs in each class (compressed rows).

    The values of class c are `values[start[c]:start[c+1]]`, ascending leaf ranks, with `counts` beside
    them, all positive. `overall[rank]` counts the whole published table, also where only some of its
    classes are looked at.
    """

    taxonomy: Taxonomy
    start: NDArray[np.int64]
    values: Codes
    counts: Counts
    overall: Counts

    @cached_property
    def totals(self) -> Counts:
        """The sum of each class's counts."""
        running = np.concatenate(([0], np.cumsum(self.counts)))
        totals: Counts = running[self.start[1:]] - running[self.start[:-1]]
        return totals

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """The class of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def by_meaning(self, *, missing: bool) -> Histogram:
        """The histogram of meanings: spellings of one value are counted together, under the first leaf.

        Missing cells, in whatever words, are one more entry if they are wanted, and left out otherwise; a
        class may then have no entry.
        """
        tree = self.taxonomy
        if tree.all_apart:
            return self
        meant = tree.meanings
        if missing and (meant < 0).any():
            meant = np.where(meant < 0, np.int32(np.argmax(meant < 0)), meant)
            if np.array_equal(meant, np.arange(len(meant))):
                return self
        known = meant[self.values] >= 0
        if tree.spelled_once and not missing:
            places = np.concatenate(([0], np.cumsum(known)))
            counted = np.where(meant < 0, 0, self.overall)
            return Histogram(tree, places[self.start], self.values[known], self.counts[known], counted)
        cell = self.owner[known] * len(meant) + meant[self.values[known]]
        cells, place = np.unique(cell, return_inverse=True)
        counts = np.zeros(len(cells), dtype=self.counts.dtype)
        np.add.at(counts, place, self.counts[known])
        owner, values = np.divmod(cells, len(meant))
        start = np.searchsorted(owner, np.arange(len(self.start))).astype(np.int64)
        overall = np.zeros_like(self.overall)
        np.add.at(overall, meant[meant >= 0], self.overall[meant >= 0])
        return Histogram(tree, start, values.astype(np.int32), counts, overall)

    def of_class(self, index: int) -> dict[int, int]:
        """Leaf rank -> count, of one class."""
        span = slice(int(self.start[index]), int(self.start[index + 1]))
        return dict(zip(self.values[span].tolist(), self.counts[span].tolist(), strict=True))

    def pick(self, chosen: NDArray[np.integer], *, overall: Counts | None = None) -> Histogram:
        """The histogram of some of the classes."""
        lengths = np.diff(self.start)[chosen]
        start = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        entry = np.arange(start[-1]) - np.repeat(start[:-1] - self.start[:-1][chosen], lengths)
        return Histogram(
            self.taxonomy,
            start,
            self.values[entry],
            self.counts[entry],
            self.overall if overall is None else overall,
        )


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows that publish the same values in every key column, and what is inside.

    `people` is what promises judge: rows, or persons where the policy names a person column.
    """

    people: Counts
    rows: Counts
    histograms: Mapping[str, Histogram] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.people)

    @classmethod
    def of(
        cls,
        table: Microdata,
        class_of: NDArray[np.integer],
        *,
        sensitive: Sequence[str] | None = None,
        overall: Mapping[str, Counts] | None = None,
    ) -> Classes:
        """Count the classes 0..c-1 that `class_of` gives to the distinct rows; -1 leaves a row out.

        `sensitive` limits the histograms to these columns (default: every sensitive column).
        """
        kept = class_of >= 0
        whole = bool(kept.all())
        ids = (class_of if whole else class_of[kept]).astype(np.int64)
        weight = table.counts if whole else table.counts[kept]
        count = int(ids.max(initial=-1)) + 1
        rows = _weighted(ids, weight, count)
        person = table.person
        if person is not None and not whole:
            person = person[kept]
        people = rows if person is None else _distinct_pairs(ids, person, count)
        names = [c.name for c in table.sensitive] if sensitive is None else sensitive
        histograms = {}
        for name in names:
            codes = table.codes(name) if whole else table.codes(name)[kept]
            total = None if overall is None else overall.get(name)
            histograms[name] = histogram(
                table.column(name).taxonomy, ids, codes, weight, count, person=person, overall=total
            )
        return cls(people, rows, histograms)

    def pick(self, chosen: NDArray[np.integer]) -> Classes:
        """Some of the classes, published alone: `overall` becomes theirs."""
        picked = {}
        for name, h in self.histograms.items():
            part = h.pick(chosen)
            picked[name] = replace(part, overall=_weighted(part.values, part.counts, len(part.overall)))
        return Classes(self.people[chosen], self.rows[chosen], picked)


def histogram(
    taxonomy: Taxonomy,
    ids: NDArray[np.integer],
    codes: Codes,
    weight: Counts,
    count: int,
    *,
    person: Codes | None = None,
    overall: Counts | None = None,
) -> Histogram:
    """The histogram of `codes` in the classes `ids`; with `person`, each person counts once per value."""
    leaves = max(1, len(taxonomy.leaves))
    columns: list[NDArray[np.integer]] = [ids, codes]
    sizes = [max(1, count), leaves]
    if person is not None:
        pairs = Packing((*sizes, int(person.max(initial=0)) + 1))
        words, _ = sort_and_count(pairs.pack([ids, codes, person]))
        columns = [pairs.unpack(words, 0), pairs.unpack(words, 1)]
        weight = np.ones(words.shape[1], dtype=np.int64)
    if sizes[0] * leaves <= CELLS_PER_ENTRY * len(weight):
        owner, values, sums = _counted_cells(columns, weight, sizes[0], leaves)
    else:
        packing = Packing(tuple(sizes))
        words, sums = sort_and_count(packing.pack(columns), weight)
        owner, values = packing.unpack(words, 0), packing.unpack(words, 1)
    start = np.searchsorted(owner, np.arange(count + 1)).astype(np.int64)
    total = _weighted(values, sums, leaves) if overall is None else overall
    return Histogram(taxonomy, start, values, sums, total)


def _counted_cells(
    columns: Sequence[NDArray[np.integer]], weight: Counts, classes: int, leaves: int
) -> tuple[Codes, Codes, Counts]:
    """The pairs of a class and a code that occur, in ascending order, and the weight of each."""
    ids, codes = columns
    sums = np.zeros(classes * leaves, np.int64)
    for begin in range(0, len(weight), BLOCK_ROWS):
        span = slice(begin, begin + BLOCK_ROWS)
        np.add.at(sums, ids[span].astype(np.int64) * leaves + codes[span], weight[span])
    cells = np.flatnonzero(sums)
    owner, values = np.divmod(cells, leaves)
    return owner.astype(np.int32), values.astype(np.int32), sums[cells]


def _weighted(ids: NDArray[np.integer], weight: Counts, count: int) -> Counts:
    """Sums of integer weights per id, exact (np.bincount would go through floats)."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, ids, weight)
    return sums


def _distinct_pairs(ids: NDArray[np.integer], person: Codes, count: int) -> Counts:
    packing = Packing((max(1, count), int(person.max(initial=0)) + 1))
    words, _ = sort_and_count(packing.pack([ids, person]))
    return np.bincount(packing.unpack(words, 0), minlength=count).astype(np.int64)

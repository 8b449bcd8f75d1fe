"""Equivalence classes: rows that publish the same key values, and histograms of their sensitive values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import log1p, nextafter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.system.verdict import AttackLimit, Measure
from sfumato.table.microdata import BLOCK_ROWS, Codes, Counts, Microdata, Packing, sort_and_count
from sfumato.table.taxonomy import Label, Taxonomy, leaves_meaning

CELLS_PER_ENTRY = 4
"""Values are counted in an array of all pairs of a class and a value where it has at most so many cells per
entry; otherwise entries are sorted."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """How often each value of one sensitive column occurs in each class (compressed rows).

    The values of class c are `values[start[c]:start[c+1]]`, ascending leaf ranks, with `counts` beside
    them, all positive. `overall[rank]` counts the whole published table, also where only some of its
    classes are looked at; beside a reference it counts that, and `outside` those of its people whose values
    have no leaf.
    """

    taxonomy: Taxonomy
    start: NDArray[np.int64]
    values: Codes
    counts: Counts
    overall: Counts
    outside: int = 0

    @property
    def everyone(self) -> int:
        """How many people classes are compared with."""
        return int(self.overall.sum()) + self.outside

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
        if tree.spelled_once and not missing:
            return self.without_missing()
        is_known = meant[self.values] >= 0
        cell = self.owner[is_known] * len(meant) + meant[self.values[is_known]]
        cells, place = np.unique(cell, return_inverse=True)
        counts = np.zeros(len(cells), dtype=self.counts.dtype)
        np.add.at(counts, place, self.counts[is_known])
        owner, values = np.divmod(cells, len(meant))
        start = np.searchsorted(owner, np.arange(len(self.start))).astype(np.int64)
        overall = np.zeros_like(self.overall)
        np.add.at(overall, meant[meant >= 0], self.overall[meant >= 0])
        return Histogram(tree, start, values.astype(np.int32), counts, overall, self.outside)

    def without_missing(self) -> Histogram:
        """The histogram of those who have a value, spellings apart; a class may have no entry."""
        meant = self.taxonomy.meanings
        is_known = meant[self.values] >= 0
        start = np.concatenate(([0], np.cumsum(is_known)))[self.start]
        counted = np.where(meant < 0, 0, self.overall)
        return Histogram(
            self.taxonomy, start, self.values[is_known], self.counts[is_known], counted, self.outside
        )

    def of_values(self, values: tuple[str, ...]) -> Histogram:
        """The histogram of some values alone, in any spelling; a class may have no entry.

        `overall` counts every known value.
        """
        known = self.by_meaning(missing=False)
        chosen = leaves_meaning(self.taxonomy, values)[known.values]
        places = np.concatenate(([0], np.cumsum(chosen)))
        picked = known.values[chosen], known.counts[chosen]
        return Histogram(self.taxonomy, places[known.start], *picked, known.overall, known.outside)

    def certain_for(self, protected: tuple[str, ...]) -> int:
        """For how many people a value is certain, other than the protected ones, if it is known that they
        have any: everybody who has one in their class has that."""
        known = self.by_meaning(missing=False)
        single = known.start[:-1][np.diff(known.start) == 1]
        others = ~leaves_meaning(self.taxonomy, protected)[known.values[single]]
        return int(known.counts[single][others].sum())

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
            self.outside,
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
        included = class_of >= 0
        whole = bool(included.all())
        ids = (class_of if whole else class_of[included]).astype(np.int64)
        weight = table.counts if whole else table.counts[included]
        count = int(ids.max(initial=-1)) + 1
        rows = _weighted(ids, weight, count)
        person = table.person
        if person is not None and not whole:
            person = person[included]
        people = rows if person is None else _distinct_pairs(ids, person, count)
        names = [c.name for c in table.sensitive] if sensitive is None else sensitive
        histograms = {}
        for name in names:
            codes = table.codes(name) if whole else table.codes(name)[included]
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


Longs = NDArray[np.int64]

# Likeness: how much likelier a value may become for the people of a class than it is for everybody.
#
# The relative gain of a value with the share p in the whole table and q in a class is (q - p) / p. What it is
# compared with is a rational number or -ln p; both comparisons are exact.

DOUBT = 1e-12
"""Far more than a few products and quotients of whole numbers lose in floating point, relative to them."""

Truth = NDArray[np.bool_]
Floats = NDArray[np.float64]


class KnownPopulation(Protocol):
    """How often each value occurs among people whom classes are compared with."""

    @property
    def total(self) -> int:
        """How many people there are."""

    def on(self, taxonomy: Taxonomy) -> tuple[Counts, tuple[Label, ...]]:
        """Returns counts by leaf rank, and the values that the taxonomy lacks."""


@dataclass(frozen=True)
class GainLimit(AttackLimit):
    """No value of the column gains more than `beta`; `enhanced`: nor more than -ln of its share p.

    Shares are those of the table, or of a `reference`.
    """

    column: str
    beta: Fraction
    enhanced: bool
    reference: KnownPopulation | None = None

    def readings(self, h: Histogram) -> tuple[Histogram, ...]:
        """Returns the histograms that must each keep it, beside what classes are compared with."""
        if self.reference is None:
            return readings_of(h)
        counts, _ = self.reference.on(h.taxonomy)
        return readings_of(replace(h, overall=counts, outside=self.reference.total - int(counts.sum())))

    def allows(self, gain: Fraction, holders: int, everyone: int) -> bool:
        """Whether a value that `holders` of `everyone` have may gain so much, exactly."""
        if gain <= 0:
            return True
        return gain <= self.beta and (not self.enhanced or is_below_log(gain, everyone, holders))

    def most(self, holders: int, everyone: int) -> Measure:
        """How much a value that so many have may gain: exact where it is `beta`, else rounded down."""
        if not self.enhanced or is_below_log(self.beta, everyone, holders):
            return self.beta
        near = Fraction(log1p((everyone - holders) / holders))
        while near > 0 and not is_below_log(near, everyone, holders):
            near = Fraction(nextafter(float(near), 0))
        return float(near)

    def judge(self, h: Histogram) -> tuple[Truth, Floats]:
        """Per entry of a histogram: whether its value gains no more than it may, exactly; and the share of
        what it may gain that it uses up, rounded (infinite where the whole table lacks the value)."""
        everyone, size = h.everyone, h.totals[h.owner]
        holders = h.overall[h.values]
        there = holders > 0
        ratio = np.full(len(h.counts), np.inf)
        np.divide(h.counts * float(everyone), size * holders.astype(float), out=ratio, where=there)
        allowed = np.full(len(h.counts), float(self.beta))
        if self.enhanced:
            logs = np.log(float(max(everyone, 1))) - np.log(np.maximum(holders, 1).astype(float))
            allowed = np.minimum(allowed, logs)
        within: Truth = ratio <= 1 + allowed
        settled: dict[tuple[int, int, int], bool] = {}
        for i in np.flatnonzero(there & (abs(ratio - 1 - allowed) <= DOUBT * (2 + allowed))).tolist():
            case = (int(h.counts[i]), int(size[i]), int(holders[i]))
            if case not in settled:
                settled[case] = self.allows(gain_of(*case, everyone), case[2], everyone)
            within[i] = settled[case]
        gain = np.maximum(ratio - 1, 0)
        used = np.divide(gain, allowed, out=np.where(gain > 0, np.inf, 0.0), where=allowed > 0)
        return within, used

    def worst_of(self, readings: Sequence[Histogram]) -> tuple[Histogram, int] | None:
        """The entry that uses up most of what it may gain, among those that gain too much if there are such:
        its histogram and place; `None` if there are no entries."""
        worst: tuple[bool, float, Histogram, int] | None = None
        for h in readings:
            within, used = self.judge(h)
            if len(used):
                entry = int(np.where(within.all() | ~within, used, -1.0).argmax())
                here = (not within[entry], float(used[entry]), h, entry)
                worst = here if worst is None or here[:2] > worst[:2] else worst
        return None if worst is None else worst[2:]


def readings_of(h: Histogram) -> tuple[Histogram, ...]:
    """Returns a histogram by texts, by values where spellings of one count as one, and of known values alone.

    Values hold more people than their spellings, so they gain no more than one of these does; but what is
    common may gain less (-ln p). Of somebody who is known to have a value another thing is believed, before
    and after. So the limit must be kept in every reading.
    """
    folded, known_values = h.by_meaning(missing=True), h.by_meaning(missing=False)
    readings = (h,) if folded is h else (h, folded)
    return (*readings, known_values) if (h.taxonomy.meanings < 0).any() else readings


def gain_of(count: int, size: int, holders: int, everyone: int) -> Fraction:
    """The relative gain of a value: `count` of a class of `size` have it, and `holders` of `everyone`.

    >>> gain_of(1, 2, 1, 10)
    Fraction(4, 1)
    """
    return Fraction(count * everyone, size * holders) - 1


def is_below_log(number: Fraction, above: int, below: int) -> bool:
    """Whether a positive number is at most ln(above / below), for whole numbers above >= below >= 1.

    e to a rational number other than 0 is transcendental (Lindemann), so the two are never equal: logarithms
    of growing precision, each correctly rounded, tell them apart.

    >>> is_below_log(Fraction(693147, 1000000), 2, 1), is_below_log(Fraction(693148, 1000000), 2, 1)
    (True, False)
    """
    digits = 40
    while True:
        context = Context(prec=digits)
        log_above, log_below = context.ln(Decimal(above)), context.ln(Decimal(below))
        error = sum(Fraction(10) ** (part.adjusted() + 1 - digits) for part in (log_above, log_below) if part)
        apart = number - (Fraction(log_above) - Fraction(log_below))
        if abs(apart) > error:
            return apart < 0
        digits *= 2

"""Random worlds: what two tables make somebody believe who matches their rows and thinks no further (rule P).

Two tables cut a component J of comparable classes into rows i and columns j. Of the n(s) people there with
matching value s, a_i(s) are in class i of the first table and b_j(s) in class j of the second. If every way
to match rows is equally likely, the cell (i, j) is expected to hold e(s) = a_i(s) b_j(s) / n(s) of them, and
the belief that somebody there has the value v is the share of v among these. In a chain the people who are
new in the second table are one more row, of n(s) less all a_i(s).

The histogram (e_v) of a cell has rational counts. It is judged exactly, by `Promise.keeps_weights`, where
whole numbers nearby do not decide it: if x lies above a whole histogram w by no more than C altogether, then
x is a mixture of w and of w with C more of one value; if a promise is a convex cone and keeps all of
these, it keeps x.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.chain import ClassTable, match_blocks
from sfumato.core.classes import Classes, Histogram, histogram
from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Codes, Counts
from sfumato.core.promise import ClassPromise
from sfumato.core.taxonomy import Taxonomy
from sfumato.core.weights import WeightedClass, WeightedHistogram

MOST_CELL_ENTRIES = 20_000_000
"""Entries of cells that two tables may share; more would not fit in memory."""

SCALE = 1 << 30
"""Cells are looked at in whole numbers that add up to about this many."""

SLACK = 4
"""How far a value may lie above its rounded count: rounding down, and what sums lose in floating point."""

ENTRIES_TOGETHER = 1 << 21
"""So many entries of nearby histograms are judged together."""


@dataclass(frozen=True, eq=False)
class ExpectedCells:
    """The cells of two tables: entry e says that in cell `owner[e]` the matching value `values[e]` is
    expected `one[e] * other[e] / total[e]` times. Entries are sorted by cell, then value."""

    count: int
    owner: Codes
    values: Codes
    one: Counts
    other: Counts
    total: Counts


@dataclass(frozen=True, eq=False)
class BelievedColumn:
    """A column of promises: its tree, the leaf of every matching value, and the counts of the whole table."""

    name: str
    taxonomy: Taxonomy
    code_of_value: Codes
    overall: Counts


def expected_cells(trees: Sequence[Taxonomy], one: ClassTable, other: ClassTable) -> ExpectedCells:
    """Returns the cells where somebody can be who is in both tables, or is new in the second.

    The second table holds everybody of the first. Raises `WrongCall` where it does not, or where the cells
    are too many to look at.
    """
    met = match_blocks(trees, one, other)
    newer = met.surplus(one, other)
    total = np.zeros(met.count, np.int64)
    np.add.at(total, met.other, other.counts)
    order = np.argsort(met.other, kind="stable")
    begin = np.searchsorted(met.other[order], np.arange(met.count + 1))
    lengths = np.diff(begin)[met.one]
    size = int(lengths.sum())
    if size > MOST_CELL_ENTRIES:
        raise WrongCall(
            f"two tables share more than {MOST_CELL_ENTRIES:,} cells",
            remedy="Publish less detail, or fewer tables together.",
        )
    left = np.repeat(np.arange(len(one.owner)), lengths)
    right = order[np.repeat(begin[:-1][met.one] - (np.cumsum(lengths) - lengths), lengths) + np.arange(size)]
    fresh = np.flatnonzero(newer[met.other] > 0)
    width = max(1, len(other))
    pair = np.concatenate(
        [
            one.owner[left].astype(np.int64) * width + other.owner[right],
            np.int64(len(one)) * width + other.owner[fresh],
        ]
    )
    distinct, owner = np.unique(pair, return_inverse=True)
    values = np.concatenate([one.values[left], other.values[fresh]])
    sequence = np.lexsort((values, owner))
    return ExpectedCells(
        len(distinct),
        owner[sequence].astype(np.int32),
        values[sequence],
        np.concatenate([one.counts[left], newer[met.other[fresh]]])[sequence],
        np.concatenate([other.counts[right], other.counts[fresh]])[sequence],
        total[np.concatenate([met.other[right], met.other[fresh]])][sequence],
    )


def expectations_kept(
    cells: ExpectedCells, promises: Sequence[ClassPromise], columns: Sequence[BelievedColumn]
) -> bool:
    """Tells whether the expected histogram of every cell keeps these promises, exactly: rule P.

    Each promise is a convex cone. Sizes are not asked: a promise that asks for people, too, judges multiples.
    """
    expected = [_Expected(cells, column) for column in columns]
    return all(_kept(promise, expected) for promise in promises)


class _Expected:
    """The expected histograms of one column."""

    def __init__(self, cells: ExpectedCells, column: BelievedColumn) -> None:
        self.cells, self.column = cells, column
        code = column.code_of_value[cells.values]
        leaves = max(1, len(column.taxonomy.leaves))
        key = cells.owner.astype(np.int64) * leaves + code
        self._order = np.argsort(key, kind="stable")
        _, begin = np.unique(key[self._order], return_index=True)
        first = self._order[begin] if len(begin) else self._order[:0]
        self.owner, self.code = cells.owner[first], code[first]
        self._begin = np.append(begin, len(key))
        weight = cells.one.astype(np.float64) * cells.other / cells.total
        self.weight = np.add.reduceat(weight[self._order], begin) if len(begin) else weight[:0]
        self.start = np.searchsorted(self.owner, np.arange(cells.count + 1)).astype(np.int64)

    def rounded(self) -> Counts:
        """Returns every entry in whole numbers, never more than it is, and less by at most `SLACK`."""
        sums = np.add.reduceat(self.weight, self.start[:-1]) if len(self.start) > 1 else self.weight[:0]
        scaled = self.weight * (SCALE / sums)[self.owner]
        return np.maximum(np.floor(scaled * (1 - 2.0**-30)).astype(np.int64) - 1, 0)

    def exact(self, cell: int) -> WeightedHistogram:
        """Returns the histogram of one cell in fractions."""
        weights: dict[int, Fraction] = {}
        for entry in range(int(self.start[cell]), int(self.start[cell + 1])):
            some = self._order[self._begin[entry] : self._begin[entry + 1]].tolist()
            c = self.cells
            weights[int(self.code[entry])] = sum(
                (Fraction(int(c.one[e]) * int(c.other[e]), int(c.total[e])) for e in some), Fraction(0)
            )
        return WeightedHistogram(self.column.taxonomy, weights, self.column.overall)


def _kept(promise: ClassPromise, columns: Sequence[_Expected]) -> bool:
    """Tells whether all cells keep a promise; fractions are asked where whole numbers do not decide."""
    about = [c for c in columns if c.column.name in promise.sensitive]
    if len(about) != 1:  # nearby histograms are made for one column
        return all(_exactly(promise, about, cell) for cell in range(about[0].cells.count if about else 0))
    near = np.zeros(about[0].cells.count, dtype=bool)
    for some, truth in _nearby(promise, about[0]):
        near[some] = truth
    doubtful = np.flatnonzero(~near)
    known: dict[object, bool] = {}
    for cell in doubtful.tolist():
        held = about[0].exact(cell)
        shares = frozenset((v, w / held.total) for v, w in held.weights.items())
        if shares not in known:
            known[shares] = _weights_kept(promise, {about[0].column.name: held})
        if not known[shares]:
            return False
    return True


def _exactly(promise: ClassPromise, columns: Sequence[_Expected], cell: int) -> bool:
    return _weights_kept(promise, {c.column.name: c.exact(cell) for c in columns})


def _weights_kept(promise: ClassPromise, held: dict[str, WeightedHistogram]) -> bool:
    """Tells whether a histogram keeps a promise, whatever its size; what cannot be told is no yes."""
    people = next(iter(held.values())).total
    one = WeightedClass(people, held)
    if 0 < people < promise.least_people:
        one = one.scaled(Fraction(promise.least_people) / people)
    return promise.keeps_weights(one) is True


def _nearby(promise: ClassPromise, of: _Expected) -> Iterator[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Yields cells, and whether whole histograms around theirs keep a promise."""
    rounded, lengths = of.rounded(), np.diff(of.start)
    work = np.cumsum(lengths * (lengths + 1))
    begin = 0
    while begin < len(lengths):
        already = int(work[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(work, already + ENTRIES_TOGETHER)))
        some = np.arange(begin, min(end, len(lengths)))
        yield some, _mixtures_kept(promise, of, rounded, some)
        begin = end


def _mixtures_kept(
    promise: ClassPromise, of: _Expected, rounded: Counts, cells: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Tells of every cell whether its rounded histogram, alone and with some more of each value, is kept."""
    lengths = np.diff(of.start)[cells]
    variants = lengths + 1
    cell_of_variant = np.repeat(np.arange(len(cells)), variants)
    which = np.arange(len(cell_of_variant)) - np.repeat(np.cumsum(variants) - variants, variants)
    size = lengths[cell_of_variant]
    owner = np.repeat(np.arange(len(cell_of_variant)), size)
    place = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    entry = of.start[cells][cell_of_variant][owner] + place
    more = np.where(place + 1 == which[owner], SLACK * size[owner], 0)
    counts = rounded[entry] + more
    there = counts > 0
    held: Histogram = histogram(
        of.column.taxonomy,
        owner[there],
        of.code[entry[there]],
        counts[there],
        len(cell_of_variant),
        overall=of.column.overall,
    )
    people = held.totals
    truth = promise.holds_on(Classes(people, people, {of.column.name: held}))
    return np.logical_and.reduceat(truth, np.cumsum(variants) - variants)

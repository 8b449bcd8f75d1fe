"""Segments of a table: rows moved so that every class in the making is one contiguous range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes, Histogram
from sfumato.core.cut import Cut
from sfumato.core.microdata import Codes, Column, Counts, Microdata
from sfumato.core.packing import BLOCK_ROWS
from sfumato.core.recoding import classes_under
from sfumato.core.taxonomy import Nodes, Taxonomy
from sfumato.kernels.rows import medians, segment_tally
from sfumato.kernels.rows.layout import WEIGHT_MASK, Layout, PackedRows

Truths = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Segments:
    """Ranges of rows `first[s] .. last[s]-1`, with the least and greatest leaf rank in every key column.

    `tried` says which columns were split or given up; the bounds of `fresh` segments are not yet tight.
    """

    first: Counts
    last: Counts
    weight: Counts
    low: Codes
    high: Codes
    tried: Truths
    fresh: Truths

    def __len__(self) -> int:
        return len(self.first)

    def pick(self, chosen: Truths | Counts) -> Segments:
        """Returns some of the segments, flagged or by number."""
        numbers = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return Segments(*(array.take(numbers, axis=0) for array in self._arrays))

    @classmethod
    def joined(cls, some: Sequence[Segments]) -> Segments:
        """Returns the segments of each, one after the other."""
        return cls(*(np.concatenate(arrays) for arrays in zip(*(s._arrays for s in some), strict=True)))

    def cut(self, parts: SplitProposal) -> Segments:
        """Returns the parts of every segment; nothing is tried on them yet."""
        low, high = (np.repeat(bound, parts.parts, axis=0) for bound in (self.low, self.high))
        tried, fresh = np.zeros(low.shape, bool), np.ones(len(low), bool)
        return Segments(parts.first, parts.last, parts.weight, low, high, tried, fresh)

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self.first, self.last, self.weight, self.low, self.high, self.tried, self.fresh


class RowRanges(NamedTuple):
    """Rows `first[r] .. last[r]-1`, and what they weigh together."""

    first: Counts
    last: Counts
    weight: Counts


@dataclass(frozen=True, eq=False)
class SplitProposal:
    """Splits of some segments, `parts[s]` parts of segment s; part p is the rows `first[p] .. last[p]-1`."""

    parts: Counts
    first: Counts
    last: Counts
    weight: Counts

    @property
    def begin(self) -> Counts:
        """The first part of every segment."""
        return np.asarray(np.cumsum(self.parts) - self.parts, dtype=np.int64)

    def ranges(self, some: slice) -> RowRanges:
        """Returns some of the parts."""
        return RowRanges(self.first[some], self.last[some], self.weight[some])

    def pick(self, chosen: Truths) -> SplitProposal:
        """Returns the splits of some of the segments."""
        of = np.repeat(chosen, self.parts)
        return SplitProposal(self.parts[chosen], self.first[of], self.last[of], self.weight[of])


class MovingRows:
    """The rows of a table in the order of segments, with what the compiled loops need beside them.

    Rows are told apart as far as ranges may tell them apart (`_at_range_starts`). What they hold in other
    columns moves with them.
    """

    def __init__(self, table: Microdata, weights: Mapping[str, Fraction]) -> None:
        self.table = table
        keys = table.keys
        places = [p for p, c in zip(table.packing.places, table.columns, strict=False) if c.role.is_key]
        self._layout = _layout(keys, places, weights, len(table.words))
        key = _at_range_starts(keys, places, table.words)
        block, told_by = _blocks(table), key & self._layout.fields[:, None]
        moves = len(block) > 0 or not _ascending(told_by)
        row = np.lexsort((*told_by[::-1], *block)) if moves else np.arange(table.distinct, dtype=np.int64)
        del told_by
        if moves:
            key = np.ascontiguousarray(key[:, row])
        starts = [0] if not len(block) else np.flatnonzero(np.diff(block[0][row], prepend=-1))
        self._starts = _longs(starts)[: table.distinct]
        weight = np.minimum(table.counts[row], WEIGHT_MASK)
        tag = row
        tag <<= 32
        tag |= weight
        nodes = max((len(c.taxonomy.labels) for c in keys), default=0)
        self._weight = int(weight.sum())
        self._rows = PackedRows(
            key=key,
            tag=tag,
            spare=np.empty((2, table.distinct), np.int64),
            slot=np.full(nodes, -1, np.int64),
            tally=np.empty(max(64, nodes), np.int64),
            sizes=np.empty(nodes, np.int64),
        )

    @property
    def whole(self) -> Segments:
        """The table as one segment per block: rows below the same nodes, columns at their ceilings.

        There is one block where every column may be its root, and none in an empty table.
        """
        first, leaves = self._starts, [len(c.taxonomy.leaves) for c in self.table.keys]
        count = len(first)
        low = np.zeros((count, len(leaves)), np.int32)
        high = np.tile(np.array(leaves, np.int32) - 1, (count, 1)).astype(np.int32)
        tried, fresh = np.zeros(low.shape, bool), np.ones(count, bool)
        return Segments(*self.ranges(first), low, high, tried, fresh)

    def propose(self, segments: Segments, *, least: int, relaxed: bool) -> SplitProposal:
        """Splits each segment in its widest column that allows it; bounds become tight."""
        parts, first, weight = medians.propose(
            self._layout,
            self._rows,
            segments.first,
            segments.last,
            segments.weight,
            segments.low,
            segments.high,
            segments.tried,
            segments.fresh,
            (least, relaxed),
        )
        segments.fresh[:] = False
        last = np.empty_like(first)
        last[:-1] = first[1:]
        last[np.cumsum(parts) - 1] = segments.last
        return SplitProposal(parts, first, last, weight)

    def divide(self, *, least: int, relaxed: bool) -> Segments:
        """Splits the table, and all parts, as long as parts of `least` rows are left."""
        whole = self.whole
        if not len(whole):
            return whole
        first, low, high = medians.divide(
            self._layout, self._rows, self._weight, whole.low[0], whole.high[0], (least, relaxed)
        )
        last = np.append(first[1:], self.table.distinct)
        return Segments(
            first, last, last - first, low, high, np.ones(low.shape, bool), np.zeros(len(low), bool)
        )

    def ranges(self, first: Counts) -> RowRanges:
        """Returns the ranges that start at these places and cover all rows."""
        weight = np.add.reduceat(self._rows.tag & WEIGHT_MASK, first) if len(first) else first
        return RowRanges(first, np.append(first[1:], self.table.distinct)[: len(first)], weight)

    def rows_of(self, ranges: RowRanges) -> tuple[Codes, Counts]:
        """Returns the row numbers in some ranges, one after the other, and where each range starts."""
        first, last, _ = ranges
        start = np.concatenate(([0], np.cumsum(last - first))).astype(np.int64)
        place = np.arange(start[-1]) - np.repeat(start[:-1] - first, last - first)
        return (self._rows.tag[place] >> 32).astype(np.int32), start

    def carries(self, names: Iterable[str]) -> bool:
        """Whether `classes` can count these columns: rows are people, and each column moves with them."""
        beside = {c.name for c in self.table.columns if not c.role.is_key}
        light = int(self.table.counts.max(initial=0)) <= WEIGHT_MASK
        return light and not self.table.has_person and beside.issuperset(names)

    def classes(self, ranges: RowRanges, names: Sequence[str], overall: Mapping[str, Counts]) -> Classes:
        """Returns ranges as classes, with what they hold of columns that move with the rows.

        `overall` says what the whole table holds of a column; by default what the ranges hold.
        """
        histograms = {}
        for name in names:
            index = [c.name for c in self.table.columns].index(name)
            tree, (word, shift, bits) = self.table.columns[index].taxonomy, self.table.packing.places[index]
            leaves, place = max(1, len(tree.leaves)), (shift, (1 << bits) - 1)
            begin, values, counts = segment_tally.tally_segments(
                self._rows.key[word], self._rows.tag, ranges.first, ranges.last, place, leaves
            )
            total = overall.get(name)
            if total is None:
                total = np.zeros(leaves, np.int64)
                np.add.at(total, values, counts)
            histograms[name] = Histogram(tree, begin, values, counts, total)
        return Classes(ranges.weight, ranges.weight, histograms)

    def class_of(self, segments: Segments) -> Codes:
        """Returns the segment of every row of the table; the segments cover it in order."""
        found: Codes = medians.segment_of(self._rows.tag, segments.first, segments.last)
        return found

    def published(self, segments: Segments) -> tuple[Codes, Codes]:
        """Returns the leaf ranks `low .. high-1` that each segment publishes in every key column.

        Ordered columns publish the nodes of the range level from the first that occurs to the last, unordered
        ones the lowest node above what occurs. A range that holds the missing cell and more is no range of
        values: it is published as the root.
        """
        low, high = segments.low.copy(), segments.high.copy()
        medians.widen_to_covers(self._layout, low, high)
        for j, column in enumerate(self.table.keys):
            if column.taxonomy.ordered:
                high[:, j] = column.taxonomy.range_cells()[1][high[:, j]] - 1
        high += 1
        for j, column in enumerate(self.table.keys):
            missing = column.taxonomy.rank(None)
            if column.taxonomy.ordered and missing is not None:
                mixed = (low[:, j] <= missing) & (missing < high[:, j]) & (high[:, j] - low[:, j] > 1)
                low[mixed, j], high[mixed, j] = 0, len(column.taxonomy.leaves)
        return low, high


def _blocks(table: Microdata) -> list[Codes]:
    """Returns the block of every distinct row; nothing where there is one block."""
    if all(c.taxonomy.ceiling == c.taxonomy.height for c in table.keys):
        return []
    return [classes_under(table, {c.name: Cut.coarsest(c.taxonomy) for c in table.keys})[0]]


def _ancestors(tree: Taxonomy) -> Nodes:
    """Returns the ancestor of every leaf at each depth, one row per depth; the leaf where it ends sooner."""
    rows, current = [tree.leaves], tree.leaves
    for depth in range(int(tree.depth.max(initial=0)), 0, -1):
        current = np.where(tree.depth[current] >= depth, tree.parent[current], current).astype(np.int32)
        rows.append(current)
    return np.array(rows[::-1], dtype=np.int32)


def _layout(
    keys: tuple[Column, ...],
    places: Sequence[tuple[int, int, int]],
    weights: Mapping[str, Fraction],
    words: int,
) -> Layout:
    trees = [c.taxonomy for c in keys]
    scales = [Fraction(weights.get(c.name, 1)) / max(1, len(c.taxonomy.leaves) - 1) for c in keys]
    tables = [np.zeros((1, 0), np.int32) if t.ordered else _ancestors(t) for t in trees]
    return Layout(
        word=_longs([word for word, _, _ in places]),
        shift=_longs([shift for _, shift, _ in places]),
        mask=_longs([(1 << bits) - 1 for _, _, bits in places]),
        ordered=np.array([t.ordered for t in trees], dtype=bool),
        scale_by=np.array([float(s.numerator) for s in scales]),
        scale_to=np.array([float(s.denominator) for s in scales]),
        leaves=_longs([len(t.leaves) for t in trees]),
        above=_longs(np.cumsum([0, *(t.size for t in tables)])[:-1]),
        ancestor=np.concatenate([np.zeros(0, np.int32), *(t.ravel() for t in tables)]),
        base=_longs(np.cumsum([0, *(len(t.labels) for t in trees)])[:-1]),
        low=np.concatenate([np.zeros(0, np.int32), *(t.low for t in trees)]),
        high=np.concatenate([np.zeros(0, np.int32), *(t.high for t in trees)]),
        height=_longs([len(t) - 1 for t in tables]),
        fields=_key_bits(places, words),
    )


def _key_bits(places: Sequence[tuple[int, int, int]], words: int) -> Counts:
    """Returns the bits of every word that hold codes of key columns."""
    fields = np.zeros(words, np.int64)
    for word, shift, bits in places:
        fields[word] |= ((1 << bits) - 1) << shift
    return fields


def _at_range_starts(keys: Sequence[Column], places: Sequence[tuple[int, int, int]], words: Counts) -> Counts:
    """Returns packed rows in which a leaf of an ordered column is the first of its node of the range level.

    What is finer than a published range can say then decides nothing: neither where a segment is split, nor
    which column is the widest.
    """
    moved = words.copy()
    for column, (word, shift, bits) in zip(keys, places, strict=True):
        tree, mask = column.taxonomy, (1 << bits) - 1
        if tree.ordered and tree.range_level:
            starts = tree.range_cells()[0].astype(np.int64)
            for begin in range(0, moved.shape[1], BLOCK_ROWS):
                some = moved[word, begin : begin + BLOCK_ROWS]
                codes = (some >> shift) & mask
                some ^= (codes ^ starts[codes]) << shift
    return moved


def _longs(values: Sequence[int] | NDArray[np.integer]) -> Counts:
    return np.array(values, dtype=np.int64)


def _ascending(key: NDArray[np.int64]) -> bool:
    """Whether the columns of words are sorted, first word first."""
    if len(key) == 1:
        return bool(np.all(key[0, 1:] >= key[0, :-1]))
    order = np.lexsort(key[::-1])
    return bool(np.array_equal(order, np.arange(len(order))))

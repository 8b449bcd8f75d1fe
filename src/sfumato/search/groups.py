"""The classes that a top-down search judges, and which of them stay published step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import medians
from sfumato.kernels import rows as segment_tally
from sfumato.kernels.rows import WEIGHT_MASK, Layout, PackedRows
from sfumato.models.contract import Promises, Truth
from sfumato.search.refinement import GroupSplit, Refinement, Split
from sfumato.table.classes import Classes, Histogram
from sfumato.table.cut import Cut
from sfumato.table.microdata import BLOCK_ROWS, Codes, Column, Counts, Microdata
from sfumato.table.recoding import Recoding, classes_under
from sfumato.table.taxonomy import Nodes, Taxonomy


class ClassGroups:
    """Classes under cuts that get finer: what a step does to them, and what they hold."""

    def __init__(self, classes: Refinement) -> None:
        self._classes = classes
        self._step: Split | None = None
        self.count = classes.count

    def split(self, step: Split) -> GroupSplit:
        """Returns what a step would do to the groups; the last one asked about is proposed."""
        self._step = step
        return step

    def parts(self, sensitive: Sequence[str], overall: dict[str, Counts]) -> Classes:
        """Returns the parts of the proposed split, to be judged."""
        return self._classes.parts(self._proposed_step, sensitive, overall)

    def everything(self, sensitive: Sequence[str]) -> Classes:
        """Returns the groups with every key column at its root."""
        return self._classes.everything(sensitive)

    def marked_parts(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns which parts of the proposed split go with one of the marked distinct rows."""
        step = self._proposed_step
        parts = np.zeros(len(step.parent), dtype=bool)
        if step.row_parts is not None:
            parts[step.row_parts.part[marked[self._classes.rows_below_step(step)]]] = True
        return parts

    def marked_groups(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns the same of the groups with every key column at its root."""
        return np.full(self.count, marked.any())

    def accept(self) -> None:
        """Makes the proposed split; the classes are split by the search."""
        self.count = self._proposed_step.count_after

    def recoding(self, published: NDArray[np.bool_]) -> Recoding:
        """Returns the classes as a recoding; the rows of groups that are not published are suppressed."""
        return self._classes.recoding(published)

    @property
    def _proposed_step(self) -> Split:
        assert self._step is not None  # noqa: S101  # a step is asked about before
        return self._step


# Histograms of groups that are divided again and again: parts are added, and nothing is copied.


class HistogramStore:
    """The histogram of every group by its number; entries of groups that are gone wait to be cleared away."""

    def __init__(self, histogram: Histogram) -> None:
        self._taxonomy = histogram.taxonomy
        self._values, self._counts = histogram.values.copy(), histogram.counts.copy()
        self._used = len(self._values)
        self._begin = histogram.start[:-1].copy()
        self._length = np.diff(histogram.start)

    def replace(self, ids: NDArray[np.integer], parts: Histogram) -> None:
        """Gives the groups of these numbers, old or new, the histograms of parts."""
        count = max(len(self._begin), int(ids.max(initial=-1)) + 1)
        begin, length = np.zeros(count, np.int64), np.zeros(count, np.int64)
        begin[: len(self._begin)], length[: len(self._length)] = self._begin, self._length
        length[ids] = 0
        self._begin, self._length = begin, length
        self._make_room(len(parts.values))
        self._begin[ids], self._length[ids] = self._used + parts.start[:-1], np.diff(parts.start)
        end = self._used + len(parts.values)
        self._values[self._used : end], self._counts[self._used : end] = parts.values, parts.counts
        self._used = end

    def total(self, groups: NDArray[np.integer], size: int) -> Counts:
        """Returns how often each of `size` values occurs in some groups together."""
        total = np.zeros(size, np.int64)
        entry, _ = self._entries(groups)
        np.add.at(total, self._values[entry], self._counts[entry])
        return total

    def pick(self, groups: NDArray[np.integer], overall: Counts, *, then: Histogram | None) -> Histogram:
        """Returns the histogram of some groups, and `then` of other classes, beside what is published."""
        entry, start = self._entries(groups)
        values, counts = self._values[entry], self._counts[entry]
        if then is not None:
            start = np.concatenate((start, start[-1] + then.start[1:]))
            values, counts = np.concatenate((values, then.values)), np.concatenate((counts, then.counts))
        return Histogram(self._taxonomy, start, values, counts, overall)

    def _entries(self, groups: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        length = self._length[groups]
        start = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
        return np.arange(start[-1]) - np.repeat(start[:-1] - self._begin[groups], length), start

    def _make_room(self, more: int) -> None:
        """Clears away what is gone where it is most of the store, and grows where that is too little."""
        if 2 * int(self._length.sum()) < self._used:
            entry, start = self._entries(np.arange(len(self._begin)))
            self._values[: len(entry)], self._counts[: len(entry)] = self._values[entry], self._counts[entry]
            self._begin, self._used = start[:-1], len(entry)
        if self._used + more > len(self._values):
            room = (self._used + more) * 3 // 2
            self._values = np.concatenate((self._values[: self._used], np.zeros(room - self._used, np.int32)))
            self._counts = np.concatenate((self._counts[: self._used], np.zeros(room - self._used, np.int64)))


# The groups that stay published after each step of a top-down search, by what the step changes.
#
# `suppression.keep` says which classes are published: in rounds, each on all classes that are left, because a
# promise may compare a class with everything that is published. Here the same rounds look only at classes
# whose answer can have changed: those that a step divides, and in later rounds those that are nearer to a
# limit (`RelativePromise.margins`) than what is published has moved.

Margins = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Proposal:
    """What the groups are after a step: `first` says which of them pass the first round."""

    change: GroupSplit
    parts: Classes
    rows: Counts
    people: Counts
    first: Truth
    margins: Margins
    gone: dict[str, Counts]
    left: Truth

    @cached_property
    def part_of(self) -> NDArray[np.int64]:
        """The part that each group is, -1 for a group that stays as it was."""
        parts = np.full(len(self.rows), -1, np.int64)
        parts[self.change.ids] = np.arange(len(self.change.ids))
        return parts


class PublishedGroups:
    """Groups of rows that add up to the table, and which of them are published.

    `rest` are the promises that are not judged on the parts of a step alone; those of them that are
    `relative` have to tell margins (`tells_margins`).
    """

    def __init__(self, everything: Classes, passing: Truth, promises: Promises) -> None:
        self._rest = promises
        self._relative = promises.relative
        self._relative_promises = Promises(self._relative)
        self._columns = self._relative_promises.sensitive
        self._overall = {name: everything.histograms[name].overall for name in self._columns}
        self._stores = {name: HistogramStore(everything.histograms[name]) for name in self._columns}
        self.rows, self._people = everything.rows, everything.people
        self._first, self._margins = self._judged(everything, passing)
        self._gone = {
            name: store.total(np.flatnonzero(~self._first), len(self._overall[name]))
            for name, store in self._stores.items()
        }
        self._proposal: _Proposal | None = None
        self._kept: Truth | None = None

    def propose(
        self, change: GroupSplit, parts: Classes, passing: Truth, *, most: int | None = None
    ) -> Truth | None:
        """Returns which groups are published after a step; `None` where more than `most` rows are not.

        `passing` says which parts keep the promises that are not among the `rest`. The step is made by
        `accept`.
        """
        truth, margins = self._judged(parts, passing)
        rows, people = change.after(self.rows, parts.rows), change.after(self._people, parts.people)
        first, near = change.after(self._first, truth), change.after(self._margins, margins)
        dropped = change.touched[~self._first[change.touched]]
        gone = {}
        for name, store in self._stores.items():
            total = self._gone[name] - store.total(dropped, len(self._overall[name]))
            np.add.at(total, *_entries(parts.histograms[name], ~truth))
            gone[name] = total
        self._proposal = _Proposal(change, parts, rows, people, first, near, gone, first.copy())
        return self._left_after_rounds(self._proposal, most)

    def forget(self) -> None:
        """The last step divides no group: nothing changes when it is made."""
        self._proposal = None

    def accept(self) -> None:
        """Makes the step that was proposed last."""
        proposal = self._proposal
        if proposal is None:
            return
        for name, store in self._stores.items():
            store.replace(proposal.change.ids, proposal.parts.histograms[name])
        self.rows, self._people, self._first = proposal.rows, proposal.people, proposal.first
        self._margins, self._gone, self._proposal, self._kept = proposal.margins, proposal.gone, None, None

    @property
    def kept(self) -> Truth:
        """Which groups are published, after the steps that were made."""
        if self._kept is None:
            nothing = GroupSplit(np.zeros(0, np.int32), np.zeros(0, np.int64), len(self.rows))
            now = _Proposal(
                nothing,
                Classes(np.zeros(0, np.int64), np.zeros(0, np.int64)),
                *(self.rows, self._people, self._first, self._margins, self._gone, self._first.copy()),
            )
            left = self._left_after_rounds(now, None)
            assert left is not None  # noqa: S101  # there is no limit
            self._kept = left
        return self._kept

    def _judged(self, classes: Classes, passing: Truth) -> tuple[Truth, Margins]:
        """Returns which classes pass the first round, and their margins, one line for each promise."""
        truth = passing & self._rest.holds_on(classes)
        margins = np.empty((len(self._relative), len(classes)))
        for line, promise in zip(margins, self._relative, strict=True):
            line[:] = promise.margins(classes)
        return truth, margins

    def _left_after_rounds(self, proposal: _Proposal, most: int | None) -> Truth | None:
        left, gone = proposal.left, {name: total.copy() for name, total in proposal.gone.items()}
        whole = int(proposal.rows.sum())
        while True:
            if most is not None and whole - int(proposal.rows[left].sum()) > most:
                return None
            overall = {name: self._overall[name] - gone[name] for name in self._columns}
            doubtful = np.flatnonzero(left & self._may_have_changed(proposal.margins, overall))
            if not len(doubtful):
                return left
            doubtful = doubtful[np.argsort(proposal.part_of[doubtful] >= 0, kind="stable")]
            picked = self._picked(proposal, doubtful, overall)
            truth = self._relative_promises.holds_on(picked)
            if truth.all():
                return left
            left[doubtful[~truth]] = False
            for name in self._columns:
                np.add.at(gone[name], *_entries(picked.histograms[name], ~truth))

    def _may_have_changed(self, margins: Margins, overall: dict[str, Counts]) -> Truth:
        """Flags the groups that are nearer to a limit than what is published has moved."""
        moved = {name: _variation(self._overall[name], now) for name, now in overall.items()}
        doubtful = np.zeros(margins.shape[1], dtype=bool)
        for line, promise in zip(margins, self._relative, strict=True):
            doubtful |= line <= max(moved[name] for name in promise.sensitive)
        return doubtful

    def _picked(self, proposal: _Proposal, chosen: NDArray[np.intp], overall: dict[str, Counts]) -> Classes:
        """Returns some groups after a step as classes, beside what is published: parts of the step last."""
        fresh = proposal.part_of[chosen]
        old, new = chosen[fresh < 0], fresh[fresh >= 0]
        histograms = {
            name: store.pick(
                old, overall[name], then=proposal.parts.histograms[name].pick(new) if len(new) else None
            )
            for name, store in self._stores.items()
        }
        return Classes(proposal.people[chosen], proposal.rows[chosen], histograms)


def tells_margins(promises: Promises, everything: Classes) -> bool:
    """Whether every promise that compares classes with what is published can tell margins."""
    return all(p.margins(everything) is not None for p in promises.relative)


def _entries(histogram: Histogram, chosen: Truth) -> tuple[NDArray[np.int32], Counts]:
    """Returns the values and counts of some classes, one after the other."""
    mask = np.repeat(chosen, np.diff(histogram.start))
    return histogram.values[mask], histogram.counts[mask]


def _variation(before: Counts, now: Counts) -> float:
    """Returns at least the total variation between two distributions of counts; 1 where one is empty."""
    whole, left = int(before.sum()), int(now.sum())
    if not whole or not left:
        return 1.0
    rounded = (len(before) + 8) * 2.0**-50  # far more than a sum of so many shares loses
    return float(np.abs(before / whole - now / left).sum()) / 2 + rounded


# Segments of a table: rows moved so that every class in the making is one contiguous range.


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
    tried: Truth
    fresh: Truth

    def __len__(self) -> int:
        return len(self.first)

    def pick(self, chosen: Truth | Counts) -> Segments:
        """Returns some of the segments, flagged or by number."""
        numbers = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return Segments(*(array.take(numbers, axis=0) for array in self._arrays))

    @classmethod
    def joined(cls, segments: Sequence[Segments]) -> Segments:
        """Returns the segments of each, one after the other."""
        return cls(*(np.concatenate(arrays) for arrays in zip(*(s._arrays for s in segments), strict=True)))

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

    def ranges(self, numbers: slice) -> RowRanges:
        """Returns some of the parts."""
        return RowRanges(self.first[numbers], self.last[numbers], self.weight[numbers])

    def pick(self, chosen: Truth) -> SplitProposal:
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
        segment: Codes = medians.segment_of(self._rows.tag, segments.first, segments.last)
        return segment

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
                block = moved[word, begin : begin + BLOCK_ROWS]
                codes = (block >> shift) & mask
                block ^= (codes ^ starts[codes]) << shift
    return moved


def _longs(values: Sequence[int] | NDArray[np.integer]) -> Counts:
    return np.array(values, dtype=np.int64)


def _ascending(key: NDArray[np.int64]) -> bool:
    """Whether the columns of words are sorted, first word first."""
    if len(key) == 1:
        return bool(np.all(key[0, 1:] >= key[0, :-1]))
    order = np.lexsort(key[::-1])
    return bool(np.array_equal(order, np.arange(len(order))))

"""Targets of a chain: the cells where releases meet, and how many candidates remain in each.

A person who came with release t is in every release from t on. Whoever knows their key values knows the class
q_j they fall into in each of them: a *cell*. A record with matching value s in that cell can be no more often
there than any class allows, g_j(s), and no more often than rows newer than an earlier release i < t exist in
the component that i and j share, n_j(J, s) - n_i(J, s). The sum over s of the least of these is the *refined*
bound; for two releases it is exact.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.models.continuous.chain import (
    Blocks,
    Chain,
    ClassTable,
    Detail,
    History,
    ReleaseIndex,
    by_cut,
    last_finer_release,
    match_blocks,
    numbered_apart,
    stacked,
)
from sfumato.models.continuous.kernels import NO_OVERLAP, components_of, least_overlaps
from sfumato.system.errors import BadData, UsageError
from sfumato.table.classes import Classes, histogram
from sfumato.table.microdata import Codes, Counts
from sfumato.table.taxonomy import Taxonomy

MOST_CELL_ENTRIES = 50_000_000
"""Entries of cells in which releases may overlap; more would not fit in memory."""
ENTRIES_TOGETHER = 1 << 20
"""Releases with no more entries than this are compared together."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The feasible targets of some times that the same cuts bind, time after time (`span` names them).

    Cell c is of time `times[c]`; `classes[c, i]` is its class in the i-th binding release from then on,
    `candidates[c]` how many candidates it keeps at most, by the refined bound. `table` has its nodes and
    counts. `phantom` says of every time in the span whether some comparable classes share no value at all.
    """

    span: tuple[int, ...]
    times: Codes
    classes: Codes
    table: ClassTable
    phantom: NDArray[np.bool_]

    @cached_property
    def candidates(self) -> Counts:
        return self.table.sizes

    @property
    def time(self) -> int:
        """The first of the times."""
        return self.span[0]

    def of(self, time: int) -> Cells:
        """The cells of one time."""
        low, high = np.searchsorted(self.times, [time, time + 1]).tolist()
        begin, end = np.searchsorted(self.table.owner, [low, high]).tolist()
        s, here = self.table, slice(begin, end)
        table = ClassTable(s.node_of, s.nodes[low:high], s.owner[here] - low, s.values[here], s.counts[here])
        return Cells(
            (time,),
            self.times[low:high],
            self.classes[low:high],
            table,
            self.phantom[[self.span.index(time)]],
        )


@dataclass(frozen=True, eq=False)
class FewestCandidates:
    """The fewest candidates of any target of one time, by class.

    `first` is by class of the release the targets came with, `last` by class of the last one; NO_OVERLAP
    where no target can be. `disjoint` says which classes have a comparable one that they share no value with.
    """

    first: Counts
    last: Counts | None
    disjoint: NDArray[np.bool_]

    @property
    def least(self) -> int | None:
        """The fewest candidates of any target; `None` where there is no target."""
        least = int(self.first.min(initial=NO_OVERLAP))
        return None if least == NO_OVERLAP else least


class Overlap:
    """The cells of a chain: its releases matched pair by pair, as needed.

    Releases hold more and more people, so not every one binds: of those from a time on, a release tells
    nothing more once an earlier one of them is as fine; of those before it, once a later one of them is.
    `every` looks at all of them nevertheless. Without `compose` earlier releases bind only the release that
    somebody came with, as in the paper. Times that the same cuts bind are looked at together.
    """

    def __init__(
        self, chain: Chain, *, compose: bool = True, every: bool = False, shorter: Overlap | None = None
    ) -> None:
        self.chain = chain
        self.compose = compose
        self.every = every
        self._shorter = shorter
        self._fine: Detail = Detail(chain.trees) if shorter is None else shorter._fine
        self._cut = [self._fine.number(release.node_of) for release in chain.releases]
        self._newer: dict[tuple[int, int], Counts] = {}
        self._kept: list[Cells] | None = None

    def followed_by(self, release: ClassTable) -> Overlap:
        """The same releases and one more; what is known of these serves again."""
        chain = replace(self.chain, releases=(*self.chain.releases, release))
        return Overlap(chain, compose=self.compose, every=self.every, shorter=self)

    def later(self, time: int, stop: int) -> list[int]:
        """The releases after the one of this time that bind its people."""
        if self.every:
            return list(range(time + 1, stop))
        binding = [time]
        after = (places[bisect(places, time) :] for places in self._places)
        for j in sorted(places[0] for places in after if places and places[0] < stop):
            if not any(self._fine.is_finer(self._cut[i], self._cut[j]) for i in binding):
                binding.append(j)
        return binding[1:]

    def before(self, time: int) -> list[int]:
        """The releases that people of this time are not in, as far as they bind."""
        if self.every:
            return list(range(time))
        binding: list[int] = []
        before = (places[: bisect_left(places, time)] for places in self._places)
        for i in sorted((places[-1] for places in before if places), reverse=True):
            if not any(self._fine.is_finer(self._cut[j], self._cut[i]) for j in binding):
                binding.append(i)
        return binding

    @cached_property
    def _places(self) -> list[list[int]]:
        """The releases with each cut."""
        return by_cut(self.chain.releases)

    def capped(self, j: int, time: int) -> ClassTable:
        """Release j with the counts that a person of this time can be behind."""
        return self._capped([(j, time)])[0]

    def fewest_candidates(self, time: int) -> FewestCandidates:
        """The fewest candidates of any target of this time; the cells of the last release are not kept."""
        last = len(self.chain) - 1
        if time == last:
            sizes = self.capped(time, time).sizes
            return FewestCandidates(np.where(sizes > 0, sizes, NO_OVERLAP), None, sizes == 0)
        if last > 1 and sum(len(release.owner) for release in self.chain.releases) <= ENTRIES_TOGETHER:
            return self._fewest_in(self.by_time[time])
        before, newest = self.cells(time, stop=last), self.capped(last, time)
        matched = match_blocks(self.chain.trees, before.table, newest)
        order = np.argsort(matched.other, kind="stable")
        begin = np.searchsorted(matched.other[order], np.arange(matched.count + 1)).astype(np.int64)
        fewest, _, back, _, partners = least_overlaps(
            before.table.start,
            matched.one,
            before.table.counts,
            begin,
            newest.owner[order],
            newest.counts[order],
            len(newest),
        )
        wide = np.bincount(matched.join_other, minlength=int(matched.join_one.max(initial=0)) + 1)
        disjoint = partners < wide[matched.join_one]
        if time + 1 < last:
            fewest = _fewest_per(before.classes[:, 0], fewest, len(self.chain.releases[time]))
            disjoint = before.phantom | disjoint.any()
        return FewestCandidates(fewest, back, disjoint)

    def _fewest_in(self, cells: Cells) -> FewestCandidates:
        """The same, where all cells are known."""
        first, last = self.chain.releases[cells.time], self.chain.releases[-1]
        candidates = np.where(cells.candidates > 0, cells.candidates, NO_OVERLAP)
        fewest = _fewest_per(cells.classes[:, 0], candidates, len(first))
        back = _fewest_per(self._last.classes(cells.table), candidates, len(last))
        return FewestCandidates(fewest, back, cells.phantom)

    @cached_property
    def _last(self) -> ReleaseIndex:
        return ReleaseIndex(self.chain, self.chain.releases[-1])

    def cells(self, time: int, *, stop: int | None = None) -> Cells:
        """All feasible targets of a time, release by release, up to the release before `stop`."""
        return self._from_start([time], len(self.chain) if stop is None else stop)

    def all_cells(self) -> list[Cells]:
        """All feasible targets of all times, oldest first among those that the same cuts bind."""
        count = len(self.chain)
        if self._shorter is None:
            bound = [(t, self.before(t), [t, *self.later(t, count)]) for t in range(count)]
            pairs = [(i, j) for t, old, new in bound for j in new if self.compose or j == t for i in old]
            self.newer(pairs)  # together there are fewer kinds of pairs than bundle by bundle
            return [self._from_start(times, count) for times in self._alike(count)]
        longer = []
        for cells in self._shorter.kept():
            binds = count - 1 in self.later(cells.time, count)
            longer.append(self._met(cells, dict.fromkeys(cells.span, count - 1)) if binds else cells)
        return [*longer, self.cells(count - 1)]

    def kept(self) -> list[Cells]:
        """All feasible targets of all times, computed once."""
        if self._kept is None:
            self._kept = self.all_cells()
        return self._kept

    @cached_property
    def by_time(self) -> list[Cells]:
        """The feasible targets of every time, one after the other."""
        cells_of = {t: cells.of(t) for cells in self.kept() for t in cells.span}
        return [cells_of[t] for t in range(len(self.chain))]

    def _alike(self, stop: int) -> list[list[int]]:
        """Times that the same cuts bind, not too many rows at a time."""
        bundles: dict[tuple[int, ...], list[list[int]]] = {}
        entries: dict[tuple[int, ...], int] = {}
        for time in range(stop):
            key = tuple(self._cut[j] for j in (time, *self.later(time, stop)))
            more = len(self.chain.releases[time].owner)
            entries[key] = entries.get(key, ENTRIES_TOGETHER + 1) + more
            if entries[key] > ENTRIES_TOGETHER:
                bundles.setdefault(key, []).append([])
                entries[key] = more
            bundles[key][-1].append(time)
        return [times for parts in bundles.values() for times in parts]

    def _from_start(self, times: Sequence[int], stop: int) -> Cells:
        """The cells of some times that the same cuts bind."""
        starts = self._capped([(t, t) for t in times])
        lengths = [len(start) for start in starts]
        classes = np.concatenate([np.arange(n, dtype=np.int32) for n in lengths])[:, None]
        phantom = np.array([len(np.unique(start.owner)) < len(start) for start in starts])
        each = np.repeat(np.array(times, np.int32), lengths)
        cells = Cells(tuple(times), each, classes, stacked(starts), phantom)
        for releases in zip(*(self.later(t, stop) for t in times), strict=True):
            cells = self._met(cells, dict(zip(times, releases, strict=True)))
        return cells

    def _met(self, cells: Cells, release: Mapping[int, int]) -> Cells:
        """Cells with one more release, which depends on the time."""
        number = np.searchsorted(cells.span, cells.times)
        others = self._capped([(release[t], t) for t in cells.span])
        begin = np.cumsum([0, *(len(right) for right in others)])
        which = np.repeat(np.arange(len(others)), np.diff(begin))
        trees, left, right = numbered_apart(self.chain.trees, (cells.table, number), (stacked(others), which))
        table, (mine, theirs), matched = crossed(trees, left, right)
        width = len(self.chain.trees)
        table = replace(table, node_of=table.node_of[:width], nodes=table.nodes[:, :width])
        classes = np.hstack([cells.classes[mine], (theirs - begin[number[mine]]).astype(np.int32)[:, None]])
        pairs = np.bincount(number[mine], minlength=len(others))
        phantom = cells.phantom | (pairs < _comparable(matched, which, len(others)))
        return Cells(cells.span, cells.times[mine], classes, table, phantom)

    def _capped(self, pairs: Sequence[tuple[int, int]]) -> list[ClassTable]:
        """For every release and time: the release with the counts that a person of the time can be behind."""
        bound = [self.before(t) if self.compose or j == t else [] for j, t in pairs]
        needed = [(i, j) for (j, _), before in zip(pairs, bound, strict=True) for i in before]
        newer = dict(zip(needed, self.newer(needed), strict=True))
        capped = []
        for (j, _), before in zip(pairs, bound, strict=True):
            release = self.chain.releases[j]
            counts = release.counts
            for i in before:
                counts = np.minimum(counts, newer[i, j])
            positive = counts > 0
            limited = replace(
                release,
                owner=release.owner[positive],
                values=release.values[positive],
                counts=counts[positive],
            )
            capped.append(limited if before else release)
        return capped

    def newer(self, pairs: Sequence[tuple[int, int]]) -> list[Counts]:
        """For every pair (i, j) and entry of release j: the rows newer than release i in its block."""
        if self._shorter is not None:
            in_shorter = [(i, j) for i, j in dict.fromkeys(pairs) if j < len(self._shorter.chain)]
            self._newer.update(zip(in_shorter, self._shorter.newer(in_shorter), strict=True))
        groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for i, j in dict.fromkeys(pairs):
            if (i, j) not in self._newer:
                groups.setdefault((self._cut[i], self._cut[j]), []).append((i, j))
        for group in groups.values():
            ends = np.cumsum([len(self.chain.releases[j].owner) for _, j in group])
            for part in np.split(
                np.arange(len(group)), np.flatnonzero(np.diff(ends // ENTRIES_TOGETHER)) + 1
            ):
                self._compare([group[n] for n in part.tolist()])
        return [self._newer[pair] for pair in pairs]

    def _compare(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Compute and keep what is newer, for pairs of releases with the same two cuts."""
        olds, news = ([self.chain.releases[pair[n]] for pair in pairs] for n in (0, 1))
        which = [np.repeat(np.arange(len(pairs)), [len(s) for s in releases]) for releases in (olds, news)]
        old, new = stacked(olds), stacked(news)
        trees, left, right = numbered_apart(self.chain.trees, (old, which[0]), (new, which[1]))
        matched = match_blocks(trees, left, right)
        newer = matched.surplus(left, right)[matched.other]
        ends = np.cumsum([len(release.owner) for release in news])
        self._newer.update(zip(pairs, np.split(newer, ends[:-1]), strict=True))


def crossed(
    trees: Sequence[Taxonomy], earlier: ClassTable, later: ClassTable
) -> tuple[ClassTable, tuple[NDArray[np.intp], Codes], Blocks]:
    """The cells where classes of two tables share a value, the two classes of each cell, and the blocks."""
    matched = match_blocks(trees, earlier, later)
    order = np.argsort(matched.other, kind="stable")
    begin = np.searchsorted(matched.other[order], np.arange(matched.count + 1))
    shared = np.flatnonzero(matched.one >= 0)
    lengths = np.diff(begin)[matched.one[shared]] if len(shared) else np.zeros(0, np.int64)
    total = int(lengths.sum())
    if total > MOST_CELL_ENTRIES:
        raise UsageError(
            f"the releases meet in more than {MOST_CELL_ENTRIES:,} cells",
            remedy="Look at fewer releases at a time.",
        )
    left = np.repeat(shared, lengths)
    first = np.repeat(begin[:-1][matched.one[shared]] - (np.cumsum(lengths) - lengths), lengths)
    right = order[first + np.arange(total)]
    pair = earlier.owner[left].astype(np.int64) * max(1, len(later)) + later.owner[right]
    distinct, cell = np.unique(pair, return_inverse=True)
    mine, theirs = distinct // max(1, len(later)), (distinct % max(1, len(later))).astype(np.int32)
    values, counts = earlier.values[left], np.minimum(earlier.counts[left], later.counts[right])
    sequence = np.lexsort((values, cell))
    node_of, nodes = [], np.empty((len(distinct), len(trees)), np.int32)
    for j, tree in enumerate(trees):
        a, b = earlier.node_of[j], later.node_of[j]
        node_of.append(np.where(tree.depth[a] >= tree.depth[b], a, b))
        u, v = earlier.nodes[mine, j], later.nodes[theirs, j]
        nodes[:, j] = np.where(tree.depth[u] >= tree.depth[v], u, v)
    table = ClassTable(
        tuple(node_of),
        nodes,
        cell[sequence].astype(np.int32),
        values[sequence],
        counts[sequence],
    )
    return table, (mine, theirs), matched


def _fewest_per(owner: Codes, candidates: Counts, count: int) -> Counts:
    fewest = np.full(count, NO_OVERLAP, np.int64)
    np.minimum.at(fewest, owner, candidates)
    return fewest


def _comparable(matched: Blocks, number: NDArray[np.intp], count: int) -> Counts:
    """How many pairs of classes are comparable, by the number of the second: they need not share a value."""
    joins = int(max(matched.join_one.max(initial=-1), matched.join_other.max(initial=-1))) + 1
    wide = np.bincount(matched.join_one, minlength=joins)
    return np.bincount(number, weights=wide[matched.join_other], minlength=count).astype(np.int64)


def candidates_of(overlap: Overlap, time: int, classes: Mapping[int, Codes]) -> Counts:
    """How many candidates given targets keep; `classes[j]` is the class of each in release j >= time."""
    start = overlap.capped(time, time)
    begin, end = start.start[classes[time]], start.start[classes[time] + 1]
    lengths = end - begin
    target = np.repeat(np.arange(len(lengths)), lengths)
    entry = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    values, least = start.values[entry].astype(np.int64), start.counts[entry]
    for j in range(time + 1, len(overlap.chain)):
        release = overlap.capped(j, time)
        keys = release.owner.astype(np.int64) * overlap.chain.values + release.values
        wanted = classes[j][target].astype(np.int64) * overlap.chain.values + values
        place = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
        there = keys[place] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
        least = np.where(there, np.minimum(least, release.counts[place] if len(keys) else 0), 0)
    sums = np.zeros(len(lengths), np.int64)
    np.add.at(sums, target, least)
    return sums


# The equations that published counts put on the people of a chain, without those that follow from others.
#
# An *entry* is a cell of one time and a value: how many people of that time and value are in it is unknown.
# A release says, class by class and value by value, how many people of all times up to its own there are.
# Where an earlier release i shows at least as much detail in every column, it has told that already of
# everybody up to its own time: what release j adds is how many people who came after i are in each class.
# So nobody of a time up to i is bound by j.

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Equations:
    """Entries, sorted by time, then cell, then value, and the sums they are part of.

    Entry e is of cell `cells[e]` of time `times[e]` and of value `values[e]`; in no world are more than
    `most[e]` people there. It is part of the sums `through[start[e] : start[e+1]]`, which come to `sums`.
    `binding[t]` are the releases that bind people of time t.
    """

    binding: tuple[tuple[int, ...], ...]
    times: Codes
    cells: Codes
    values: Codes
    most: Counts
    start: Longs
    through: Codes
    sums: Counts

    @classmethod
    def of(cls, overlap: Overlap) -> Equations:
        """The equations of a whole chain."""
        chain, cells = overlap.chain, overlap.by_time
        finer = last_finer_release(chain)
        later = [j for j, i in enumerate(finer) if i >= 0]
        added = dict(zip(later, overlap.newer([(finer[j], j) for j in later]), strict=True))
        offsets = np.cumsum([0, *(len(release.owner) for release in chain.releases)])
        sums = [added.get(j, release.counts) for j, release in enumerate(chain.releases)]
        binding = tuple(tuple(j for j in range(t, len(chain)) if finer[j] < t) for t in range(len(chain)))
        index = [ReleaseIndex(chain, release) for release in chain.releases]
        through, lengths = [], []
        for cells_of_time, releases in zip(cells, binding, strict=True):
            rows = np.stack([offsets[j] + index[j].entries(cells_of_time.table) for j in releases], axis=1)
            through.append(rows.ravel())
            lengths.append(np.full(len(rows), len(releases), np.int64))
        return cls(
            binding,
            np.concatenate([np.full(len(c.table.owner), t, np.int32) for t, c in enumerate(cells)]),
            np.concatenate([c.table.owner for c in cells]),
            np.concatenate([c.table.values for c in cells]),
            np.concatenate([c.table.counts for c in cells]),
            np.concatenate([[0], np.cumsum(np.concatenate(lengths))]),
            np.concatenate(through).astype(np.int32),
            np.concatenate(sums),
        )

    @cached_property
    def component(self) -> Codes:
        """Entries with the same number share sums, directly or through others."""
        return components_of(self.start, self.through, len(self.sums))

    @cached_property
    def by_component(self) -> tuple[NDArray[np.intp], Longs]:
        """Entries in the order of their components, and where each of these begins."""
        order = np.argsort(self.component, kind="stable")
        count = int(self.component.max(initial=-1)) + 1
        return order, np.searchsorted(self.component[order], np.arange(count + 1)).astype(np.int64)

    def part(self, component: int) -> EquationPart:
        """The equations of one component."""
        order, begin = self.by_component
        entries = order[begin[component] : begin[component + 1]]
        lengths = self.start[entries + 1] - self.start[entries]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        flat = np.repeat(self.start[entries] - start[:-1], lengths) + np.arange(int(start[-1]))
        rows, through = np.unique(self.through[flat], return_inverse=True)
        return EquationPart(entries, start, through.astype(np.int32), self.sums[rows])

    @cached_property
    def widths(self) -> Longs:
        """The size of each component: entries times sums."""
        begin = self.by_component[1]
        component_of_sum = np.zeros(len(self.sums), np.int32)
        component_of_sum[self.through] = np.repeat(self.component, np.diff(self.start))
        used = np.unique(self.through)
        return np.diff(begin) * np.bincount(component_of_sum[used], minlength=len(begin) - 1)


@dataclass(frozen=True, eq=False)
class EquationPart:
    """Equations of one component: its entries among all, their sums, and what these come to."""

    entries: NDArray[np.intp]
    start: Longs
    through: Codes
    sums: Counts


def no_world() -> BadData:
    """The error for releases that cannot be of one chain."""
    return BadData(
        "no table of people gives the counts of all these releases",
        remedy="Give cumulative releases of one chain, oldest first.",
    )


# Surviving histograms: the sensitive values of the candidates that targets keep, as classes.


def surviving_histograms(
    history: History,
    owner: NDArray[np.integer],
    values: Codes,
    counts: Counts,
    count: int,
) -> Classes:
    """One class per target: the candidates that it keeps, with their values in sensitive columns.

    Entry e says that target `owner[e]` keeps `counts[e]` records with the matching value `values[e]`. There
    are `count` targets. Histograms are of every sensitive column.
    """
    table = history.table
    histograms = {}
    for name in [c.name for c in table.sensitive]:
        tree = table.column(name).taxonomy
        overall = np.zeros(max(1, len(tree.leaves)), np.int64)
        np.add.at(overall, table.codes(name), table.counts)
        codes = history.code_of_value(name)[values]
        histograms[name] = histogram(tree, owner, codes, counts, count, overall=overall)
    people = np.zeros(count, np.int64)
    np.add.at(people, owner, counts)
    return Classes(people, people, histograms)

"""Positions: who is told apart by several tables together, and whether every promise is kept there (rule M).

A person's *position* is the class they are in, table by table; in a chain of cumulative releases it begins
with the release they came with. Nothing that the tables say tells people of one position apart, whatever
else is known of their keys. Where the histograms that keep a promise form a cone (`ClassPromise.cone`), and
tables are published only where every position that somebody is in keeps it, the belief of whoever holds the
tables is a mixture of histograms that keep it, and keeps it, too: also for those who know that rule, or
everybody's key values, or hold only some of the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.models.continuous.chain import Chain, ClassTable, History, came_with, match_blocks, release_under
from sfumato.models.continuous.overlap import Overlap, surviving_histograms
from sfumato.models.continuous.worlds import StepBudget, Worlds
from sfumato.models.contract import Adversary, Answer, ClassPromise, Cuts, IncrementalChecker, Promises
from sfumato.system.errors import RefusedByHistory, UsageError
from sfumato.system.presentation.cards import pluralize
from sfumato.table.classes import Classes, Histogram, WeightedClass, WeightedHistogram, histogram
from sfumato.table.cut import Cut
from sfumato.table.microdata import Codes, Counts, Microdata, Packing, sort_and_count
from sfumato.table.recoding import classes_under
from sfumato.table.release_summary import Imprint
from sfumato.table.taxonomy import Label, Nodes, Taxonomy

Labels = NDArray[np.int64]
"""A number for every distinct row; equal numbers are one group."""


def overall_counts(table: Microdata, columns: Sequence[str]) -> dict[str, Counts]:
    """Returns how often every value of some columns occurs in the whole table."""
    counts = {}
    for name in columns:
        every = np.zeros(max(1, len(table.column(name).taxonomy.leaves)), np.int64)
        np.add.at(every, table.codes(name), table.counts)
        counts[name] = every
    return counts


def people_at(
    table: Microdata,
    position: NDArray[np.integer],
    columns: Sequence[str],
    overall: Mapping[str, Counts] | None = None,
) -> Classes:
    """Returns the people of every position as classes; `overall` counts the whole table, where given."""
    return Classes.of(table, position, sensitive=columns, overall=overall)


def positions_kept(table: Microdata, position: NDArray[np.integer], promises: Promises) -> bool:
    """Tells whether every position keeps every class promise: rule M."""
    return bool(promises.holds_on(people_at(table, position, promises.sensitive)).all())


def positions_of(history: History, cuts: Cuts) -> Labels:
    """Returns the position of every distinct row beside the earlier releases and this one.

    Rows that came with different releases are apart. Of each, only the releases count that it is in.
    """
    table = history.table
    trees = [c.taxonomy for c in table.keys]
    finest: list[Nodes] = [cuts[c.name].node_of for c in table.keys]
    node_columns = [np.zeros(table.distinct, np.int32) for _ in trees]
    codes = [table.codes(c.name) for c in table.keys]
    for time in range(len(history.releases), -1, -1):
        if time < len(history.releases):
            earlier = history.releases[time].node_of
            finest = [deeper(*three) for three in zip(trees, finest, earlier, strict=True)]
        here = np.flatnonzero(history.time == time)
        for j, nodes in enumerate(finest):
            node_columns[j][here] = nodes[codes[j][here]]
    sizes = (len(history.releases) + 1, *(len(tree.labels) for tree in trees))
    return numbered([history.time, *node_columns], sizes)


def deeper(tree: Taxonomy, left: Nodes, right: Nodes) -> Nodes:
    """Returns, of two cuts given as the node of every leaf, the finer node on every path."""
    finer: Nodes = np.where(tree.depth[left] >= tree.depth[right], left, right)
    return finer


def numbered(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int]) -> Labels:
    """Returns a number for every row of some columns, from 0 on: equal rows have equal numbers."""
    packing = Packing(tuple(max(1, size) for size in sizes))
    packed = packing.pack([np.asarray(column, np.int32) for column in columns])
    distinct, _ = sort_and_count(packed.copy())
    if len(distinct) == 1:
        alone: Labels = np.searchsorted(distinct[0], packed[0]).astype(np.int64)
        return alone
    several: Labels = np.unique(packed.T, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    return several


def smallest_position(table: Microdata, position: NDArray[np.integer]) -> int | None:
    """Returns how many rows the smallest position holds; `None` where nobody is."""
    sizes = np.zeros(int(position.max(initial=-1)) + 1, np.int64)
    np.add.at(sizes, position, table.counts)
    return int(sizes[sizes > 0].min()) if (sizes > 0).any() else None


def rows_under(codes: Codes, tree: Taxonomy, node: int) -> NDArray[np.intp]:
    """Returns the distinct rows whose value lies below a node."""
    return np.flatnonzero((codes >= tree.low[node]) & (codes < tree.high[node]))


# Random worlds: what two tables make somebody believe who matches their rows and thinks no further (rule
# P).
#
# Two tables cut a component J of comparable classes into rows i and columns j. Of the n(s) people there
# with matching value s, a_i(s) are in class i of the first table and b_j(s) in class j of the second. If
# every way to match rows is equally likely, the cell (i, j) is expected to hold e(s) = a_i(s) b_j(s) / n(s)
# of them, and the belief that somebody there has the value v is the share of v among these. In a chain the
# people who are new in the second table are one more row, of n(s) less all a_i(s).
#
# The histogram (e_v) of a cell has rational counts. It is judged exactly, by `Promise.keeps_weights`, where
# whole numbers nearby do not decide it: if x lies above a whole histogram w by no more than C altogether,
# then x is a mixture of w and of w with C more of one value; if a promise is a convex cone and keeps all of
# these, it keeps x.

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


def expected_cells(trees: Sequence[Taxonomy], earlier: ClassTable, later: ClassTable) -> ExpectedCells:
    """Returns the cells where somebody can be who is in both tables, or is new in the second.

    The second table holds everybody of the first. Raises `UsageError` where it does not, or where the cells
    are too many to look at.
    """
    matched = match_blocks(trees, earlier, later)
    newer = matched.surplus(earlier, later)
    total = np.zeros(matched.count, np.int64)
    np.add.at(total, matched.other, later.counts)
    order = np.argsort(matched.other, kind="stable")
    begin = np.searchsorted(matched.other[order], np.arange(matched.count + 1))
    lengths = np.diff(begin)[matched.one]
    size = int(lengths.sum())
    if size > MOST_CELL_ENTRIES:
        raise UsageError(
            f"two tables share more than {MOST_CELL_ENTRIES:,} cells",
            remedy="Publish less detail, or fewer tables together.",
        )
    left = np.repeat(np.arange(len(earlier.owner)), lengths)
    right = order[
        np.repeat(begin[:-1][matched.one] - (np.cumsum(lengths) - lengths), lengths) + np.arange(size)
    ]
    fresh = np.flatnonzero(newer[matched.other] > 0)
    width = max(1, len(later))
    pair = np.concatenate(
        [
            earlier.owner[left].astype(np.int64) * width + later.owner[right],
            np.int64(len(earlier)) * width + later.owner[fresh],
        ]
    )
    distinct, owner = np.unique(pair, return_inverse=True)
    values = np.concatenate([earlier.values[left], later.values[fresh]])
    sequence = np.lexsort((values, owner))
    return ExpectedCells(
        len(distinct),
        owner[sequence].astype(np.int32),
        values[sequence],
        np.concatenate([earlier.counts[left], newer[matched.other[fresh]]])[sequence],
        np.concatenate([later.counts[right], later.counts[fresh]])[sequence],
        total[np.concatenate([matched.other[right], matched.other[fresh]])][sequence],
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
            entries = self._order[self._begin[entry] : self._begin[entry + 1]].tolist()
            c = self.cells
            weights[int(self.code[entry])] = sum(
                (Fraction(int(c.one[e]) * int(c.other[e]), int(c.total[e])) for e in entries), Fraction(0)
            )
        return WeightedHistogram(self.column.taxonomy, weights, self.column.overall)


def _kept(promise: ClassPromise, columns: Sequence[_Expected]) -> bool:
    """Tells whether all cells keep a promise; fractions are asked where whole numbers do not decide."""
    about = [c for c in columns if c.column.name in promise.sensitive]
    if len(about) != 1:  # nearby histograms are made for one column
        return all(_exactly(promise, about, cell) for cell in range(about[0].cells.count if about else 0))
    near = np.zeros(about[0].cells.count, dtype=bool)
    for cells, truth in _nearby(promise, about[0]):
        near[cells] = truth
    doubtful = np.flatnonzero(~near)
    answers: dict[object, bool] = {}
    for cell in doubtful.tolist():
        cell_histogram = about[0].exact(cell)
        shares = frozenset((v, w / cell_histogram.total) for v, w in cell_histogram.weights.items())
        if shares not in answers:
            answers[shares] = _weights_kept(promise, {about[0].column.name: cell_histogram})
        if not answers[shares]:
            return False
    return True


def _exactly(promise: ClassPromise, columns: Sequence[_Expected], cell: int) -> bool:
    return _weights_kept(promise, {c.column.name: c.exact(cell) for c in columns})


def _weights_kept(promise: ClassPromise, histograms: dict[str, WeightedHistogram]) -> bool:
    """Tells whether a histogram keeps a promise, whatever its size; what cannot be told is no yes."""
    people = next(iter(histograms.values())).total
    weighted = WeightedClass(people, histograms)
    if 0 < people < promise.least_people:
        weighted = weighted.scaled(Fraction(promise.least_people) / people)
    return promise.keeps_weights(weighted) is True


def _nearby(promise: ClassPromise, of: _Expected) -> Iterator[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Yields cells, and whether whole histograms around theirs keep a promise."""
    rounded, lengths = of.rounded(), np.diff(of.start)
    work = np.cumsum(lengths * (lengths + 1))
    begin = 0
    while begin < len(lengths):
        already = int(work[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(work, already + ENTRIES_TOGETHER)))
        cells = np.arange(begin, min(end, len(lengths)))
        yield cells, _mixtures_kept(promise, of, rounded, cells)
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
    mixtures: Histogram = histogram(
        of.column.taxonomy,
        owner[there],
        of.code[entry[there]],
        counts[there],
        len(cell_of_variant),
        overall=of.column.overall,
    )
    people = mixtures.totals
    truth = promise.holds_on(Classes(people, people, {of.column.name: mixtures}))
    return np.logical_and.reduceat(truth, np.cumsum(variants) - variants)


# Pooling: what recipients who put their versions together learn, and whether every promise survives it.
#
# Against whoever has a *register*, everybody's key values, versions are judged by the position of every
# person (`positions`): the cells of their *meet*, which shows on every path the finer node. Every position
# that somebody is in keeps every promise (M), and so does what random worlds make of every pair of versions
# (P). M on the meet of all versions covers every coalition, also those who know that the others were
# served.
#
# Against whoever knows only the key values of one *target*, versions are judged by what is published alone:
# a person is in one class of each version, and a value is left for them as often as every one of these
# classes holds it, in all cells where somebody can be. That decides how many people and how many different
# values are left, for two versions by a formula, for more by an integer program where it is small. How
# likely a value is it does not say: a promise about that is never judged so.

MOST_CELLS_SOLVED = 60
"""Versions that overlap in more cells than this are not solved by the integer program."""

MOST_VERSIONS_COMBINED = 5
"""Against one target, the coalitions of more versions than this are not looked at one by one."""


def meet_of(versions: Sequence[Cuts]) -> dict[str, Cut]:
    """On every path the finest node that one of the versions shows."""
    return {name: reduce(Cut.meet, (v[name] for v in versions)) for name in versions[0]}


class Pool:
    """A table, and what is promised of it, also to those whose versions are put together."""

    def __init__(
        self, table: Microdata, promises: Promises, adversary: Adversary = Adversary.REGISTER
    ) -> None:
        self.table, self.promises, self.adversary = table, promises, adversary
        if any(not p.cone for p in promises.of_class) or promises.of_table:
            raise UsageError("a promise cannot be judged on several versions: it is no convex cone")
        if adversary is Adversary.TARGET and promises.about_beliefs:
            raise UsageError("how likely a value is, is judged against a register alone")
        self.history = History.of(table, (), None)
        self._trees = tuple(c.taxonomy for c in table.keys)
        self._meets: dict[tuple[bytes, bool], bool] = {}
        self._releases: dict[bytes, ClassTable] = {}
        self._together: dict[tuple[bytes, ...], bool] = {}

    def keeps(self, versions: Sequence[Cuts]) -> bool:
        """Whether every promise holds for whoever puts all these versions together."""
        if len(versions) < 2:
            return True
        if self.adversary is Adversary.REGISTER:
            return self.meet_keeps(versions) and self._expectations_kept(versions)
        in_order = sorted(versions, key=self._key)
        key = tuple(self._key(v) for v in in_order)
        if key not in self._together:
            self._together[key] = self._feasible_keep(in_order)
        return self._together[key]

    def keeps_all(self, versions: Sequence[Cuts]) -> bool:
        """The same for every coalition of these versions."""
        if len(versions) <= 2 or self.adversary is Adversary.REGISTER:
            return self.keeps(versions)
        if len(versions) > MOST_VERSIONS_COMBINED:
            return False
        sizes = range(2, len(versions) + 1)
        return all(self.keeps(coalition) for size in sizes for coalition in combinations(versions, size))

    def keeps_pairs(self, versions: Sequence[Cuts]) -> bool:
        """The same for every two of these versions.

        Two who have a register, and know that a third version went out beside theirs, learn from that what
        its positions may hold: what is promised of values is asked of the positions of all versions.
        """
        pairs = list(combinations(versions, 2))
        if self.adversary is Adversary.TARGET:
            return all(self.keeps(pair) for pair in pairs)
        if not all(self.meet_keeps(pair, sizes_alone=True) for pair in pairs):
            return False
        return (len(versions) < 2 or self._values_kept(versions)) and self._expectations_kept(versions)

    def meet_keeps(self, versions: Sequence[Cuts], *, sizes_alone: bool = False) -> bool:
        """Whether every position of these versions that somebody is in keeps every promise: rule M."""
        chosen = self._sizes if sizes_alone else self.promises
        return self._meet_keeps(versions, chosen, sizes_alone=sizes_alone)

    def _values_kept(self, versions: Sequence[Cuts]) -> bool:
        """The same of what is promised of values alone."""
        values = Promises(tuple(p for p in self.promises.of_class if not p.by_size))
        if not values.members:
            return True
        class_of, _ = classes_under(self.table, meet_of(versions))
        return positions_kept(self.table, class_of, values)

    def _meet_keeps(self, versions: Sequence[Cuts], promises: Promises, *, sizes_alone: bool) -> bool:
        cuts = meet_of(versions)
        key = (self._key(cuts), sizes_alone)
        if key not in self._meets:
            class_of, _ = classes_under(self.table, cuts)
            self._meets[key] = positions_kept(self.table, class_of, promises)
        return self._meets[key]

    @cached_property
    def _sizes(self) -> Promises:
        return Promises(tuple(p for p in self.promises.of_class if p.by_size))

    def _expectations_kept(self, versions: Sequence[Cuts]) -> bool:
        """Whether what random worlds make of every two versions keeps every promise about beliefs: rule P."""
        if not self.promises.about_beliefs:
            return True
        return all(self._pair_expected(*pair) for pair in combinations(versions, 2))

    def _pair_expected(self, left: Cuts, right: Cuts) -> bool:
        key = tuple(sorted((self._key(left), self._key(right))))
        if key not in self._together:
            try:
                cells = expected_cells(self._trees, self._release(left), self._release(right))
                self._together[key] = expectations_kept(cells, self.promises.about_beliefs, self._columns)
            except UsageError:  # too many cells to look at
                self._together[key] = False
        return self._together[key]

    @cached_property
    def _columns(self) -> list[BelievedColumn]:
        names = tuple(dict.fromkeys(n for p in self.promises.about_beliefs for n in p.sensitive))
        overall = overall_counts(self.table, names)
        return [
            BelievedColumn(n, self.table.column(n).taxonomy, self.history.code_of_value(n), overall[n])
            for n in names
        ]

    def _feasible_keep(self, versions: Sequence[Cuts]) -> bool:
        """Whether what is left wherever somebody can be keeps every promise: by what is published alone."""
        try:
            overlap = self.overlap(versions)
            cells = overlap.cells(0).table
        except UsageError:  # too many cells to look at
            return False
        if len(versions) > 2:
            exact = self._exact(overlap) if len(cells) <= MOST_CELLS_SOLVED else None
            if exact is None:
                return False
            cells = exact
        return bool(self.promises.holds_on(self.survivors(cells)).all())

    def overlap(self, versions: Sequence[Cuts]) -> Overlap:
        """The versions as releases of the same people."""
        releases = tuple(self._release(v) for v in versions)
        return Overlap(Chain(self._trees, releases, self.history.values), every=len(versions) > 2)

    def survivors(self, cells: ClassTable) -> Classes:
        """The surviving histograms of cells, as classes, of the columns that a promise reads."""
        names = self.promises.sensitive
        return surviving_histograms(
            self.history, cells.owner, cells.values, cells.counts, len(cells), columns=names
        )

    def _exact(self, overlap: Overlap) -> ClassTable | None:
        """The cells where some world has somebody, with what is left there; `None`: too much to solve."""
        tables = Worlds(overlap).tables(StepBudget())
        return None if tables is None else tables[0]

    def _release(self, cuts: Cuts) -> ClassTable:
        key = self._key(cuts)
        if key not in self._releases:
            self._releases[key] = release_under(self.history, cuts)
        return self._releases[key]

    def _key(self, cuts: Cuts) -> bytes:
        return b"".join(cuts[c.name].node_of.tobytes() for c in self.table.keys)


# The watch of the promise `continuous` against a register: steps judged by positions and random worlds.

NEW_CHAIN_FOR_REGISTER = "Ask for less, or start a new chain with the people who came later."


@dataclass(frozen=True, eq=False)
class RegisterRule:
    """What is asked beside earlier releases: k people in every position, and these promises about them."""

    history: History
    k: int
    promises: tuple[ClassPromise, ...]

    def positions_kept(self, classes: Classes) -> bool:
        """Tells whether people of these positions keep everything: rule M."""
        return bool((classes.people >= self.k).all() and Promises(self.promises).holds_on(classes).all())

    def people_at(self, position: Labels) -> Classes:
        """Returns the people of every position; rows at -1 are left out."""
        return people_at(self.history.table, position, self._columns, self._overall)

    def expectations_kept(self, earlier: ClassTable, later: ClassTable) -> bool:
        """Tells whether what random worlds make of two releases keeps what is asked: rule P."""
        if not self._beliefs:
            return True
        trees = [c.taxonomy for c in self.history.table.keys]
        try:
            cells = expected_cells(trees, earlier, later)
        except UsageError:  # too many cells to look at
            return False
        return expectations_kept(cells, self._beliefs, self._judged)

    def expected_beside(self, releases: Sequence[ClassTable], cuts: Cuts) -> bool:
        """Tells the same of each of these releases beside the table under these cuts."""
        if not self._beliefs or not releases:
            return True
        now = release_under(self.history, cuts)
        return all(self.expectations_kept(release, now) for release in releases)

    def smallest(self, cuts: Cuts) -> int | None:
        """Returns the number of people in the smallest position."""
        return smallest_position(self.history.table, positions_of(self.history, cuts))

    @cached_property
    def _beliefs(self) -> tuple[ClassPromise, ...]:
        return Promises(self.promises).about_beliefs

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return Promises(self.promises).sensitive

    @cached_property
    def _overall(self) -> dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        return overall_counts(self.history.table, self._columns)

    @cached_property
    def _judged(self) -> list[BelievedColumn]:
        table, history = self.history.table, self.history
        return [
            BelievedColumn(n, table.column(n).taxonomy, history.code_of_value(n), self._overall[n])
            for n in self._columns
        ]


class RegisterWatch(IncrementalChecker):
    """Follows a search. A position that breaks a promise keeps a part that does under every further step:
    that is NEVER. Random worlds may be worse now and better further down: that is LATER."""

    def __init__(self, rule: RegisterRule) -> None:
        self.rule, self.history = rule, rule.history
        self._refuse_earlier()
        roots = {c.name: Cut.root(c.taxonomy) for c in self.history.table.keys}
        self._position = positions_of(self.history, roots)
        if not rule.positions_kept(rule.people_at(self._position)):
            count = pluralize(len(self.history.releases), "earlier release")
            raise RefusedByHistory(
                f"beside {count}, people whom nothing tells apart for somebody with everybody's key values"
                " break a promise, also where the next release shows no key at all",
                remedy=NEW_CHAIN_FOR_REGISTER,
            )

    def ask(self, cuts: Cuts, step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        position = positions_of(self.history, cuts) if step is None else self._parts(*step)
        if not self.rule.positions_kept(self.rule.people_at(position)):
            return Answer.NEVER, "people whom the releases together do not tell apart would break a promise"
        if not self.rule.expected_beside(self.history.releases, cuts):
            return Answer.LATER, "what two releases together make likely would break a promise"
        return Answer.YES, ""

    def accept(self, cuts: Cuts) -> None:
        self._position = positions_of(self.history, cuts)

    def _parts(self, column: str, node: int) -> Labels:
        """Returns the positions that a step makes; rows that it leaves where they are, are at -1."""
        table = self.history.table
        tree, codes = table.column(column).taxonomy, table.codes(column)
        here = rows_under(codes, tree, node)
        child = tree.child_above(node)[codes[here] - tree.low[node]]
        parts = np.full(table.distinct, -1, np.int64)
        sizes = (int(self._position.max(initial=0)) + 1, len(tree.labels))
        parts[here] = numbered([self._position[here], child], sizes)
        return parts

    def _refuse_earlier(self) -> None:
        """Raises where two of the earlier releases make too much likely already."""
        for i, j in combinations(range(len(self.history.releases)), 2):
            if not self.rule.expectations_kept(self.history.releases[i], self.history.releases[j]):
                raise RefusedByHistory(
                    f"releases {i + 1} and {j + 1} together make a value more likely than is promised; no"
                    " later release mends that",
                    remedy=NEW_CHAIN_FOR_REGISTER,
                )


# The rows of people who are to be erased, told by batches: which earlier releases hold how many of them.


def rows_by_release(
    table: Microdata, earlier: Sequence[Imprint], keys: Sequence[str], *, person: str, since: str
) -> tuple[list[int], int]:
    """Returns how many rows each release holds of people with these keys, and how many of them there are.

    The table is whole: their rows are still in it, and nobody else's are missing. Raises `RefusedByHistory`
    where a release holds more or fewer rows than the table and those who were erased before give.
    """
    came = came_with(table, earlier, since)
    _refuse_missing(table, earlier, came)
    labels = {label: code for code, label in enumerate(table.column(person).taxonomy.leaf_labels)}
    codes = np.array([labels[key] for key in keys if key in labels], np.int64)
    wanted = np.isin(table.codes(person), codes)
    return _rows_in_each(came[wanted], table.counts[wanted], len(earlier)), len(codes)


def named_by_release(
    table: Microdata, earlier: Sequence[Imprint], rows: Sequence[tuple[Label, ...]], *, since: str
) -> list[int]:
    """Returns how many of some rows each release holds: of each the batch it came with.

    Raises as `rows_by_release` does.
    """
    came, column = came_with(table, earlier, since), table.column(since)
    _refuse_missing(table, earlier, came)
    of_batch = np.full(len(column.taxonomy.leaves), len(earlier), np.int32)
    of_batch[table.codes(since)] = came
    codes = np.array([column.taxonomy.rank(batch) for (batch,) in rows], np.int32)
    return _rows_in_each(of_batch[codes], np.ones(len(codes), np.int64), len(earlier))


def _rows_in_each(came: Codes, counts: Counts, releases: int) -> list[int]:
    """Returns how many rows each release holds: it holds all that came with it, and before it."""
    return [int(counts[came <= i].sum()) for i in range(releases)]


def _refuse_missing(table: Microdata, earlier: Sequence[Imprint], came: Codes) -> None:
    """Raises where a release holds more or fewer rows than the table and those who were erased give."""
    for i, (imprint, present) in enumerate(
        zip(earlier, _rows_in_each(came, table.counts, len(earlier)), strict=True)
    ):
        if present + imprint.erased != imprint.rows:
            raise RefusedByHistory(
                f"release {i + 1} holds {imprint.rows} rows, of which {imprint.erased} were erased, and the"
                f" table has {present} of them",
                remedy="Give the whole table: rows of whoever was erased before are deleted, all others are"
                " in it.",
            )

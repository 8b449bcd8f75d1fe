"""The frontier of a lattice search: the nodes that are yet to be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.rows import cross_tabulate, regroup, tally_fields
from sfumato.models.contract import Answer, Promises, Truth
from sfumato.search.controls import spares_all
from sfumato.search.node_cost import JudgedNode, NodeCost
from sfumato.search.suppression import keep, recoded
from sfumato.table.classes import Classes, Histogram
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Counts, Microdata, Packing

Levels = tuple[int, ...]

TIE_TOLERANCE = 1e-11
"""Scores that differ by less than this share are equal: more than rounding, less than any row makes."""

LOOKED_AT = 2048
"""So many candidates on either side may turn out to be closed before all candidates are looked through."""

CLEARED_PER_PICK = 1 << 13
"""Candidates that are closed are cleared away as often as it takes a look at so many for each pick."""

REFUSAL_FACTOR = 0.7
"""After a refusal the distance to the general end shrinks by this factor."""


def ties_up_to(score: float) -> float:
    """Returns the largest score that still ties with this one."""
    return score * (1 + TIE_TOLERANCE)


def levels_at(index: int, shape: Levels) -> Levels:
    """Returns the node with this number, counted with the last column fastest."""
    levels = []
    for size in reversed(shape):
        index, level = divmod(index, size)
        levels.append(level)
    return tuple(reversed(levels))


class Frontier:
    """Nodes in ascending order of what they cost at least; closed ones are never picked.

    Cheap nodes are rarely allowed, and a node that is not allowed rules out the more, the more general it
    is. So where nodes can be ruled out (`halfway`), the middle of what is left is picked first, and after
    every refusal a point further towards the general end; else the cheapest comes first. Nodes that are not
    `permitted` are closed from the start.
    """

    def __init__(
        self, shape: Levels, cost: NodeCost, *, halfway: bool, permitted: NDArray[np.bool_] | None = None
    ) -> None:
        total = np.zeros(shape)
        for steps in np.ix_(*cost.steps):
            total += steps
        self._order = np.argsort(total, axis=None, kind="stable")
        self._least_cost = cost.least_cost(total.ravel()[self._order])
        self._open = np.ones(shape, dtype=bool) if permitted is None else np.array(permitted)
        self._alive = np.flatnonzero(self._open.ravel()[self._order])
        self._picked = 0
        self._start = 0.5 if halfway else 0.0
        self._point = self._start
        self._best = inf
        self._bounds: list[tuple[float, Levels]] = []

    @property
    def left(self) -> int:
        """How many nodes are open."""
        return int(np.count_nonzero(self._open))

    def least_open(self, best: float) -> float:
        """Returns the least that an open node costs which may tie with `best`; infinite if none."""
        is_open = self._open.ravel()[self._order]
        first = int(np.argmax(is_open))
        least = float(self._least_cost[first]) if is_open.size and is_open[first] else inf
        return least if least <= ties_up_to(best) else inf

    def pick(self, best: float) -> Levels | None:
        """Returns an open node that may tie with `best`, and closes it; `None` if there is none."""
        if best < self._best:
            self._best = best
            bounds, self._bounds = self._bounds, []
            for lower_bound, levels in bounds:
                self.bound(levels, lower_bound)
        at = self._next_open(int(np.searchsorted(self._least_cost, ties_up_to(best), side="right")))
        if at is None:
            return None
        levels = levels_at(int(self._order[at]), self._open.shape)
        self._open[levels] = False
        return levels

    def _next_open(self, end: int) -> int | None:
        """Returns an open place below `end`, at or near the point.

        Closed places are cleared away now and then, the more seldom the more there are to look through.
        """
        is_open = self._open.ravel()
        self._picked += 1
        for fresh in (self._picked * CLEARED_PER_PICK >= len(self._alive), True):
            if fresh:
                self._alive = self._alive[is_open[self._order[self._alive]]]
                self._picked = 0
            count = int(np.searchsorted(self._alive, end))
            if count:
                middle = int(self._point * (count - 1))
                begin = max(0, middle - LOOKED_AT)
                near = self._alive[begin : min(middle + LOOKED_AT, count)]
                places = np.flatnonzero(is_open[self._order[near]])
                if len(places):
                    after = int(np.searchsorted(places, middle - begin))
                    return int(near[places[min(after, len(places) - 1)]])
        return None

    def refused(self, levels: Levels, *, finer_too: bool) -> None:
        """Notes that this node is not allowed; `finer_too`: nor is anything finer."""
        if self._start:
            self._point = 1 - (1 - self._point) * REFUSAL_FACTOR
        if finer_too:
            self.close_finer(levels)

    def close_finer(self, levels: Levels) -> None:
        """Notes that neither this node nor anything finer is allowed, whichever node was picked."""
        self._open[tuple(slice(0, level + 1) for level in levels)] = False

    def allowed(self, levels: Levels, *, final: bool) -> None:
        """Notes that this node is allowed; `final`: nothing more general can be preferred to it."""
        self._point = self._start
        if final:
            self._close_coarser(levels)

    def bound(self, levels: Levels, lower_bound: float) -> None:
        """Notes that this node and everything more general cost at least `lower_bound`."""
        if lower_bound > ties_up_to(self._best):
            self._close_coarser(levels)
        elif lower_bound > -inf:
            self._bounds.append((lower_bound, levels))

    def _close_coarser(self, levels: Levels) -> None:
        self._open[tuple(slice(level, None) for level in levels)] = False


# The classes of lattice nodes, each rolled up from those of a finer node.

Ints = NDArray[np.int64]

MOST_HELD_ENTRIES = 16_000_000
"""So many entries of rolled-up tables are held at once (16 bytes each, more where keys are wide)."""


@dataclass(frozen=True, eq=False)
class EntryFields:
    """Where each key column, then each sensitive column, sits in an entry's key, and what levels do to it.

    A field holds the index of a node (of a sensitive column: of a leaf rank) among those that rows of the
    table reach at some level, in `present`: a taxonomy of many labels takes no more bits than its use. At
    level i of column j index x becomes `lift[offset[j][i] + x]`.
    """

    keys: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    present: tuple[NDArray[np.int32], ...]
    packing: Packing
    lift: NDArray[np.int32]
    offset: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, table: Microdata, sensitive: Sequence[str]) -> EntryFields:
        values = tuple(table.column(name) for name in sensitive)
        present = [_reached(c, table.codes(c.name)) for c in table.keys]
        present += [_marked(len(c.taxonomy.leaves), table.codes(c.name)) for c in values]
        sizes = tuple(len(nodes) for nodes in present)
        lifts, offset, end = [np.zeros(max(sizes, default=1), np.int32)], [], max(sizes, default=1)
        for column, nodes in zip(table.keys, present[: len(table.keys)], strict=True):
            taxonomy, starts = column.taxonomy, []
            for level in taxonomy.levels:
                starts.append(end)
                lifts.append(np.searchsorted(nodes, level[taxonomy.low[nodes]]).astype(np.int32))
                end += len(nodes)
            offset.append(tuple(starts))
        return cls(table.keys, values, tuple(present), Packing(sizes), np.concatenate(lifts), tuple(offset))

    def entries(self, table: Microdata) -> Ints:
        """Returns the key of every distinct row, one per line."""
        if not self.packing.sizes:
            return np.zeros((table.distinct, 1), np.int64)
        fields = []
        for j, column in enumerate((*self.keys, *self.sensitive)):
            codes = table.codes(column.name)
            leaves = column.taxonomy.leaves if j < len(self.keys) else np.arange(len(column.taxonomy.leaves))
            fields.append(np.searchsorted(self.present[j], leaves)[codes])
        return np.ascontiguousarray(self.packing.pack(fields).T)

    def where(self, columns: Sequence[int]) -> tuple[Ints, Ints, Ints]:
        """Returns word, shift and mask of these columns."""
        places = [self.packing.places[j] for j in columns]
        table = np.array([(w, s, (1 << b) - 1) for w, s, b in places], dtype=np.int64).reshape(-1, 3)
        return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()

    def codes(self, entries: Ints, column: int) -> NDArray[np.int32]:
        """Returns the nodes of a key column, or the leaf ranks of a sensitive one."""
        word, shift, bits = self.packing.places[column]
        codes: NDArray[np.int32] = self.present[column][(entries[:, word] >> shift) & ((1 << bits) - 1)]
        return codes


def _reached(column: Column, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the nodes that stand for some of these leaves at some level, ascending."""
    leaves = _marked(len(column.taxonomy.leaves), ranks)
    nodes = np.concatenate(
        [column.taxonomy.leaves[leaves], *(level[leaves] for level in column.taxonomy.levels)]
    )
    return _marked(len(column.taxonomy.labels), nodes)


def _marked(size: int, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the distinct of these numbers below a size, ascending, without sorting them."""
    marked = np.zeros(size, bool)
    marked[numbers] = True
    return np.flatnonzero(marked).astype(np.int32)


@dataclass(frozen=True, eq=False)
class NodeClasses:
    """The classes of a node: their keys and rows; `entries` and `owner` where sensitive values matter."""

    keys: Ints
    rows: Counts
    owner: NDArray[np.int32] | None = None
    entries: tuple[Ints, Counts] | None = None


class RollUp:
    """Groups a table at any node of its lattice.

    Columns are raised to their levels one after the other, those that merge most rows first; every table
    on the way is kept and serves all nodes that begin alike. Each step works on an ever smaller table.
    Where rows and people differ, a table must tell people apart, and every node starts from the rows.
    `work` counts the entries that were grouped.
    """

    def __init__(self, table: Microdata, sensitive: Sequence[str]) -> None:
        self.table = table
        self.work = 0
        self.fields = EntryFields.of(table, sensitive)
        self._where = [self.fields.where([j]) for j in range(len(self.fields.packing.sizes))]
        keys = len(table.keys)
        self._key_fields = self.fields.where(range(keys))
        self._sensitive_fields = self.fields.where(range(keys, keys + len(sensitive)))
        entries, counts = self.fields.entries(table), table.counts
        if not table.has_person:
            entries, counts = self._regroup(entries, counts, self.fields.where([]), [])[1:]
        self.order = sorted(range(keys), key=lambda j: (-self._spread(entries, counts, j), j))
        self._held: dict[Levels, tuple[Ints, Counts]] = {(0,) * keys: (entries, counts)}
        self._entries = len(counts)
        self._limit = MOST_HELD_ENTRIES + len(counts)
        self.overall = {
            c.name: np.bincount(table.codes(c.name), table.counts, len(c.taxonomy.leaves)).astype(np.int64)
            for c in self.fields.sensitive
        }

    def at(self, levels: Levels) -> NodeClasses:
        """Returns the classes of a node."""
        fields = self.fields
        if self.table.has_person:
            base = self._held[(0,) * len(levels)]
            lift = [fields.offset[j][i] for j, i in enumerate(levels)]
            zero = [0] * len(fields.sensitive)
            owner, keys, rows = self._regroup(*base, fields.where(range(len(lift + zero))), lift + zero)
            return NodeClasses(keys, rows, owner)
        entries = self._rolled(levels)
        if not fields.sensitive:
            return NodeClasses(*entries)
        owner, keys, rows = self._regroup(*entries, self._sensitive_fields, [0] * len(fields.sensitive))
        return NodeClasses(keys, rows, owner, entries)

    def classes(self, grouped: NodeClasses, *, sensitive: bool) -> Classes:
        """Returns classes as promises judge them; without `sensitive` only sizes."""
        names = [c.name for c in self.fields.sensitive] if sensitive else []
        if self.table.has_person and grouped.owner is not None:
            return Classes.of(self.table, grouped.owner, sensitive=names)
        histograms = {}
        if grouped.owner is not None and grouped.entries is not None:
            for j, column in enumerate(self.fields.sensitive[: len(names)]):
                values = self.fields.codes(grouped.entries[0], len(self.fields.keys) + j)
                start, codes, sums = cross_tabulate(
                    grouped.owner, values, grouped.entries[1], len(grouped.rows), len(column.taxonomy.leaves)
                )
                overall = self.overall[column.name]
                histograms[column.name] = Histogram(column.taxonomy, start, codes, sums, overall)
        return Classes(grouped.rows, grouped.rows, histograms)

    def tally(self, grouped: NodeClasses, chosen: NDArray[np.bool_]) -> list[Counts]:
        """Counts the rows of some classes, for every key column, per node of its taxonomy."""
        columns = self.fields.keys
        bounds = np.cumsum([0, *self.fields.packing.sizes[: len(columns)]])
        rows = np.where(chosen, grouped.rows, 0)
        occupied = rows > 0
        sums = tally_fields(
            grouped.keys[occupied], rows[occupied], *self._key_fields, bounds[:-1], int(bounds[-1])
        )
        counts = [np.zeros(len(c.taxonomy.labels), np.int64) for c in columns]
        for j, of_column in enumerate(counts):
            of_column[self.fields.present[j]] = sums[bounds[j] : bounds[j + 1]]
        return counts

    def _rolled(self, levels: Levels) -> tuple[Ints, Counts]:
        if (ready := self._held.pop(levels, None)) is not None:
            self._held[levels] = ready  # used last, dropped last
            return ready
        place = [0] * len(levels)
        table = self._held[tuple(place)]
        for j in self.order:
            for level in range(levels[j], 0, -1):
                place[j] = level
                if (near := self._held.pop(tuple(place), None)) is not None:
                    table = self._held[tuple(place)] = near
                    break
            else:
                level = 0
            if level < levels[j]:
                place[j] = levels[j]
                _, keys, rows = self._regroup(*table, self._where[j], [self.fields.offset[j][levels[j]]])
                table = (keys, rows)
                self._hold(tuple(place), table)
        return table

    def _hold(self, levels: Levels, table: tuple[Ints, Counts]) -> None:
        """Keeps a table; when too much is held, drops those that were not used for longest."""
        self._held[levels] = table
        self._entries += len(table[1])
        while self._entries > self._limit:
            oldest = next(name for name in self._held if any(name))
            self._entries -= len(self._held.pop(oldest)[1])

    def _regroup(
        self, keys: Ints, rows: Counts, where: tuple[Ints, Ints, Ints], lift: Sequence[int]
    ) -> tuple[NDArray[np.int32], Ints, Counts]:
        self.work += len(rows)
        offset = np.array(lift, dtype=np.int64)
        owner, merged, sums = regroup(keys, rows, *where, offset, self.fields.lift)
        return owner, merged, sums

    def _spread(self, entries: Ints, counts: Counts, column: int) -> float:
        """Returns the entropy of a column: the higher, the more rows merge when it is raised."""
        share = np.bincount(self.fields.codes(entries, column), counts) / max(1, int(counts.sum()))
        share = share[share > 0]
        return float(-(share @ np.log2(share)))


# The judge of lattice nodes: their classes, what is suppressed, what promises about tables answer.


class NodeJudge:
    """Judges nodes. `budget` rows may be suppressed, but none of the distinct rows that are `spared`.

    A promise is *lasting* if breaking it means breaking it at every finer node: a hereditary one, and a
    monotone one where nothing may be suppressed and rows are people.
    """

    def __init__(
        self,
        table: Microdata,
        promises: Promises,
        budget: int,
        *,
        rollup: RollUp | None = None,
        spared: Truth | None = None,
    ) -> None:
        self.table, self.promises, self.budget, self.spared = table, promises, budget, spared
        self.rollup = rollup or RollUp(table, promises.sensitive)
        summed = budget == 0 and not table.has_person
        self.lasting = Promises(
            tuple(p for p in promises.of_class if p.hereditary or (p.monotone and summed))
        )
        self.by_size = Promises(tuple(p for p in self.lasting.of_class if not p.sensitive))
        self.watches = [p.watch(table) for p in promises.of_table]

    @property
    def least_rows(self) -> int:
        """How many rows a class has at least that keeps the promises, whoever they belong to."""
        return max([1, *(p.least_people for p in self.promises.of_class)])

    @property
    def asks_sizes_alone(self) -> bool:
        """Whether classes of enough people are all that is promised."""
        return not self.watches and all(p.by_size for p in self.promises.of_class)

    def judge_node(self, levels: Levels) -> JudgedNode | None:
        """Judges the classes of a node; returns `None` if it and every finer one break the budget.

        A node that breaks it alone suppresses more rows than allowed; how many more is not worked out.
        """
        grouped = self.rollup.at(levels)
        classes = self.rollup.classes(grouped, sensitive=False)
        published = self.by_size.holds_on(classes)
        if _rows(classes, ~published) > self.budget:
            return None
        if len(self.by_size.members) < len(self.promises.of_class):
            classes = self.rollup.classes(grouped, sensitive=True)
            lasting = self.lasting.holds_on(classes) if self.lasting.sensitive else published
            if self.lasting.sensitive and _rows(classes, ~lasting) > self.budget:
                return None
            published = keep(classes, self.promises, most=self.budget)
            if _rows(classes, ~published) > self.budget and self._least_lost(classes, lasting) > self.budget:
                return None
        return JudgedNode(
            levels,
            grouped.rows,
            grouped.rows[published & (grouped.rows > 0)],
            _rows(classes, ~published),
            lambda: self.rollup.tally(grouped, ~published),
            published,
        )

    def _least_lost(self, classes: Classes, lasting: Truth) -> int:
        """Returns how many rows this node and every finer one suppress at least.

        Classes that break a lasting promise are lost. Of the others, promises bound what can be kept, and
        less than the least class is nothing. Where people have rows, it cannot be told.
        """
        if self.table.has_person:
            return 0
        most = np.where(lasting, classes.rows, 0)
        for promise in self.promises.of_class:
            if (bound := promise.most_kept(classes, self.budget)) is not None:
                most = np.minimum(most, bound)
        least = max(promise.least_people for promise in self.promises.of_class)
        return int((classes.rows - np.where(most < least, 0, most)).sum())

    def ask(self, node: JudgedNode) -> Answer:
        """Returns what the table promises answer, and whether every row is published that has to be."""
        if not self.watches and self.spared is None:
            return Answer.YES
        cuts = self.cuts(node.levels)
        answers = [watch.ask(cuts)[0] for watch in self.watches]
        if node.suppressed and not spares_all(recoded(self.table, cuts, self.promises), self.spared):
            lasts = all(p.hereditary for p in self.promises.of_class)
            answers.append(Answer.NEVER if lasts else Answer.LATER)
        for answer in (Answer.NEVER, Answer.LATER):
            if answer in answers:
                return answer
        return Answer.YES

    def cuts(self, levels: Levels) -> dict[str, Cut]:
        keys = self.table.keys
        return {c.name: Cut.level(c.taxonomy, i) for c, i in zip(keys, levels, strict=True)}


def _rows(classes: Classes, chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int:
    return int(classes.rows[chosen].sum())

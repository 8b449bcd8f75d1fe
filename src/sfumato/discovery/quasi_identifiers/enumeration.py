"""All minimal quasi-identifiers, within bounds, and whether those are all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.discovery.quasi_identifiers.coded import (
    Coded,
    ColumnSets,
    Limits,
    Reading,
    Stop,
    Terms,
    listed,
)
from sfumato.discovery.quasi_identifiers.measures import Partition, QuasiIdentifierQuestion, ReducedTable
from sfumato.kernels import hitting_sets
from sfumato.kernels.hitting_sets import (
    EDGES,
    LEFT,
    REGISTERS,
    RESULTS,
    SAMPLED,
    SMALLEST,
    EdgeTree,
    Goal,
    Stack,
)
from sfumato.kernels.partitions import split_by_each
from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent

# The tree search over edges: room for the arrays of the compiled loops, and what they have found.

Sets = NDArray[np.uint64]
KeepGoing = Callable[[int], bool]
"""Told how many sets have been found; says whether to go on."""
Fits = Callable[[int, int], bool]
"""Told how many bytes more are wanted and how many hold what was found; says whether they may be taken."""

STEPS_PER_RUN = 1 << 22
"""Steps of the compiled search between two looks at the limits."""

_T = TypeVar("_T", bound=np.generic)
_NONE = np.uint64(0)


class TreeSearch:
    """All minimal sets of at most `max_size` columns under which at least t rows are exposed.

    Assumes that all columns together expose t rows and that no column at all does not.
    """

    def __init__(self, table: ReducedTable, *, k: int, t: int, max_size: int) -> None:
        columns, rows = table.codes.shape
        depths = min(max_size, columns) + 4
        self.goal = Goal(table.codes, k, t, min(max_size, columns))
        room = 4 * rows + 64
        stack_rows = np.empty(room, np.int32)
        stack_rows[:rows] = np.arange(rows, dtype=np.int32)
        bounds = np.empty(room // k + 4 * depths + 64, np.int32)
        bounds[:2] = 0, rows
        at, b_at, clusters, depth_kept = np.zeros((4, depths), np.int64)
        clusters[0], depth_kept[0] = 1, rows
        count = np.zeros(table.size, np.int32)
        self.stack: Stack = Stack(
            stack_rows, bounds, at, b_at, clusters, depth_kept, count, np.empty(max(rows, 32), np.int32)
        )
        self.tree = _new_tree(columns, depths)
        self.steps = 0

    def run(
        self, keep_going: KeepGoing, *, fits: Fits = lambda *_: True, budget: int = STEPS_PER_RUN
    ) -> bool:
        """Search on until the end (true) or until told to stop, or memory would not suffice (false)."""
        while True:
            why = hitting_sets.walk(self.goal, self.stack, self.tree, budget)
            self.steps += budget - int(self.tree.registers[LEFT])
            if why == hitting_sets.DONE:
                return True
            if why == hitting_sets.PAUSED:
                if not keep_going(self.found):
                    return False
            elif not fits(self._needed(why), self.tree.results.nbytes):
                return False
            elif why == hitting_sets.SHORT_OF_EDGES:
                self.tree = _more_edges(self.tree)
            elif why == hitting_sets.SHORT_OF_RESULTS:
                if not keep_going(self.found):
                    return False
                self.tree = self.tree._replace(results=_longer(self.tree.results))
            else:
                self.stack = self.stack._replace(
                    rows=_longer(self.stack.rows), bounds=_longer(self.stack.bounds)
                )

    def _needed(self, why: int) -> int:
        """How many bytes more it takes to double what is too short."""
        if why == hitting_sets.SHORT_OF_EDGES:
            tree = self.tree
            return 2 * (tree.edges.nbytes + tree.hits.nbytes + tree.unhit.nbytes + tree.once.nbytes)
        if why == hitting_sets.SHORT_OF_RESULTS:
            return 2 * self.tree.results.nbytes
        return 2 * (self.stack.rows.nbytes + self.stack.bounds.nbytes)

    def restart(self, max_size: int) -> None:
        """Begin again with another bound, keeping the edges."""
        columns = self.goal.codes.shape[0]
        self.goal = self.goal._replace(max_size=min(max_size, columns))
        edges, sampled = int(self.tree.registers[EDGES]), int(self.tree.registers[SAMPLED])
        depths = min(max_size, columns) + 4
        tree = self.tree
        self.tree = _new_tree(columns, depths, edges=tree.edges, random=tree.random)
        for column in range(columns):
            self.tree.hits[column] = tree.hits[column]
        everything = np.arange(64 * self.tree.unhit.shape[1]) < edges
        self.tree.unhit[0] = np.packbits(everything, bitorder="little").view(np.uint64)
        self.tree.registers[EDGES] = edges
        self.tree.registers[SAMPLED] = sampled
        stack = self.stack
        self.stack = stack._replace(
            at=_only_first(stack.at, depths),
            b_at=_only_first(stack.b_at, depths),
            clusters=_only_first(stack.clusters, depths),
            kept=_only_first(stack.kept, depths),
        )

    @property
    def found(self) -> int:
        return int(self.tree.registers[RESULTS])

    @property
    def edges(self) -> Sets:
        """Column sets that every answer must meet."""
        return self.tree.edges[: int(self.tree.registers[EDGES])]

    @property
    def smallest(self) -> int | None:
        """The size of the smallest set found so far."""
        return int(self.tree.registers[SMALLEST]) if self.found else None

    def words(self) -> Sets:
        """What has been found so far: a set per row, a bit per column."""
        return self.tree.results[: self.found]


def _new_tree(
    columns: int, depths: int, *, edges: Sets | None = None, random: NDArray[np.uint64] | None = None
) -> EdgeTree:
    words = (columns + 63) // 64
    if edges is None:
        edges = np.zeros((1024, words), np.uint64)
    edge_words = len(edges) // 64
    candidates = np.zeros((depths, words), np.uint64)
    candidates[0] = ~_NONE
    candidates[0, -1:] >>= np.uint64(64 * words - columns)
    return EdgeTree(
        registers=np.zeros(REGISTERS, np.int64),
        random=np.array([0x9E3779B97F4A7C15], np.uint64) if random is None else random,
        edges=edges,
        hits=np.zeros((columns, edge_words), np.uint64),
        unhit=np.zeros((depths, edge_words), np.uint64),
        once=np.zeros((depths, edge_words), np.uint64),
        candidates=candidates,
        todo=np.zeros((depths, words), np.uint64),
        path=np.zeros(depths, np.int32),
        results=np.zeros((1024, words), np.uint64),
    )


def _more_edges(tree: EdgeTree) -> EdgeTree:
    """Twice the room for edges."""

    def wider(bits: Sets) -> Sets:
        return np.concatenate((bits, np.zeros_like(bits)), axis=1)

    return tree._replace(
        edges=_longer(tree.edges), hits=wider(tree.hits), unhit=wider(tree.unhit), once=wider(tree.once)
    )


def _only_first(numbers: NDArray[np.int64], depths: int) -> NDArray[np.int64]:
    """Room for so many depths; all but the first number start at zero."""
    room = np.zeros(depths, np.int64)
    room[0] = numbers[0]
    return room


def _longer(array: NDArray[_T]) -> NDArray[_T]:
    longer = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


# The search for small sets, size by size: every pair and triple that could still be minimal is tried.

LARGEST_SET = 3
"""Columns of the largest sets that are searched level by level."""
CELLS_AT_ONCE = 1 << 23
"""Cells, rows times columns, that are looked at between two looks at the limits, if a column has no more."""
Pairs = NDArray[np.bool_]


class LevelSearch:
    """All minimal sets of at most three columns under which at least t rows are exposed.

    Where t is small, most splits stop after a few rows, which makes trying cheaper than reasoning.
    Sets are found in order of size: when size s is done, none of size s or less is missing.
    """

    def __init__(self, table: ReducedTable, *, k: int, t: int, max_size: int) -> None:
        self.table, self.k, self.t = table, k, t
        self.max_size = min(max_size, LARGEST_SET)
        self.sizes_done = 0
        self.steps = 0
        self.found = 0
        self._found: list[NDArray[np.int32]] = []
        self._alone = np.zeros(table.columns, bool)
        self._together: Pairs = np.zeros((table.columns, table.columns), bool)
        self._count = np.zeros(table.size, np.int32)
        self._local = np.empty(max(table.rows, 32), np.int32)
        self._out = np.empty(table.rows, np.int32)
        self._bounds = np.empty(table.rows // k + 2, np.int32)

    @property
    def smallest(self) -> int | None:
        """The size of the smallest set found so far."""
        return self._found[0].shape[1] if self._found else None

    def words(self) -> Sets:
        """What has been found so far: a set per row, a bit per column."""
        words = np.zeros((self.found, max(1, -(-self.table.columns // 64))), np.uint64)
        start = 0
        for sets in self._found:
            rows = np.arange(start, start + len(sets))
            for column in sets.T:
                words[rows, column // 64] |= np.uint64(1) << (column % 64).astype(np.uint64)
            start += len(sets)
        return words

    def _add(self, hit: NDArray[np.int32], *others: int) -> None:
        """Notes sets: each of these columns, with the others."""
        if len(hit):
            sets = np.empty((len(hit), 1 + len(others)), np.int32)
            sets[:, 0], sets[:, 1:] = hit, others
            self._found.append(sets)
            self.found += len(hit)

    def run(self, keep_going: KeepGoing, *, fits: Fits = lambda *_: True) -> bool:
        """Search until the end (true) or until told to stop, or memory would not suffice (false)."""
        steps = (self._singles, self._pairs, self._triples)
        for step in islice(steps, self.sizes_done, self.max_size):
            for _ in step():
                bytes_of_sets = 8 * self.found * max(1, -(-self.table.columns // 64))
                if not keep_going(self.found) or not fits(bytes_of_sets, bytes_of_sets):
                    return False
            self.sizes_done += 1
        return True

    def _singles(self) -> Iterator[None]:
        everybody = Partition.whole(self.table.rows, self.k)
        for portion in self._portions(everybody, np.arange(self.table.columns, dtype=np.int32)):
            hit = portion[self._exposing(everybody, portion)]
            self._alone[hit] = True
            self._add(hit)
            yield None

    def _pairs(self) -> Iterator[None]:
        for i in self._open_columns():
            others = np.flatnonzero(~self._alone[:i]).astype(np.int32)
            if len(others) == 0:
                continue
            groups = self._group(Partition.whole(self.table.rows, self.k), i)
            for portion in self._portions(groups, others):
                hit = portion[self._exposing(groups, portion)]
                self._together[i, hit] = self._together[hit, i] = True
                self._add(hit, i)
                yield None

    def _triples(self) -> Iterator[None]:
        for i in self._open_columns():
            first = self._group(Partition.whole(self.table.rows, self.k), i)
            for j in np.flatnonzero(~self._alone[:i] & ~self._together[i, :i])[::-1].tolist():
                open_pairs = ~self._alone[:j] & ~self._together[i, :j] & ~self._together[j, :j]
                others = np.flatnonzero(open_pairs).astype(np.int32)
                if len(others) == 0:
                    continue
                groups = self._group(first, j)
                for portion in self._portions(groups, others):
                    self._add(portion[self._exposing(groups, portion)], j, i)
                    yield None

    def _portions(self, groups: Partition, columns: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
        """Yields some of the columns at a time, so that limits are looked at soon enough on long tables."""
        many = max(1, CELLS_AT_ONCE // max(1, len(groups.rows)))
        for start in range(0, len(columns), many):
            yield columns[start : start + many]

    def _open_columns(self) -> list[int]:
        """Columns that are no answer alone; those that split most go first and leave least to split."""
        columns: list[int] = np.flatnonzero(~self._alone)[::-1].tolist()
        return columns

    def _group(self, groups: Partition, column: int) -> Partition:
        refined = groups.refined(self.table.codes[column], self.table.size)
        assert refined is not None  # noqa: S101  (nothing was asked to stop it)
        return refined

    def _exposing(self, groups: Partition, columns: NDArray[np.int32]) -> Pairs:
        """Which of these columns, added to what made the groups, expose t rows."""
        left = self.t - groups.exposed
        exposing: Pairs = split_by_each(
            groups.rows,
            groups.bounds,
            self.table.codes,
            columns,
            self.k,
            left,
            self._count,
            self._local,
            self._out,
            self._bounds,
        )
        self.steps += 512 * len(columns) + 8 * len(groups.rows) * int(np.count_nonzero(~exposing))
        return exposing


# The search for sets of any size where the tree may not end: small ones are found by levels meanwhile.

TREE_FIRST = 1 / 8
"""The share of the steps and seconds after which a tree that has not ended waits for the small sets."""
SMALL_SETS = 1 / 2
"""The share of the steps for the small sets; their seconds are up when this share of what was left is."""


class StagedSearch:
    """All minimal sets of at most `max_size` columns under which at least t rows are exposed.

    The tree comes to sets of all sizes in no order of size: of many columns, stopped early, it has found
    large sets alone. People ask for small ones. So it begins; where it has not ended after a part of the
    limits, sets of up to three columns are searched level by level; then the tree goes on with the rest.
    Without limits there is the tree alone.
    """

    def __init__(
        self,
        table: ReducedTable,
        *,
        k: int,
        t: int,
        max_size: int,
        limits: Limits,
        steps_per_run: int = STEPS_PER_RUN,
    ) -> None:
        self._tree = TreeSearch(table, k=k, t=t, max_size=max_size)
        self._levels = LevelSearch(table, k=k, t=t, max_size=min(max_size, LARGEST_SET))
        self._limits, self._steps_per_run = limits, steps_per_run
        self._ended = False

    def run(self, keep_going: KeepGoing, *, fits: Fits = lambda *_: True) -> bool:
        """Search until the end (true) or until told to stop, or memory would not suffice (false)."""
        first = self._limits.part(TREE_FIRST)
        stopped = False

        def goes_on(sets: int) -> bool:
            nonlocal stopped
            stopped = not keep_going(sets)
            return not stopped

        def has_room(more: int, in_sets: int) -> bool:
            nonlocal stopped
            stopped = not fits(more, in_sets)
            return not stopped

        def run_tree(stage: Limits | None) -> bool:
            return self._tree.run(
                lambda sets: goes_on(sets) and (stage is None or stage.allow(0, self._tree.steps)),
                fits=has_room,
                budget=self._steps_per_run,
            )

        self._ended = run_tree(first)
        if self._ended or stopped:
            return self._ended
        small = self._limits.part(SMALL_SETS)
        self._levels.run(
            lambda sets: goes_on(sets) and small.allow(0, self._levels.steps),
            fits=has_room,
        )
        self._ended = not stopped and run_tree(None)
        return self._ended

    @property
    def steps(self) -> int:
        return self._tree.steps + self._levels.steps

    @property
    def found(self) -> int:
        """How many sets one of the two has found; those of both may be more."""
        return max(self._tree.found, self._levels.found)

    @property
    def smallest(self) -> int | None:
        """The size of the smallest set found so far."""
        return min((s for s in (self._tree.smallest, self._levels.smallest) if s is not None), default=None)

    @property
    def sizes_done(self) -> int:
        """The size up to which no set is missing, of a search that has not ended."""
        return self._levels.sizes_done

    def words(self) -> Sets:
        """What has been found so far: a set per row, a bit per column."""
        tree = self._tree.words()
        if self._ended or not self._levels.found:
            return tree
        small = self._levels.words()
        sizes = np.bitwise_count(tree).sum(axis=1)
        # Of a size that is done the levels have all sets, of the next one perhaps some that the tree has too.
        next_size = sizes == self.sizes_done + 1
        return np.concatenate(
            (np.unique(np.concatenate((small, tree[next_size])), axis=0), tree[sizes > self.sizes_done + 1])
        )


Engine = Literal["auto", "tree", "levels"]


@dataclass(frozen=True)
class MinimalSets:
    """Minimal quasi-identifiers, smallest first.

    `complete` says that no minimal set of at most `max_size` columns (of any size, if `None`) is missing;
    of a search that was stopped, `complete_to` says that none of at most so many columns is, and `stopped`
    which limit it met.
    `reason` tells why there is none, or why the empty set is the only one; `duplicates` counts the rows
    that repeat another one, where that is the reason.
    """

    terms: Terms
    sets: ColumnSets
    complete: bool
    max_size: int | None = None
    reason: str = ""
    duplicates: int = 0
    complete_to: int = 0
    stopped: Stop = ""


def minimal(
    table: Coded,
    reading: Reading,
    *,
    max_size: int | None = None,
    engine: Engine = "auto",
    progress: Progress = silent,
    limits: Limits | None = None,
) -> MinimalSets:
    """Find all minimal quasi-identifiers, or those found within the limits.

    Which ones are found within a number of results, a deadline or a budget of steps may depend on the
    order of the rows; a complete answer never does.

    >>> table = Coded.of_columns({"a": "xxy", "b": "xyy", "c": "pqr"})
    >>> minimal(table, Reading.of(k=2, mode="all")).sets
    [('c',), ('a', 'b')]
    """
    if max_size is not None and max_size < 0:
        raise UsageError("max_size must be at least 0")
    limits = limits or Limits()
    question = QuasiIdentifierQuestion.of(table, reading)
    terms = question.terms
    if question.settled:
        sets = listed([()] if question.empty_set else [], table.names)
        return MinimalSets(terms, sets, True, max_size, question.reason, question.duplicates)
    if max_size == 0:
        nothing = listed([], table.names)
        return MinimalSets(terms, nothing, True, max_size, duplicates=question.duplicates)
    reduced = ReducedTable.of(question.table, terms.k)
    bound = reduced.columns if max_size is None else min(max_size, reduced.columns)
    search = choose_search(reduced, terms, bound, limits, engine)

    def keep_going(sets: int) -> bool:
        best = search.smallest
        progress("minimal sets" if best is None else f"minimal sets, smallest {best}", sets)
        return limits.allow(sets, search.steps)

    ended = search.run(keep_going, fits=limits.fits)
    keep_going(search.found)
    stopped = "" if ended else limits.stopped
    sets = question.named(search.words(), reduced, most=limits.max_results)
    complete_to = 0 if isinstance(search, TreeSearch) or sets.cut else search.sizes_done
    return MinimalSets(
        terms,
        sets,
        ended and not sets.cut,
        max_size,
        duplicates=question.duplicates,
        complete_to=complete_to,
        stopped="results" if sets.cut else stopped,
    )


def choose_search(
    reduced: ReducedTable, terms: Terms, bound: int, limits: Limits, engine: Engine = "auto"
) -> TreeSearch | LevelSearch | StagedSearch:
    """The search that suits: by levels for some records and few columns, by both for more, else the tree."""
    if engine == "levels" and bound > LARGEST_SET:
        raise UsageError(f"the search by levels goes up to {LARGEST_SET} columns")
    every = terms.t == terms.rows
    if engine == "levels" or (engine == "auto" and not every and bound <= LARGEST_SET):
        return LevelSearch(reduced, k=terms.k, t=terms.t, max_size=bound)
    if engine == "tree" or every:
        return TreeSearch(reduced, k=terms.k, t=terms.t, max_size=bound)
    return StagedSearch(reduced, k=terms.k, t=terms.t, max_size=bound, limits=limits)

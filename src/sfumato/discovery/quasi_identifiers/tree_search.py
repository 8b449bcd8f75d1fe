"""The tree search over edges: room for the arrays of the compiled loops, and what they have found."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.discovery.quasi_identifiers.reduced import ReducedTable
from sfumato.kernels.sets import hitting_sets
from sfumato.kernels.sets.edges import (
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
        at, b_at, clusters, kept = np.zeros((4, depths), np.int64)
        clusters[0], kept[0] = 1, rows
        count = np.zeros(table.size, np.int32)
        self.stack: Stack = Stack(
            stack_rows, bounds, at, b_at, clusters, kept, count, np.empty(max(rows, 32), np.int32)
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
        known = self.tree
        self.tree = _new_tree(columns, depths, edges=known.edges, random=known.random)
        for column in range(columns):
            self.tree.hits[column] = known.hits[column]
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

"""The search for sets of any size where the tree may not end: small ones are found by levels meanwhile."""

from __future__ import annotations

import numpy as np

from sfumato.discovery.quasi_identifiers.level_search import LARGEST_SET, LevelSearch
from sfumato.discovery.quasi_identifiers.limits import Limits
from sfumato.discovery.quasi_identifiers.reduced import ReducedTable
from sfumato.discovery.quasi_identifiers.tree_search import STEPS_PER_RUN, Fits, KeepGoing, Sets, TreeSearch

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

        def goes_on(found: int) -> bool:
            nonlocal stopped
            stopped = not keep_going(found)
            return not stopped

        def has_room(more: int, held: int) -> bool:
            nonlocal stopped
            stopped = not fits(more, held)
            return not stopped

        def run_tree(stage: Limits | None) -> bool:
            return self._tree.run(
                lambda found: goes_on(found) and (stage is None or stage.allow(0, self._tree.steps)),
                fits=has_room,
                budget=self._steps_per_run,
            )

        self._ended = run_tree(first)
        if self._ended or stopped:
            return self._ended
        small = self._limits.part(SMALL_SETS)
        self._levels.run(
            lambda found: goes_on(found) and small.allow(0, self._levels.steps),
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

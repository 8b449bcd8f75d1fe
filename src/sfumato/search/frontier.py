"""The frontier of a lattice search: the nodes that are yet to be judged."""

from __future__ import annotations

from math import inf
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.protection.loss import Reals

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


class Costs(Protocol):
    """What nodes cost at least: the sum of `steps[j][level]` over the columns, seen through `least_cost`."""

    steps: list[Reals]

    def least_cost(self, total: Reals) -> Reals:
        """Returns the least that nodes cost, by the sums of their steps."""


class Frontier:
    """Nodes in ascending order of what they cost at least; closed ones are never picked.

    Cheap nodes are rarely allowed, and a node that is not allowed rules out the more, the more general it
    is. So where nodes can be ruled out (`halfway`), the middle of what is left is picked first, and after
    every refusal a point further towards the general end; else the cheapest comes first. Nodes that are not
    `permitted` are closed from the start.
    """

    def __init__(
        self, shape: Levels, cost: Costs, *, halfway: bool, permitted: NDArray[np.bool_] | None = None
    ) -> None:
        total = np.zeros(shape)
        for j, steps in enumerate(cost.steps):
            total += steps.reshape([-1 if i == j else 1 for i in range(len(shape))])
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
                found = np.flatnonzero(is_open[self._order[near]])
                if len(found):
                    after = int(np.searchsorted(found, middle - begin))
                    return int(near[found[min(after, len(found) - 1)]])
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

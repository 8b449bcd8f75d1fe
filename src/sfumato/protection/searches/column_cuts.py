"""The cuts of one column, numbered as they are met, with what each costs and what each would cost next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Counts
from sfumato.core.taxonomy import ROOT, Nodes, Taxonomy

Truth = NDArray[np.bool_]

NEVER = 2**62
"""The cost of what cannot be done: a root stays in every cut."""


@dataclass(frozen=True, eq=False)
class Met:
    """A cut: its cost, which nodes are in it or above it, and what it costs to lose each of them."""

    node_of: Nodes
    cost: int
    present: Truth
    lose: Counts


class Cutting:
    """The cuts of one column that a search has met.

    `cost[v]` is what publishing node v costs in all rows below it, a whole number; a cut costs the sum.
    """

    def __init__(self, taxonomy: Taxonomy, cost: Counts) -> None:
        self.taxonomy, self.cost = taxonomy, cost
        self.met: list[Met] = []
        self._numbers: dict[bytes, int] = {}
        self._without: dict[tuple[int, int], int] = {}
        self.finest = self.number(taxonomy.leaves)

    def number(self, node_of: Nodes) -> int:
        """The number of a cut."""
        key = node_of.tobytes()
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.met)
            self.met.append(self._meet(node_of))
        return found

    def without(self, number: int, node: int) -> int:
        """The finest cut above this one that has `node` below it: its parent takes its place."""
        found = self._without.get((number, node))
        if found is None:
            t, above = self.taxonomy, int(self.taxonomy.parent[node])
            raised = self.met[number].node_of.copy()
            raised[t.low[above] : t.high[above]] = above
            found = self._without[number, node] = self.number(raised)
        return found

    def _meet(self, node_of: Nodes) -> Met:
        t = self.taxonomy
        first = np.zeros(len(node_of) + 1, np.int64)
        starts = np.flatnonzero(np.diff(node_of, prepend=-1))
        first[starts + 1] = self.cost[node_of[starts]]
        before = np.cumsum(first)
        present = t.depth <= t.depth[node_of[t.low]] if len(node_of) else np.ones(len(t.labels), bool)
        lose = np.full(len(t.labels), NEVER, np.int64)
        above = t.parent[ROOT + 1 :]
        lose[ROOT + 1 :] = self.cost[above] - (before[t.high[above]] - before[t.low[above]])
        return Met(node_of, int(before[-1]), present, lose)

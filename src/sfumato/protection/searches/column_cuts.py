"""Cuts of one column, numbered as a search comes upon them, each with its cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.coarsest_level import within_ceiling
from sfumato.core.microdata import Counts
from sfumato.core.taxonomy import ROOT, Nodes, Taxonomy

Truth = NDArray[np.bool_]

IMPOSSIBLE = 2**62
"""The cost of losing a node that stays: the root, and any other that is not below the ceiling."""


@dataclass(frozen=True, eq=False)
class CutCost:
    """A cut, its cost, which nodes are `present` in it or above it, and what losing each of them costs."""

    node_of: Nodes
    cost: int
    present: Truth
    cost_of_losing: Counts


class ColumnCuts:
    """The cuts of one column that a search has come upon.

    `cost[v]` is what publishing node v costs in all rows below it, a whole number; a cut costs the sum.
    """

    def __init__(self, taxonomy: Taxonomy, cost: Counts) -> None:
        self.taxonomy, self.cost, self.within = taxonomy, cost, within_ceiling(taxonomy)
        self.cuts: list[CutCost] = []
        self._numbers: dict[bytes, int] = {}
        self._without: dict[tuple[int, int], int] = {}
        self.finest = self.number(taxonomy.leaves)

    def number(self, node_of: Nodes) -> int:
        """Returns the number of a cut; a new cut gets the next number."""
        key = node_of.tobytes()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.cuts)
            self.cuts.append(self._cost_of(node_of))
        return number

    def can_lose(self, node: int) -> bool:
        """Whether something above this node may take its place."""
        return node != ROOT and bool(self.within[self.taxonomy.parent[node]])

    def without(self, number: int, node: int) -> int:
        """Returns the finest cut above this one that has `node` below it: its parent takes its place."""
        coarser = self._without.get((number, node))
        if coarser is None:
            t, above = self.taxonomy, int(self.taxonomy.parent[node])
            raised = self.cuts[number].node_of.copy()
            raised[t.low[above] : t.high[above]] = above
            coarser = self._without[number, node] = self.number(raised)
        return coarser

    def _cost_of(self, node_of: Nodes) -> CutCost:
        t = self.taxonomy
        first = np.zeros(len(node_of) + 1, np.int64)
        starts = np.flatnonzero(np.diff(node_of, prepend=-1))
        first[starts + 1] = self.cost[node_of[starts]]
        before = np.cumsum(first)
        present = t.depth <= t.depth[node_of[t.low]] if len(node_of) else np.ones(len(t.labels), bool)
        cost_of_losing = np.full(len(t.labels), IMPOSSIBLE, np.int64)
        above = t.parent[ROOT + 1 :]
        raised = self.cost[above] - (before[t.high[above]] - before[t.low[above]])
        cost_of_losing[ROOT + 1 :] = np.where(self.within[above], raised, IMPOSSIBLE)
        return CutCost(node_of, int(before[-1]), present, cost_of_losing)

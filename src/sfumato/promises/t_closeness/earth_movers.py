"""The earth mover's distance of many classes to one distribution, for three ground distances.

Each function returns whole numbers: `cost` per class and one `scale`, such that the distance of a class of n
to a distribution of T is cost / (scale * n * T). Costs are had on 64-bit integers (by compiled loops, but for
the ordered distance), on Python integers (dtype object) and on floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Histogram
from sfumato.core.microdata import Counts
from sfumato.core.taxonomy import ROOT, Nodes, Taxonomy
from sfumato.promises.verdicts import segment_sums

Numbers = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Earth:
    """The classes of a histogram, none empty, and the distribution they are compared with.

    `target[rank]` counts the leaves; `total` may exceed their sum by what lies outside the taxonomy.
    """

    histogram: Histogram
    target: Counts
    total: int

    @property
    def taxonomy(self) -> Taxonomy:
        return self.histogram.taxonomy

    @property
    def occurs(self) -> NDArray[np.bool_]:
        """The leaves that the published table or the target distribution holds."""
        found: NDArray[np.bool_] = (self.histogram.overall > 0) | (self.target > 0)
        found[self.histogram.values] = True
        return found

    def pick(self, chosen: NDArray[np.integer]) -> Earth:
        return Earth(self.histogram.pick(chosen), self.target, self.total)


def equal(earth: Earth, number: type) -> Numbers:
    """All values are equally far from each other: half the sum of the differences. Scale 1.

    The surplus of the values in the class is the deficit of the others, so only the former are visited.
    """
    h = earth.histogram
    if number is np.int64:
        from sfumato.kernels.rows.earth import equal_costs  # noqa: PLC0415  # compiled kernels load when needed

        return equal_costs(h.start, h.values, h.counts, h.totals, earth.target, earth.total)
    size: Numbers = h.totals.astype(number)[h.owner]
    surplus = (
        h.counts.astype(number) * _as(earth.total, number) - size * earth.target.astype(number)[h.values]
    )
    return segment_sums(np.maximum(surplus, 0), h.start)


def ordered(earth: Earth, number: type) -> Numbers:
    """Neighbours in the order of leaves are 1/(m-1) apart, where m values occur. Scale m-1.

    The cost is the sum of |cumulative difference| over the order. Between two values of a class its
    cumulative count stands still while the target's grows: prefix sums of the latter, split where the
    difference changes sign, give each such run in one step.
    """
    h, occurs = earth.histogram, earth.occurs
    total = _as(earth.total, number)
    position = (np.cumsum(occurs) - 1)[h.values]
    steps = np.cumsum(earth.target[occurs])
    below: Numbers = steps.astype(number)
    prefix: Numbers = np.concatenate(([0], np.cumsum(steps.astype(object)))).astype(number)
    size: Numbers = h.totals.astype(number)
    sizes = size[h.owner]
    running = np.cumsum(h.counts)
    before = np.concatenate(([0], running))[h.start[:-1]]
    level = (running - before[h.owner]).astype(number) * total
    end = np.append(position[1:], 0)
    end[h.start[1:] - 1] = len(below)
    split = np.clip(np.searchsorted(below, -(-level // sizes)), position, end)
    under = (split - position) * level - sizes * (prefix[split] - prefix[position])
    over = sizes * (prefix[end] - prefix[split]) - (end - split) * level
    cost: Numbers = segment_sums(under + over, h.start) + size * prefix[position[h.start[:-1]]]
    return cost


def hierarchical(earth: Earth, number: type) -> Numbers:
    """Two values are as far apart as the height of their lowest common ancestor, over the tree's. Scale 2H.

    Moving earth through a node N costs height(N)/H for what its children can exchange among themselves:
    min(their surpluses, their deficits). Summed over the tree this is half the sum over all nodes of
    |surplus| * (height of the parent - height), which needs only the ancestors of a class's own values.
    """
    h, t = earth.histogram, earth.taxonomy
    total = _as(earth.total, number)
    up = climbs(t)
    running = np.concatenate(([0], np.cumsum(earth.target)))
    held = running[t.high] - running[t.low]
    if number is np.int64:
        from sfumato.kernels.rows.earth import hierarchical_costs  # noqa: PLC0415  # compiled kernels

        tree = (t.leaves, t.parent, up)
        return hierarchical_costs(h.start, h.values, h.counts, h.totals, tree, held, earth.total)
    inside: Numbers = held.astype(number)
    size: Numbers = h.totals.astype(number)
    cost: Numbers = size * _as(int((up * held.astype(object)).sum()), number)
    node, count, owner = t.leaves[h.values], h.counts, h.owner
    for depth in range(int(t.depth.max(initial=0)), 0, -1):
        here = t.depth[node] == depth
        expected = size[owner] * inside[node]
        change = abs(count.astype(number) * total - expected) - expected
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        cost = cost + np.add.reduceat(np.where(here, up[node], 0).astype(number) * change, first)
        node = np.where(here, t.parent[node], node)
        fresh = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(node, prepend=-1) != 0))
        node, count, owner = node[fresh], np.add.reduceat(count, fresh), owner[fresh]
    return cost


def most_kept(earth: Earth, t: float, spare: int, *, levels: bool) -> Counts:
    """Returns how large a part of each class can be whose distance from the distribution is at most `t`.

    Up to `spare` may be missing from the distribution in the end. The distance is the hierarchical one, or
    without `levels` the equal one: a tree whose leaves all hang from the root.
    """
    from sfumato.kernels.rows.earth import most_kept as bounded  # noqa: PLC0415  # compiled kernels

    h, taxonomy = earth.histogram, earth.taxonomy
    if levels and not taxonomy.height:
        return h.totals
    tree, height, held = _star(len(taxonomy.leaves)), 1, earth.target
    if levels:
        running = np.concatenate(([0], np.cumsum(earth.target)))
        tree, height = (taxonomy.leaves, taxonomy.parent, climbs(taxonomy)), taxonomy.height
        held = running[taxonomy.high] - running[taxonomy.low]
    shares = held / max(1, earth.total - spare)
    return bounded(h.start, h.values, h.counts, h.totals, tree, height, shares, t)


@lru_cache(maxsize=16)
def _star(leaves: int) -> tuple[Nodes, Nodes, Nodes]:
    """Returns leaves without a common node, each as high as the tree."""
    tree = (np.arange(leaves, dtype=np.int32), np.full(leaves, -1, np.int32), np.ones(leaves, np.int32))
    for part in tree:
        part.setflags(write=False)
    return tree


def heights(taxonomy: Taxonomy) -> Nodes:
    """The height of every node: the lowest level of full-domain recoding that uses it, 0 for a leaf.

    In a tree with all leaves at one depth that is the distance to the leaves. In an uneven tree a leaf
    close to the root still has height 0, and an inner node the height its level gives it. A node that no
    level uses takes the height of its parent: nothing is ever recoded to it.

    >>> t = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> dict(zip(t.labels, heights(t).tolist(), strict=True))
    {'*': 2, 'Viral': 1, 'Flu': 0, 'AIDS': 0, 'TB': 0}
    """
    found = np.full(len(taxonomy.labels), -1, dtype=np.int32)
    for level in range(taxonomy.height, -1, -1):
        found[taxonomy.levels[level]] = level
    found[ROOT] = taxonomy.height
    for node in np.flatnonzero(found < 0).tolist():  # in preorder: parents first
        found[node] = found[taxonomy.parent[node]]
    return found


@lru_cache(maxsize=16)
def climbs(taxonomy: Taxonomy) -> Nodes:
    """How much higher than each node its parent stands; 0 for the root."""
    height = heights(taxonomy)
    climb: Nodes = height[taxonomy.parent] - height
    climb[ROOT] = 0
    climb.setflags(write=False)
    return climb


def _as(value: int, number: type) -> Any:
    return float(value) if number is np.float64 else value

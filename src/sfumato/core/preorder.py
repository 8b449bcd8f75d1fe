"""Trees as an array of parents: depths, sizes, numbers in preorder, and levels by depth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadTaxonomy

Nodes = NDArray[np.int32]


def depths(parent: Nodes) -> Nodes:
    """Distance from the root; raises where parents run in a circle."""
    depth = np.zeros(len(parent), dtype=np.int32)
    above = parent.copy()
    for _ in range(len(parent) + 1):
        alive = above >= 0
        if not alive.any():
            return depth
        depth[alive] += 1
        above[alive] = parent[above[alive]]
    raise BadTaxonomy("the parents run in a circle")


def subtree_sizes(parent: Nodes, depth: Nodes) -> NDArray[np.int64]:
    """How many nodes each node has below it, itself among them."""
    size = np.ones(len(parent), dtype=np.int64)
    order = np.argsort(-depth, kind="stable")
    bounds = np.flatnonzero(np.diff(depth[order])) + 1
    for nodes in np.split(order, bounds):
        if depth[nodes[0]] > 0:
            np.add.at(size, parent[nodes], size[nodes])
    return size


def preorder(parent: Nodes, depth: Nodes) -> Nodes:
    """The preorder position of every node; siblings keep the order of their numbers."""
    size = subtree_sizes(parent, depth)
    position = np.zeros(len(parent), dtype=np.int64)
    for level in range(1, int(depth.max(initial=0)) + 1):
        nodes = np.flatnonzero(depth == level)
        nodes = nodes[np.argsort(parent[nodes], kind="stable")]
        running = np.cumsum(size[nodes]) - size[nodes]
        first = np.r_[True, np.diff(parent[nodes]) != 0]
        start = running[np.maximum.accumulate(np.where(first, np.arange(len(nodes)), 0))]
        position[nodes] = position[parent[nodes]] + 1 + running - start
    return position.astype(np.int32)


def is_preorder(parent: Nodes, end: Nodes) -> bool:
    """Whether nodes are numbered parents first, and those below a node right after it."""
    index = np.arange(1, len(parent))
    above = parent[1:]
    if parent[0] != -1 or np.any(above < 0) or np.any(above >= index):
        return False
    previous = index - 1
    return bool(np.all((above <= previous) & (previous < end[above]) & (end[1:] <= end[above])))


def levels_by_depth(parent: Nodes, depth: Nodes, leaves: NDArray[np.intp]) -> Nodes:
    """The node of every leaf at every level: level i lifts it to the depth `height - i`."""
    height = int(depth.max(initial=0))
    rows = [leaves.astype(np.int32)]
    for level in range(1, height + 1):
        current = rows[-1].copy()
        too_deep = depth[current] > height - level
        current[too_deep] = parent[current[too_deep]]
        rows.append(current)
    return np.array(rows, dtype=np.int32).reshape(height + 1, len(leaves))

"""A cut: one node on every root-to-leaf path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.system.errors import NotACut
from sfumato.table.taxonomy import Label, Nodes, Taxonomy


@dataclass(frozen=True, eq=False)
class Cut:
    """An antichain of taxonomy nodes that covers every leaf exactly once: a global recoding of one column.

    `node_of[rank]` is the node that the leaf becomes.

    >>> t = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> Cut.of_labels(t, ["Viral", "TB"]).labels
    ('Viral', 'TB')
    >>> Cut.leaves(t) <= Cut.root(t)
    True
    """

    taxonomy: Taxonomy
    node_of: Nodes

    def __post_init__(self) -> None:
        t, chosen = self.taxonomy, self.node_of
        if len(chosen) != len(t.leaves):
            raise NotACut("a cut names one node per leaf", remedy=f"The tree has {len(t.leaves)} leaves.")
        ranks = np.arange(len(chosen))
        if len(chosen):
            inside = (t.low[chosen] <= ranks) & (ranks < t.high[chosen])
            size = np.bincount(np.maximum(chosen, 0), minlength=len(t.labels))
            missing = np.where(size > 0, t.leaf_count - size, 0)
            if not inside.all() or missing.any():
                wrong = int((~inside).sum()) or int(np.abs(missing).sum())
                raise NotACut(f"{wrong} leaves are not covered exactly once")
        chosen.setflags(write=False)

    @classmethod
    def root(cls, taxonomy: Taxonomy) -> Cut:
        """Everything becomes `*`."""
        return cls(taxonomy, np.zeros(len(taxonomy.leaves), dtype=np.int32))

    @classmethod
    def leaves(cls, taxonomy: Taxonomy) -> Cut:
        """Nothing is generalized."""
        return cls(taxonomy, taxonomy.leaves.copy())

    @classmethod
    def level(cls, taxonomy: Taxonomy, level: int) -> Cut:
        """One level of full-domain recoding."""
        return cls(taxonomy, taxonomy.levels[level].copy())

    @classmethod
    def coarsest(cls, taxonomy: Taxonomy) -> Cut:
        """The most general cut that may be published: the root, or the level that the tree stops at."""
        return cls.level(taxonomy, taxonomy.ceiling)

    @classmethod
    def of_nodes(cls, taxonomy: Taxonomy, nodes: list[int] | Nodes) -> Cut:
        """The cut that holds exactly these nodes."""
        node_of = np.full(len(taxonomy.leaves), -1, dtype=np.int32)
        for v in nodes:
            node_of[taxonomy.low[v] : taxonomy.high[v]] = v
        if (node_of < 0).any():
            raise NotACut(f"{int((node_of < 0).sum())} leaves are not covered")
        return cls(taxonomy, node_of)

    @classmethod
    def of_labels(cls, taxonomy: Taxonomy, labels: list[Label]) -> Cut:
        return cls.of_nodes(taxonomy, [taxonomy.node(label) for label in labels])

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes of the cut, left to right."""
        return np.flatnonzero(np.bincount(self.node_of, minlength=1)).astype(self.node_of.dtype)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of its nodes, left to right."""
        return tuple(map(self.taxonomy.labels.__getitem__, self.nodes.tolist()))

    @property
    def specializations(self) -> Nodes:
        """The nodes of the cut that have children."""
        return self.nodes[self.taxonomy.end[self.nodes] > self.nodes + 1]

    def specialize(self, node: int) -> Cut:
        """Replace `node` by all its children."""
        t = self.taxonomy
        finer = self.node_of.copy()
        finer[t.low[node] : t.high[node]] = t.child_above(node)
        return Cut(t, finer)

    def join(self, cut: Cut) -> Cut:
        """On every path the more general of the two nodes."""
        return Cut(self.taxonomy, np.where(self._above(cut), self.node_of, cut.node_of))

    def _above(self, cut: Cut) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        depth = self.taxonomy.depth
        return depth[self.node_of] <= depth[cut.node_of]

    def __le__(self, cut: Cut) -> bool:
        """Whether this cut is at most as general as `cut` on every path."""
        return bool(np.all(cut._above(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cut) and np.array_equal(self.node_of, other.node_of)

    def __hash__(self) -> int:
        return hash(self.node_of.tobytes())

    def __repr__(self) -> str:
        return f"Cut({len(self.nodes)} of {len(self.taxonomy.labels)} nodes)"

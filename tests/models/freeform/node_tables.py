"""Random published tables: trees, guarding sets, beliefs, tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato.models.freeform.inference import (
    Belief,
    FreeColumn,
    NodeTable,
    aggregate,
    particular,
    unless_sensitive,
)
from sfumato.models.freeform.promise import Freeform
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

LIMITS = [Fraction(0), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(99, 100)]


def random_tree(rng, leaves, prefix):
    """A random tree with unary chains and ragged depth."""
    labels, parent, groups = [], [], []
    for i in range(int(rng.integers(1, leaves + 1))):
        labels.append(f"{prefix}{i}")
        parent.append(-1)
        groups.append(i)
    while len(groups) > 1 and rng.random() < 0.7:
        size = int(rng.integers(1, min(3, len(groups)) + 1))
        at = int(rng.integers(0, len(groups) - size + 1))
        labels.append(f"{prefix}n{len(labels)}")
        parent.append(-1)
        for child in groups[at : at + size]:
            parent[child] = len(labels) - 1
        groups[at : at + size] = [len(labels) - 1]
    labels.append("*")
    parent.append(-1)
    for child in groups:
        parent[child] = len(labels) - 1
    return Taxonomy.grow(labels, parent)


def random_free(rng, tree):
    some = [label for label in tree.labels[1:] if rng.random() < 0.35]
    if rng.random() < 0.05:
        some = ["*"]
    shape = aggregate if rng.random() < 0.6 else particular
    if rng.random() < 0.5:
        return FreeColumn(tuple(some), shape, unless_sensitive)
    beliefs = {label: Fraction(int(rng.integers(0, 5)), 4) for label in tree.leaf_labels}
    return FreeColumn(tuple(some), shape, Belief(beliefs, Fraction(int(rng.integers(0, 3)), 4)))


def random_cut(rng, tree):
    cut = Cut.root(tree)
    while len(cut.specializations) and rng.random() < 0.75:
        cut = cut.specialize(int(rng.choice(cut.specializations)))
    return cut


def random_case(rng, *, rows=12, leaves=4, columns=3):
    """A table, a promise about it, and cuts."""
    m = int(rng.integers(1, columns + 1))
    fields, codes, free, cuts = [], [], {}, {}
    count = int(rng.integers(1, rows + 1))
    for j in range(m):
        tree = random_tree(rng, leaves, f"c{j}v")
        role = Role.QUASI if rng.random() < 0.15 else Role.FREE
        fields.append(Column(f"c{j}", role, tree))
        codes.append(rng.integers(0, len(tree.leaves), count).astype(np.int32))
        if role is Role.FREE:
            free[f"c{j}"] = random_free(rng, tree)
        cuts[f"c{j}"] = random_cut(rng, tree)
    table = Microdata.of_codes(fields, codes)
    threat = LIMITS[int(rng.integers(0, len(LIMITS)))]
    seen = Fraction(int(rng.integers(1, 5)), 4)
    return table, Freeform(threat, seen, columns=free), cuts


def local_node_table(rng, node_table: NodeTable) -> NodeTable:
    """The same rows, each generalized at will: several heights of one branch side by side."""
    nodes = node_table.nodes.copy()
    for j, guard in enumerate(node_table.guards):
        for i in range(nodes.shape[1]):
            while nodes[j, i] > 0 and rng.random() < 0.3:
                nodes[j, i] = guard.taxonomy.parent[nodes[j, i]]
    return NodeTable(nodes, node_table.counts, node_table.guards)

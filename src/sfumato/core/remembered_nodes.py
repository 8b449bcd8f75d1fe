"""Today's tree with the nodes that earlier releases remember: values left the table with their people.

Where the values that occur are the leaves, a value that nobody has any more is a leaf no longer, and releases
that showed it could not be compared with today's table. An imprint knows every node of its tree by a mark
and by the node above it. So nodes come back as `RememberedNode`s, in the place that they had: the tree has
the leaves that any release so far has had, as if the policy had listed them. A value that comes back has the
mark of its node, and is that node again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.imprint import KeyImprint
from sfumato.core.marks import nodes_named, tree_marks
from sfumato.core.taxonomy import ROOT, NodeLabel, Nodes, RememberedNode, Taxonomy

NOT_THERE = -1


def with_remembered(taxonomy: Taxonomy, keys: Sequence[KeyImprint], *, listed: bool = False) -> Taxonomy:
    """Returns today's tree with the nodes that these imprints of its column, oldest first, have besides.

    A policy that has `listed` its values keeps the leaf of missing cells alone: other nodes that are gone
    were taken out of it. Nothing is added where an imprint is of a tree of another shape, in which a value
    of today has another place: such a tree has changed, and `KeyImprint.onto` says so.
    """
    if not keys or keys[-1].digest == taxonomy.digest:
        return taxonomy  # the newest release was made beside the others, and has their nodes
    marks = tree_marks(taxonomy)
    for key in reversed(keys):
        gone = _gone(key, marks)
        if not gone.any() or not _fits(taxonomy, marks, key, gone, listed=listed):
            continue
        taxonomy = _grown(taxonomy, marks, key, gone)
        marks = tree_marks(taxonomy)
    return taxonomy


def _gone(key: KeyImprint, marks: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Returns which nodes of a remembered tree are not among these."""
    found: NDArray[np.bool_] = ~np.isin(key.marks, marks)
    return found


def _fits(
    taxonomy: Taxonomy,
    marks: NDArray[np.uint64],
    key: KeyImprint,
    gone: NDArray[np.bool_],
    *,
    listed: bool,
) -> bool:
    """Whether the nodes that are gone are values that left, and not a tree of another shape."""
    if gone[ROOT] or len(np.unique(marks)) < len(marks) or len(np.unique(key.marks)) < len(key.marks):
        return False
    if listed:
        _, missing = nodes_named((None,), key.marks, key.parent)
        if not np.isin(np.flatnonzero(gone), missing).all():
            return False
    above, first = _node_of(marks, key.marks[key.parent[gone]]), _first_level(taxonomy)
    below = above[above != NOT_THERE]
    if np.any(first[below] < 1):
        return False
    room = _last_level(key, gone, np.where(above == NOT_THERE, 0, first[above]))
    return bool(np.all(room >= 0)) and not _have_moved(taxonomy, marks, key, gone)


def _have_moved(
    taxonomy: Taxonomy, marks: NDArray[np.uint64], key: KeyImprint, gone: NDArray[np.bool_]
) -> bool:
    """Whether a value of today is the label of a node that is gone: then it stood in another place."""
    leaves = taxonomy.leaves[~taxonomy.is_remembered[taxonomy.leaves]]
    fresh = leaves[~np.isin(marks[leaves], key.marks)]
    _, nodes = nodes_named([taxonomy.label(leaf) for leaf in fresh.tolist()], key.marks, key.parent)
    return bool(gone[nodes].any())


def _first_level(taxonomy: Taxonomy) -> Nodes:
    """Returns the lowest level that holds each node; -1 where none does."""
    first = np.full(len(taxonomy.labels), NOT_THERE, np.int32)
    for level in reversed(range(len(taxonomy.levels))):
        first[taxonomy.levels[level]] = level
    return first


def _last_level(key: KeyImprint, gone: NDArray[np.bool_], first_above: NDArray[np.integer]) -> Nodes:
    """Returns the coarsest level of each node that is gone: the one before its parent begins.

    `first_above` is the first level of the parents that are not gone. Groups that are gone have one level
    each; values have all that are left below.
    """
    last = np.full(len(key.parent), NOT_THERE, np.int32)
    nodes = np.flatnonzero(gone)
    for node, level in zip(nodes.tolist(), first_above.tolist(), strict=True):
        above = int(key.parent[node])
        last[node] = (last[above] if gone[above] else level) - 1
    return last[nodes]


def _node_of(marks: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> Nodes:
    """Returns the node with each of these marks; NOT_THERE where there is none."""
    order = np.argsort(marks, kind="stable")
    place = np.minimum(np.searchsorted(marks[order], wanted), len(marks) - 1)
    node = order[place]
    return np.where(marks[node] == wanted, node, NOT_THERE).astype(np.int32)


def _grown(
    taxonomy: Taxonomy, marks: NDArray[np.uint64], key: KeyImprint, gone: NDArray[np.bool_]
) -> Taxonomy:
    """Returns the tree with the nodes that are gone from it; numbers follow the order of siblings."""
    nodes, count = np.flatnonzero(gone), len(taxonomy.labels)
    now = _node_of(marks, key.marks)
    order = np.lexsort(
        (np.r_[np.full(count, NOT_THERE), nodes], np.r_[np.arange(count), _left_sibling(key, now)[nodes]])
    )
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    place = np.zeros(len(key.parent), np.int32)
    place[~gone], place[nodes] = number[now[~gone]], number[count:]
    above = np.r_[NOT_THERE, number[taxonomy.parent[1:]], place[key.parent[nodes]]]
    parent = np.empty(len(order), np.int32)
    parent[number] = above
    known = [RememberedNode(mark) for mark in key.marks[nodes].tolist()]
    every: tuple[NodeLabel, ...] = (*taxonomy.labels, *known)
    last = _last_levels(taxonomy, key, gone, now, number)
    grown = Taxonomy.grow(
        [every[i] for i in order.tolist()],
        parent,
        levels=_levels(parent, last, taxonomy.height),
        ordered=taxonomy.ordered,
        aliases={name: int(number[taxonomy.leaves[rank]]) for name, rank in taxonomy.aliases.items()},
        range_level=taxonomy.range_level,
    )
    return replace(grown, spelling=taxonomy.spelling, at_most=taxonomy.at_most, start=taxonomy.start)


def _left_sibling(key: KeyImprint, now: Nodes) -> NDArray[np.int64]:
    """Returns today's number of the next sibling to the left that is still there; -1 where none is."""
    order = np.argsort(key.parent, kind="stable")
    begins = np.r_[True, np.diff(key.parent[order]) != 0]
    places = np.arange(len(order))
    there = np.maximum.accumulate(np.where(begins | (now[order] != NOT_THERE), places, 0))
    found = np.empty(len(order), np.int64)
    found[order] = now[order][there]
    return found


def _last_levels(
    taxonomy: Taxonomy, key: KeyImprint, gone: NDArray[np.bool_], now: Nodes, number: Nodes
) -> Nodes:
    """Returns the coarsest level of every node, by its new number; -1 where no level holds it."""
    last = np.full(len(number), NOT_THERE, np.int32)
    for level, nodes in enumerate(taxonomy.levels):
        last[number[nodes]] = level
    above = now[key.parent[gone]]
    last[number[len(taxonomy.labels) :]] = _last_level(
        key, gone, np.where(above == NOT_THERE, 0, _first_level(taxonomy)[above])
    )
    return last


def _levels(parent: Nodes, last: Nodes, height: int) -> NDArray[np.int32]:
    """Returns the node of every leaf at every level: the lowest above it whose levels reach so far."""
    has_child = np.zeros(len(parent), dtype=bool)
    has_child[parent[parent >= 0]] = True
    rows = [np.flatnonzero(~has_child).astype(np.int32)]
    for level in range(1, height + 1):
        node = rows[-1].copy()
        while np.any(low := last[node] < level):
            node[low] = parent[node[low]]
        rows.append(node)
    return np.array(rows, np.int32)

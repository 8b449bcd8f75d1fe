"""A published table as one release among others: its imprint, from its texts and the trees of a chain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.objections import written_down
from sfumato.attacks.published_table import flat
from sfumato.core.cut import Cut
from sfumato.core.errors import BadData
from sfumato.core.imprint import Imprint, KeyImprint, grouped
from sfumato.core.marks import matching, nodes_named, tree_marks
from sfumato.core.microdata import Codes, Coding, Microdata, Missing, Role
from sfumato.core.progress import Progress, silent
from sfumato.core.recoding import classes_under
from sfumato.core.same_columns import in_key_order, show_other_columns
from sfumato.core.taxonomy import Label, Nodes
from sfumato.engine.source import Source
from sfumato.policy.policy import Policy


def count_published(source: Source, like: Imprint, *, progress: Progress = silent) -> Microdata:
    """Counts the columns of a published table that an earlier release showed, every text as it stands."""
    names = [*like.names, *like.unchanged]
    absent = [name for name in names if name not in source.columns]
    if absent:
        raise BadData(f"{len(absent)} columns of the earlier releases are not in this table")
    codings = [Coding(n, Role.QUASI if n in like.names else Role.SENSITIVE, flat) for n in names]
    return source.count(codings, missing=Missing.OWN_VALUE, progress=progress)


def imprint_of(table: Microdata, like: Imprint, *, policy: Policy | None = None) -> Imprint:
    """Returns the imprint of a published table on the trees of a release of its chain.

    Its texts are looked up by the marks of that release's trees; a column with texts that are new since then
    is looked up in the tree that the policy writes down. Raises `BadData` where a text has no node, or where
    the table is no global recoding: such a table cannot be compared with others.
    """
    like = in_key_order(like, [c.name for c in table.keys])
    class_of, shown = classes_under(table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys})
    keys, nodes = [], np.zeros((len(shown), len(like.keys)), np.int32)
    for j, (key, column) in enumerate(zip(like.keys, table.keys, strict=True)):
        own_key, node = _key_and_nodes(key, column.taxonomy.leaf_labels if table.rows else (), policy)
        keys.append(own_key)
        nodes[:, j] = node[shown[:, j] - 1]
    values = matching(table, like.unchanged)
    owner, ids, counts = grouped(table, class_of, values.ids, len(nodes), len(values.marks))
    counted = replace(like, keys=tuple(keys), nodes=nodes, owner=owner, counts=counts)
    return replace(counted, values=values.marks[ids])


def is_release(table: Microdata, release: Imprint) -> bool:
    """Whether a published table is this release."""
    unchanged = [c.name for c in table.columns if not c.role.is_key]
    if show_other_columns([c.name for c in table.keys], unchanged, release):
        return False
    try:
        return same_release(imprint_of(table, release), release)
    except BadData:
        return False


def same_release(one: Imprint, other: Imprint) -> bool:
    """Whether two imprints show the same classes with the same counts, in whatever order of columns.

    Nodes with the same leaves below them publish the same, whichever of them is named.
    """
    if not _same_columns(one, other) or len(one.owner) != len(other.owner):
        return False
    other = in_key_order(other, one.names)
    return all(np.array_equal(a, b) for a, b in zip(_listed(one), _listed(other), strict=True))


def part_of_release(whole: Imprint, shown: Imprint) -> Imprint | None:
    """Returns the imprint of a release that lacks rows of a whole one: with the counts that it shows.

    `None` where it shows a class or a value that the whole release does not have, or more rows of one.
    """
    if not _same_columns(whole, shown):
        return None
    groups = np.concatenate([_groups(whole), _groups(in_key_order(shown, whole.names))])
    distinct, which = np.unique(groups, axis=0, return_inverse=True)
    own, other = which.ravel()[: len(whole.owner)], which.ravel()[len(whole.owner) :]
    there, here = np.zeros(len(distinct), np.int64), np.zeros(len(distinct), np.int64)
    there[own], here[other] = whole.counts, shown.counts
    if np.any(here > there):
        return None
    counts = here[own]
    kept = counts > 0
    classes, owner = np.unique(whole.owner[kept], return_inverse=True)
    return replace(
        whole,
        nodes=whole.nodes[classes],
        owner=owner.ravel().astype(np.int32),
        values=whole.values[kept],
        counts=counts[kept],
    )


def _same_columns(one: Imprint, other: Imprint) -> bool:
    """Whether two imprints are about the same columns, by the same trees."""
    if show_other_columns(one.names, one.unchanged, other):
        return False
    return {key.name: key.digest for key in one.keys} == {key.name: key.digest for key in other.keys}


def _groups(imprint: Imprint) -> NDArray[np.uint64]:
    """Returns a row per group: the leaves of its class in every key column, and the mark of its value."""
    ends = [
        side[column][imprint.owner].astype(np.uint64)
        for key, column in zip(imprint.keys, imprint.nodes.T, strict=True)
        for side in (key.tree.low, key.tree.high)
    ]
    return np.column_stack([*ends, imprint.values])


def _listed(imprint: Imprint) -> tuple[Codes, ...]:
    """Returns class, value and count of every group, in an order that does not depend on class numbers."""
    ends = [
        np.stack([key.tree.low, key.tree.high])[:, column]
        for key, column in zip(imprint.keys, imprint.nodes.T, strict=True)
    ]
    columns = [side[imprint.owner] for pair in ends for side in pair]
    order = np.lexsort((imprint.values[:, 1], imprint.values[:, 0], *columns[::-1]))
    return (*(c[order] for c in columns), imprint.values[order], imprint.counts[order])


def _key_and_nodes(
    key: KeyImprint, labels: tuple[Label, ...], policy: Policy | None
) -> tuple[KeyImprint, Nodes]:
    """Returns the column's tree and cut, and the node of every label."""
    node = _nodes(labels, key)
    if np.any(node < 0) and policy is not None and key.name in policy.columns:
        empty = None in labels or bool((_nodes((None,), key) >= 0).all())
        if (tree := written_down(policy, key.name, [None] if empty else [])) is not None:
            key = KeyImprint(key.name, tree.digest, tree.parent, tree_marks(tree), key.cut)
            node = _nodes(labels, key)
    if lost := int((node < 0).sum()):
        raise BadData(
            f"{lost} of {len(labels)} texts of {key.name} have no place in the tree of the earlier releases"
        )
    cut = np.unique(node)
    if np.any(key.tree.end[cut[:-1]] > cut[1:]):
        raise BadData(f"{key.name} shows values and groups they belong to: that is no global recoding")
    return replace(key, cut=cut), node


def _nodes(labels: tuple[Label, ...], key: KeyImprint) -> Nodes:
    """Returns the node of every label: -1 where there is none, or where two mean different things."""
    which, nodes = nodes_named(labels, key.marks, key.parent)
    found = np.full(len(labels), -1, np.int32)
    found[which[::-1]] = nodes[::-1]  # the highest of several
    tree = key.tree
    unlike = (tree.low[nodes] != tree.low[found[which]]) | (tree.high[nodes] != tree.high[found[which]])
    found[which[unlike]] = -1
    return found

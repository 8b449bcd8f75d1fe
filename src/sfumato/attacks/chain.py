"""A chain of published tables, read as an adversary reads them: imprints from texts and taxonomies alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.correspondence import correspondence
from sfumato.attacks.published_labels import published_labels_of
from sfumato.models.freeform.inference import has_no_groups, is_written_down, nodes_of
from sfumato.policy.columns import forms_of
from sfumato.policy.policy import Policy
from sfumato.system.disk import read_document
from sfumato.system.errors import BadData, SfumatoError, UsageError
from sfumato.system.progress import Progress, silent
from sfumato.system.verdict import Finding, PromiseStrength, missing_strengths
from sfumato.table.cut import Cut
from sfumato.table.keyed_hashes import matching, nodes_named, tree_marks
from sfumato.table.microdata import Codes, Coding, Microdata, Missing, Role
from sfumato.table.recoding import classes_under
from sfumato.table.release_summary import Imprint, KeyImprint, grouped, in_key_order, show_other_columns
from sfumato.table.source import AnyTable, Source, open_source
from sfumato.table.taxonomy import ANY, Label, Nodes, Taxonomy

GivenRelease = Imprint | AnyTable
"""An imprint, the path of its JSON file, or a published table: a path, or a frame of any library."""


def imprints_of(releases: Sequence[GivenRelease], policy: Policy | None) -> list[Imprint]:
    """Returns the imprints of all releases: all kept, or all read from the published tables."""
    are_imprints = [is_imprint(release) for release in releases]
    if all(are_imprints):
        return [
            r if isinstance(r, Imprint) else Imprint.from_json(read_document(Path(str(r)))) for r in releases
        ]
    if any(are_imprints) or policy is None:
        raise UsageError(
            "published tables are compared with each other, by the taxonomies of a policy",
            remedy="Give a policy and tables, or imprints alone.",
        )
    return read_chain([table for table in releases if not isinstance(table, Imprint)], policy)


def is_imprint(release: GivenRelease) -> bool:
    """Whether a release is given as what is remembered of it, not as its table."""
    return isinstance(release, Imprint) or str(release).lower().endswith(".json")


def read_chain(tables: Sequence[AnyTable], policy: Policy) -> list[Imprint]:
    """Returns the imprint of every table (a frame, or the path of a CSV or Parquet file), in the order given.

    Keys are placed in the trees that the policy writes down; a column without one shows values or `*`.
    """
    if forms_of(policy):
        raise UsageError(
            "tables with term sets are not compared", remedy="Give the imprints of the releases."
        )
    counted = [_counted(table, policy) for table in tables]
    trees = {
        name: _tree(name, [t.column(name).taxonomy.leaf_labels for t in counted], policy)
        for name, rule in policy.columns.items()
        if rule.role.is_key
    }
    return [_imprint(table, trees, policy) for table in counted]


def _counted(table: AnyTable, policy: Policy) -> Microdata:
    source = open_source(table, expected=policy.form_of_data)
    lacking = [name for name in policy.published if name not in source.columns]
    if lacking:
        raise BadData(f"{len(lacking)} columns that the policy publishes are not in the table")
    roles = {n: Role.QUASI if policy.columns[n].role.is_key else Role.SENSITIVE for n in policy.published}
    return source.count([Coding(n, r, Taxonomy.flat) for n, r in roles.items()], missing=Missing.OWN_VALUE)


def _tree(name: str, texts: Sequence[Sequence[Label]], policy: Policy) -> Taxonomy:
    """Returns the taxonomy that the texts of all tables are looked up in."""
    every = dict.fromkeys(text for column_texts in texts for text in column_texts)
    rule = policy.columns[name].taxonomy
    if has_no_groups(rule):
        values = sorted((t for t in every if t != ANY), key=lambda t: (t is None, t or ""))
        return Taxonomy.flat(values or ["any value"])
    if rule is None or not is_written_down(rule):
        raise UsageError(
            f"the taxonomy of {name} grows from the data, so published texts have no place in it",
            remedy="Write the tree down in the policy, or give the imprints of the releases.",
        )
    return rule.build([None] if None in every else [])


def _imprint(table: Microdata, trees: Mapping[str, Taxonomy], policy: Policy) -> Imprint:
    class_of, node_rows = classes_under(table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys})
    unchanged = sorted(c.name for c in table.columns if not c.role.is_key)
    values = matching(table, unchanged)
    owner, ids, counts = grouped(table, class_of, values.ids, len(node_rows), len(values.marks))
    keys, nodes = [], np.empty_like(node_rows)
    for j, column in enumerate(table.keys):
        tree, texts = trees[column.name], column.taxonomy.leaf_labels
        key_nodes = nodes_of(tree, texts)
        if key_nodes is None:
            raise BadData(f"texts of {column.name} are no values of its taxonomy")
        of_node = np.zeros(len(column.taxonomy.labels), np.int32)
        of_node[column.taxonomy.leaves] = key_nodes
        nodes[:, j] = of_node[node_rows[:, j]]
        keys.append(KeyImprint.of(column.name, _complete_cut(tree, key_nodes, column.name)))
    return Imprint(
        tuple(keys), tuple(unchanged), nodes, owner, values.marks[ids], counts, policy=policy.digest
    )


def _complete_cut(tree: Taxonomy, nodes: Codes, name: str) -> Cut:
    """Returns the cut that shows these nodes; where nobody is, the most general node that hides none."""
    node_of = np.full(len(tree.leaves), -1, np.int32)
    above = np.zeros(len(tree.labels), dtype=bool)
    for v in np.unique(nodes).tolist():
        if np.any(node_of[tree.low[v] : tree.high[v]] >= 0) or above[v]:
            raise BadData(
                f"{name} shows a value and one above it: the table has no single recoding",
                remedy="Only releases with one recoding for all classes form a chain.",
            )
        node_of[tree.low[v] : tree.high[v]] = v
        node = v
        while node >= 0:
            above[node] = True
            node = int(tree.parent[node])
    for rank in np.flatnonzero(node_of < 0).tolist():
        v = int(tree.leaves[rank])
        while not above[tree.parent[v]]:
            v = int(tree.parent[v])
        node_of[rank] = v
    return Cut(tree, node_of)


# A published table as one release among others: its imprint, from its texts and the trees of a chain.


def count_published(source: Source, like: Imprint, *, progress: Progress = silent) -> Microdata:
    """Counts the columns of a published table that an earlier release showed, every text as it stands."""
    names = [*like.names, *like.unchanged]
    absent = [name for name in names if name not in source.columns]
    if absent:
        raise BadData(f"{len(absent)} columns of the earlier releases are not in this table")
    roles = {name: Role.QUASI if name in like.names else Role.SENSITIVE for name in names}
    codings = [Coding(name, role, Taxonomy.flat_in_order) for name, role in roles.items()]
    return source.count(codings, missing=Missing.OWN_VALUE, progress=progress)


def imprint_of(table: Microdata, like: Imprint, *, policy: Policy | None = None) -> Imprint:
    """Returns the imprint of a published table on the trees of a release of its chain.

    Its texts are looked up by the marks of that release's trees; a column with texts that are new since then
    is looked up in the tree that the policy writes down. Raises `BadData` where a text has no node, or where
    the table is no global recoding: such a table cannot be compared with others.
    """
    like = in_key_order(like, [c.name for c in table.keys])
    class_of, node_rows = classes_under(table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys})
    keys, nodes = [], np.zeros((len(node_rows), len(like.keys)), np.int32)
    for j, (key, column) in enumerate(zip(like.keys, table.keys, strict=True)):
        own_key, node = _key_and_nodes(key, column.taxonomy.leaf_labels if table.rows else (), policy)
        keys.append(own_key)
        nodes[:, j] = node[node_rows[:, j] - 1]
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


def same_release(left: Imprint, right: Imprint) -> bool:
    """Whether two imprints show the same classes with the same counts, in whatever order of columns.

    Nodes with the same leaves below them publish the same, whichever of them is named.
    """
    if not _same_columns(left, right) or len(left.owner) != len(right.owner):
        return False
    right = in_key_order(right, left.names)
    return all(np.array_equal(a, b) for a, b in zip(_listed(left), _listed(right), strict=True))


def part_of_release(whole: Imprint, subset: Imprint) -> Imprint | None:
    """Returns the imprint of a release that lacks rows of a whole one: with the counts that it shows.

    `None` where it shows a class or a value that the whole release does not have, or more rows of one.
    """
    if not _same_columns(whole, subset):
        return None
    groups = np.concatenate([_groups(whole), _groups(in_key_order(subset, whole.names))])
    distinct, which = np.unique(groups, axis=0, return_inverse=True)
    own, theirs = which.ravel()[: len(whole.owner)], which.ravel()[len(whole.owner) :]
    there, here = np.zeros(len(distinct), np.int64), np.zeros(len(distinct), np.int64)
    there[own], here[theirs] = whole.counts, subset.counts
    if np.any(here > there):
        return None
    counts = here[own]
    filled = counts > 0
    classes, owner = np.unique(whole.owner[filled], return_inverse=True)
    return replace(
        whole,
        nodes=whole.nodes[classes],
        owner=owner.ravel().astype(np.int32),
        values=whole.values[filled],
        counts=counts[filled],
    )


def _same_columns(left: Imprint, right: Imprint) -> bool:
    """Whether two imprints are about the same columns, by the same trees."""
    if show_other_columns(left.names, left.unchanged, right):
        return False
    return {key.name: key.digest for key in left.keys} == {key.name: key.digest for key in right.keys}


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
        if (tree := published_labels_of(policy, key.name, [None] if empty else [])) is not None:
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
    node_of = np.full(len(labels), -1, np.int32)
    node_of[which[::-1]] = nodes[::-1]  # the highest of several
    tree = key.tree
    unlike = (tree.low[nodes] != tree.low[node_of[which]]) | (tree.high[nodes] != tree.high[node_of[which]])
    node_of[which[unlike]] = -1
    return node_of


# Weakening: whoever holds a later release of a chain learns more than its first one let anybody learn.

NAME = "weakening"
MOST_PAIRS = 500
"""So many pairs of recipients are put together at most."""


@dataclass(frozen=True)
class ChainRelease:
    """A release as a ledger tells of it: what it asks, what is remembered, whether less was allowed."""

    sequence: int
    recipient: str | None
    strengths: Sequence[Sequence[PromiseStrength]]
    imprint: Imprint | None = field(default=None, repr=False)
    allowed: bool = False


@dataclass(frozen=True)
class Weakening:
    """The adversary who holds releases of one chain, and compares what they let him learn with the first.

    Knows: all releases of a chain that went to one recipient, or to two who put theirs together, and
    somebody's key columns. Seeks: who somebody is, or what they have, better than the first release allowed.
    """

    releases: Sequence[ChainRelease]

    def findings(self) -> list[Finding]:
        """Returns what later releases ask less of, then which two recipients leave too few candidates."""
        return [*self._asking_less(), *self._put_together()]

    def _asking_less(self) -> Iterator[Finding]:
        first, *later = self.releases
        for release in later:
            for wanted, near in missing_strengths(release.strengths, first.strengths):
                now = "; ".join(strength.sentence for strength in near) or "nothing of the kind"
                yield Finding(
                    NAME,
                    "whoever holds a later release",
                    f"release {release.sequence}: {wanted.sentence} was promised first, now {now}",
                    Fraction(1),
                    0,
                    not release.allowed,
                    details={"release": release.sequence},
                )

    def _put_together(self) -> Iterator[Finding]:
        k = max((int(d[0].at_least.get("k", 0)) for d in self.releases[0].strengths), default=0)
        readable = [release for release in self.releases if release.imprint is not None and release.recipient]
        pairs = (pair for pair in combinations(readable, 2) if pair[0].recipient != pair[1].recipient)
        for earlier, later in islice(pairs, MOST_PAIRS):
            left = _fewest_candidates(earlier, later)
            if left is None or left >= k:
                continue
            yield Finding(
                NAME,
                "two recipients who put their versions together",
                f"releases {earlier.sequence} and {later.sequence} together leave somebody {left} candidates"
                f" of the {k} promised first, and nothing was promised of that",
                Fraction(1, max(left, 1)),
                0,
                False,
                details={"release": later.sequence, "candidates": left, "asked": k},
            )


def _fewest_candidates(earlier: ChainRelease, later: ChainRelease) -> int | None:
    """Returns how few candidates somebody keeps beside both; `None` where the two cannot be compared."""
    if earlier.imprint is None or later.imprint is None:
        return None
    try:
        return correspondence([earlier.imprint, later.imprint]).least
    except SfumatoError:
        return None

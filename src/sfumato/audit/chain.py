"""A chain of published tables, read as an adversary reads them: imprints from texts and taxonomies alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sfumato.core.cut import Cut
from sfumato.core.errors import BadData, WrongCall
from sfumato.core.freeform.published_nodes import has_no_groups, nodes_of, written_down
from sfumato.core.imprint import Imprint, KeyImprint, grouped
from sfumato.core.marks import matching
from sfumato.core.microdata import Codes, Coding, Microdata, Missing, Role
from sfumato.core.recoding import classes_under
from sfumato.core.taxonomy import ANY, Label, Taxonomy
from sfumato.engine import AnyTable, open_source
from sfumato.policy.policy import Policy
from sfumato.policy.set_columns import forms_of
from sfumato.system.disk import read_document

GivenRelease = Imprint | AnyTable
"""An imprint, the path of its JSON file, or a published table: a path, or a frame of any library."""


def imprints_of(releases: Sequence[GivenRelease], policy: Policy | None) -> list[Imprint]:
    """Returns the imprints of all releases: all kept, or all read from the published tables."""
    kept = [is_imprint(release) for release in releases]
    if all(kept):
        return [
            r if isinstance(r, Imprint) else Imprint.from_json(read_document(Path(str(r)))) for r in releases
        ]
    if any(kept) or policy is None:
        raise WrongCall(
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
        raise WrongCall("tables with term sets are not compared", remedy="Give the imprints of the releases.")
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
    every = dict.fromkeys(text for some in texts for text in some)
    rule = policy.columns[name].taxonomy
    if has_no_groups(rule):
        values = sorted((t for t in every if t != ANY), key=lambda t: (t is None, t or ""))
        return Taxonomy.flat(values or ["any value"])
    if rule is None or not written_down(rule):
        raise WrongCall(
            f"the taxonomy of {name} grows from the data, so published texts have no place in it",
            remedy="Write the tree down in the policy, or give the imprints of the releases.",
        )
    return rule.build([None] if None in every else [])


def _imprint(table: Microdata, trees: Mapping[str, Taxonomy], policy: Policy) -> Imprint:
    class_of, shown = classes_under(table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys})
    unchanged = sorted(c.name for c in table.columns if not c.role.is_key)
    values = matching(table, unchanged)
    owner, ids, counts = grouped(table, class_of, values.ids, len(shown), len(values.marks))
    keys, nodes = [], np.empty_like(shown)
    for j, column in enumerate(table.keys):
        tree, texts = trees[column.name], column.taxonomy.leaf_labels
        key_nodes = nodes_of(tree, texts)
        if key_nodes is None:
            raise BadData(f"texts of {column.name} are no values of its taxonomy")
        of_node = np.zeros(len(column.taxonomy.labels), np.int32)
        of_node[column.taxonomy.leaves] = key_nodes
        nodes[:, j] = of_node[shown[:, j]]
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

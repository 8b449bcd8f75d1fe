"""From published texts back to the nodes of a column's taxonomy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from sfumato.core.errors import BadData, BadTaxonomy
from sfumato.core.freeform.guard import FreeColumn, Guard
from sfumato.core.freeform.inference import Ints, NodeTable, Small
from sfumato.core.freeform.observability import Belief
from sfumato.core.taxonomy import ANY, ROOT, Label, Taxonomy
from sfumato.core.taxonomy_rule import TaxonomyRule


def node_table_of_labels(
    free: Mapping[str, FreeColumn],
    threshold: Fraction,
    labels: Mapping[str, Sequence[Label]],
    codes: Mapping[str, Small],
    counts: Ints,
    *,
    rules: Mapping[str, TaxonomyRule | None] | None = None,
) -> NodeTable:
    """A published table as nodes, from its texts by column and the text that every row shows.

    The texts of a free column are nodes of its taxonomy, which the policy writes down; without a taxonomy
    they are values or `*`. Raises `BadData` where a text has no place. Of a column that is observable
    altogether only the texts themselves matter to the worst attacks, and it needs no tree. A list of all
    attacks observes what is above these texts, too: with `rules`, the taxonomy rule of every column, they are
    placed in its tree.
    """
    guards, nodes = [], []
    for name, texts in labels.items():
        declared = free.get(name)
        if declared is None or declared == FreeColumn():
            tree, places = _flat(texts) if rules is None else _placed(texts, rules.get(name), column=name)
            guards.append(Guard.all_observable(tree))
        else:
            tree, places = taxonomy_and_nodes(texts, declared, column=name)
            guards.append(declared.guard(tree, threshold, column=name))
        nodes.append(places[codes[name]])
    shape = np.stack(nodes).astype(np.int32) if nodes else np.zeros((0, len(counts)), np.int32)
    return NodeTable(shape, counts, tuple(guards))


def taxonomy_and_nodes(texts: Sequence[Label], free: FreeColumn, *, column: str) -> tuple[Taxonomy, Small]:
    """The taxonomy of a free column, and the node of every text."""
    if free.rule is None or has_no_groups(free.rule):
        return _flat([*texts, *_named_labels(free)], len(texts))
    tree = free.rule.build([None] if None in texts else [])
    nodes = nodes_of(tree, texts)
    if nodes is None:
        raise BadData(f"texts of {column} are no values of its taxonomy")
    return tree, nodes


def _placed(texts: Sequence[Label], rule: TaxonomyRule | None, *, column: str) -> tuple[Taxonomy, Small]:
    """The taxonomy of a column with nothing hidden, and the node of every text; raises if one has no place.

    Raw values are placed in the tree that they grow, as are codes of which fewer characters stay; other
    published texts in the tree that the policy writes down.
    """
    if rule is None or has_no_groups(rule):
        return _flat(texts)
    values = [text for text in texts if text != ANY]
    for known in (values, [None] if None in values else []):
        try:
            tree = rule.build(known)
        except BadTaxonomy:
            continue
        nodes = nodes_of(tree, texts)
        if nodes is not None:
            return tree, nodes
    raise BadData(
        f"texts of {column} have no place in its taxonomy, so not every attack through it can be listed",
        remedy="Write the taxonomy down with all its values, or ask for the worst attacks only.",
    )


def written_down(rule: TaxonomyRule | None) -> bool:
    """Whether the policy says what the taxonomy is, whatever values occur."""
    if rule is None or has_no_groups(rule):
        return True
    try:
        return len(rule.build([]).labels) > 1
    except BadTaxonomy:
        return False


def leaves_come_from_data(rule: TaxonomyRule | None) -> bool:
    """Whether the leaves of the taxonomy are cells of the data, not words of the policy."""
    return has_no_groups(rule) or not written_down(rule)


def has_no_groups(rule: TaxonomyRule | None) -> bool:
    """Whether a value becomes itself or `*`: which values there are says nothing of how sensitive one is."""
    return rule is None or rule.spec.get("flat") is True


def _named_labels(free: FreeColumn) -> list[Label]:
    """The labels that the declaration names."""
    beliefs = free.observability
    more = list(beliefs.leaf) if isinstance(beliefs, Belief) and isinstance(beliefs.leaf, Mapping) else []
    return [*free.sensitive, *more]


def _flat(texts: Sequence[Label], wanted: int | None = None) -> tuple[Taxonomy, Small]:
    values = sorted({t for t in texts if t != ANY}, key=lambda t: (t is None, t or ""))
    tree = Taxonomy.flat(values)
    some = texts if wanted is None else texts[:wanted]
    return tree, np.array([ROOT if t == ANY else tree.node(t) for t in some], dtype=np.int32)


def nodes_of(tree: Taxonomy, texts: Sequence[Label]) -> Small | None:
    """The node of every text: leaves if all of them are raw values, else the topmost of that name.

    `None` where a text has no place, or two: the same name in different branches.
    """
    ranks = [tree.rank(text) for text in texts]
    if all(rank is not None for rank in ranks):
        return tree.leaves[np.array(ranks, dtype=np.int64)]
    nodes = []
    for text, rank in zip(texts, ranks, strict=True):
        named = [ROOT] if text == ANY else [v for v, label in enumerate(tree.labels) if label == text]
        if not named and rank is None:
            return None
        node = named[0] if named else int(tree.leaves[rank or 0])
        if any(not tree.covers(node, other) for other in named):
            return None
        nodes.append(node)
    return np.array(nodes, dtype=np.int32)

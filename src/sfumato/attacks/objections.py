"""Objections: where a published table is not what its policy describes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfumato.attacks.published_table import PublishedTable
from sfumato.core.errors import BadTaxonomy
from sfumato.core.microdata import Missing
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.policy.policy import Policy


@dataclass(frozen=True)
class Objection:
    """Something the policy does not allow, in a sentence without cell values.

    `holds` is what it does to the audit: `False` breaks it, `None` leaves it open, `True` is a remark.
    """

    sentence: str
    columns: tuple[str, ...]
    holds: bool | None


def column_objections(names: Sequence[str], policy: Policy) -> Iterator[Objection]:
    """Columns that should not be there, and columns that should."""
    secret = tuple(n for n in names if n in policy.dropped)
    unknown = tuple(n for n in names if n not in policy.columns)
    absent = tuple(n for n in policy.published if n not in names)
    if secret:
        yield Objection("an identifier is published", secret, False)
    if unknown:
        yield Objection("the policy does not declare a column", unknown, False)
    if absent:
        yield Objection("the policy publishes a column that is not there", absent, None)


def label_objections(published: PublishedTable, policy: Policy) -> Iterator[Objection]:
    """Texts in key columns that no recoding under this policy could have published.

    Decidable from the policy alone only where its taxonomy is written down there, value by value.
    """
    for column in published.table.keys:
        labels = column.taxonomy.leaf_labels if published.rows else ()
        if None in labels and policy.missing is not Missing.OWN_VALUE:
            sentence = f"empty cells are published, and the policy says missing: {policy.missing}"
            yield Objection(sentence, (column.name,), None)
        tree = written_down(policy, column.name)
        foreign = 0 if tree is None else sum(not _could_publish(tree, label) for label in labels)
        if foreign:
            sentence = f"{foreign} of {len(labels)} texts are no value of the policy's taxonomy"
            yield Objection(sentence, (column.name,), True)


def written_down(policy: Policy, name: str, values: Sequence[Label] = ()) -> Taxonomy | None:
    """The taxonomy of a column if the policy names its values, whatever the data."""
    rule = policy.columns[name].taxonomy
    if rule is None:
        return None
    try:
        tree = rule.build(values)
    except BadTaxonomy:
        return None
    return tree if len(tree.labels) > 1 and not tree.aliases else None


def _could_publish(tree: Taxonomy, label: Label) -> bool:
    """A missing cell, a node, or a range between nodes of an ordered tree."""
    return label is None or label in tree.labels or tree.is_range(label)

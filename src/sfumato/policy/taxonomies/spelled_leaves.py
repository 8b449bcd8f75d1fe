"""Keys in one spelling: texts that mean the same value are coded as one leaf, and published alike.

What means the same is said by `core/spelling.py`. A taxonomy that lists its values publishes them as it
writes them. Of one that takes the values that occur, the published spelling is one of these: composed and
without blanks around it where there is such a one, and of several the first by code points. How often a
spelling occurs, and in which row, changes nothing. Texts that say that nothing is known stay as they are.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sfumato.core.errors import BadTaxonomy
from sfumato.core.spelling import meaning
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.taxonomy_rule import TaxonomyRule
from sfumato.policy.taxonomies.file import HierarchyFile
from sfumato.policy.taxonomies.flat import Flat
from sfumato.policy.taxonomies.rows import WrittenRows
from sfumato.policy.taxonomies.tree import NestedTree

LISTING = (Flat, NestedTree, WrittenRows, HierarchyFile)
"""The taxonomies whose values are texts that stand for themselves."""


def lists_values(rule: TaxonomyRule | None) -> bool:
    """Whether a taxonomy names all its values; one that takes those that occur does not."""
    return rule is not None and not (isinstance(rule, Flat) and not rule.domain)


def in_one_spelling(rule: TaxonomyRule, values: Sequence[Label]) -> Taxonomy:
    """Returns the tree of these values, each in one spelling; the others are coded as the same leaf.

    Raises `BadTaxonomy` where the taxonomy itself writes a value in several ways.

    >>> tree = in_one_spelling(Flat(("Köln", "Bonn")), ["KOLN ", "Bonn", None])
    >>> tree.leaf_labels, tree.rank("KOLN ") == tree.rank("Köln")
    (('Köln', 'Bonn', None), True)
    >>> in_one_spelling(Flat(), ["bonn", "Bonn ", "Bonn", "n/a"]).leaf_labels
    ('Bonn', 'n/a')
    """
    texts = [value for value in values if value is not None]
    if lists_values(rule):
        labels = [label for label in rule.build([]).labels if label is not None]
        chosen = _one_each(labels)
    else:
        chosen = _best_each(texts)
    spelled = {text: _spelled(text, chosen) for text in texts}
    missing: list[Label] = [None] if None in values else []
    tree = rule.build([*dict.fromkeys(spelled.values()), *missing])
    aliases: dict[Label, int] = {
        text: rank for text, one in spelled.items() if text != one and (rank := tree.rank(one)) is not None
    }
    return replace(tree, aliases={**tree.aliases, **aliases}) if aliases else tree


def _spelled(text: str, chosen: Mapping[str, str]) -> str:
    said = meaning(text)
    return text if said is None else chosen.get(said, text)


def _one_each(labels: Iterable[str]) -> dict[str, str]:
    """Returns what each label means, and the label; raises where several mean the same."""
    chosen: dict[str, str] = {}
    twins = set()
    for label in labels:
        said = meaning(label)
        if said is not None and chosen.setdefault(said, label) != label:
            twins.add(said)
    if twins:
        raise BadTaxonomy(
            f"{len(twins)} of its labels are written in several ways, and the policy takes spellings for one",
            remedy="Write each in one way, or say spelling: exact if they differ.",
            values=[chosen[said] for said in sorted(twins)],
        )
    return chosen


def _best_each(texts: Iterable[str]) -> dict[str, str]:
    """Returns the spelling that is published of every value that occurs."""
    best: dict[str, str] = {}
    for text in texts:
        said = meaning(text)
        if said is not None:
            best[said] = min(best.get(said, text), text, key=_untidiness)
    return best


def _untidiness(text: str) -> tuple[bool, str]:
    return unicodedata.normalize("NFC", text).strip() != text, text

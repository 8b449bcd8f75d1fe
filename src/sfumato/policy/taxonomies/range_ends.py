"""Range ends: what a column needs so that a search can publish ranges of its values."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.errors import BadTaxonomy
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.taxonomy_rule import TaxonomyRule
from sfumato.policy.taxonomies.date import day
from sfumato.policy.taxonomies.flat import Flat
from sfumato.policy.taxonomies.numbers import number

MOST_CODES = 2
"""So many different numbers without a taxonomy are taken for codes, such as 0 and 1."""

REMEDY = (
    "Give it one, as in `{intervals: [5, 10], from: 0, to: 120}` or `{date: [month, year]}`"
    " (`sfumato declare` proposes one), or `{flat: true}` if the values are codes."
)


def check_range_ends(rule: TaxonomyRule | None, values: Sequence[Label], *, search: str) -> None:
    """Raises `BadTaxonomy` where a search that publishes ranges would find none in a column.

    Numbers and dates without a taxonomy have no order, and would be the value or `*`. Values in an order that
    nobody listed have no ends but those of the data: the least and the greatest value of a class, which may
    be one person's each.
    """
    texts = [value for value in values if value is not None]
    if rule is None and len(texts) > MOST_CODES:
        for kind, read in (("numbers", number), ("dates", day)):
            if all(read(text) is not None for text in texts):
                raise BadTaxonomy(
                    f"{kind} without a taxonomy: {search} would publish each as it is or as `*`",
                    remedy=REMEDY,
                )
    if isinstance(rule, Flat) and rule.ordered and rule.domain is None and len(texts) > 1:
        raise BadTaxonomy(
            f"the values are ordered, and no list of them says where ranges may end: {search} would have to"
            " publish the least and the greatest value of every class",
            remedy="List them, as in `{flat: [low, mid, high], ordered: true}`, or give intervals.",
        )


def check_range_ceiling(tree: Taxonomy, *, search: str) -> None:
    """Raises `BadTaxonomy` where ranges of a column would be coarser than the policy lets it be."""
    if tree.ordered and tree.ceiling < tree.range_level:
        raise BadTaxonomy(
            f"at-most or fixed asks for single values, and {search} publishes ranges between nodes of level"
            f" {tree.range_level}",
            remedy="Use search: top-down, lattice, optimum or local, or allow that level.",
        )

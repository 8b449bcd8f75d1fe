"""Values that a ready taxonomy lacks, and those that are probably meant."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.policy.taxonomies import ReadyTaxonomy
from sfumato.show.card import several

MOST_PROPOSALS = 1000


def near_misses(rule: ReadyTaxonomy, lacking: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Returns a line for every value that has a near one in the list, and a remedy that tells no value.

    >>> near_misses(ReadyTaxonomy("countries"), ["Holland", "Atlantis"])[0]
    ('Holland: write Netherlands',)
    """
    nearest = [(value, rule.nearest(value)) for value in lacking[:MOST_PROPOSALS]]
    lines = tuple(f"{value}: write {near}" for value, near in nearest if near is not None)
    own = f"or use a hierarchy file of your own; `sfumato policy ready {rule.name}` prints the list"
    if not lines:
        return lines, f"Correct the data, {own}."
    meant = several(len(lines), "has a near one in the list", "have near ones in the list")
    return lines, f"Of them {meant}, which --show-values tells. Correct the data, {own}."

"""For people who ask to see values: what findings are about, and a table before and after."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from sfumato.core.verdict import Finding
from sfumato.show.card import Lines, aligned


def values_of(findings: Sequence[Finding]) -> list[str]:
    """Returns the values that findings are about, for whoever asked to see them; no card shows them."""
    return [
        f"{finding.attack}: {', '.join(f'{name} = {value}' for name, value in finding.values.items())}"
        for finding in findings
        if finding.values
    ]


def side_by_side(before: Lines, after: Lines, *, titles: tuple[str, str]) -> str:
    """Returns two small tables beside each other, header first.

    >>> print(side_by_side([("zip",), ("02138",)], [("zip",), ("021**",)], titles=("before", "after")))
    before  │  after
    zip     │  zip
    02138   │  021**
    """
    left, right = aligned(before), aligned(after)
    width = max(len(line) for line in (titles[0], *left))
    pairs = zip_longest((titles[0], *left), (titles[1], *right), fillvalue="")
    return "\n".join(f"{a.ljust(width)}  │  {b}".rstrip() for a, b in pairs)

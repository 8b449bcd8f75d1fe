"""Hierarchy files that ARX reads, written from a taxonomy."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.taxonomy import Taxonomy
from sfumato.policy.taxonomies.rows import WrittenRows

_NEEDS_QUOTES = frozenset(';"\r\n\ufeff')


def as_csv(tree: Taxonomy) -> str:
    """Returns one line per leaf, with `;` between the levels. The leaf of empty cells is left out.

    >>> print(as_csv(Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])), end="")
    Flu;Viral;*
    AIDS;Viral;*
    TB;TB;*
    """
    return "".join(f"{as_line(row)}\n" for row in WrittenRows.of(tree).rows)


def as_line(row: Sequence[str]) -> str:
    """Returns a row as a line of the file; labels that could be misread are quoted."""
    return ";".join(_quote(label) for label in row)


def _quote(label: str) -> str:
    if label and not _NEEDS_QUOTES.intersection(label):
        return label
    return '"' + label.replace('"', '""') + '"'

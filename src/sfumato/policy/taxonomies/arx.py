"""Writing a taxonomy as a hierarchy file that ARX reads."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.taxonomy import Taxonomy
from sfumato.policy.taxonomies.rows import WrittenRows

_DANGEROUS = frozenset(';"\r\n\ufeff')


def as_csv(tree: Taxonomy) -> str:
    """One line per leaf, `;` between the levels. The leaf of empty cells is left out.

    >>> print(as_csv(Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])), end="")
    Flu;Viral;*
    AIDS;Viral;*
    TB;TB;*
    """
    return "".join(f"{as_line(row)}\n" for row in WrittenRows.of(tree).rows)


def as_line(row: Sequence[str]) -> str:
    """A row as a line of the file; labels that could be misread are quoted."""
    return ";".join(_quoted(label) for label in row)


def _quoted(label: str) -> str:
    if label and not _DANGEROUS.intersection(label):
        return label
    return '"' + label.replace('"', '""') + '"'

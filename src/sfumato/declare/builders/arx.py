"""Writing a taxonomy as a hierarchy file that ARX reads."""

from __future__ import annotations

import csv
import io

from sfumato.declare.builders.rows import Rows
from sfumato.terms.taxonomy import Taxonomy


def as_csv(tree: Taxonomy) -> str:
    """One line per leaf, `;` between the levels. The leaf of empty cells is left out.

    >>> print(as_csv(Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])), end="")
    Flu;Viral;*
    AIDS;Viral;*
    TB;TB;*
    """
    out = io.StringIO()
    csv.writer(out, delimiter=";", lineterminator="\n").writerows(Rows.of(tree).rows)
    return out.getvalue()

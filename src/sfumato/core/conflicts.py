"""Conflicts: what cannot all stay in a table that keeps its promises.

A conflict holds one node per key column (the root where a column does not matter). Wherever all of them are
published, or lie above what is published, a promise is broken; so a recoding that keeps it must lose at least
one. Both kinds of promises have them. A freeform breach is one: supports of values at or above a cut do not
depend on the cut. A class that breaks a monotone class promise is one: if something finer is published, the
class is a union of finer classes, and they cannot all keep what their union breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.cut import Cut
from sfumato.core.taxonomy import ROOT, Taxonomy

Conflict = NDArray[np.int64]
"""A node per key column."""


class Conflicts(Protocol):
    """Where the conflicts of a promise come from."""

    def of(self, cuts: Mapping[str, Cut]) -> list[Conflict] | None:
        """Conflicts that these cuts hold; `[]` if they hold none, `None` if they do but cannot be told."""
        ...


def most_general(
    values: Conflict, trees: list[Taxonomy], still: Callable[[Conflict], bool], *, turns: int | None = None
) -> list[Conflict]:
    """Conflicts above a conflict that cannot be raised any further, by the column that is raised first."""
    found = {tuple(some.tolist()): some for some in _raised(values, trees, still, turns)}
    return list(found.values())


def _raised(
    values: Conflict, trees: list[Taxonomy], still: Callable[[Conflict], bool], turns: int | None
) -> Iterator[Conflict]:
    columns = np.arange(len(values))
    for turn in range(len(values) if turns is None else min(turns, len(values))):
        some, moved = values.copy(), True
        while moved:
            moved = False
            for j in np.roll(columns, -turn).tolist():
                while some[j] != ROOT:
                    raised = some.copy()
                    raised[j] = trees[j].parent[some[j]]
                    if not still(raised):
                        break
                    some, moved = raised, True
        yield some


def below(tree: Taxonomy, shown: NDArray[np.integer], node: int) -> NDArray[np.bool_]:
    """Which of the shown nodes are this one or below it."""
    found: NDArray[np.bool_] = (shown >= node) & (shown < tree.end[node])
    return found

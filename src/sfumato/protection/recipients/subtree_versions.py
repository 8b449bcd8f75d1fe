"""Subtree versions: versions between patterns, for recipients that levels alone cannot tell apart.

Next to a pattern lie the cuts that raise one group of values by a level, or lower one: as many as a column
has groups. Those that raise different groups of one pattern are incomparable, and whoever puts them together
gets no more than the pattern itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.cut import Cut
from sfumato.core.microdata import Column
from sfumato.core.taxonomy import Nodes
from sfumato.protection.patterns.patterns import Patterns

MOST_BASES = 8
"""Subtree versions are looked for next to so many patterns."""


@dataclass(frozen=True, eq=False)
class GroupShift:
    """One group of a column's values, and the nodes it is raised or lowered to."""

    column: Column
    inside: NDArray[np.bool_]
    nodes: Nodes


def subtree_versions(
    patterns: Patterns, bases: Sequence[int], *, together: int = 1
) -> Iterator[dict[str, Cut]]:
    """Yields cuts next to these patterns, the best first: some groups raised, then one lowered.

    There are none where columns move together: what lies between levels is none.
    """
    if patterns.aim.together:
        return
    for step in (1, -1):
        for base in bases[:MOST_BASES]:
            shifts = list(_shifts(patterns, base, step))
            for some in combinations(shifts, together if step > 0 else 1):
                yield _shifted(patterns.cuts(base), some)


def _shifts(patterns: Patterns, base: int, step: int) -> Iterator[GroupShift]:
    """Yields every group that occurs and is not the whole of its column."""
    for column, level in zip(patterns.table.keys, patterns.levels(base), strict=True):
        levels = column.taxonomy.levels
        if not 0 <= level + step <= column.taxonomy.ceiling:
            continue
        here = np.unique(patterns.table.codes(column.name))
        now, then = levels[level], levels[level + step]
        group = then if step > 0 else now
        for node in np.unique(group[here]).tolist():
            inside = group == node
            changed = now[here] != np.where(inside, then, now)[here]
            if changed.any() and not np.array_equal(changed, now[here] != then[here]):
                yield GroupShift(column, inside, then)


def _shifted(cuts: dict[str, Cut], shifts: Sequence[GroupShift]) -> dict[str, Cut]:
    """Returns the cuts after these shifts."""
    shifted = dict(cuts)
    for shift in shifts:
        node_of = shifted[shift.column.name].node_of.copy()
        node_of[shift.inside] = shift.nodes[shift.inside]
        shifted[shift.column.name] = Cut(shift.column.taxonomy, node_of)
    return shifted

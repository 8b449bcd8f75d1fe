"""Carriers: versions between patterns, for recipients that levels alone cannot tell apart.

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

BASES = 8
"""Patterns that carriers are looked for next to."""


@dataclass(frozen=True, eq=False)
class Move:
    """One group of a column's values, and where it goes."""

    column: Column
    inside: NDArray[np.bool_]
    nodes: Nodes


def carriers(patterns: Patterns, bases: Sequence[int], *, together: int = 1) -> Iterator[dict[str, Cut]]:
    """Cuts next to these patterns, the best base first: with so many groups raised, then with one lowered."""
    for step in (1, -1):
        for base in bases[:BASES]:
            moves = list(_moves(patterns, base, step))
            for some in combinations(moves, together if step > 0 else 1):
                yield _moved(patterns.cuts(base), some)


def _moves(patterns: Patterns, base: int, step: int) -> Iterator[Move]:
    """Every group that occurs and is not the whole of its column."""
    for column, level in zip(patterns.table.keys, patterns.levels(base), strict=True):
        levels = column.taxonomy.levels
        if not 0 <= level + step < len(levels):
            continue
        here = np.unique(patterns.table.codes(column.name))
        now, then = levels[level], levels[level + step]
        group = then if step > 0 else now
        for node in np.unique(group[here]).tolist():
            inside = group == node
            changed = now[here] != np.where(inside, then, now)[here]
            if changed.any() and not np.array_equal(changed, now[here] != then[here]):
                yield Move(column, inside, then)


def _moved(cuts: dict[str, Cut], moves: Sequence[Move]) -> dict[str, Cut]:
    """The cuts after these moves."""
    made = dict(cuts)
    for move in moves:
        node_of = made[move.column.name].node_of.copy()
        node_of[move.inside] = move.nodes[move.inside]
        made[move.column.name] = Cut(move.column.taxonomy, node_of)
    return made

"""Carriers: versions between patterns, for recipients that levels alone cannot tell apart.

Next to a pattern lie the cuts that raise one group of values by a level, or lower one: as many as a column
has groups. Those that raise different groups of one pattern are incomparable, and whoever puts them together
gets no more than the pattern itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.protect.patterns import Patterns
from sfumato.terms.cut import Cut
from sfumato.terms.microdata import Column

BASES = 8
"""Patterns that carriers are looked for next to."""


def carriers(patterns: Patterns, bases: Sequence[int]) -> Iterator[dict[str, Cut]]:
    """Cuts next to these patterns, the best first: first those with a group raised, then with one lowered."""
    here = {c.name: np.unique(patterns.table.codes(c.name)) for c in patterns.table.keys}
    for step in (1, -1):
        for base in bases[:BASES]:
            cuts = patterns.cuts(base)
            for column, level in zip(patterns.table.keys, patterns.levels(base), strict=True):
                if 0 <= level + step < len(column.taxonomy.levels):
                    for cut in _moved(column, level, step, here[column.name]):
                        yield {**cuts, column.name: cut}


def _moved(
    column: Column, level: int, step: int, here: np.ndarray[tuple[int], np.dtype[np.int32]]
) -> Iterator[Cut]:
    """One group of values at the next level, the others where they are; groups that occur, few rows first."""
    levels = column.taxonomy.levels
    now, then = levels[level], levels[level + step]
    group = then if step > 0 else now
    for node in np.unique(group[here]).tolist():
        inside = group == node
        if np.array_equal(now[inside], then[inside]):
            continue
        moved = now.copy()
        moved[inside] = then[inside]
        if not np.array_equal(moved[here], then[here]):
            yield Cut(column.taxonomy, moved)

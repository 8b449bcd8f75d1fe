"""Classes that are too small, and all nodes of a lattice that each of them refuses.

Where nothing may be suppressed, one class with too few rows refuses its node and every finer one. The same
rows are too few at more general nodes as well, until enough others join them. So a class that was met is
raised, one column after the other, as far as it stays too small: the node it comes to refuses many more than
the one it was met at. Columns go first whose general levels cost least; what is left to be raised then is
dear, and so is the cheapest node that stays open.

A class is known by the leaves of one of its rows, so that it has a row at every node. How many rows it has is
counted from bits, one for every distinct row and every node of a column that was asked for: a word holds 64
rows, and no other class is looked at. That takes a hundredth of the time of grouping all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Microdata
from sfumato.kernels.lattice.small_classes import first_row, have_enough, mark_rows
from sfumato.protection.loss import Reals
from sfumato.protection.searches.frontier import Levels
from sfumato.protection.searches.rollup import NodeClasses, RollUp

MOST_WORDS = 8_000_000
"""So many words of marks are held, 8 bytes each; then all are made anew as they are asked for."""

FEWEST_LINES = 512
"""So many nodes have marks at once in any case: more than one class asks for."""

MET_PER_NODE = 8
"""So many of the small classes of a node are raised."""

MOST_TRIED = 64
"""So many classes are remembered and tried at a node, those first that refused one last."""

WORDS_PER_GROUPED_ENTRY = 64
"""Looking at so many words takes as long as grouping an entry of a table beyond the processor's cache."""

Member = tuple[int, ...]
"""The leaf ranks of a row, by key column."""


class SmallClasses:
    """The classes of a table that were too small at some node: fewer than `least` rows.

    `work` counts what was looked at, in entries that a roll-up groups.
    """

    def __init__(self, table: Microdata, steps: list[Reals], least: int) -> None:
        self._table, self._rows, self._least = table, table.rows, least
        self._codes = [table.codes(c.name) for c in table.keys]
        self._steps = steps
        self._tops = tuple(c.taxonomy.height for c in table.keys)
        self._rows_up_to = [
            np.concatenate(([0], np.cumsum(np.bincount(codes, table.counts, len(c.taxonomy.leaves))))).astype(
                np.int64
            )
            for c, codes in zip(table.keys, self._codes, strict=True)
        ]
        self._marks = np.empty(_shape_of_marks(table), np.uint64)
        self._lines: dict[tuple[int, int], int] = {}
        self._known: list[Member] = []
        self._looked = 0

    @staticmethod
    def bytes_held(table: Microdata) -> int:
        """Returns how much memory such classes take at most: marks, and the codes of all key columns."""
        lines, words = _shape_of_marks(table)
        return 8 * lines * words + 4 * len(table.keys) * table.distinct

    @property
    def work(self) -> int:
        return self._looked // WORDS_PER_GROUPED_ENTRY

    def refused(self, levels: Levels) -> Levels | None:
        """Returns the node that a known class comes to which is too small here; `None` if there is none."""
        for place, member in enumerate(self._known):
            if self._is_small(member, levels):
                self._known.insert(0, self._known.pop(place))
                return self._raised(member, levels)
        return None

    def met(self, rollup: RollUp, grouped: NodeClasses, levels: Levels) -> Iterator[Levels]:
        """Yields the nodes that some of the small classes of a node come to, and remembers these classes."""
        small = np.flatnonzero(grouped.rows < self._least)
        spread = np.unique(np.arange(MET_PER_NODE) * len(small) // MET_PER_NODE)
        entries = grouped.keys[small[spread[: len(small)]]]
        nodes = np.stack([rollup.fields.codes(entries, j) for j in range(len(levels))])
        for of_class in nodes.T.tolist():
            member = self._member(of_class)
            self._known.insert(0, member)
            yield self._raised(member, levels)
        del self._known[MOST_TRIED:]

    def _raised(self, member: Member, levels: Levels) -> Levels:
        """Returns a node at or above this one at which the class is too small, and at none above that."""
        raised = list(levels)
        costs = [
            float(steps[top] - steps[i])
            for steps, top, i in zip(self._steps, self._tops, levels, strict=True)
        ]
        for j in sorted(range(len(raised)), key=lambda j: (costs[j], j)):
            small, level = raised[j], self._tops[j]
            while level > small:
                raised[j] = level
                if self._is_small(member, raised):
                    small = level
                else:
                    level -= 1
            raised[j] = small
        return tuple(raised)

    def _is_small(self, member: Member, levels: Levels | list[int]) -> bool:
        """Whether too few rows hold the nodes that this row has at these levels."""
        keys = self._table.keys
        nodes = [int(c.taxonomy.levels[i, rank]) for c, i, rank in zip(keys, levels, member, strict=True)]
        if any(self._rows_of(j, node) < self._least for j, node in enumerate(nodes)):
            return True
        lines = self._lines_of(nodes)
        if not len(lines):
            return False
        enough, words = have_enough(self._marks, lines, self._table.counts, self._least)
        self._looked += words * len(lines)
        return not enough

    def _member(self, nodes: Sequence[int]) -> Member:
        """Returns the leaves of a row that holds these nodes, of which there is one."""
        lines = self._lines_of(nodes)
        row = first_row(self._marks, lines) if len(lines) else 0
        return tuple(int(codes[row]) for codes in self._codes)

    def _lines_of(self, nodes: Sequence[int]) -> NDArray[np.int64]:
        """Returns the lines that mark the rows of these nodes, rare ones first, without nodes of all rows."""
        asked = [(self._rows_of(j, node), j, node) for j, node in enumerate(nodes)]
        asked = sorted(each for each in asked if each[0] < self._rows)
        if len(self._lines) + len(asked) > len(self._marks):
            self._lines.clear()
        return np.array([self._line(j, node) for _, j, node in asked], np.int64)

    def _rows_of(self, j: int, node: int) -> int:
        taxonomy, up_to = self._table.keys[j].taxonomy, self._rows_up_to[j]
        return int(up_to[taxonomy.high[node]] - up_to[taxonomy.low[node]])

    def _line(self, j: int, node: int) -> int:
        """Returns the line that marks the rows of a node, made if it is not there."""
        line = self._lines.get((j, node))
        if line is None:
            line = len(self._lines)
            taxonomy = self._table.keys[j].taxonomy
            mark_rows(self._codes[j], int(taxonomy.low[node]), int(taxonomy.high[node]), self._marks[line])
            self._looked += len(self._codes[j])
            self._lines[j, node] = line
        return line


def _shape_of_marks(table: Microdata) -> tuple[int, int]:
    """Returns how many nodes have marks at once, and the words of each."""
    words = -(-table.distinct // 64)
    return max(FEWEST_LINES, MOST_WORDS // max(1, words)), words

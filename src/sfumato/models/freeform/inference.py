"""Freeform inferences on a published table: their supports, critical values and thresholds.

An attack X -> a observes one value per column, at any height of its taxonomy (a root: the column is not
used), and infers a value of one more column that cannot be observed. Its confidence is sup(Xa) / sup(X), its
threat the confidence times the sensitivity of a. All supports are exact.

The largest confidence of every a is attained by *critical* values alone: observable values that occur, or
that have a child above or among the occurring values which cannot be observed. (Take an observable value
that is not critical: every record below it lies below an observable child; the records of the children
partition its own, and a mean is at most the largest part.) So a check looks at few values per record,
mostly one or two per column; the complete list of breaches needs all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadData
from sfumato.core.freeform.guard import Guard
from sfumato.core.taxonomy import ROOT, Taxonomy

Ints = NDArray[np.int64]
Small = NDArray[np.int32]

MOST_ROWS = 3_000_000_000
"""Rows of a table whose supports multiply within 64 bits."""


@dataclass(frozen=True, order=True)
class Inference:
    """One attack: `given` holds a node per column (the root where it is not used, or is the target's)."""

    target: int
    node: int
    given: tuple[int, ...]
    held: int
    support: int
    sensitivity: Fraction

    @property
    def confidence(self) -> Fraction:
        return Fraction(self.held, self.support)

    @property
    def threat(self) -> Fraction:
        return self.confidence * self.sensitivity


@dataclass(frozen=True, eq=False)
class LevelMarks:
    """One column as a level of the search: dense codes, and the chosen nodes above each code, top down.

    A *mark* is the number of a chosen node: mark m is `node[m]` and covers the codes `low[m] .. high[m]-1`.
    """

    code: Small
    start: Ints
    chain: Small
    low: Small
    high: Small
    node: Small


@dataclass(frozen=True, eq=False)
class NodeTable:
    """A table as it is published: `nodes[j, i]` is what row i shows in column j, `counts[i]` its weight."""

    nodes: Small
    counts: Ints
    guards: tuple[Guard, ...]

    def __post_init__(self) -> None:
        if int(self.counts.sum()) > MOST_ROWS:
            raise BadData(f"freeform attacks are counted on at most {MOST_ROWS} rows")

    def occurring(self, column: int) -> Small:
        """The nodes that column j shows, ascending."""
        return np.unique(self.nodes[column])

    def critical(self, column: int) -> NDArray[np.bool_]:
        """Per node: whether it is critical."""
        guard = self.guards[column]
        above = _above(guard.taxonomy, self.occurring(column))
        critical = np.zeros(len(above), dtype=bool)
        critical[self.occurring(column)] = True
        unseen = np.flatnonzero(above & ~guard.seen)
        critical[guard.taxonomy.parent[unseen]] = True
        return critical & guard.seen

    def observable(self, column: int) -> NDArray[np.bool_]:
        """Per node: whether it can be observed on a published record."""
        guard = self.guards[column]
        return _above(guard.taxonomy, self.occurring(column)) & guard.seen

    def targets(self, column: int, *, extended: bool = True) -> NDArray[np.bool_]:
        """Per node: published, or above what is (`extended`), and not observable: worth inferring."""
        guard = self.guards[column]
        occurring = self.occurring(column)
        there = np.zeros(len(guard.seen), dtype=bool)
        there[occurring] = True
        there = _above(guard.taxonomy, occurring) if extended else there
        return there & ~guard.seen

    @property
    def expanded_keys(self) -> int:
        """How many keys a group-by over critical values would look at, all target columns together."""
        widths = [self._widths(j) for j in range(len(self.guards))]
        columns = [j for j in range(len(self.guards)) if self.targets(j).any()]
        return sum(
            int(np.prod([w for i, w in enumerate(widths) if i != j], axis=0, initial=1).sum())
            if len(widths) > 1
            else len(self.counts)
            for j in columns
        )

    @property
    def mixed(self) -> int:
        """How many columns show observable values and values that are not."""
        return sum(
            bool(self.targets(j).any() and self.critical(j)[1:].any()) for j in range(len(self.guards))
        )

    @property
    def attacks(self) -> int:
        """How many attacks there are, with or without support: what plain enumeration would visit."""
        wide = [int(self.observable(j).sum()) for j in range(len(self.guards))]
        return sum(
            prod(w for i, w in enumerate(wide) if i != j) * int(self.targets(j).sum())
            for j in range(len(wide))
        )

    def _widths(self, column: int) -> Ints:
        marks = level_marks(self, column, self.critical(column))
        return np.diff(marks.start)[marks.code]


def _above(taxonomy: Taxonomy, nodes: Small) -> NDArray[np.bool_]:
    """Per node: whether it is one of these or above one."""
    above = np.zeros(len(taxonomy.labels), dtype=bool)
    current = nodes
    while len(current):
        above[current] = True
        current = np.unique(taxonomy.parent[current])
        current = current[current >= 0]
        current = current[~above[current]]
    return above


def level_marks(
    node_table: NodeTable, column: int, chosen: NDArray[np.bool_], rows: NDArray[np.intp] | None = None
) -> LevelMarks:
    """A column as a level whose marks are the `chosen` nodes; a row below none of them gets no mark."""
    nodes = node_table.nodes[column] if rows is None else node_table.nodes[column][rows]
    taxonomy = node_table.guards[column].taxonomy
    occurring, code = np.unique(nodes, return_inverse=True)
    picked = np.flatnonzero(chosen).astype(np.int32)
    low = np.searchsorted(occurring, picked).astype(np.int32)
    high = np.searchsorted(occurring, taxonomy.end[picked]).astype(np.int32)
    lengths = (high - low).astype(np.int64)
    owner = np.repeat(np.arange(len(picked), dtype=np.int32), lengths)
    covered = np.repeat(low - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths) + np.arange(len(owner))
    order = np.lexsort((owner, covered))
    start = np.searchsorted(covered[order], np.arange(len(occurring) + 1)).astype(np.int64)
    return LevelMarks(code.ravel().astype(np.int32), start, owner[order], low, high, picked)


def confidence_thresholds(
    guard: Guard, nodes: Sequence[int], threat: Fraction, rows: int
) -> tuple[Ints, Ints]:
    """The confidence that each target must exceed for a breach, as fractions with small denominators.

    Supports are at most `rows`, so a confidence exceeds a number just if it exceeds the largest fraction
    below or at that number whose denominator is at most `rows`.
    """
    above, below = np.ones(len(nodes), np.int64), np.ones(len(nodes), np.int64)
    for i, node in enumerate(nodes):
        s = guard.sensitivity[node]
        if s > threat:
            least = fraction_at_or_below(threat / s, max(1, rows))
            above[i], below[i] = least.numerator, least.denominator
    return above, below


def fraction_at_or_below(number: Fraction, largest: int) -> Fraction:
    """The largest fraction at or below a number from 0 to 1 whose denominator is at most `largest`.

    >>> [str(fraction_at_or_below(Fraction(n, 1000), 10)) for n in (500, 333, 10)]
    ['1/2', '3/10', '0']
    """
    if number.denominator <= largest:
        return number
    near = number.limit_denominator(largest)
    if near <= number:
        return near
    # The neighbour below `near` among fractions with such denominators: p/q with near.n * q - p * near.d = 1.
    n, d = near.numerator, near.denominator
    q = pow(n, -1, d) if d > 1 else 1
    q += (largest - q) // d * d
    return Fraction((n * q - 1) // d, q)


def breachable_targets(guard: Guard, wanted: NDArray[np.bool_], threat: Fraction, *, sparse: bool) -> Small:
    """The targets that can be breached at all; `sparse` leaves out those that imply a breach further up."""
    taxonomy, targets = guard.taxonomy, []
    for node in np.flatnonzero(wanted).tolist():
        s = guard.sensitivity[node]
        above = int(taxonomy.parent[node])
        implied = sparse and above != ROOT and wanted[above] and guard.sensitivity[above] >= s
        if s > threat and not implied:
            targets.append(node)
    return np.array(targets, dtype=np.int32)

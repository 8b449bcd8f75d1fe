"""Targets of a chain that people leave: whoever is known by the releases they are in and their classes there.

For a presence P and classes q_j, j in P, candidates are the sum over matching values s of the least, over j
in P, of the rows g_j(q_j, s), of how many people of that entry can be absent from each release outside P, and
of how many can be in each other one of P. Where departures are unknown only the rows count, and the sum is
exact for any number of releases: every other row may be a visitor of its release alone. It is exact for two
releases; for more it is a bound (`presence_equations` has the exact program).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.departures import Component, LivingChain, Pair, PairBounds
from sfumato.chains.overlap import crossed
from sfumato.core.chain import ClassTable
from sfumato.core.leavers import Leavers
from sfumato.core.microdata import Codes, Counts

MOST_RETURN_RELEASES = 10
"""With returns every set of releases is looked at: so many releases make a thousand sets."""


@dataclass(frozen=True, eq=False)
class PresenceCells:
    """The targets of one presence: cell c is class `classes[c, n]` of the n-th release in it.

    `table` has the counts that are left of each value; `inside` says which cell each of the given rows is in
    (-1: none).
    """

    presence: tuple[int, ...]
    classes: Codes
    table: ClassTable
    inside: Codes

    @cached_property
    def candidates(self) -> Counts:
        """How many candidates each target keeps at most."""
        return self.table.sizes


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Rows of people: the class of each in every release, -1 where it is not in it."""

    class_in: tuple[Codes, ...]

    def with_presence(self, presence: Sequence[int]) -> NDArray[np.bool_]:
        """Which rows are in exactly these releases."""
        fits = np.ones(len(self.class_in[0]) if self.class_in else 0, dtype=bool)
        for j, classes in enumerate(self.class_in):
            fits &= (classes >= 0) == (j in presence)
        return fits


class PresenceTargets:
    """The targets of a chain, presence by presence; what pairs of releases say is computed once."""

    def __init__(self, chain: LivingChain, known: PresenceTargets | None = None) -> None:
        self.chain = chain
        self._pairs: dict[Pair, PairBounds] = {} if known is None else known._pairs.copy()
        self._before = known
        self._kept: dict[tuple[int, ...], PresenceCells] = {}

    def followed_by(self, release: ClassTable, shared: Sequence[Counts]) -> PresenceTargets:
        """The same with one more release."""
        return PresenceTargets(self.chain.followed_by(release, shared), self)

    def pair(self, i: int, j: int) -> PairBounds:
        """What releases i < j say of each other."""
        if (i, j) not in self._pairs:
            chain = self.chain
            met = Component.of(chain.trees, chain.releases[i], chain.releases[j])
            self._pairs[i, j] = met.bounds(chain.shared[i, j], chain.leavers)
        return self._pairs[i, j]

    def capped(self, j: int, presence: Sequence[int]) -> ClassTable:
        """Release j with the rows that people of a presence can be behind."""
        release = self.chain.releases[j]
        if self.chain.leavers is Leavers.UNKNOWN:
            return release
        counts = release.counts
        for i in range(len(self.chain)):
            if i == j:
                continue
            pair = self.pair(min(i, j), max(i, j))
            alone, both = (pair.alone_other, pair.both_other) if i < j else (pair.alone_one, pair.both_one)
            counts = np.minimum(counts, both if i in presence else alone)
        some = counts > 0
        return replace(release, owner=release.owner[some], values=release.values[some], counts=counts[some])

    def people_lacking(self, k: int) -> int:
        """How many more people at least have to leave or come between two releases, so that who left has k.

        Nobody raises what is free of a value by more than one, so fewer do not help; as many may not suffice.
        """
        first = self.chain.releases[0]
        alone, needed = self.pair(0, 1).alone_one, 0
        for more in range(k + 1):
            left = np.zeros(len(first), np.int64)
            np.add.at(left, first.owner, np.minimum(first.counts, alone + more))
            if np.all((left >= k) | (left == 0)):
                break
            needed = more + 1
        return needed

    def cells(self, presence: Sequence[int], rows: PlacedRows | None = None) -> PresenceCells:
        """The targets of one presence, and where people of exactly that presence are among them."""
        here = np.zeros(0, np.intp) if rows is None else np.flatnonzero(rows.with_presence(presence))
        start = self._start(presence, rows, here)
        table, classes, inside = start.table, start.classes, start.inside
        for j in presence[len(start.presence) :]:
            other = self.capped(j, presence)
            table, (mine, theirs), _ = crossed(self.chain.trees, table, other)
            classes = np.hstack([classes[mine], theirs[:, None]])
            if rows is not None and len(here):
                inside = _cell_of(mine, theirs, len(other), inside, rows.class_in[j][here])
        return PresenceCells(tuple(presence), classes, table, inside)

    def _start(
        self, presence: Sequence[int], rows: PlacedRows | None, here: NDArray[np.intp]
    ) -> PresenceCells:
        """The targets of the first release of a presence, or of all its releases before the newest.

        Where departures are unknown, the newest release changes nothing in these: they are kept.
        """
        before, earlier = self._before, tuple(presence[:-1])
        unknown = self.chain.leavers is Leavers.UNKNOWN
        if unknown and before is not None and earlier and presence[-1] == len(before.chain):
            if earlier not in before._kept or (rows is None) != (len(before._kept[earlier].inside) == 0):
                placed = None if rows is None else PlacedRows(rows.class_in[:-1])
                before._kept[earlier] = before.cells(earlier, placed)
            return before._kept[earlier]
        first = presence[0]
        table = self.capped(first, presence)
        classes = np.arange(len(table), dtype=np.int32)[:, None]
        inside = np.zeros(0, np.int32) if rows is None else rows.class_in[first][here]
        return PresenceCells((first,), classes, table, inside)

    def all_cells(
        self, rows: PlacedRows | None = None, *, only: Sequence[Sequence[int]] | None = None
    ) -> Iterator[PresenceCells]:
        """The targets of every presence, or of these alone."""
        for presence in self.chain.presences if only is None else only:
            yield self.cells(presence, rows)


def _cell_of(mine: NDArray[np.integer], theirs: Codes, width: int, cell: Codes, class_now: Codes) -> Codes:
    """The cell of rows whose cell so far and class in one more release are known; -1 where there is none."""
    known = mine.astype(np.int64) * max(1, width) + theirs
    asked = cell.astype(np.int64) * max(1, width) + class_now
    if not len(known):
        return np.full(len(asked), -1, np.int32)
    at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.where((known[at] == asked) & (cell >= 0), at, -1).astype(np.int32)

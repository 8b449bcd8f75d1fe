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
        self._kept: dict[tuple[int, ...], _MetReleases] = {}
        self._trail: list[_MetReleases] = []

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
        met = self._met(tuple(presence))
        inside = np.zeros(0, np.int32)
        if rows is not None:
            here = np.flatnonzero(rows.with_presence(presence))
            inside = rows.class_in[presence[0]][here]
            for j, step in zip(presence[1:], met.steps, strict=True):
                inside = step.cell_of(inside, rows.class_in[j][here])
        return PresenceCells(met.presence, met.classes, met.table, inside)

    def _met(self, presence: tuple[int, ...]) -> _MetReleases:
        """The releases of a presence side by side.

        Where departures are unknown, what is beside them changes nothing in these: those before the newest
        release are kept for all that may follow, and of the others what the last presence began with.
        """
        unknown, before = self.chain.leavers is Leavers.UNKNOWN, self._before
        if unknown and before is not None and presence[-1] < len(before.chain):
            return before._met(presence)
        if not unknown:
            return self._followed(self._first(presence), presence)
        if presence in self._kept:
            return self._kept[presence]
        while self._trail and self._trail[-1].presence != presence[: len(self._trail[-1].presence)]:
            self._trail.pop()
        if before is not None and len(presence) > 1 and presence[-2] < len(before.chain):
            met = before._met(presence[:-1])
        else:
            met = self._trail[-1] if self._trail else self._first(presence)
        for length in range(len(met.presence), len(presence)):
            met = self._followed(met, presence[: length + 1])
            self._trail.append(met)
        if presence[-1] == len(self.chain) - 1:
            self._kept[presence] = met
        return met

    def _first(self, presence: tuple[int, ...]) -> _MetReleases:
        table = self.capped(presence[0], presence)
        return _MetReleases(presence[:1], np.arange(len(table), dtype=np.int32)[:, None], table, ())

    def _followed(self, met: _MetReleases, presence: tuple[int, ...]) -> _MetReleases:
        """The same with the other releases of a presence."""
        table, classes, steps = met.table, met.classes, met.steps
        for j in presence[len(met.presence) :]:
            other = self.capped(j, presence)
            table, (mine, theirs), _ = crossed(self.chain.trees, table, other)
            classes = np.hstack([classes[mine], theirs[:, None]])
            steps = (*steps, _Step(mine, theirs, len(other)))
        return _MetReleases(presence, classes, table, steps)

    def all_cells(
        self, rows: PlacedRows | None = None, *, only: Sequence[Sequence[int]] | None = None
    ) -> Iterator[PresenceCells]:
        """The targets of every presence, or of these alone."""
        for presence in self.chain.presences if only is None else only:
            yield self.cells(presence, rows)


@dataclass(frozen=True, eq=False)
class _Step:
    """Cells with one more release: which cell and which of `width` classes each was made of."""

    mine: NDArray[np.integer]
    theirs: Codes
    width: int

    def cell_of(self, cell: Codes, class_now: Codes) -> Codes:
        """The cells of rows by their cells so far and their classes in the release; -1: none."""
        width = max(1, self.width)
        known = self.mine.astype(np.int64) * width + self.theirs
        asked = cell.astype(np.int64) * width + class_now
        if not len(known):
            return np.full(len(asked), -1, np.int32)
        at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        return np.where((known[at] == asked) & (cell >= 0), at, -1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class _MetReleases:
    """Some releases side by side: the classes and counts of every cell, and how it was made, step by step."""

    presence: tuple[int, ...]
    classes: Codes
    table: ClassTable
    steps: tuple[_Step, ...]

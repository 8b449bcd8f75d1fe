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
from sfumato.chains.overlap import ENTRIES_TOGETHER, crossed
from sfumato.core.chain import ClassTable, stacked
from sfumato.core.leavers import Leavers
from sfumato.core.microdata import Codes, Counts
from sfumato.core.packing import Packing, order_of_keys

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
    """Rows of people: the class of each in every release, -1 where it is not in it.

    `before` are the same rows in all releases but the last, where these stay and the last one changes.
    """

    class_in: tuple[Codes, ...]
    before: PlacedRows | None = None

    def followed_by(self, classes: Codes) -> PlacedRows:
        """The same rows with their classes in one more release."""
        return PlacedRows((*self.class_in, classes), self if self.class_in else None)

    def with_presence(self, presence: tuple[int, ...]) -> NDArray[np.intp]:
        """The rows that are in exactly these releases."""
        nobody = np.zeros(0, np.intp)
        if self.before is None:
            return self._by_presence.get(presence, nobody)
        is_in = bool(presence) and presence[-1] == len(self.class_in) - 1
        rows = self.before.with_presence(presence[:-1] if is_in else presence)
        kept: NDArray[np.bool_] = (self.class_in[-1][rows] >= 0) == is_in
        return rows[kept]

    @cached_property
    def _by_presence(self) -> dict[tuple[int, ...], NDArray[np.intp]]:
        if not self.class_in:
            return {}
        there = np.stack([classes >= 0 for classes in self.class_in])
        order, fresh = order_of_keys(Packing((2,) * len(there)).pack(list(there)))
        first = np.flatnonzero(fresh)
        parts = [np.sort(part) for part in np.split(order, first[1:])]
        presences = [tuple(np.flatnonzero(there[:, row]).tolist()) for row in order[first].tolist()]
        return dict(zip(presences, parts, strict=True))


class PresenceTargets:
    """The targets of a chain, presence by presence; what pairs of releases say is computed once."""

    def __init__(self, chain: LivingChain, known: PresenceTargets | None = None) -> None:
        self.chain = chain
        self._pairs: dict[Pair, PairBounds] = {} if known is None else known._pairs.copy()
        self._before = known
        self._kept: dict[tuple[int, ...], _MetReleases] = {}
        self._placed: tuple[PlacedRows, dict[tuple[int, ...], tuple[Codes, NDArray[np.intp]]]] | None = None

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
        inside = np.zeros(0, np.int32) if rows is None else self._inside(met, rows)
        return PresenceCells(met.presence, met.classes, met.table, inside)

    def _inside(self, met: _MetReleases, rows: PlacedRows) -> Codes:
        """The cell of everybody who is in exactly the releases of a presence.

        Where departures are unknown the cells before the newest release stay what they are, whatever follows:
        what is known of the same rows in these is kept.
        """
        presence, before, newest = met.presence, self._before, len(self.chain) - 1
        is_of_newest = len(presence) > 1 and presence[-1] == newest == len(rows.class_in) - 1
        if self._unknown and is_of_newest and before is not None and rows.before is not None:
            was, here = before._kept_inside(presence[:-1], rows.before)
            now = rows.class_in[-1][here]
            return met.steps[-1].cell_of(was[now >= 0], now[now >= 0])
        here = rows.with_presence(presence)
        inside = rows.class_in[presence[0]][here]
        for j, step in zip(presence[1:], met.steps, strict=True):
            inside = step.cell_of(inside, rows.class_in[j][here])
        return inside

    def _kept_inside(self, presence: tuple[int, ...], rows: PlacedRows) -> tuple[Codes, NDArray[np.intp]]:
        """The cells and numbers of the rows that are in exactly these releases, computed once."""
        if self._placed is None or self._placed[0] is not rows:
            self._placed = rows, {}
        kept = self._placed[1]
        if presence not in kept:
            kept[presence] = self.cells(presence, rows).inside, rows.with_presence(presence)
        return kept[presence]

    @property
    def _unknown(self) -> bool:
        """Whether what is beside some releases changes nothing in these."""
        return self.chain.leavers is Leavers.UNKNOWN

    def _met(self, presence: tuple[int, ...]) -> _MetReleases:
        """The releases of a presence side by side."""
        if not self._unknown:
            return self._followed(self._first(presence), presence)
        if presence not in self._kept:
            self._meet([presence])
        return self._kept[presence]

    def _meet(self, presences: Sequence[tuple[int, ...]]) -> None:
        """Put the releases of some presences side by side, those that end alike together, and keep them.

        Departures are unknown: whatever is beside the releases of a presence changes nothing in these. So
        what one begins with serves all that do, and all chains that go on from this one.
        """
        begun = [p[:n] for p in presences for n in range(1, len(p) + 1)]
        asked = [p for p in dict.fromkeys(begun) if p not in self._kept]
        known = 0 if self._before is None else len(self._before.chain)
        if self._before is not None and (earlier := [p for p in asked if p[-1] < known]):
            self._before._meet(earlier)
            self._kept.update((p, self._before._kept[p]) for p in earlier)
        for last in sorted({p[-1] for p in asked if p[-1] >= known}):
            bundles: dict[tuple[bytes, ...], list[tuple[int, ...]]] = {}
            for p in (p for p in asked if p[-1] == last):
                if len(p) == 1:
                    self._kept[p] = self._first(p)
                else:
                    cut = tuple(node_of.tobytes() for node_of in self._kept[p[:-1]].table.node_of)
                    bundles.setdefault(cut, []).append(p)
            for some in bundles.values():
                ends = np.cumsum([len(self._kept[p[:-1]].table.owner) for p in some])
                cut_at = np.flatnonzero(np.diff(ends // ENTRIES_TOGETHER)) + 1
                for part in np.split(np.arange(len(some)), cut_at):
                    self._meet_last([some[n] for n in part.tolist()])

    def _meet_last(self, presences: Sequence[tuple[int, ...]]) -> None:
        """Put presences that end with the same release beside it, where what they begin with has one cut."""
        begun, other = [self._kept[p[:-1]] for p in presences], self.chain.releases[presences[0][-1]]
        table, (mine, theirs), _ = crossed(self.chain.trees, stacked([met.table for met in begun]), other)
        classes = np.cumsum([0, *(len(met.table) for met in begun)])
        cells = np.searchsorted(mine, classes).tolist()
        entries = np.searchsorted(table.owner, cells).tolist()
        for n, (presence, met) in enumerate(zip(presences, begun, strict=True)):
            here, part = slice(cells[n], cells[n + 1]), slice(entries[n], entries[n + 1])
            own = (table.owner[part] - cells[n]).astype(np.int32)
            alone = ClassTable(table.node_of, table.nodes[here], own, table.values[part], table.counts[part])
            step = _Step(mine[here] - classes[n], theirs[here], len(other))
            seen = np.hstack([met.classes[step.mine], step.theirs[:, None]])
            self._kept[presence] = _MetReleases(presence, seen, alone, (*met.steps, step))

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
        chosen = [tuple(presence) for presence in (self.chain.presences if only is None else only)]
        if self._unknown:
            self._meet(chosen)
        for presence in chosen:
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

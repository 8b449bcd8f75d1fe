"""The decision whether everybody keeps k candidates, exact where the refined bound leaves it open.

For every target the truth lies between two numbers: the people who are in it (whoever holds the data knows
them, and the truth is a world like any other) and the refined bound. Where k lies between, more people are
swapped into the target, world after world with the same counts; where that does not reach k, the integer
program says whether there can be as many. The first target that remains open after that ends the decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sfumato.chains import swaps
from sfumato.chains.detail import Detail, closing_releases
from sfumato.chains.history import History
from sfumato.chains.overlap import Cells, Overlap
from sfumato.chains.swaps import Swaps, SwapTargets
from sfumato.chains.world_walk import MOST_PLACES, WorldWalk, walk
from sfumato.chains.worlds import StepBudget, Worlds, undecided
from sfumato.core.chain import ClassTable, positions
from sfumato.core.microdata import Codes, Counts
from sfumato.core.packing import Packing

MOST_PROGRAMS = 100
"""Targets that are solved by the integer program; the others stay open."""
STEPS_PER_PROGRAM = 1_000_000
"""Steps for one of them."""
MOST_ENTRIES_WITH_NEXT, MOST_ENTRIES = 20_000, 2_000_000
"""Chains with more entries of cells than this are too large for the integer program: with a next release,
which is one of many that are tried, and without."""
MOST_REMEMBERED = 64
"""Decisions on chains that are kept in memory; the oldest goes first."""
NARROWEST = 100
"""Targets of a proposal for which people are swapped before worlds are looked at: most fail there."""
MOST_PEOPLE_PER_TARGET = 10
"""The walk through worlds is for chains of at most so many people for every target that is open."""
MOST_WORK = 1_200_000
"""Work of all decisions that a search may ask for, targets times people of a value: about half a second."""
SMALL_PROGRAM, LARGEST_PROGRAM = 20_000, 200_000
"""A program is small up to so many entries times sums, and not begun beyond so many."""


@dataclass(frozen=True)
class Decision:
    """How many targets of a chain keep fewer than k candidates, and how many are open.

    Not all of them are counted, since one is enough. `expected` is how much work it could be, targets times
    people of a value, `work` what it was.
    """

    few: int
    open: int
    expected: int = field(default=0, compare=False, repr=False)
    work: int = field(default=0, compare=False, repr=False)

    @property
    def holds(self) -> bool | None:
        """`None`: nobody is known to have too few, but not everybody is known to have enough."""
        return False if self.few else None if self.open else True


_REMEMBERED: dict[bytes, Decision] = {}
_remembering = Lock()


def decide(history: History, release: ClassTable, k: int, *, proved: bool = False) -> Decision:
    """Whether every target of the earlier releases and this one together keeps at least k candidates.

    `proved` says that this is known of the earlier releases alone.
    """
    return Decider(history, k, proved=proved).decide(release)


class Decider:
    """Decides proposals for the next release, one by one; what the earlier ones tell is computed once."""

    def __init__(
        self, history: History, k: int, *, proved: bool = False, budget: StepBudget | None = None
    ) -> None:
        self.history = history
        self.k = k
        self.proved = proved
        self._budget = budget
        self.earlier = Overlap(history.chain_with())
        self._swaps = Swaps(history, k)
        self._windows: dict[int, Decider] = {}
        self._known_work: dict[int, int] = {}

    def decide(self, release: ClassTable) -> Decision:
        """Whether every target of the earlier releases and this one together keeps at least k candidates.

        Where a release that closes the chain shows as much as this one, nobody who was in it is bound by
        this one: what was decided about them still stands, and the others are decided from there on. A search
        asks about what it found, and its proof asks again: the answer for the same releases and people is
        remembered.
        """
        if self.k == 1:  # whoever can be there is a candidate
            return Decision(0, 0)
        key = _digest(self._known, release)
        found = _REMEMBERED.get(key) or self._decide(release)
        if self._budget is not None:
            if found.expected > self._budget.left:
                return Decision(0, 1)
            self._budget.spend(found.work)
        _remember(key, found)
        return found

    def _decide(self, release: ClassTable) -> Decision:
        start = self.closing_above(release)
        window, first = self, 0
        if start is not None and self._before.holds is True:
            if start not in self._windows:
                since = self.history.since(start)
                self._windows[start] = Decider(since, self.k, proved=True, budget=self._budget)
            window, first = self._windows[start], 1
        least = window._least_work(first)
        if self._budget is not None and least > self._budget.left:
            return Decision(0, 1, least)
        found = window._decision(window.earlier.followed_by(release), first=first)
        return replace(found, expected=max(found.expected, least))

    def _least_work(self, first: int) -> int:
        """What a decision takes at least: a target of the earlier releases has parts beside a next one."""
        if first not in self._known_work:
            targets = self._unsure(self.earlier, first)[1]
            self._known_work[first] = len(targets) * self._people_per_value(first)
        return self._known_work[first]

    def _people_per_value(self, first: int) -> int:
        """How many people are looked at for a target, about."""
        people = int(self.history.table.counts[self.history.time >= first].sum())
        return 1 + people // max(1, self.history.values)

    def closing_above(self, release: ClassTable) -> int | None:
        """The last release that closes the chain and shows as much as this one; `None`: there is none."""
        fine, chain = Detail(self.earlier.chain.trees), self.earlier.chain
        asked = fine.number(release.node_of)
        cuts = ((i, fine.number(chain.releases[i].node_of)) for i in reversed(self._closing))
        return next((i for i, cut in cuts if fine.is_finer(cut, asked)), None)

    @cached_property
    def _closing(self) -> list[int]:
        return closing_releases(self.earlier.chain)

    @cached_property
    def _before(self) -> Decision:
        """Whether everybody keeps k candidates beside the earlier releases alone.

        Nothing in this depends on newcomers: cells are those of earlier releases, people are counted in cells
        of their own time, and nobody who came later is swapped or walks. So the answer is remembered by the
        people of these releases, and stands beside whatever newcomers another table has.
        """
        if self.proved:
            return Decision(0, 0)
        old = np.flatnonzero(self.history.time < len(self.history.releases))
        key = self._known_of(old)
        if key not in _REMEMBERED:
            _remember(key, self._decision(self.earlier))
        return _REMEMBERED[key]

    @cached_property
    def _known(self) -> bytes:
        """A digest of everything that decisions beside a next release depend on, but that one."""
        return self._known_of(np.arange(len(self.history.time)))

    def _known_of(self, rows: NDArray[np.intp]) -> bytes:
        """A digest of the earlier releases and of the people of some rows, with all limits."""
        history, steps = self.history, (MOST_PROGRAMS, STEPS_PER_PROGRAM, swaps.MOST_PEOPLE_TRIED)
        sizes = (MOST_ENTRIES_WITH_NEXT, MOST_ENTRIES, SMALL_PROGRAM, LARGEST_PROGRAM)
        walks = (NARROWEST, MOST_PEOPLE_PER_TARGET)
        arrays: list[NDArray[np.integer]] = [history.time[rows], history.value[rows]]
        arrays += [history.table.counts[rows]]
        arrays += [history.table.codes(c.name)[rows] for c in history.table.keys]
        arrays += [tree.parent for tree in self.earlier.chain.trees]
        said = repr((self.k, self.proved, history.values, *steps, *sizes, *walks)).encode()
        return _digest(_digest_of_arrays(said, arrays), *history.releases)

    def _decision(self, overlap: Overlap, *, first: int = 0) -> Decision:
        """The decision, given that targets of times before the first have enough candidates."""
        few, targets = self._unsure(overlap, first)
        if few or not len(targets):
            return Decision(few, 0)
        if len(overlap.chain) < 3:
            return Decision(int((targets.most < self.k).sum()), 0)
        if overlap is self.earlier:
            return self._decide_open(_Programs(overlap, self.history, self.k, MOST_ENTRIES), targets)[0]
        each = self._people_per_value(first)
        expected = len(targets) * each
        if self._budget is not None and expected > self._budget.left:
            return Decision(0, 1, expected)
        programs = _Programs(overlap, self.history, self.k, MOST_ENTRIES_WITH_NEXT)
        found, tried = self._decide_open(programs, targets)
        return replace(found, expected=expected, work=tried * each)

    def _unsure(self, overlap: Overlap, first: int) -> tuple[int, SwapTargets]:
        """How many targets have too few candidates for sure, and those that the bound leaves open."""
        few, parts = 0, []
        for cells in overlap.kept():
            there = _people_in(self.history, cells)
            asked = cells.times >= first
            known = (cells.candidates < self.k) & (there > 0) & asked
            few += int(known.sum())
            unsure = np.flatnonzero((cells.candidates > 0) & (there < self.k) & ~known & asked)
            parts.append(SwapTargets.of(cells, there).pick(unsure))
        return few, SwapTargets.together(parts)

    def _decide_open(self, programs: _Programs, targets: SwapTargets) -> tuple[Decision, int]:
        """The decision on targets that the bound leaves open, and how many were tried.

        Swaps come first, then the integer program, of the narrowest targets first. Of the earlier releases
        alone, small programs are solved before any swap, and a walk through worlds shows what many of the
        others can hold.
        """
        if programs.overlap is self.earlier:
            targets = targets.pick(programs.open_among(targets))
        low, chain = targets.most < self.k, programs.overlap.chain
        empty, others = targets.pick(np.flatnonzero(low)), targets.pick(np.flatnonzero(~low))
        nobody = self._swaps.short(chain, empty, 1)
        if len(nobody) < len(empty):  # somebody can be where k cannot
            return Decision(1, 0), len(empty)
        for i in nobody:
            if (answer := programs.answer(empty, i)) is not True:
                return _refused(answer), len(empty)
        others = others.pick(np.lexsort((others.there, others.most)))
        for turn, some in enumerate(self._in_turn(programs, others)):
            for i in self._swaps.each_short(chain, some, self.k):
                if (answer := programs.answer(some, i)) is not True:
                    return _refused(answer), len(targets) if turn else len(empty) + i + 1
        return Decision(0, 0), len(targets)

    def _in_turn(self, programs: _Programs, targets: SwapTargets) -> Iterator[SwapTargets]:
        """A proposal's narrowest targets, which refuse most of them; then those that no world has shown.

        Of the earlier releases alone, worlds were looked at already.
        """
        first = len(targets) if programs.overlap is self.earlier else NARROWEST
        yield targets.pick(np.arange(min(first, len(targets))))
        if len(targets) > first:
            rest = targets.pick(np.arange(first, len(targets)))
            yield rest.pick(programs.open_after_walk(rest))


def _remember(key: bytes, found: Decision) -> None:
    """Keep a decision by a digest of all that it depends on."""
    with _remembering:
        while key not in _REMEMBERED and len(_REMEMBERED) >= MOST_REMEMBERED:
            del _REMEMBERED[next(iter(_REMEMBERED))]
        _REMEMBERED[key] = found


def _digest(known: bytes, *releases: ClassTable) -> bytes:
    """A digest of what is known by another one, and of some releases beside it."""
    arrays: list[NDArray[np.integer]] = []
    for release in releases:
        arrays += [release.nodes, release.owner, release.values, release.counts, *release.node_of]
    return _digest_of_arrays(known, arrays)


def _digest_of_arrays(said: bytes, arrays: Sequence[NDArray[np.integer]]) -> bytes:
    digest = blake2b(said)
    for array in arrays:
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(array.tobytes())
    return digest.digest()


def _refused(answer: bool | None) -> Decision:
    return Decision(int(answer is False), int(answer is None))


def cell_of_rows(history: History, cells: Cells) -> Codes:
    """The cell of every row that came at one of the times; -1 for the others."""
    table, shown_by = history.table, cells.table
    inside = np.full(table.distinct, -1, np.int32)
    here = np.flatnonzero(np.isin(history.time, cells.span))
    packing = Packing((len(history.releases) + 1, *(len(c.taxonomy.labels) for c in table.keys)))
    pairs = zip(table.keys, shown_by.node_of, strict=True)
    shown = packing.pack([history.time[here], *(cut[table.codes(c.name)[here]] for c, cut in pairs)])
    known = packing.pack([cells.times, *shown_by.nodes.T])
    order = np.append(np.lexsort(known[::-1]), -1)
    inside[here] = order[positions(known[:, order[:-1]], shown)]
    return inside


def _people_in(history: History, cells: Cells) -> Counts:
    """How many people of its time are in each cell."""
    inside = cell_of_rows(history, cells)
    people = np.zeros(len(cells.table), np.int64)
    np.add.at(people, inside[inside >= 0], history.table.counts[inside >= 0])
    return people


class _Programs:
    """Integer programs for the targets of a chain, as many as are allowed."""

    def __init__(self, overlap: Overlap, history: History, k: int, most_entries: int) -> None:
        self.overlap = overlap
        self.history = history
        self.k = k
        self.most_entries = most_entries
        self.solved = 0

    @cached_property
    def _worlds(self) -> Worlds | None:
        """`None`: the chain is too large."""
        entries = sum(len(cells.table.owner) for cells in self.overlap.kept())
        return Worlds(self.overlap) if entries <= self.most_entries and MOST_PROGRAMS else None

    def open_among(self, targets: SwapTargets) -> NDArray[np.intp]:
        """The targets that are not known to have k candidates, once small programs and worlds are tried."""
        worlds = self._worlds
        if worlds is None:
            return np.arange(len(targets))
        asked = undecided(*worlds.candidate_bounds(), self.k)
        budget = StepBudget(STEPS_PER_PROGRAM * MOST_PROGRAMS)
        worlds.narrow_by_simplex(np.flatnonzero(asked[worlds.targets]), SMALL_PROGRAM, budget)
        self._walk(worlds, targets)
        return self._open(worlds, targets)

    def open_after_walk(self, targets: SwapTargets) -> NDArray[np.intp]:
        """The targets that are not known to have k candidates, once a walk has shown what it can."""
        if not self._is_worth_a_walk(len(targets)) or (worlds := self._worlds) is None:
            return np.arange(len(targets))
        self._walk(worlds, targets)
        return self._open(worlds, targets)

    def _open(self, worlds: Worlds, targets: SwapTargets) -> NDArray[np.intp]:
        least, most = worlds.candidate_bounds()
        number = worlds.target_numbers(targets.times, targets.cells)
        return np.flatnonzero((least[number] < self.k) & (most[number] > 0))

    def _is_worth_a_walk(self, targets: int) -> bool:
        people = int(self.overlap.chain.releases[-1].counts.sum())
        return targets * MOST_PEOPLE_PER_TARGET >= people

    def _walk(self, worlds: Worlds, targets: SwapTargets) -> None:
        """Raise what entries hold at least, by worlds around the true one, where many targets are open."""

        def still_open(seen: Counts) -> int:
            np.maximum(worlds.least, seen, out=worlds.least)
            return len(self._open(worlds, targets))

        small = len(worlds.most) * len(self.overlap.chain) <= MOST_PLACES
        if small and self._is_worth_a_walk(len(self._open(worlds, targets))):
            walk(self._true_world(worlds), still_open)

    def _true_world(self, worlds: Worlds) -> WorldWalk:
        """The people of the table, each in their entry."""
        history, values = self.history, max(1, self.history.values)
        amounts = np.zeros(len(worlds.most), np.int64)
        begin = np.cumsum([0, *(len(cells.table.owner) for cells in self.overlap.by_time)])
        for at, cells in zip(begin.tolist(), self.overlap.by_time, strict=False):
            inside, table = cell_of_rows(history, cells), cells.table
            rows = np.flatnonzero(inside >= 0)
            known = table.owner.astype(np.int64) * values + table.values
            asked = inside[rows].astype(np.int64) * values + history.value[rows]
            np.add.at(amounts, at + np.searchsorted(known, asked), history.table.counts[rows])
        releases = [len(release.owner) for release in self.overlap.chain.releases]
        return WorldWalk(worlds.equations, np.repeat(np.arange(len(releases)), releases), amounts)

    def answer(self, targets: SwapTargets, i: int) -> bool | None:
        """Whether a target has k candidates, or can hold nobody; `None`: not solved."""
        self.solved += 1
        if self.solved > MOST_PROGRAMS or self._worlds is None:
            return None
        worlds, times, cells = self._worlds, targets.times[[i]], targets.cells[[i]]
        entries = worlds.entries_of(int(worlds.target_numbers(times, cells)[0]))
        if np.any(worlds.equations.widths[worlds.equations.component[entries]] > LARGEST_PROGRAM):
            return None
        worlds.solve(entries, StepBudget(STEPS_PER_PROGRAM))
        least, most = int(worlds.least[entries].sum()), int(worlds.most[entries].sum())
        if undecided(np.array(least), np.array(most), self.k):
            return None
        return least >= self.k or not most

"""The decision whether everybody keeps k candidates, exact where the refined bound leaves it open.

For every target the truth lies between two numbers: the people who are in it (whoever holds the data knows
them, and the truth is a world like any other) and the refined bound. Where k lies between, more people are
swapped into the target, world after world with the same counts; where that does not reach k, the integer
program says whether there can be as many. The first target that remains open after that ends the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sfumato.chains import swaps
from sfumato.chains.detail import last_finer_release
from sfumato.chains.history import History
from sfumato.chains.overlap import Cells, Overlap
from sfumato.chains.swaps import Swaps, SwapTargets
from sfumato.chains.worlds import StepBudget, Worlds, undecided
from sfumato.core.chain import Chain, ClassTable, positions
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
SMALL_PROGRAM, LARGEST_PROGRAM = 20_000, 200_000
"""A program is small up to so many entries times sums, and not begun beyond so many."""


_REMEMBERED: dict[bytes, Decision] = {}


@dataclass(frozen=True)
class Decision:
    """How many targets of a chain keep fewer than k candidates, and how many are open.

    Not all of them are counted, since one is enough.
    """

    few: int
    open: int

    @property
    def holds(self) -> bool | None:
        """`None`: nobody is known to have too few, but not everybody is known to have enough."""
        return False if self.few else None if self.open else True


def decide(history: History, release: ClassTable, k: int) -> Decision:
    """Whether every target of the earlier releases and this one together keeps at least k candidates."""
    return Decider(history, k).decide(release)


class Decider:
    """Decides proposals for the next release, one by one; what the earlier ones tell is computed once."""

    def __init__(self, history: History, k: int) -> None:
        self.history = history
        self.k = k
        trees = tuple(c.taxonomy for c in history.table.keys)
        self.earlier = Overlap(Chain(trees, history.releases, history.values))
        self._swaps = Swaps(history, k)

    def decide(self, release: ClassTable) -> Decision:
        """Whether every target of the earlier releases and this one together keeps at least k candidates.

        A release tells nothing more of people who are in an earlier one that is as fine. Where a chain is
        *closed*, all later releases are of that kind for everybody up to there: their worlds are those of the
        releases so far, and what was decided about them still stands. A search asks about what it found, and
        its proof asks again: the answer for the same releases and people is remembered.
        """
        if self.k == 1:  # whoever can be there is a candidate
            return Decision(0, 0)
        return _remembered(_digest(self._known, release), lambda: self._decide(release))

    def _decide(self, release: ClassTable) -> Decision:
        overlap = self.earlier.followed_by(release)
        count = len(self.history.releases)
        finer = last_finer_release(overlap.chain)[-1]
        decided = [t for t in range(count) if self._closed_at[t] <= finer]
        if decided and self._before.holds is not True:
            decided = []
        return self._decision(overlap, decided)

    @cached_property
    def _closed_at(self) -> list[int]:
        """For every time the first release from then on at which the chain is closed."""
        finer, closed, least = last_finer_release(self.earlier.chain), [], len(self.history.releases)
        at = least
        for i in reversed(range(least)):
            at = i if least >= i else at
            closed.append(at)
            least = min(least, finer[i])
        return closed[::-1]

    @cached_property
    def _before(self) -> Decision:
        """Whether everybody keeps k candidates beside the earlier releases alone."""
        return _remembered(_digest(self._known), lambda: self._decision(self.earlier))

    @cached_property
    def _known(self) -> bytes:
        """A digest of everything that the decision on the earlier releases depends on."""
        history, steps = self.history, (MOST_PROGRAMS, STEPS_PER_PROGRAM, swaps.MOST_PEOPLE_TRIED)
        sizes = (MOST_ENTRIES_WITH_NEXT, MOST_ENTRIES, SMALL_PROGRAM, LARGEST_PROGRAM)
        arrays: list[NDArray[np.integer]] = [history.time, history.value]
        arrays += [history.table.counts, history.table.words]
        arrays += [tree.parent for tree in self.earlier.chain.trees]
        said = repr((self.k, history.values, *steps, *sizes)).encode()
        return _digest(_digest_of_arrays(said, arrays), *history.releases)

    def _decision(self, overlap: Overlap, decided: Sequence[int] = ()) -> Decision:
        """The decision, given that the targets of some times are known to have enough candidates."""
        few, parts = 0, []
        for cells in overlap.kept():
            there = _people_in(self.history, cells)
            asked = ~np.isin(cells.times, decided)
            known = (cells.candidates < self.k) & (there > 0) & asked
            few += int(known.sum())
            unsure = np.flatnonzero((cells.candidates > 0) & (there < self.k) & ~known & asked)
            parts.append(SwapTargets.of(cells, there).pick(unsure))
        targets = SwapTargets.together(parts)
        if few or not len(targets):
            return Decision(few, 0)
        if len(overlap.chain) < 3:
            return Decision(int((targets.most < self.k).sum()), 0)
        most = MOST_ENTRIES if overlap is self.earlier else MOST_ENTRIES_WITH_NEXT
        return self._decide_open(_Programs(overlap, self.k, most), targets)

    def _decide_open(self, programs: _Programs, targets: SwapTargets) -> Decision:
        """The decision on targets that the bound leaves open: by swaps, then by the integer program.

        The narrowest come first. Of the earlier releases alone, small programs are solved before any swap.
        """
        if programs.overlap is self.earlier:
            targets = targets.pick(programs.open_among(targets))
        low, chain = targets.most < self.k, programs.overlap.chain
        empty, others = targets.pick(np.flatnonzero(low)), targets.pick(np.flatnonzero(~low))
        nobody = self._swaps.short(chain, empty, 1)
        if len(nobody) < len(empty):  # somebody can be where k cannot
            return Decision(1, 0)
        for i in nobody:
            if (answer := programs.answer(empty, i)) is not True:
                return _refused(answer)
        others = others.pick(np.lexsort((others.there, others.most)))
        for i in self._swaps.each_short(chain, others, self.k):
            if (answer := programs.answer(others, i)) is not True:
                return _refused(answer)
        return Decision(0, 0)


def _remembered(key: bytes, find: Callable[[], Decision]) -> Decision:
    """The decision that is known by a digest of all that it depends on, or else is found now."""
    if key not in _REMEMBERED:
        found = find()
        while len(_REMEMBERED) >= MOST_REMEMBERED:
            del _REMEMBERED[next(iter(_REMEMBERED))]
        _REMEMBERED[key] = found
    return _REMEMBERED[key]


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

    def __init__(self, overlap: Overlap, k: int, most_entries: int) -> None:
        self.overlap = overlap
        self.k = k
        self.most_entries = most_entries
        self.solved = 0

    @cached_property
    def _worlds(self) -> Worlds | None:
        """`None`: the chain is too large."""
        entries = sum(len(cells.table.owner) for cells in self.overlap.kept())
        return Worlds(self.overlap) if entries <= self.most_entries and MOST_PROGRAMS else None

    def open_among(self, targets: SwapTargets) -> NDArray[np.intp]:
        """The targets that are not known to have k candidates, once small programs are solved."""
        worlds = self._worlds
        if worlds is None:
            return np.arange(len(targets))
        asked = undecided(*worlds.candidate_bounds(), self.k)
        budget = StepBudget(STEPS_PER_PROGRAM * MOST_PROGRAMS)
        worlds.narrow_by_simplex(np.flatnonzero(asked[worlds.targets]), SMALL_PROGRAM, budget)
        least, most = worlds.candidate_bounds()
        number = worlds.target_numbers(targets.times, targets.cells)
        return np.flatnonzero((least[number] < self.k) & (most[number] > 0))

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

"""Worlds: every way in which people could be behind a chain of published tables.

With three or more releases the refined bound may be too high: tables that agree pair by pair need not have a
common cause. Here the question is answered exactly, value by value: how many people can be in one cell in
some world that reproduces every published count? That is an integer program. Releases that tell somebody
nothing new are left out of it, and it falls into components; the simplex method finds the best corner of
each in exact numbers, nearly always a world. In large components, and where a corner is in fractions, a
depth-first search looks for worlds. What takes too long stays open.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.equations import EquationPart, Equations, Longs, no_world
from sfumato.chains.overlap import Overlap
from sfumato.chains.world_walk import WorldWalk, is_worth_a_walk, walk
from sfumato.core.chain import ClassTable
from sfumato.core.microdata import Codes, Counts
from sfumato.kernels.chains.simplex import NO_SOLUTION, raise_all
from sfumato.kernels.chains.whole_sums import raise_by_search

STEPS = 5_000_000
"""Steps for one target, over all its values and all numbers that are tried; then the question stays open."""
ROUNDS = ((20_000, 20_000), (4_000_000, 1_000_000))
"""Small components are solved, a world is soon found for most entries of larger ones, and only what is left
is worth more: the simplex method for components of so many entries times sums, and so many steps in search of
a world with a certain number in one entry."""


class StepBudget:
    """Steps that exact searches may still take; compiled loops count them down in `counter`, one number."""

    def __init__(self, steps: int = STEPS) -> None:
        self.counter: NDArray[np.int64] = np.array([steps], np.int64)

    @property
    def left(self) -> int:
        """How many steps are left; negative where the last search overran."""
        return int(self.counter[0])

    def spend(self, steps: int) -> None:
        self.counter -= steps

    def lend_half(self) -> StepBudget:
        """Half of what is left, as a budget of its own; `take_back` what remains of it."""
        half = StepBudget((self.left + 1) // 2)
        self.counter -= half.counter
        return half

    def take_back(self, lent: StepBudget) -> None:
        self.counter += lent.counter


class Worlds:
    """How many people can be in cells of a chain.

    For every entry (a cell and a value) `least` people are there in some world, and in none are more than
    `most`; solving narrows both, as far as a budget of steps goes.
    """

    def __init__(self, overlap: Overlap) -> None:
        self.cells = overlap.by_time
        self.equations = Equations.of(overlap)
        self.most: Counts = self.equations.most.copy()
        self.least: Counts = np.zeros_like(self.most)
        lengths = [len(release.owner) for release in overlap.chain.releases]
        self._release_of_sum = np.repeat(np.arange(len(lengths)), lengths)
        self._parts: dict[int, tuple[EquationPart, Codes, Longs]] = {}
        self._found: Counts = np.full_like(self.most, -1)
        unused = np.ones(len(self.equations.sums), bool)
        unused[self.equations.through] = False
        if self.equations.sums[unused].any():
            raise no_world()

    def solve(self, entries: NDArray[np.intp], budget: StepBudget) -> None:
        """Narrow what these entries can hold, by the simplex method and by search."""
        for widest, tries in ROUNDS:
            self.narrow_by_simplex(entries, widest, budget)
            self.narrow_by_search(entries, tries, budget)

    def narrow_by_simplex(self, entries: NDArray[np.intp], widest: int, budget: StepBudget) -> None:
        """Narrow entries in components up to a width, the smaller ones first."""
        small = self.equations.widths[self.equations.component[entries]] <= widest
        entries = entries[small & (self.least[entries] < self.most[entries])]
        asked = self.equations.component[entries]
        order = np.lexsort((entries, asked, self.equations.widths[asked]))
        asked = asked[order]
        parts = asked[np.flatnonzero(np.diff(asked, prepend=-1))].astype(np.int64)
        system, wanted = self.equations, np.zeros(len(self.most), bool)
        wanted[entries] = True
        half = budget.lend_half()
        answers = raise_all(
            parts,
            system.by_component,
            (system.start, system.through, system.sums),
            wanted,
            self.least,
            self.most,
            half.counter,
        )
        budget.take_back(half)
        if np.any(answers == NO_SOLUTION):
            raise no_world()

    def narrow_by_search(self, entries: NDArray[np.intp], tries: int, budget: StepBudget) -> None:
        """Narrow entries one by one by looking for worlds; each that is found tells something of many."""
        for entry in entries.tolist():
            self._search(entry, tries, budget)

    def _search(self, entry: int, tries: int, budget: StepBudget) -> None:
        """Whether there can be as many as `most`, or else fewer; what takes too many steps stays open."""
        if self.least[entry] == self.most[entry] or budget.left <= 0:
            return
        part, owner, begin = self._part(int(self.equations.component[entry]))
        target, here = int(np.searchsorted(part.entries, entry)), part.entries
        bounds = self.least[here], self.most[here], self._found[here]
        system = part.start, part.through, part.sums
        raise_by_search(target, system, (begin, owner), bounds, tries, budget.counter)
        self.least[here], self.most[here], self._found[here] = bounds

    def _part(self, component: int) -> tuple[EquationPart, Codes, Longs]:
        """A component, its entries sum by sum, and where those of each sum begin; made once."""
        if component not in self._parts:
            part = self.equations.part(component)
            order = np.argsort(part.through, kind="stable")
            owner = np.repeat(np.arange(len(part.entries), dtype=np.int32), np.diff(part.start))[order]
            begin = np.searchsorted(part.through[order], np.arange(len(part.sums) + 1)).astype(np.int64)
            self._parts[component] = part, owner, begin
        return self._parts[component]

    def tables(self, budget: StepBudget) -> list[ClassTable] | None:
        """The cells of every time where somebody can be, with what they can hold; `None`: not solved."""
        every = np.arange(len(self.most))
        self.solve(every, budget)
        if np.any(self.least < self.most):
            return None
        tables, end = [], 0
        for cells in self.cells:
            begin, end = end, end + len(cells.table.owner)
            some = self.most[begin:end] > 0
            there, owner = np.unique(cells.table.owner[some], return_inverse=True)
            tables.append(
                replace(
                    cells.table,
                    nodes=cells.table.nodes[there],
                    owner=owner.astype(np.int32),
                    values=cells.table.values[some],
                    counts=self.most[begin:end][some],
                )
            )
        return tables

    @cached_property
    def targets(self) -> Counts:
        """The number of every entry's target."""
        return self.target_numbers(self.equations.times, self.equations.cells)

    def target_numbers(self, times: Codes, cells: Codes) -> Counts:
        """The number of each target, by its time and cell; targets of all times are numbered in turn."""
        begin = np.cumsum([0, *(len(one.table) for one in self.cells)]).astype(np.int64)
        numbers: Counts = begin[times] + cells
        return numbers

    def candidate_bounds(self) -> tuple[Counts, Counts]:
        """For every target, how many candidates it has at least and at most, as far as is known."""
        count = sum(len(cells.table) for cells in self.cells)
        least, most = np.zeros(count, np.int64), np.zeros(count, np.int64)
        np.add.at(least, self.targets, self.least)
        np.add.at(most, self.targets, self.most)
        return least, most

    def entries_of(self, target: int) -> NDArray[np.intp]:
        """The entries of a target."""
        return np.arange(*np.searchsorted(self.targets, [target, target + 1]).tolist())

    def decide(self, k: int, budget: StepBudget) -> None:
        """Narrow targets until k lies between no more; the world that is found for one may decide others.

        Of a target's entries no more are searched than k needs.
        """
        for widest, tries in ROUNDS:
            open_ones = undecided(*self.candidate_bounds(), k)
            self.narrow_by_simplex(np.flatnonzero(open_ones[self.targets]), widest, budget)
            self._narrow_by_walk(k, tries, budget)
            for target in np.flatnonzero(open_ones).tolist():
                entries = self.entries_of(target)
                for entry in entries.tolist():
                    if not undecided(self.least[entries].sum(), self.most[entries].sum(), k):
                        break
                    self._search(entry, tries, budget)

    def solve_fewest(self, asked: NDArray[np.bool_], budget: StepBudget) -> None:
        """Narrow the asked targets until the fewest candidates of one that exists are known exactly.

        Only targets that may keep fewer than one that exists are solved, those with the lowest bounds first.
        What takes too many steps stays open, as everywhere.
        """
        waiting, together = asked.copy(), 1
        while budget.left > 0:
            least, most = self.candidate_bounds()
            fewest = most[asked & (least > 0)].min(initial=np.iinfo(np.int64).max)
            waiting &= (least < most) & (np.maximum(least, 1) < fewest)
            lowest = np.flatnonzero(waiting)
            if not len(lowest):
                return
            lowest = lowest[np.argsort(most[lowest], kind="stable")][:together]
            self.solve(np.flatnonzero(np.isin(self.targets, lowest)), budget)
            waiting[lowest] = False
            together *= 2

    def _narrow_by_walk(self, k: int, tries: int, budget: StepBudget) -> None:
        """Narrow targets by worlds around one that is looked for in every component, where many are open."""

        def still_open(seen: Counts) -> int:
            np.maximum(self.least, seen, out=self.least)
            return int(undecided(*self.candidate_bounds(), k).sum())

        entries = np.flatnonzero(undecided(*self.candidate_bounds(), k)[self.targets])
        if not is_worth_a_walk(self.equations, self._release_of_sum, entries):
            return
        component = self.equations.component
        _, first = np.unique(component[entries], return_index=True)
        for entry in entries[first].tolist():
            if self._found[entry] < 0 and budget.left > 0:
                self._search(entry, tries, budget)
        world = np.where(np.isin(component, component[entries]), np.maximum(self._found, 0), 0)
        walk(WorldWalk(self.equations, self._release_of_sum, world), still_open)


def undecided(least: Counts, most: Counts, k: int) -> NDArray[np.bool_]:
    """Per target: whether k lies between, or it is not known whether somebody can be where k cannot."""
    is_open: NDArray[np.bool_] = (least < k) & (most >= k) | (least == 0) & (most > 0)
    return is_open

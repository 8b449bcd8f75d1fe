"""Worlds: every way in which people could be behind a chain of published tables.

With three or more releases the refined bound may be too high: tables that agree pair by pair need not have a
common cause. Here the question is answered exactly, value by value: how many people can be in one cell in
some world that reproduces every published count? That is an integer program. Releases that tell somebody
nothing new are left out of it, and it falls into components; the simplex method finds the best corner of
each in exact numbers, nearly always a world. In large components, and where a corner is in fractions, a
depth-first search looks for worlds. What takes too long stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sfumato.models.continuous.chain import (
    Chain,
    ClassTable,
    Detail,
    History,
    by_cut,
    closing_releases,
    last_finer_release,
    positions,
)
from sfumato.models.continuous.kernels import NO_SOLUTION, raise_all, raise_by_search
from sfumato.models.continuous.overlap import Cells, EquationPart, Equations, Longs, Overlap, no_world
from sfumato.models.continuous.swap_kernels import first_short, make_exchanges, paths_between
from sfumato.table.microdata import Codes, Counts, Packing, sort_and_count

# A walk from world to world: pairs of people pass on to each other what some releases show of them.
#
# Whoever holds the data knows one world. Two people who exchange their classes in some releases leave every
# published count as it is, as long as both remain where somebody can be: in an entry of the equations. So
# one step, in which everybody meets somebody, costs a few lookups, and its world shows of thousands of
# entries at once how many people they can hold. What no world on the way shows stays open.

WALK_STEPS = 20
"""So often everybody meets somebody before it is asked what is still open."""
WORTHWHILE = 0.04
"""The walk goes on as long as these steps decide this share of what is open."""
MOST_PEOPLE_PER_ENTRY = 5
"""A walk is for chains that count at most so many people, release by release, for every open entry."""
MOST_PLACES = 8_000_000
"""Entries times releases that are laid out; a larger chain is not walked."""


class WorldWalk:
    """Everybody's entry in a world that changes step by step, and the most that entries were seen to hold.

    Sum r of the equations is of release `release_of_sum[r]`; no entry has two sums of one release. The walk
    begins with `amounts` people in every entry, which must be a world.
    """

    def __init__(self, equations: Equations, release_of_sum: Longs, amounts: Counts) -> None:
        entries, releases = len(equations.most), int(release_of_sum.max(initial=-1)) + 1
        owner = np.repeat(np.arange(entries), np.diff(equations.start))
        self._sums = np.full((entries, releases), -1, np.int64)
        self._sums[owner, release_of_sum[equations.through]] = equations.through
        self._random = np.random.default_rng(0)
        drawn = self._random.integers(0, 1 << 64, len(release_of_sum) + 1, dtype=np.uint64)
        drawn[-1] = 0  # of a release that shows nothing new
        self._drawn = drawn[self._sums]
        self._key = self._drawn.sum(axis=1, dtype=np.uint64)
        self._order = np.argsort(self._key, kind="stable")
        self._keys = self._key[self._order]
        self._component = equations.component
        self._entry = np.repeat(np.arange(entries), amounts)
        self.seen: Counts = amounts.copy()

    @property
    def people(self) -> int:
        return len(self._entry)

    @property
    def amounts(self) -> Counts:
        """The people in every entry by now: a world."""
        return np.bincount(self._entry, minlength=len(self.seen))

    def step(self) -> None:
        """Lets everybody meet somebody of the same component, and makes every exchange that can be made."""
        order = np.argsort(self._component[self._entry] + self._random.random(self.people))
        passed = self._random.integers(0, 2, (self.people // 2, self._sums.shape[1]), dtype=np.bool_)
        lookup = self._key, self._keys, self._order
        make_exchanges(order, self._entry, passed, self._sums, self._drawn, lookup)
        np.maximum(self.seen, self.amounts, out=self.seen)


def is_worth_a_walk(equations: Equations, release_of_sum: Longs, entries: NDArray[np.intp]) -> bool:
    """Whether many entries are open beside the people who are counted, and the chain is not too large."""
    if not len(entries) or len(equations.most) * (int(release_of_sum.max()) + 1) > MOST_PLACES:
        return False
    return len(entries) * MOST_PEOPLE_PER_ENTRY >= int(equations.sums.sum())


def walk(world: WorldWalk, still_open: Callable[[Counts], int]) -> None:
    """Walks on as long as that decides much; `still_open` is told what was seen, and counts what is open."""
    left = still_open(world.seen)
    while left and world.people > 1:
        for _ in range(WALK_STEPS):
            world.step()
        before, left = left, still_open(world.seen)
        if left > (1 - WORTHWHILE) * before:
            return


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
        lent = StepBudget((self.left + 1) // 2)
        self.counter -= lent.counter
        return lent

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
        component = self.equations.component[entries]
        order = np.lexsort((entries, component, self.equations.widths[component]))
        component = component[order]
        parts = component[np.flatnonzero(np.diff(component, prepend=-1))].astype(np.int64)
        system, wanted = self.equations, np.zeros(len(self.most), bool)
        wanted[entries] = True
        lent = budget.lend_half()
        answers = raise_all(
            parts,
            system.by_component,
            (system.start, system.through, system.sums),
            wanted,
            self.least,
            self.most,
            lent.counter,
        )
        budget.take_back(lent)
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
            possible = self.most[begin:end] > 0
            there, owner = np.unique(cells.table.owner[possible], return_inverse=True)
            tables.append(
                replace(
                    cells.table,
                    nodes=cells.table.nodes[there],
                    owner=owner.astype(np.int32),
                    values=cells.table.values[possible],
                    counts=self.most[begin:end][possible],
                )
            )
        return tables

    @cached_property
    def targets(self) -> Counts:
        """The number of every entry's target."""
        return self.target_numbers(self.equations.times, self.equations.cells)

    def target_numbers(self, times: Codes, cells: Codes) -> Counts:
        """The number of each target, by its time and cell; targets of all times are numbered in turn."""
        begin = np.cumsum([0, *(len(cells_of_time.table) for cells_of_time in self.cells)]).astype(np.int64)
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

    def solve_fewest(self, wanted: NDArray[np.bool_], budget: StepBudget) -> None:
        """Narrow the asked targets until the fewest candidates of one that exists are known exactly.

        Only targets that may keep fewer than one that exists are solved, those with the lowest bounds first.
        What takes too many steps stays open, as everywhere.
        """
        waiting, together = wanted.copy(), 1
        while budget.left > 0:
            least, most = self.candidate_bounds()
            fewest = most[wanted & (least > 0)].min(initial=np.iinfo(np.int64).max)
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

        def still_open(amounts: Counts) -> int:
            np.maximum(self.least, amounts, out=self.least)
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


# Swaps of people into the targets of a chain: worlds that give the same counts as the true one.
#
# Whoever holds the data knows one world. Two people with the same matching value may pass on what a release
# shows of them, as long as each remains on one path through every tree; every count is then as before.

MOST_PEOPLE_TRIED = 100_000
"""People that are looked at for one target and value."""
MOST_PAIRS_OF_LABELS = 1 << 24
"""Pairs of labels, up to which it is worked out beforehand which are on one path: a byte each."""


@dataclass(frozen=True, eq=False)
class SwapTargets:
    """Targets of several times: a node per key column, the refined bound, and the people who are there.

    Target i is number `cells[i]` among those of its time. Its entries e, `begin[i] <= e < begin[i + 1]`,
    say that at most `bound[e]` people with the matching value `values[e]` can be there.
    """

    times: Codes
    cells: Codes
    nodes: Codes
    most: Counts
    there: Counts
    begin: NDArray[np.int64]
    values: Codes
    bound: Counts

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def of(cls, cells: Cells, there: Counts) -> SwapTargets:
        table, times = cells.table, cells.times
        number = (np.arange(len(times)) - np.searchsorted(times, times)).astype(np.int32)
        return cls(
            times, number, table.nodes, cells.candidates, there, table.start, table.values, table.counts
        )

    @classmethod
    def together(cls, parts: Sequence[SwapTargets]) -> SwapTargets:
        ends = np.cumsum([0, *(len(p.values) for p in parts)])
        begins = [p.begin[:-1] + end for p, end in zip(parts, ends[:-1], strict=True)]
        return cls(
            np.concatenate([p.times for p in parts]),
            np.concatenate([p.cells for p in parts]),
            np.concatenate([p.nodes for p in parts]),
            np.concatenate([p.most for p in parts]),
            np.concatenate([p.there for p in parts]),
            np.concatenate([*begins, ends[-1:]]),
            np.concatenate([p.values for p in parts]),
            np.concatenate([p.bound for p in parts]),
        )

    def pick(self, which: NDArray[np.intp]) -> SwapTargets:
        lengths = np.diff(self.begin)[which]
        begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        entries = np.repeat(self.begin[:-1][which] - begin[:-1], lengths) + np.arange(begin[-1])
        return SwapTargets(
            self.times[which],
            self.cells[which],
            self.nodes[which],
            self.most[which],
            self.there[which],
            begin,
            self.values[entries],
            self.bound[entries],
        )


@dataclass(frozen=True, eq=False)
class _CutLabels:
    """What releases with the same cuts show of everybody: one number, the label, per distinct row of nodes.

    `packed` and `nodes` say what a number stands for, `of_person` gives everybody's; `order` sorts people by
    number and value, `keys` are these sorted; whoever is in none of the releases comes last.
    """

    packed: NDArray[np.int64]
    nodes: Codes
    of_person: Codes
    order: Codes
    keys: NDArray[np.int64]


class Swaps:
    """Tries to swap people into targets, chain after chain of the same history."""

    def __init__(self, history: History, k: int) -> None:
        self.history = history
        self.k = k
        self._codes = [history.table.codes(c.name) for c in history.table.keys]
        self._known: dict[tuple[bytes, int, int], _CutLabels] = {}

    def short(self, chain: Chain, targets: SwapTargets, wanted: int) -> list[int]:
        """The targets that fewer people than wanted were swapped into."""
        return list(self.each_short(chain, targets, wanted))

    def each_short(self, chain: Chain, targets: SwapTargets, wanted: int) -> Iterator[int]:
        """One by one the targets that fewer people than wanted were swapped into; more may fit."""
        if not len(targets):
            return
        people = self._people(len(chain))
        groups = by_cut(chain.releases)
        labels = [self._labels(chain, releases, people) for releases in groups]
        first, since = _places(chain, groups)
        leaves = [t.low[n] for t, n in zip(chain.trees, targets.nodes.T, strict=True)]
        numbers = []
        for releases, cut_labels in zip(groups, labels, strict=True):
            cut = chain.releases[releases[0]].node_of
            numbers.append(
                _numbers(chain, cut_labels.packed, [n[x] for n, x in zip(cut, leaves, strict=True)])
            )
        value = self.history.value[people].astype(np.int32)
        begins = np.searchsorted(value, np.arange(self.history.values + 1))
        arguments = (
            np.stack(numbers) if leaves else np.zeros((len(groups), len(targets)), np.int32),
            targets.times,
            targets.there,
            np.full(len(targets), wanted, np.int64),
            (targets.begin, targets.values, targets.bound),
            (
                np.stack([cut_labels.of_person for cut_labels in labels]),
                self.history.time[people].astype(np.int32),
                first,
                since,
            ),
            _shape(chain, labels),
            (
                np.stack([cut_labels.order for cut_labels in labels]),
                np.stack([cut_labels.keys for cut_labels in labels]),
            ),
            begins,
        )
        i = -1
        while (i := first_short(i + 1, *arguments, MOST_PEOPLE_TRIED)) < len(targets):
            yield i

    def _people(self, releases: int) -> Codes:
        """One entry per person who came with one of the first releases, by value and time; k are enough of
        each kind."""
        history = self.history
        wanted = np.where(history.time < releases, np.minimum(history.table.counts, self.k), 0)
        order = np.lexsort((history.time, history.value)).astype(np.int32)
        return np.repeat(order, wanted[order])

    def _labels(self, chain: Chain, releases: list[int], people: Codes) -> _CutLabels:
        cut = chain.releases[releases[0]].node_of
        key = (b"".join(c.tobytes() for c in cut), releases[-1], len(chain))
        if key not in self._known:
            columns = [n[x] for n, x in zip(cut, self._codes, strict=True)]
            packing = Packing(tuple(len(t.labels) for t in chain.trees))
            if columns:
                packed = packing.pack(columns)
                distinct, _ = sort_and_count(packed.copy())
                number = positions(distinct, packed)[people]
                nodes = np.stack([packing.unpack(distinct, j) for j in range(len(columns))], 1)
            else:
                distinct, nodes = np.zeros((1, 1), np.int64), np.zeros((1, 0), np.int32)
                number = np.zeros(len(people), np.int32)
            keys = number.astype(np.int64) * self.history.values + self.history.value[people]
            keys[self.history.time[people] > releases[-1]] = np.iinfo(np.int64).max
            order = np.argsort(keys, kind="stable").astype(np.int32)
            self._known[key] = _CutLabels(distinct, nodes, number.astype(np.int32), order, keys[order])
        return self._known[key]


def _numbers(chain: Chain, packed: NDArray[np.int64], columns: list[Codes]) -> Codes:
    """The number of every row of nodes; -1 where nobody is."""
    if not columns:
        return np.zeros(0, np.int32)
    return positions(packed, Packing(tuple(len(t.labels) for t in chain.trees)).pack(columns)).astype(
        np.int32
    )


def _shape(chain: Chain, labels: list[_CutLabels]) -> tuple[Codes, Codes, NDArray[np.bool_]]:
    """The nodes behind every number, column by column, the end of every node by attribute, and which numbers
    are on one path, unless these are too many pairs."""
    width = max(1, len(chain.trees))
    nodes = np.zeros((len(labels), max(len(cut_labels.nodes) for cut_labels in labels), width), np.int32)
    for c, cut_labels in enumerate(labels):
        nodes[c, : len(cut_labels.nodes), : len(chain.trees)] = cut_labels.nodes
    end = np.ones((width, max((len(t.labels) for t in chain.trees), default=1)), np.int32)
    for j, tree in enumerate(chain.trees):
        end[j, : len(tree.labels)] = tree.end
    if (nodes.shape[0] * nodes.shape[1]) ** 2 > MOST_PAIRS_OF_LABELS:
        return nodes, end, np.zeros((0, 0, 0, 0), np.bool_)
    return nodes, end, paths_between(nodes, end)


def _places(chain: Chain, groups: list[list[int]]) -> tuple[Codes, Codes]:
    """By cut and time: the first release from then on that has the cut, and the first time of which that is
    so; -1 where that release shows nothing new of people of that time."""
    finer = last_finer_release(chain)
    first = np.full((len(groups), len(chain)), -1, np.int32)
    since = np.zeros((len(groups), len(chain)), np.int32)
    for c, releases in enumerate(groups):
        for j in releases:
            first[c, finer[j] + 1 : j + 1], since[c, finer[j] + 1 : j + 1] = j, finer[j] + 1
    return first, since


# The decision whether everybody keeps k candidates, exact where the refined bound leaves it open.
#
# For every target the truth lies between two numbers: the people who are in it (whoever holds the data
# knows them, and the truth is a world like any other) and the refined bound. Where k lies between, more
# people are swapped into the target, world after world with the same counts; where that does not reach k,
# the integer program says whether there can be as many. The first target that remains open after that ends
# the decision.

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
        decision = _REMEMBERED.get(key) or self._decide(release)
        if self._budget is not None:
            if decision.expected > self._budget.left:
                return Decision(0, 1)
            self._budget.spend(decision.work)
        _remember(key, decision)
        return decision

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
        decision = window._decision(window.earlier.followed_by(release), first=first)
        return replace(decision, expected=max(decision.expected, least))

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
        wanted = fine.number(release.node_of)
        cuts = ((i, fine.number(chain.releases[i].node_of)) for i in reversed(self._closing))
        return next((i for i, cut in cuts if fine.is_finer(cut, wanted)), None)

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
        history, steps = self.history, (MOST_PROGRAMS, STEPS_PER_PROGRAM, MOST_PEOPLE_TRIED)
        sizes = (MOST_ENTRIES_WITH_NEXT, MOST_ENTRIES, SMALL_PROGRAM, LARGEST_PROGRAM)
        walks = (NARROWEST, MOST_PEOPLE_PER_TARGET)
        arrays: list[NDArray[np.integer]] = [history.time[rows], history.value[rows]]
        arrays += [history.table.counts[rows]]
        arrays += [history.table.codes(c.name)[rows] for c in history.table.keys]
        arrays += [tree.parent for tree in self.earlier.chain.trees]
        settings = repr((self.k, self.proved, history.values, *steps, *sizes, *walks)).encode()
        return _digest(_digest_of_arrays(settings, arrays), *history.releases)

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
        decision, tried = self._decide_open(programs, targets)
        return replace(decision, expected=expected, work=tried * each)

    def _unsure(self, overlap: Overlap, first: int) -> tuple[int, SwapTargets]:
        """How many targets have too few candidates for sure, and those that the bound leaves open."""
        few, parts = 0, []
        for cells in overlap.kept():
            there = _people_in(self.history, cells)
            late = cells.times >= first
            surely_few = (cells.candidates < self.k) & (there > 0) & late
            few += int(surely_few.sum())
            unsure = np.flatnonzero((cells.candidates > 0) & (there < self.k) & ~surely_few & late)
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
        for turn, batch in enumerate(self._in_turn(programs, others)):
            for i in self._swaps.each_short(chain, batch, self.k):
                if (answer := programs.answer(batch, i)) is not True:
                    return _refused(answer), len(targets) if turn else len(empty) + i + 1
        return Decision(0, 0), len(targets)

    def _in_turn(self, programs: _Programs, targets: SwapTargets) -> Iterator[SwapTargets]:
        """A proposal's narrowest targets, which refuse most of them; then those that no world has shown.

        Of the earlier releases alone, worlds were looked at already.
        """
        first = len(targets) if programs.overlap is self.earlier else NARROWEST
        yield targets.pick(np.arange(min(first, len(targets))))
        if len(targets) > first:
            others = targets.pick(np.arange(first, len(targets)))
            yield others.pick(programs.open_after_walk(others))


def _remember(key: bytes, decision: Decision) -> None:
    """Keep a decision by a digest of all that it depends on."""
    with _remembering:
        while key not in _REMEMBERED and len(_REMEMBERED) >= MOST_REMEMBERED:
            del _REMEMBERED[next(iter(_REMEMBERED))]
        _REMEMBERED[key] = decision


def _digest(base: bytes, *releases: ClassTable) -> bytes:
    """A digest of what is known by another one, and of some releases beside it."""
    arrays: list[NDArray[np.integer]] = []
    for release in releases:
        arrays += [release.nodes, release.owner, release.values, release.counts, *release.node_of]
    return _digest_of_arrays(base, arrays)


def _digest_of_arrays(base: bytes, arrays: Sequence[NDArray[np.integer]]) -> bytes:
    digest = blake2b(base)
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
    row_keys = packing.pack([history.time[here], *(cut[table.codes(c.name)[here]] for c, cut in pairs)])
    cell_keys = packing.pack([cells.times, *shown_by.nodes.T])
    order = np.append(np.lexsort(cell_keys[::-1]), -1)
    inside[here] = order[positions(cell_keys[:, order[:-1]], row_keys)]
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
        is_open = undecided(*worlds.candidate_bounds(), self.k)
        budget = StepBudget(STEPS_PER_PROGRAM * MOST_PROGRAMS)
        worlds.narrow_by_simplex(np.flatnonzero(is_open[worlds.targets]), SMALL_PROGRAM, budget)
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

        def still_open(amounts: Counts) -> int:
            np.maximum(worlds.least, amounts, out=worlds.least)
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
            entry_keys = table.owner.astype(np.int64) * values + table.values
            wanted = inside[rows].astype(np.int64) * values + history.value[rows]
            np.add.at(amounts, at + np.searchsorted(entry_keys, wanted), history.table.counts[rows])
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

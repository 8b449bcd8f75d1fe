"""Counted lattices: what the full-domain search answers for any k and any suppression limit, looked up.

The suppressed rows, published classes and loss of a combination of levels depend on k, not on the suppression
limit. So they are counted once, for each k of a range; a question is then a look at two columns of numbers,
and the answer is that of `search: lattice` for the same k and limit.

First every combination is grouped, from the most general on, and rows are counted that stand in classes with
too few people for each k: so many are suppressed at least. Where that is more than any question may allow,
at the smallest k, everything finer is closed. Then the promises judge what is left, in ascending order of
what it loses at least. Nothing is judged, or kept, that another combination beats: one that suppresses no
more rows than this does at least, and loses less.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Promises, Truth
from sfumato.policy.policy import Policy
from sfumato.search.contract import Aim
from sfumato.search.controls import permitted_levels
from sfumato.search.frontier import TIE_TOLERANCE, Levels, NodeClasses, RollUp, ties_up_to
from sfumato.search.loss import Reals
from sfumato.search.node_cost import JudgedNode, NodeCost, node_cost
from sfumato.search.plan import aim_of, check_people, removes_terms, with_original
from sfumato.search.suppression import keep
from sfumato.system.errors import Infeasible, UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.classes import Classes
from sfumato.table.microdata import Counts, Microdata

SMALLEST_K, LARGEST_K = 2, 100
"""Questions may ask for a k in this range."""
LARGEST_SHARE = Fraction(1, 5)
"""Questions may allow that this share of the rows is suppressed."""
MOST_NODES = 60_000
"""Combinations of levels in a lattice that is counted."""
MOST_WAITING = 2_000
"""Combinations that are judged before those are dropped that others beat: each takes 2.4 kB."""
MOST_GROUPED = 3_000_000_000
"""Classes that are grouped before counting gives up: about a minute."""

TOO_MANY = np.iinfo(np.int64).max
"""Stands for more suppressed rows than a question may allow."""


@dataclass(frozen=True)
class LatticeAnswer:
    """The best combination of levels for one k and one suppression limit.

    `levels` and `groups` are per key column: its level, and how many groups its values fall into there.
    `suppressed` counts rows of the source that are not published, `classes` the published ones.
    """

    k: int
    suppress: Fraction
    levels: Mapping[str, int]
    groups: Mapping[str, int]
    suppressed: int
    classes: int
    loss: float


@dataclass(frozen=True, eq=False)
class CountedLattice:
    """Suppressed rows, published classes and loss of combinations of levels, for every k of a range.

    `nodes` lists the combinations in ascending order, one per line; the other arrays have a line for each and
    a column for each k. `groups[j][level]` counts the groups of key column j at a level. Of `possible`
    combinations those that are not listed suppress too much for any question, or are beaten by one that is.
    """

    columns: tuple[str, ...]
    rows: int
    dropped: int
    ks: range
    most: Fraction
    possible: int
    groups: tuple[tuple[int, ...], ...]
    nodes: NDArray[np.int16]
    suppressed: Counts
    classes: Counts
    loss: Reals

    def answer(self, k: int, suppress: Fraction) -> LatticeAnswer:
        """Returns what `search: lattice` finds for this k and this share of suppressed rows.

        Raises `Infeasible` where nothing is allowed, with the nearest limit that allows something, and
        `UsageError` for a question outside of what was counted.
        """
        if k not in self.ks or not 0 <= suppress <= self.most:
            raise UsageError(
                f"counted are k from {self.ks[0]} to {self.ks[-1]} and limits up to {float(self.most):.0%}",
                remedy="Ask within these, or run the search.",
            )
        suppressed, loss = self.suppressed[:, k - self.ks[0]], self.loss[:, k - self.ks[0]]
        allowed = min(int(self.rows * suppress) - self.dropped, max(0, self.rows - self.dropped - 1))
        fits = np.flatnonzero(suppressed <= allowed)
        if not len(fits):
            raise self._infeasible(suppressed, k, suppress)
        best = ties_up_to(float(loss[fits].min()))
        ties = fits[loss[fits] <= best]
        chosen = int(ties[np.argmin(suppressed[ties])])  # the first of equals: the smallest levels
        levels: list[int] = self.nodes[chosen].tolist()
        return LatticeAnswer(
            k,
            suppress,
            dict(zip(self.columns, levels, strict=True)),
            {name: self.groups[j][i] for j, (name, i) in enumerate(zip(self.columns, levels, strict=True))},
            int(suppressed[chosen]) + self.dropped,
            int(self.classes[chosen, k - self.ks[0]]),
            float(loss[chosen]),
        )

    def best_losses(self, suppress: Fraction) -> list[tuple[int, float]]:
        """Returns, for every k that can be kept with this limit, the least loss."""
        losses = []
        for k in self.ks:
            try:
                losses.append((k, self.answer(k, suppress).loss))
            except Infeasible:
                continue
        return losses

    def _infeasible(self, suppressed: Counts, k: int, suppress: Fraction) -> Infeasible:
        now = int(self.rows * suppress)
        message = f"no combination of levels gives k = {k} with at most {now} of {self.rows} rows suppressed"
        fewest = int(suppressed.min(initial=TOO_MANY))
        if fewest == TOO_MANY:
            return Infeasible(message, remedy=f"Not even {float(self.most):.0%} would do: ask for less.")
        need = fewest + self.dropped
        return Infeasible(message, remedy=f"Allow {need} suppressed rows (suppress: {need}/{self.rows}).")


def why_not_counted(policy: Policy, table: Microdata | None = None) -> str:
    """Returns why no lattice can be counted for a policy, or a table; nothing where it can."""
    promised = policy.promises
    reasons = [
        (bool(promised.of_table), f"{next(iter(promised.of_table), '')} is about the table as a whole"),
        (removes_terms(policy), "terms are removed after the levels are chosen"),
        (bool(aim_of(policy).never_suppress), "some rows must not be suppressed"),
    ]
    if table is not None:
        nodes = prod(c.taxonomy.height + 1 for c in table.keys)
        reasons.append((nodes > MOST_NODES, f"{nodes:,} combinations of levels are too many to count"))
    return next((reason for holds, reason in reasons if holds), "")


def count_lattice(
    table: Microdata,
    policy: Policy,
    *,
    ks: range = range(SMALLEST_K, LARGEST_K + 1),
    most: Fraction = LARGEST_SHARE,
    progress: Progress = silent,
) -> CountedLattice:
    """Returns the counted lattice of a table under a policy, whose k and suppression limit do not matter.

    Raises `UsageError` where questions about k alone cannot be answered so, or where counting takes too long.
    """
    if reason := why_not_counted(policy, table):
        raise UsageError(f"the lattice is not counted: {reason}", remedy="Run the search for the k you want.")
    counter, permitted = _counter(table, policy, ks, most)
    check_people(table)
    nodes, suppressed, classes, loss = _judged_nodes(counter, permitted, progress)
    return CountedLattice(
        tuple(c.name for c in table.keys),
        table.rows + table.dropped,
        table.dropped,
        ks,
        most,
        int(permitted.sum()),
        _groups_by_level(table),
        nodes,
        suppressed,
        classes,
        loss,
    )


def _counter(table: Microdata, policy: Policy, ks: range, most: Fraction) -> tuple[NodeCounter, Truth]:
    """Returns what counts combinations for each k, and which of them the policy permits."""
    by_k = [with_original(policy.with_(k=k), table).promises for k in ks]
    aim = replace(aim_of(policy), suppress=most)
    counter = NodeCounter(table, by_k, budget_of(table, aim), node_cost(table, aim))
    return counter, permitted_levels(table, aim)


def budget_of(table: Microdata, aim: Aim) -> int:
    """Returns how many rows may be suppressed beside those that are dropped; one is always published."""
    return min(max(0, aim.allowed(table) - table.dropped), max(0, table.rows - 1))


Line = tuple[Counts, Counts, Reals]
"""Suppressed rows, published classes and loss of one combination, for every k."""
Kept = tuple[NDArray[np.int16], Counts, Counts, Reals]
"""Combinations, one per line, with the same of each."""


def _judged_nodes(counter: NodeCounter, permitted: Truth, progress: Progress) -> Kept:
    """Returns the combinations that some question may choose."""
    grouped = list(_grouped_nodes(counter, permitted, progress))
    total = np.array([sum(counter.cost.steps[j][i] for j, i in enumerate(levels)) for levels, _ in grouped])
    least = counter.cost.least_cost(total)
    fronts = [_Front() for _ in counter.by_k]
    unbeaten = _Unbeaten(len(permitted.shape), len(fronts))
    for number, index in enumerate(np.argsort(least, kind="stable").tolist()):
        levels, fewest = grouped[index]
        wanted = [
            i
            for i, front in enumerate(fronts)
            if fewest[i] <= counter.budget and not front.beats(int(fewest[i]), float(least[index]))
        ]
        if wanted:
            line = counter.line(levels, wanted, fewest)
            for i in wanted:
                fronts[i].add(int(line[0][i]), float(line[2][i]))
            unbeaten.add(levels, line)
            counter.check_work(len(grouped))
        if number % 16 == 0:
            progress("judging combinations", number, len(grouped))
    progress("judging combinations", len(grouped), len(grouped))
    return unbeaten.arrays()


def _grouped_nodes(
    counter: NodeCounter, permitted: Truth, progress: Progress
) -> Iterator[tuple[Levels, Counts]]:
    """Yields the combinations that do not suppress too much, and the fewest rows they suppress at each k.

    Each comes after all that are more general, and beside those that its table is rolled up with.
    """
    shape, open_nodes, columns = permitted.shape, np.array(permitted), counter.sizes.order
    total = int(np.prod(shape))
    progress("counting combinations", 0, total)
    for number, chosen in enumerate(product(*(range(shape[j] - 1, -1, -1) for j in columns))):
        levels = tuple(level for _, level in sorted(zip(columns, chosen, strict=True)))
        if open_nodes[levels]:
            fewest = counter.fewest(levels)
            if fewest[0] > counter.budget:
                open_nodes[tuple(slice(0, level + 1) for level in levels)] = False
            else:
                yield levels, fewest
            counter.check_work(total)
        if number % 16 == 0:
            progress("counting combinations", number, total)
    progress("counting combinations", total, total)


class _Front:
    """What combinations suppress and lose at one k, as far as none of the others beats them."""

    def __init__(self) -> None:
        self._suppressed: list[int] = []
        self._loss: list[float] = []

    def beats(self, fewest: int, least: float) -> bool:
        """Whether one suppresses no more than so many rows and loses less than this, beyond a tie."""
        place = bisect_right(self._suppressed, fewest) - 1
        return place >= 0 and ties_up_to(self._loss[place]) < least

    def add(self, suppressed: int, loss: float) -> None:
        """Takes what another one suppresses and loses."""
        place = bisect_right(self._suppressed, suppressed)
        if suppressed == TOO_MANY or (place and self._loss[place - 1] <= loss):
            return
        end = place
        while end < len(self._loss) and self._loss[end] >= loss:
            end += 1
        self._suppressed[place:end], self._loss[place:end] = [suppressed], [loss]


class _Unbeaten:
    """Combinations that no other beats: at some k, nobody loses less with no more rows suppressed."""

    def __init__(self, columns: int, count: int) -> None:
        numbers = np.zeros((0, count), np.int64)
        self._kept: Kept = (np.zeros((0, columns), np.int16), numbers, numbers, np.zeros((0, count)))
        self._waiting: list[tuple[Levels, Line]] = []

    def add(self, levels: Levels, line: Line) -> None:
        """Takes a combination."""
        self._waiting.append((levels, line))
        if len(self._waiting) >= MOST_WAITING:
            self._kept = self.arrays()
            self._waiting.clear()

    def arrays(self) -> Kept:
        """Returns the combinations that are left, in ascending order, and what was counted of them."""
        if not self._waiting:
            return self._kept
        lines = [line for _, line in self._waiting]
        nodes = np.concatenate([self._kept[0], np.array([levels for levels, _ in self._waiting], np.int16)])
        suppressed, classes, loss = (
            np.concatenate([kept, np.stack(new)])
            for kept, new in zip(self._kept[1:], zip(*lines, strict=True), strict=True)
        )
        wins = np.zeros(len(nodes), bool)
        for i in range(suppressed.shape[1]):
            order = np.lexsort((loss[:, i], suppressed[:, i]))
            least = np.minimum.accumulate(loss[order, i])
            here = loss[order, i] <= least * (1 + TIE_TOLERANCE)
            wins[order] |= here & (suppressed[order, i] < TOO_MANY)
        chosen = np.flatnonzero(wins)
        chosen = chosen[np.lexsort(nodes[chosen].T[::-1])] if nodes.shape[1] else chosen
        return nodes[chosen], suppressed[chosen], classes[chosen], loss[chosen]


class NodeCounter:
    """Counts one combination of levels for every k."""

    def __init__(self, table: Microdata, by_k: Sequence[Promises], budget: int, cost: NodeCost) -> None:
        self.sizes = RollUp(table, ())
        self.rollup = RollUp(table, by_k[0].sensitive) if by_k[0].sensitive else self.sizes
        self.by_k, self.budget, self.cost = by_k, budget, cost
        self._least_people = [max((p.least_people for p in promises), default=0) for promises in by_k]
        self._relative = bool(by_k[0].relative)
        self._fixed = Promises(tuple(p for p in by_k[0] if all(p in promises.members for promises in by_k)))
        self._asked = [
            Promises(tuple(p for p in promises if p not in self._fixed.members)) for promises in by_k
        ]
        self._by_size = all(p.by_size for promises in self._asked for p in promises)

    def fewest(self, levels: Levels) -> Counts:
        """Returns how many rows are in classes with too few people, for every k."""
        classes = self.sizes.classes(self.sizes.at(levels), sensitive=False)
        rows = np.zeros(self._least_people[-1] + 1, np.int64)
        np.add.at(rows, np.minimum(classes.people, len(rows) - 1), classes.rows)
        below: Counts = np.concatenate(([0], np.cumsum(rows)))[self._least_people]
        return below

    def line(self, levels: Levels, wanted: Sequence[int], fewest: Counts) -> Line:
        """Returns what is counted of a combination at the wanted ks; elsewhere it suppresses too much."""
        grouped = self.rollup.at(levels)
        classes = self.rollup.classes(grouped, sensitive=bool(self.by_k[0].sensitive))
        keeps, count = self._keeper(classes), len(self.by_k)
        suppressed, published = np.full(count, TOO_MANY), np.zeros(count, np.int64)
        loss, last = np.full(count, np.inf), -1
        for i in wanted:
            if last >= 0 and self._by_size and fewest[i] == fewest[last]:  # the same classes are large enough
                suppressed[i], published[i], loss[i] = suppressed[last], published[last], loss[last]
                continue
            keeping, last = keeps(i), i
            rows = int(classes.rows[~keeping].sum())
            if rows <= self.budget:
                suppressed[i], (published[i], loss[i]) = rows, self._cost_of(levels, grouped, keeping, rows)
        return suppressed, published, loss

    def check_work(self, nodes: int) -> None:
        """Raises where so many classes were grouped that somebody would wait too long."""
        if self.sizes.work + self.rollup.work > MOST_GROUPED:
            raise UsageError(
                f"the lattice is not counted: {nodes:,} combinations of {self.rollup.table.distinct:,}"
                " different rows take too long",
                remedy="Run the search for the k you want, or let columns begin at a coarser level.",
            )

    def _keeper(self, classes: Classes) -> Callable[[int], Truth]:
        """Returns which classes are published at the k with a number."""
        if self._relative:
            return lambda i: keep(classes, self.by_k[i], most=self.budget)
        fixed = self._fixed.holds_on(classes)
        return lambda i: fixed & self._asked[i].holds_on(classes)

    def _cost_of(self, levels: Levels, grouped: NodeClasses, keeping: Truth, rows: int) -> tuple[int, float]:
        published = grouped.rows[keeping & (grouped.rows > 0)]
        tally = partial(self.rollup.tally, grouped, ~keeping)
        node = JudgedNode(levels, grouped.rows, published, rows, tally, keeping)
        return len(published), self.cost.score(node)


def _groups_by_level(table: Microdata) -> tuple[tuple[int, ...], ...]:
    """Returns for every key column how many groups the values that occur fall into, level by level."""
    return tuple(
        tuple(len(np.unique(level[table.held_codes(c.name)])) for level in c.taxonomy.levels)
        for c in table.keys
    )


# Maps of small lattices: every combination of levels, and which of them keep the promises at a k.
#
# A counted lattice keeps what some question may choose. To be looked at, a small one is kept whole: what
# every combination suppresses and loses at every k, so that a picture can follow the sliders.

MOST_DRAWN = 72
"""Combinations in a lattice that is drawn; more cannot be told apart."""
MOST_JUDGED_ROWS = 20_000_000
"""Different rows, times combinations, that are judged for a picture: some seconds."""


class SpotState(StrEnum):
    """What becomes of a combination: the answer, allowed, suppressing too much, or left out by the policy."""

    CHOSEN = "chosen"
    ALLOWED = "allowed"
    REFUSED = "refused"
    CLOSED = "closed"


@dataclass(frozen=True)
class LatticeSpot:
    """A combination of levels at one k: its place in the picture, and what it suppresses and loses.

    `across` and `up` run from 0 to 1; `suppressed` is `None` where it is more than any question may allow.
    """

    levels: Levels
    across: float
    up: float
    state: SpotState
    suppressed: int | None
    loss: float | None


@dataclass(frozen=True, eq=False)
class LatticeMap:
    """Every combination of levels of a small lattice, in ascending order, with one column for each k."""

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    ks: range
    rows: int
    dropped: int
    nodes: tuple[Levels, ...]
    permitted: Truth
    suppressed: Counts
    loss: Reals

    def spots(self, k: int, suppress: Fraction, chosen: Levels | None) -> tuple[LatticeSpot, ...]:
        """Returns the combinations as they stand at a k and a limit; `chosen` is the answer of the search."""
        allowed = min(int(self.rows * suppress) - self.dropped, max(0, self.rows - self.dropped - 1))
        suppressed, loss = self.suppressed[:, k - self.ks[0]], self.loss[:, k - self.ks[0]]
        places = _places(self.nodes, self.heights)
        spots = []
        for number, levels in enumerate(self.nodes):
            state = SpotState.ALLOWED if suppressed[number] <= allowed else SpotState.REFUSED
            if levels == chosen:
                state = SpotState.CHOSEN
            elif not self.permitted[number]:
                state = SpotState.CLOSED
            counted: tuple[int | None, float | None] = None, None
            if suppressed[number] != TOO_MANY:
                counted = int(suppressed[number]) + self.dropped, float(loss[number])
            spots.append(LatticeSpot(levels, *places[number], state, *counted))
        return tuple(spots)

    @property
    def links(self) -> tuple[tuple[int, int], ...]:
        """The pairs of combinations of which one is a single step of one column more general."""
        number = {levels: place for place, levels in enumerate(self.nodes)}
        steps = (
            (place, number.get((*levels[:j], level + 1, *levels[j + 1 :])))
            for levels, place in number.items()
            for j, level in enumerate(levels)
        )
        return tuple((low, high) for low, high in steps if high is not None)


def why_not_drawn(table: Microdata) -> bool:
    """Whether a lattice is too large to be drawn, or to be judged whole for it."""
    nodes = prod(column.taxonomy.height + 1 for column in table.keys)
    return not table.keys or nodes > MOST_DRAWN or nodes * table.distinct > MOST_JUDGED_ROWS


def map_lattice(table: Microdata, policy: Policy, *, progress: Progress = silent) -> LatticeMap | None:
    """Returns the map of a lattice that can be counted; `None` where it is too large to be looked at."""
    if why_not_drawn(table):
        return None
    ks = range(SMALLEST_K, LARGEST_K + 1)
    counter, permitted = _counter(table, policy, ks, LARGEST_SHARE)
    heights = tuple(column.taxonomy.height for column in table.keys)
    nodes = tuple(product(*(range(height + 1) for height in heights)))
    suppressed, loss = np.full((len(nodes), len(ks)), TOO_MANY), np.full((len(nodes), len(ks)), np.inf)
    for number, levels in enumerate(nodes):
        fewest = counter.fewest(levels)
        wanted = [i for i in range(len(ks)) if fewest[i] <= counter.budget]
        if wanted:
            suppressed[number], _, loss[number] = counter.line(levels, wanted, fewest)
        progress("drawing the lattice", number + 1, len(nodes))
    return LatticeMap(
        tuple(column.name for column in table.keys),
        heights,
        ks,
        table.rows + table.dropped,
        table.dropped,
        nodes,
        np.array([bool(permitted[levels]) for levels in nodes]),
        suppressed,
        loss,
    )


def _places(nodes: tuple[Levels, ...], heights: tuple[int, ...]) -> list[tuple[float, float]]:
    """Returns where combinations are drawn: the more general the higher, in rows of equal height."""
    rows: dict[int, list[int]] = {}
    for number, levels in enumerate(nodes):
        rows.setdefault(sum(levels), []).append(number)
    places = [(0.0, 0.0)] * len(nodes)
    for height, row in rows.items():
        for position, number in enumerate(row):
            places[number] = ((position + 1) / (len(row) + 1), height / (sum(heights) or 1))
    return places

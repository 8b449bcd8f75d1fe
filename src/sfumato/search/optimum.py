"""The best global recoding: the cuts with the least loss that keep every promise.

Promises break on conflicts (`conflicts.py`): sets of values that cannot all stay. Losing a value means that
its parent, or something higher, is published in its place, which never costs less. So the search starts with
the raw table, picks a conflict, and branches over which of its values is lost; states are taken in the order
of what they cost at least, and the first without a conflict is the best there is. Conflicts are found as they
are needed, made as general as they can be (a general one is harder to lose), and kept; the data is asked only
where no conflict that is known decides.

What a cut costs is added up node by node for the measure `loss` (`_NodeCosts`). Every other measure is taken
of the recoding as a whole (`_MeasuredCosts`): it does not fall when values are lost, so the order of states
is right, but nothing is known of a state before it is measured, and fewer states are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count, product
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Cuts, Promise, Promises, Truth
from sfumato.policy.searches import BUILT_IN, Ability, losses_with
from sfumato.search.best import with_suppression
from sfumato.search.contract import Aim, Outcome, Steps, Work, built_in_search, unproved_if_suppressed
from sfumato.search.loss import UNPRICED, tally
from sfumato.search.loss import measure as loss_by
from sfumato.search.step_check import budget_of
from sfumato.search.suppression import keep
from sfumato.search.top_down import conflict_sources, top_down
from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Counts, Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import ROOT, Nodes, Taxonomy, within_ceiling

# All global recodings of a small table, tried one by one: for promises that no step-wise search can follow.
#
# Where a promise may be broken by a step and mended by the next, as those beside earlier releases, only
# trying everything tells what is best. How much may be tried is counted in rows: the same table gives the
# same result.

MOST_ROWS_RECODED = 4_000_000
"""Recodings times distinct rows, up to which all are tried."""
MOST_JUDGED = 300
"""So many recodings are judged, those that lose least first."""


def best_of_all(
    table: Microdata, promises: Promises, aim: Aim, greedy: Outcome, *, progress: Progress = silent
) -> Outcome:
    """Returns the best global recoding that suppresses nothing; `known` where there are too many to try.

    Recodings that lose less than `known` are judged from the least loss on; the first that keeps the promises
    is the best. Where too many do not, `known` is returned with the loss that was reached.
    """
    trees = [c.taxonomy for c in table.keys]
    total = prod(count_cuts(tree) for tree in trees)
    if total * max(1, table.distinct) > MOST_ROWS_RECODED:
        return greedy
    names = [c.name for c in table.keys]
    better: list[tuple[float, int, Cuts]] = []
    for number, chosen in enumerate(product(*(list(every_cut(tree)) for tree in trees)), 1):
        cuts: Cuts = dict(zip(names, chosen, strict=True))
        loss = aim.loss_of(Recoding.of_cuts(table, cuts))
        progress("all recodings", number, total)
        if loss < greedy.loss:
            better.append((loss, number, cuts))
    better.sort(key=lambda candidate: candidate[:2])
    checked = greedy.checked + total
    for loss, _, cuts in better[:MOST_JUDGED]:
        recoding = Recoding.of_cuts(table, cuts)
        if keeps(table, recoding, cuts, promises):
            return Outcome(recoding, loss, optimal=True, checked=checked, bound=loss)
    if len(better) > MOST_JUDGED:
        return replace(greedy, checked=checked, bound=better[MOST_JUDGED][0])
    return replace(greedy, optimal=True, checked=checked, bound=greedy.loss)


def keeps(table: Microdata, recoding: Recoding, cuts: Cuts, promises: Promises) -> bool:
    """Whether a recoding keeps every promise with all its classes."""
    classes = Classes.of(table, recoding.class_of, sensitive=promises.sensitive)
    published = bool(keep(classes, promises).all())
    return published and all(promise.verdict_on(table, cuts).holds is True for promise in promises.of_table)


def count_cuts(tree: Taxonomy) -> int:
    """Returns how many cuts a tree has, none of them above its ceiling.

    >>> count_cuts(Taxonomy.grow(["*", "A", "a", "b", "c"], [-1, 0, 1, 1, 0]))
    3
    """
    ways = [1] * len(tree.labels)
    allowed = within_ceiling(tree)
    for node in reversed(range(len(tree.labels))):
        below = tree.children(node)
        if len(below):
            ways[node] = prod(ways[child] for child in below) + int(bool(allowed[node]))
    return ways[ROOT]


def every_cut(tree: Taxonomy) -> Iterator[Cut]:
    """Yields every cut of a tree, none of them above its ceiling."""
    allowed = within_ceiling(tree)

    def below(node: int) -> Iterator[tuple[int, ...]]:
        children = [int(child) for child in tree.children(node)]
        if not children or allowed[node]:
            yield (node,)
        if children:
            for parts in product(*(list(below(child)) for child in children)):
                yield tuple(v for part in parts for v in part)

    for nodes in below(ROOT):
        yield Cut.of_nodes(tree, np.array(sorted(nodes), np.int32))


# Cuts of one column, numbered as a search comes upon them, each with its cost.

IMPOSSIBLE = 2**62
"""The cost of losing a node that stays: the root, and any other that is not below the ceiling."""


@dataclass(frozen=True, eq=False)
class CutCost:
    """A cut, its cost, which nodes are `present` in it or above it, and what losing each of them costs."""

    node_of: Nodes
    cost: int
    present: Truth
    cost_of_losing: Counts


class ColumnCuts:
    """The cuts of one column that a search has come upon.

    `cost[v]` is what publishing node v costs in all rows below it, a whole number; a cut costs the sum.
    """

    def __init__(self, taxonomy: Taxonomy, cost: Counts) -> None:
        self.taxonomy, self.cost, self.within = taxonomy, cost, within_ceiling(taxonomy)
        self.cuts: list[CutCost] = []
        self._numbers: dict[bytes, int] = {}
        self._without: dict[tuple[int, int], int] = {}
        self.finest = self.number(taxonomy.leaves)

    def number(self, node_of: Nodes) -> int:
        """Returns the number of a cut; a new cut gets the next number."""
        key = node_of.tobytes()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.cuts)
            self.cuts.append(self._cost_of(node_of))
        return number

    def can_lose(self, node: int) -> bool:
        """Whether something above this node may take its place."""
        return node != ROOT and bool(self.within[self.taxonomy.parent[node]])

    def without(self, number: int, node: int) -> int:
        """Returns the finest cut above this one that has `node` below it: its parent takes its place."""
        coarser = self._without.get((number, node))
        if coarser is None:
            t, above = self.taxonomy, int(self.taxonomy.parent[node])
            raised = self.cuts[number].node_of.copy()
            raised[t.low[above] : t.high[above]] = above
            coarser = self._without[number, node] = self.number(raised)
        return coarser

    def _cost_of(self, node_of: Nodes) -> CutCost:
        t = self.taxonomy
        first = np.zeros(len(node_of) + 1, np.int64)
        starts = np.flatnonzero(np.diff(node_of, prepend=-1))
        first[starts + 1] = self.cost[node_of[starts]]
        before = np.cumsum(first)
        present = t.depth <= t.depth[node_of[t.low]] if len(node_of) else np.ones(len(t.labels), bool)
        cost_of_losing = np.full(len(t.labels), IMPOSSIBLE, np.int64)
        above = t.parent[ROOT + 1 :]
        raised = self.cost[above] - (before[t.high[above]] - before[t.low[above]])
        cost_of_losing[ROOT + 1 :] = np.where(self.within[above], raised, IMPOSSIBLE)
        return CutCost(node_of, int(before[-1]), present, cost_of_losing)


# The search over states: one cut for each column.

Ints = NDArray[np.int64]
State = tuple[int, ...]

ROUNDING = Fraction(1, 10**9)
"""So much may the measure of a loss be off."""
STEPS_PER_LEVEL = 8
"""A conflict is raised level by level, and every try takes about as long as a look at so many states."""
UNLIMITED = 2**62
MOST_STATES = 50_000
"""After so many states the search returns the best cuts so far; a count, so that results repeat."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best cuts found, their mean loss, and a loss that nothing can fall below.

    `optimal` says that the two losses are equal. `states` counts the recodings looked at, `conflicts` those
    that had to be known.
    """

    cuts: dict[str, Cut]
    loss: Fraction
    bound: Fraction
    states: int
    conflicts: int

    @property
    def optimal(self) -> bool:
        return self.loss == self.bound


MOST_MEASURED = 20_000_000
"""Distinct rows that are recoded, all states together, where a measure is taken of whole recodings."""

MOST_WITHHELD_TRIED = 400_000
"""Distinct rows that are recoded again, all together, without those that may be suppressed."""


STEPS_OF_STATES = 35_000_000
"""Rows that could be grouped while it looks at 50,000 recodings: it counts classes, not rows."""
STEPS_PER_ROW = 20
"""How often it looks at a row beside that."""
MOST_ROWS_TO_COMPARE = 30_000
"""Distinct rows up to which `best` tries the exact search: it looks at all of them again and again."""


def _too_much(table: Microdata, promises: Promises) -> str:
    """Returns why `best` does not try this search."""
    rows = max(1, table.distinct)
    if rows > MOST_ROWS_TO_COMPARE:
        return f"{rows:,} different rows are too many"
    # Without conflicts to learn from, it would go through recodings one by one.
    if any(promise.conflicts(table) is None for promise in promises.of_table):
        return "a recoding that fails would not tell it which others do"
    return ""


@built_in_search(
    "optimum",
    "finds the best recoding of whole columns, levels mixed, and proves it",
    place=4,
    compared=3,
    ability=Ability(
        losses=losses_with(needs_levels=False),
        suppresses=False,
        weighs=True,
        any_promise=False,
        whole_table=True,
        any_loss=True,
        why_not="levels are mixed within a column, which then has no height",
    ),
    work=Work(
        steps=lambda size: STEPS_OF_STATES + STEPS_PER_ROW * size.rows,
        at_most=True,
        too_much=_too_much,
        rows_of_rungs=6_000,
        cells_of_rungs=100_000,
    ),
)
def search(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the best global recoding (`best_cuts`), where suppressed rows have a price also of fewer rows.

    Which rows are suppressed is guessed, so nothing is proved optimal where some may be. Without a price, and
    for other measures than `loss`, nothing is suppressed.
    """
    if aim.loss != "loss":
        return unproved_if_suppressed(best_cuts(table, promises, aim, progress=progress), table, aim)
    return with_suppression(
        best_cuts,
        table,
        promises,
        aim,
        by_relief=False,
        by_top_down=True,
        most=MOST_WITHHELD_TRIED,
        progress=progress,
    )


def best_cuts(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the best global recoding; `optimal` in the outcome says whether that is proved.

    Nothing is suppressed beyond rows with empty key cells. Where a person has several rows and is counted in
    classes, promises that are not hereditary have no conflicts to branch on, and neither has what is promised
    beside earlier releases: of a small table all recodings are tried, of others what top-down finds is
    returned.
    """
    summed = not table.has_person
    lasting = all(p.hereditary or (p.monotone and summed) for p in promises)
    budget_of(table, promises, aim)
    nothing_more = Fraction(table.dropped, max(1, table.rows + table.dropped))
    ranked_by = aim.loss if aim.loss in BUILT_IN["top-down"].losses else "loss"
    descent = replace(aim, suppress=nothing_more, loss=ranked_by)
    greedy = top_down(table, promises, descent, progress=progress)
    greedy = replace(greedy, loss=aim.loss_of(greedy.recoding))
    if greedy.recoding.cuts is None:
        return greedy
    if not lasting:
        return best_of_all(table, promises, aim, greedy, progress=progress)
    most = MOST_STATES
    if aim.loss != "loss":
        most = min(MOST_STATES, MOST_MEASURED // max(1, table.distinct))
    progress("optimum", 0, most)
    best = optimum(
        table,
        promises,
        weights=aim.weights,
        measure=aim.loss,
        price=aim.price,
        start=greedy.recoding.cuts,
        most=most,
        beat=aim.beat,
        steps=aim.steps,
        progress=progress,
    )
    progress("optimum", most, most)
    recoding = Recoding.of_cuts(table, best.cuts)
    loss, bound = aim.loss_of(recoding), float(best.bound)
    checked = greedy.checked + best.states
    return Outcome(recoding, loss, optimal=best.optimal, checked=checked, bound=min(bound, loss))


def optimum(
    table: Microdata,
    promises: Promises | Promise,
    *,
    weights: Mapping[str, Fraction] | None = None,
    measure: str = "loss",
    price: Fraction | None = None,
    start: Cuts | None = None,
    most: int = 2_000_000,
    beat: float | None = None,
    steps: Steps | None = None,
    progress: Progress = silent,
) -> Optimum:
    """Returns the cuts that keep the promises and lose least by a measure; no row is suppressed.

    Rows that were left out beforehand count at their `price`, in fully generalized rows (1 by default).
    After `most` states, or where no `steps` are left, the best cuts known are returned with the bound
    reached; so they are where nothing is left whose published rows alone lose at most `beat`.
    `start` are cuts that keep the promises, to be improved on (the coarsest by default).
    """
    members = promises if isinstance(promises, Promises) else Promises((promises,))
    costs: _NodeCosts | _MeasuredCosts = _NodeCosts(table, weights or {}, price)
    if measure != "loss":
        costs = _MeasuredCosts(table, measure, weights or {}, price)
    search = _OptimumSearch(table, members, costs, steps or Steps(UNLIMITED))
    return search.run(start, most, beat, progress)


def mean_loss(table: Microdata, cuts: Cuts, weights: Mapping[str, Fraction] | None = None) -> Fraction:
    """Returns the measure `loss` of cuts, exactly."""
    costs = _NodeCosts(table, weights or {})
    nodes = [cuts[c.name].nodes for c in table.keys]
    return costs.loss(sum(int(cost[chosen].sum()) for cost, chosen in zip(costs.of_node, nodes, strict=True)))


class _NodeCosts:
    """Mean loss in whole numbers: rows below a node times the leaves beyond one, on a common scale."""

    def __init__(
        self, table: Microdata, weights: Mapping[str, Fraction], price: Fraction | None = None
    ) -> None:
        trees = [c.taxonomy for c in table.keys]
        weight = [Fraction(weights.get(c.name, 1)) for c in table.keys]
        share = [w / max(1, len(t.leaves) - 1) for w, t in zip(weight, trees, strict=True)]
        scale = lcm(*(s.denominator for s in share))
        self._whole = scale * sum(weight, Fraction(0)) * (table.rows + table.dropped)
        self._dropped = table.dropped * scale * sum(weight, Fraction(0)) * (price or UNPRICED)
        self.of_node: list[Ints] = []
        for c, s, t in zip(table.keys, share, trees, strict=True):
            before = np.cumsum(tally(table.codes(c.name) + 1, table.counts, len(t.leaves) + 1))
            factor = int(s * scale)
            if table.rows * max(1, len(t.leaves)) * factor * len(trees) >= IMPOSSIBLE:
                raise UsageError(
                    "weights and trees are too fine for an exact search", remedy="Round weights."
                )
            rows = before[t.high] - before[t.low]
            self.of_node.append(rows * (t.leaf_count - 1).astype(np.int64) * factor)

    def loss(self, cost: float) -> Fraction:
        return (int(cost) + self._dropped) / self._whole if self._whole else Fraction(0)

    def at_most(self, loss: float) -> int:
        """Returns the largest cost of published rows alone that is no more than this loss, or a little more.

        Rows that are not here count as nothing: who withheld them may put them back.
        """
        return int((Fraction(loss) + ROUNDING) * self._whole // 1)


class _MeasuredCosts:
    """A measure of whole recodings, each taken once; nodes cost nothing by themselves."""

    def __init__(
        self, table: Microdata, measure: str, weights: Mapping[str, Fraction], price: Fraction | None
    ) -> None:
        self._table, self._measure, self._weights, self._price = table, measure, weights, price
        self._known: dict[State, float] = {}
        self.of_node = [np.zeros(len(c.taxonomy.labels), np.int64) for c in table.keys]

    def of_state(self, state: State, cuts: Callable[[State], Cuts]) -> float:
        if state not in self._known:
            recoding = Recoding.of_cuts(self._table, cuts(state))
            self._known[state] = loss_by(self._measure, recoding, weights=self._weights, price=self._price)
        return self._known[state]

    def loss(self, cost: float) -> Fraction:
        return Fraction(cost)

    def at_most(self, loss: float) -> float:
        return loss * (1 + float(ROUNDING))


class _OptimumSearch:
    def __init__(
        self, table: Microdata, promises: Promises, costs: _NodeCosts | _MeasuredCosts, steps: Steps
    ) -> None:
        self.table, self.steps = table, steps
        self._of_conflict = STEPS_PER_LEVEL * sum(c.taxonomy.height for c in table.keys)
        self.sources = conflict_sources(table, promises)
        self.costs = costs
        trees = [c.taxonomy for c in table.keys]
        self.columns = [ColumnCuts(t, cost) for t, cost in zip(trees, self.costs.of_node, strict=True)]
        self.known = np.zeros((0, len(trees)), np.int64)
        self._used = np.zeros(0, np.int64)

    def run(self, start: Cuts | None, most: int, beat: float | None, progress: Progress) -> Optimum:
        best = self._state_of(start)
        if self._ask(best) is not True:
            raise UsageError("the cuts to start with break the promise")
        first: State = tuple(c.finest for c in self.columns)
        ceiling, looked, turn = self._cost(best), 0, count()
        of_use = ceiling if beat is None else min(ceiling, self.costs.at_most(beat) + 1)
        heap = [(self._cost(first), next(turn), first)]
        queued = {first}
        while heap:
            least, _, state = heappop(heap)
            if least >= ceiling:
                break
            if least >= of_use or looked >= most or self.steps.left <= 0:
                return self._answer(best, least, looked)
            looked += 1
            self.steps.left -= 1
            progress("optimum", looked, most)
            floor, children = self._judge(state)
            if children is None:
                return self._answer(state, self._cost(state), looked)
            if floor > least:
                heappush(heap, (floor, next(turn), state))
                continue
            for child in children:
                if child not in queued:
                    queued.add(child)
                    heappush(heap, (max(least, self._cost(child)), next(turn), child))
        return self._answer(best, ceiling, looked)

    def _judge(self, state: State) -> tuple[float, list[State] | None]:
        """Returns what a state and all above it cost at least, and where to go on (`None`: it is safe)."""
        alive = self._alive(state)
        if not len(alive):
            safe = self._ask(state)
            if safe:
                return self._cost(state), None
            if safe is None:
                return self._cost(state), list(self._one_step_up(state))
            alive = self._alive(state)
        cuts = [c.cuts[i] for c, i in zip(self.columns, state, strict=True)]
        losing = np.stack([cut.cost_of_losing[self.known[alive, j]] for j, cut in enumerate(cuts)])
        least = losing.min(axis=0)
        order = np.argsort(-least, kind="stable")
        total, taken = self._cost(state), 0
        for k in order.tolist():
            # Conflicts over different columns are lost at separate costs.
            if not taken & int(self._used[alive[k]]):
                total += int(least[k])
                taken |= int(self._used[alive[k]])
        pivot = self.known[alive[order[0]]].tolist()
        lost = [(j, node) for j, node in enumerate(pivot) if self.columns[j].can_lose(node)]
        return min(total, IMPOSSIBLE), [self._without(state, j, node) for j, node in lost]

    def _one_step_up(self, state: State) -> Iterator[State]:
        for j, (c, i) in enumerate(zip(self.columns, state, strict=True)):
            for node in np.unique(c.cuts[i].node_of).tolist():
                if c.can_lose(node):
                    yield self._without(state, j, node)

    def _without(self, state: State, column: int, node: int) -> State:
        return (*state[:column], self.columns[column].without(state[column], node), *state[column + 1 :])

    def _alive(self, state: State) -> NDArray[np.intp]:
        """Returns the known conflicts whose values are all at or above the cuts."""
        alive = np.ones(len(self.known), dtype=bool)
        for j, (c, i) in enumerate(zip(self.columns, state, strict=True)):
            alive &= c.cuts[i].present[self.known[:, j]]
        return np.flatnonzero(alive)

    def _ask(self, state: State) -> bool | None:
        """Whether the cuts keep every promise, by the data; `None`: they do not, and no conflict is known."""
        cuts = self._cuts(state)
        for source in self.sources:
            conflicts = source.of(cuts)
            if conflicts is None:
                return None
            self.steps.left -= len(conflicts) * self._of_conflict
            for values in conflicts:
                self._learn(values)
            if conflicts:
                return False
        return True

    def _learn(self, values: Ints) -> None:
        if not (self.known == values).all(axis=1).any():
            self.known = np.vstack([self.known, values])
            self._used = np.append(self._used, sum(1 << j for j, v in enumerate(values.tolist()) if v))

    def _cost(self, state: State) -> float:
        if isinstance(self.costs, _MeasuredCosts):
            return self.costs.of_state(state, self._cuts)
        return sum(c.cuts[i].cost for c, i in zip(self.columns, state, strict=True))

    def _state_of(self, cuts: Cuts | None) -> State:
        chosen = cuts or {c.name: Cut.coarsest(c.taxonomy) for c in self.table.keys}
        names = [c.name for c in self.table.keys]
        return tuple(c.number(chosen[n].node_of) for c, n in zip(self.columns, names, strict=True))

    def _cuts(self, state: State) -> dict[str, Cut]:
        nodes = [c.cuts[i].node_of for c, i in zip(self.columns, state, strict=True)]
        return {c.name: Cut(c.taxonomy, n) for c, n in zip(self.table.keys, nodes, strict=True)}

    def _answer(self, state: State, bound: float, looked: int) -> Optimum:
        losses = self.costs.loss(self._cost(state)), self.costs.loss(bound)
        return Optimum(self._cuts(state), *losses, looked, len(self.known))

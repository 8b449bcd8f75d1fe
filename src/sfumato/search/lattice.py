"""Full-domain recoding: the best of all combinations of levels.

A node of the lattice gives every key column one level of its taxonomy. The search returns the node with the
least loss among those that keep the promises with no more than the allowed rows suppressed; of equally good
nodes the one with the fewest suppressed rows, then the one with the smallest levels, compared from the first
key column on. Scores that differ by less than `frontier.TIE_TOLERANCE` of their size are equally good.

A lattice of some size is searched from the most general node on first (see `branch_and_bound`), where the
loss adds up columns. That needs no list of nodes; whatever it rules out or judges is done. A lattice that is
small, or not done by then, is looked through: three things rule nodes out without a look at them. They cost
at least more than a node already found; they are finer than a node at which too many rows are in classes that
break a promise, where that can only get worse; they are more general than a node that nothing more general
can beat (see `node_cost`). In a large table of which nothing may be suppressed, classes that were too small
at other nodes refuse most of the rest (see `small_classes`).

All of this is counted: where the steps run out, and where a lattice has too many nodes to be held, the best
so far is returned with a bound, and it is the best there is if the two meet. Where no other way finds an
allowed node, walks look for one (see `wide_lattice`).

Cost: a look at a node groups the classes of a finer one, about 10 ns each while they fit the processor's
cache and 60 ns beyond. Memory: the distinct rows, and tables held in between (`rollup.MOST_HELD_ENTRIES`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.lattice import first_row, have_enough, mark_rows
from sfumato.models.contract import Answer, Promises, Truth
from sfumato.policy.searches import Ability, losses_with
from sfumato.search import contract as refusal
from sfumato.search.contract import Aim, Outcome, Work, built_in_search, unproved_if_suppressed
from sfumato.search.controls import permitted_levels, spared_rows
from sfumato.search.frontier import (
    MOST_HELD_ENTRIES,
    Frontier,
    Levels,
    NodeClasses,
    NodeJudge,
    RollUp,
    levels_at,
    ties_up_to,
)
from sfumato.search.loss import UNPRICED, Reals, tally
from sfumato.search.node_cost import NodeCost, node_cost
from sfumato.search.step_check import budget_of
from sfumato.search.suppression import recoded
from sfumato.search.wide_lattice import MOST_CODES, BranchAndBound, Candidate, Walk, rungs_of
from sfumato.system.errors import Infeasible
from sfumato.system.progress import Progress, silent
from sfumato.table.microdata import Microdata

# Classes that are too small, and all nodes of a lattice that each of them refuses.
#
# Where nothing may be suppressed, one class with too few rows refuses its node and every finer one. The same
# rows are too few at more general nodes as well, until enough others join them. So a class that was met is
# raised, one column after the other, as far as it stays too small: the node it comes to refuses many more
# than the one it was met at. Columns go first whose general levels cost least; what is left to be raised then
# is dear, and so is the cheapest node that stays open.
#
# A class is known by the leaves of one of its rows, so that it has a row at every node. How many rows it has
# is counted from bits, one for every distinct row and every node of a column that was asked for: a word holds
# 64 rows, and no other class is looked at. That takes a hundredth of the time of grouping all rows.

MOST_WORDS = 8_000_000
"""So many words of marks are held, 8 bytes each; then all are made anew as they are asked for."""

FEWEST_LINES = 512
"""So many nodes have marks at once in any case: more than one class asks for."""

MET_PER_NODE = 8
"""So many of the small classes of a node are raised."""

MOST_NODES_TRIED = 64
"""So many classes are remembered and tried at a node, those first that refused one last."""

WORDS_PER_GROUPED_ENTRY = 64
"""Looking at so many words takes as long as grouping an entry of a table beyond the processor's cache."""

Member = tuple[int, ...]
"""The leaf ranks of a row, by key column."""


class SmallClasses:
    """The classes of a table that were too small at some node: fewer than `least` rows.

    `work` counts what was looked at, in entries that a roll-up groups.
    """

    def __init__(self, table: Microdata, steps: list[Reals], least: int) -> None:
        self._table, self._rows, self._least = table, table.rows, least
        self._codes = [table.codes(c.name) for c in table.keys]
        self._steps = steps
        self._tops = tuple(c.taxonomy.height for c in table.keys)
        self._rows_up_to = [
            np.append(0, np.cumsum(tally(codes, table.counts, len(c.taxonomy.leaves))))
            for c, codes in zip(table.keys, self._codes, strict=True)
        ]
        self._marks = np.empty(_shape_of_marks(table), np.uint64)
        self._lines: dict[tuple[int, int], int] = {}
        self._known: list[Member] = []
        self._looked = 0

    @staticmethod
    def bytes_held(table: Microdata) -> int:
        """Returns how much memory such classes take at most: marks, and the codes of all key columns."""
        lines, words = _shape_of_marks(table)
        return 8 * lines * words + 4 * len(table.keys) * table.distinct

    @property
    def work(self) -> int:
        return self._looked // WORDS_PER_GROUPED_ENTRY

    def refused(self, levels: Levels) -> Levels | None:
        """Returns the node that a known class comes to which is too small here; `None` if there is none."""
        for place, member in enumerate(self._known):
            if self._is_small(member, levels):
                self._known.insert(0, self._known.pop(place))
                return self._raised(member, levels)
        return None

    def met(self, rollup: RollUp, grouped: NodeClasses, levels: Levels) -> Iterator[Levels]:
        """Yields the nodes that some of the small classes of a node come to, and remembers these classes."""
        small = np.flatnonzero(grouped.rows < self._least)
        spread = np.unique(np.arange(MET_PER_NODE) * len(small) // MET_PER_NODE)
        entries = grouped.keys[small[spread[: len(small)]]]
        nodes = np.stack([rollup.fields.codes(entries, j) for j in range(len(levels))])
        for of_class in nodes.T.tolist():
            member = self._member(of_class)
            self._known.insert(0, member)
            yield self._raised(member, levels)
        del self._known[MOST_NODES_TRIED:]

    def _raised(self, member: Member, levels: Levels) -> Levels:
        """Returns a node at or above this one at which the class is too small, and at none above that."""
        raised = list(levels)
        places = zip(self._steps, self._tops, levels, strict=True)
        costs = [float(steps[top] - steps[i]) for steps, top, i in places]
        for j in sorted(range(len(raised)), key=lambda j: (costs[j], j)):
            small, level = raised[j], self._tops[j]
            while level > small:
                raised[j] = level
                if self._is_small(member, raised):
                    small = level
                else:
                    level -= 1
            raised[j] = small
        return tuple(raised)

    def _is_small(self, member: Member, levels: Levels | list[int]) -> bool:
        """Whether too few rows hold the nodes that this row has at these levels."""
        keys = self._table.keys
        nodes = [int(c.taxonomy.levels[i, rank]) for c, i, rank in zip(keys, levels, member, strict=True)]
        if any(self._rows_of(j, node) < self._least for j, node in enumerate(nodes)):
            return True
        lines = self._lines_of(nodes)
        if not len(lines):
            return False
        enough, words = have_enough(self._marks, lines, self._table.counts, self._least)
        self._looked += words * len(lines)
        return not enough

    def _member(self, nodes: Sequence[int]) -> Member:
        """Returns the leaves of a row that holds these nodes, of which there is one."""
        lines = self._lines_of(nodes)
        row = first_row(self._marks, lines) if len(lines) else 0
        return tuple(int(codes[row]) for codes in self._codes)

    def _lines_of(self, nodes: Sequence[int]) -> NDArray[np.int64]:
        """Returns the lines that mark the rows of these nodes, rare ones first, without nodes of all rows."""
        lines = [(self._rows_of(j, node), j, node) for j, node in enumerate(nodes)]
        lines = sorted(each for each in lines if each[0] < self._rows)
        if len(self._lines) + len(lines) > len(self._marks):
            self._lines.clear()
        return np.array([self._line(j, node) for _, j, node in lines], np.int64)

    def _rows_of(self, j: int, node: int) -> int:
        taxonomy, up_to = self._table.keys[j].taxonomy, self._rows_up_to[j]
        return int(up_to[taxonomy.high[node]] - up_to[taxonomy.low[node]])

    def _line(self, j: int, node: int) -> int:
        """Returns the line that marks the rows of a node, made if it is not there."""
        line = self._lines.get((j, node))
        if line is None:
            line = len(self._lines)
            taxonomy = self._table.keys[j].taxonomy
            mark_rows(self._codes[j], int(taxonomy.low[node]), int(taxonomy.high[node]), self._marks[line])
            self._looked += len(self._codes[j])
            self._lines[j, node] = line
        return line


def _shape_of_marks(table: Microdata) -> tuple[int, int]:
    """Returns how many nodes have marks at once, and the words of each."""
    words = -(-table.distinct // 64)
    return max(FEWEST_LINES, MOST_WORDS // max(1, words)), words


MOST_NODES = 5_000_000
"""Larger lattices are not held: about 20 bytes are per node."""

MOST_GROUPED = 2_000_000_000
"""So many classes are grouped before the search ends with the best so far."""

FEW_NODES = 20_000
"""Smaller lattices are looked through at once; others from the most general node on first."""

FEWEST_FOR_SMALL_CLASSES = 50_000
"""So many distinct rows a table has at least whose nodes are refused by single classes first."""

STEPS_TO_GUESS = 400_000_000
"""So many rows are looked at for a good node to begin with: a second at most."""

STEPS_IF_HELD = 1_000_000_000
"""So many rows are looked at from the most general node on, if the lattice can be looked through as well."""

MOST_STEPS = 8_000_000_000
"""So many rows are looked at from the most general node on in a larger lattice: half a minute at most."""

STEPS_PER_BLOCK = 2_000_000_000
"""So many are looked at for each further block of columns, if not all columns are done by then."""

MOST_TRIED = 5_000
"""So many nodes are tried for the nearest feasible change of an infeasible request."""

MOST_CLASSES_TRIED = 200_000_000
"""So many classes these nodes may have together; 50 nodes are tried in any case."""


@dataclass(frozen=True)
class AllowedNodes:
    """The allowed nodes that were met, how many were looked at, and what all allowed nodes cost at least.

    The bound is infinite where every node was met, or ruled out, that may be chosen.
    """

    candidates: Sequence[Candidate] = ()
    checked: int = 0
    bound: float = -inf

    @property
    def best(self) -> float:
        """What the best of them costs; infinite where there is none."""
        return min((score for score, _, _ in self.candidates), default=inf)

    def joined(self, more: AllowedNodes) -> AllowedNodes:
        """Returns what was met here and there, with the bound from here."""
        return replace(
            self, candidates=[*self.candidates, *more.candidates], checked=self.checked + more.checked
        )


BYTES_PER_CODE = 8
"""Bytes per row and level where a lattice is searched from its most general node on: a code, and classes."""
MOST_STEPS_TO_COMPARE = 400_000_000
"""Groups that all nodes may have together for `best` to try the lattice."""


def _too_much(table: Microdata, promises: Promises) -> str:
    """Returns why `best` does not try this search."""
    del promises
    nodes, rows = prod(c.taxonomy.height + 1 for c in table.keys), max(1, table.distinct)
    if nodes * rows <= MOST_STEPS_TO_COMPARE:
        return ""
    return f"{nodes:,} combinations of levels times {rows:,} different rows are too many"


def _held_bytes(table: Microdata) -> int:
    """Returns what tables that were rolled up, and codes or small classes, take at most."""
    width = 8 * table.packing.words
    nodes = prod(len(c.taxonomy.levels) for c in table.keys)
    codes = table.distinct * sum(len(c.taxonomy.levels) for c in table.keys)
    general_first = BYTES_PER_CODE * min(MOST_CODES, codes) if nodes > FEW_NODES else 0
    small_classes = SmallClasses.bytes_held(table) if table.distinct >= FEWEST_FOR_SMALL_CLASSES else 0
    return min(MOST_HELD_ENTRIES, nodes * table.distinct) * (width + 8) + max(general_first, small_classes)


@built_in_search(
    "lattice",
    "finds the best combination of levels, one for each column",
    place=2,
    compared=2,
    ability=Ability(losses=losses_with(by_level=True), levels=True),
    work=Work(
        steps=lambda size: size.rows * size.nodes,
        step_time=0.15,
        at_most=True,
        row_bytes=lambda _, width, named: 4 * width + (95 if named else 85),
        held_bytes=_held_bytes,
        too_much=_too_much,
        rows_of_rungs=300_000,
        rows_of_offers=300_000,
    ),
)
def lattice(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the best full-domain recoding that keeps the promises; see the module for the rule.

    At a price below 1 a suppressed row loses less than one that is published at the roots. What columns add
    is then no bound, so nothing is proved where rows may be suppressed.
    """
    cost, spared = node_cost(table, aim), spared_rows(table, aim)
    judge = NodeJudge(table, promises, budget_of(table, promises, aim), spared=spared)
    nodes, rungs = prod(c.taxonomy.height + 1 for c in table.keys), rungs_of(table, aim)
    allowed, small = AllowedNodes(), _small_classes(judge, cost, nodes)
    if nodes > FEW_NODES and small is None and BranchAndBound.fits(judge, cost, rungs):
        allowed = _branched(judge, cost, aim, in_memory=nodes <= MOST_NODES, progress=progress)
    if allowed.bound < inf and nodes <= MOST_NODES:
        allowed = _looked_through(judge, cost, aim, allowed, small, progress)
    if allowed.bound < inf and not allowed.candidates:
        allowed = allowed.joined(_walked(judge, cost, aim, progress))
    if allowed.bound < inf and nodes <= MOST_NODES and not allowed.candidates:
        allowed = allowed.joined(_suppressing_fewest(judge, cost, aim))
    if not allowed.candidates:
        raise _infeasible(judge, aim, nodes, done=allowed.bound == inf)
    best = min(score for score, _, _ in allowed.candidates)
    _, levels = min((s, levels) for score, s, levels in allowed.candidates if score <= ties_up_to(best))
    bound = None if allowed.bound == inf else min(allowed.bound, best)
    outcome = _outcome(judge, levels, aim, allowed.checked, bound=bound)
    return outcome if cost.price >= UNPRICED else unproved_if_suppressed(outcome, table, aim)


def _branched(
    judge: NodeJudge, cost: NodeCost, aim: Aim, *, in_memory: bool, progress: Progress
) -> AllowedNodes:
    """Meets nodes from the most general one on; a lattice that is held `in_memory` has other ways as well."""
    search = BranchAndBound(judge, cost, rungs_of(judge.table, aim))
    search.guess(STEPS_TO_GUESS)
    if not search.candidates and not in_memory:
        for candidate in _walked(judge, cost, aim, progress).candidates:
            search.add(candidate)
    steps = (STEPS_IF_HELD, 0) if in_memory else (MOST_STEPS, STEPS_PER_BLOCK)
    bound = search.search(*steps, progress)
    return AllowedNodes(search.candidates, search.checked, bound)


def _walked(judge: NodeJudge, cost: NodeCost, aim: Aim, progress: Progress) -> AllowedNodes:
    """Returns the best that walks meet."""
    walk = Walk(judge, cost, aim)
    best = walk.best(progress)
    return AllowedNodes() if best is None else AllowedNodes([best], walk.checked)


def _suppressing_fewest(judge: NodeJudge, cost: NodeCost, aim: Aim) -> AllowedNodes:
    """Returns the node that suppresses the fewest rows of those that are tried at last, if it is allowed."""
    fewest, levels, _ = _fewest(judge, permitted_levels(judge.table, aim))
    node = judge.judge_node(levels) if levels is not None and fewest <= judge.budget else None
    if node is None or judge.ask(node) is not Answer.YES:
        return AllowedNodes()
    return AllowedNodes([(cost.score(node), node.suppressed, node.levels)], 1)


def _small_classes(judge: NodeJudge, cost: NodeCost, nodes: int) -> SmallClasses | None:
    """Returns what refuses nodes by single classes, where one is enough and grouping all rows takes long."""
    table, least = judge.table, judge.least_rows
    if judge.budget or least == 1 or nodes > MOST_NODES or table.distinct < FEWEST_FOR_SMALL_CLASSES:
        return None
    return SmallClasses(table, cost.steps, least)


def _looked_through(
    judge: NodeJudge,
    cost: NodeCost,
    aim: Aim,
    allowed: AllowedNodes,
    small: SmallClasses | None,
    progress: Progress,
) -> AllowedNodes:
    """Looks through a lattice that can be held, given what was met before."""
    permitted = permitted_levels(judge.table, aim)
    cheapest_first = small is not None and cost.adds_up and judge.asks_sizes_alone
    halfway = bool(judge.lasting.members) and not cheapest_first
    frontier = Frontier(permitted.shape, cost, halfway=halfway, permitted=permitted)
    looked = allowed.joined(_searched(judge, cost, frontier, allowed.best, small, progress))
    least = frontier.least_open(looked.best)
    if least == inf:
        return replace(looked, bound=inf)
    return replace(looked.joined(_walked(judge, cost, aim, progress)), bound=max(least, allowed.bound))


def _searched(
    judge: NodeJudge,
    cost: NodeCost,
    frontier: Frontier,
    best: float,
    small: SmallClasses | None,
    progress: Progress,
) -> AllowedNodes:
    """Returns the allowed nodes that were met until no step is left, or no node that may tie with `best`."""
    candidates: list[Candidate] = []
    checked, whole = 0, frontier.left
    progress("lattice", 0, whole)
    while _work(judge, small) <= MOST_GROUPED and (levels := frontier.pick(best)) is not None:
        checked += 1
        raised = small.refused(levels) if small else None
        node = judge.judge_node(levels) if raised is None else None
        if raised is not None:
            frontier.refused(raised, finer_too=True)
        elif node is None:
            frontier.refused(levels, finer_too=True)
            if small:
                for raised in small.met(judge.rollup, judge.rollup.at(levels), levels):
                    frontier.close_finer(raised)
        else:
            frontier.bound(levels, cost.lower_bound(node))
            if node.suppressed > judge.budget:
                frontier.refused(levels, finer_too=False)
            else:
                score = cost.score(node)
                answer = judge.ask(node) if score <= ties_up_to(best) else Answer.YES
                if answer is Answer.YES:
                    candidates.append((score, node.suppressed, levels))
                    best = min(best, score)
                    frontier.allowed(levels, final=cost.is_final(node, score))
                else:
                    frontier.refused(levels, finer_too=answer is Answer.NEVER)
        if checked % 16 == 0:
            progress("lattice", whole - frontier.left, whole)
    progress("lattice", whole, whole)
    return AllowedNodes(candidates, checked)


def _work(judge: NodeJudge, small: SmallClasses | None) -> int:
    return judge.rollup.work + (small.work if small else 0)


def _outcome(judge: NodeJudge, levels: Levels, aim: Aim, checked: int, *, bound: float | None) -> Outcome:
    """Returns the recoding of a node, grouped and judged afresh by the written definitions.

    `bound` is what every node costs at least, where not all were looked at or ruled out.
    """
    table, cuts = judge.table, judge.cuts(levels)
    recoding = recoded(table, cuts, judge.promises)
    named = {c.name: i for c, i in zip(table.keys, levels, strict=True)}
    loss = aim.loss_of(recoding, named)
    return Outcome(
        recoding,
        loss=loss,
        levels=named,
        optimal=bound is None or loss <= ties_up_to(bound),
        checked=checked,
        bound=bound if bound is not None and bound > 0 else None,
    )


def _infeasible(judge: NodeJudge, aim: Aim, nodes: int, *, done: bool) -> Infeasible:
    """Returns the error where no node is allowed, with the nearest change that would allow one.

    Where the search is not `done`, none that was met is.
    """
    table, demand = judge.table, " and ".join(str(p) for p in judge.promises)
    top = tuple((c.taxonomy.height if nodes <= MOST_NODES else c.taxonomy.ceiling) for c in table.keys)
    if refused := _refused_by_table(judge, top):
        return refused
    if nodes > MOST_NODES:
        return Infeasible(
            f"the most general combination of levels does not keep {demand}",
            remedy="Allow more suppressed rows, or ask for less.",
        )
    fewest, _, surely = _fewest(judge, permitted_levels(table, aim))
    if fewest >= table.rows:
        which = "every" if surely else "any tried"
        left = "nothing to publish" if judge.spared is None else "nothing, or not the rows that have to stay"
        return Infeasible(f"at {which} combination of levels {demand} leaves {left}", remedy="Ask for less.")
    tried = "" if done else " that was tried"
    if fewest <= judge.budget:
        return Infeasible(
            f"no combination of levels{tried} keeps {demand} together", remedy="Relax one of them."
        )
    n, now, need = table.rows + table.dropped, judge.budget + table.dropped, fewest + table.dropped
    return Infeasible(
        f"no combination of levels{tried} keeps {demand} with at most {now} of {n} rows suppressed",
        remedy=f"Allow {need} suppressed rows (suppress: {need}/{n}), or ask for less.",
    )


def _refused_by_table(judge: NodeJudge, top: Levels) -> Infeasible | None:
    """Returns the error of a promise about the whole table that the most general node breaks."""
    for promise, watch in zip(judge.promises.of_table, judge.watches, strict=True):
        answer, reason = watch.ask(judge.cuts(top))
        if answer is not Answer.YES:
            return refusal.by_table(promise, reason)
    return None


def _fewest(judge: NodeJudge, permitted: Truth) -> tuple[int, Levels | None, bool]:
    """Returns the fewest rows that a permitted node suppresses, that node, and whether this is certain.

    Nodes that suppress rows which have to stay do not count.
    Only the most general nodes are tried where trying all would take too long.
    """
    fewest, shape = judge.table.rows, permitted.shape
    best: Levels | None = None
    tried = min(MOST_TRIED, max(50, MOST_CLASSES_TRIED // max(1, judge.table.distinct)))
    free = NodeJudge(judge.table, judge.promises, fewest - 1, rollup=judge.rollup, spared=judge.spared)
    heights = sum(np.indices(shape, sparse=True), np.zeros(shape, np.int64))
    closed = np.array(~permitted)
    order = np.argsort(-heights, axis=None, kind="stable")
    for index in order[permitted.ravel()[order]][:tried].tolist():
        levels = levels_at(index, shape)
        if closed[levels]:
            continue
        free.budget = fewest - 1
        node = free.judge_node(levels)
        closed[levels] = True
        if node is None:
            closed[tuple(slice(0, i + 1) for i in levels)] = True
        elif (judge.spared is None or free.ask(node) is Answer.YES) and node.suppressed < fewest:
            fewest, best = node.suppressed, levels
    return fewest, best, bool(closed.all())

"""The first steps of a top-down search: to the ceilings, and to a recoding that keeps every promise."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Answer, Promises
from sfumato.search import contract as refusal
from sfumato.search.contract import Aim
from sfumato.search.lattice import lattice
from sfumato.search.refinement import Specialization
from sfumato.search.step_check import StepJudge
from sfumato.search.suppression import keep
from sfumato.system.errors import Infeasible
from sfumato.table.classes import Classes, judged_groups
from sfumato.table.cut import Cut
from sfumato.table.microdata import Counts, Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import ROOT, Nodes, Taxonomy, nodes_above_ceiling, within_ceiling

MOST_RECODINGS = 2_000
"""So many recodings are judged."""

MOST_LATTICE_ROWS = 400_000_000
"""Nodes of the lattice times distinct rows, up to which the best full-domain recoding is looked for."""

State = tuple[Cut, ...]


def steps_to_ceilings(table: Microdata) -> list[Specialization]:
    """Returns the steps from the roots to the coarsest cuts that may be published; often there are none."""
    return [
        Specialization(j, node)
        for j, column in enumerate(table.keys)
        for node in nodes_above_ceiling(column.taxonomy).tolist()
    ]


def steps_to_valid(table: Microdata, promises: Promises, aim: Aim, judge: StepJudge) -> list[Specialization]:
    """Returns the steps from the ceilings to a recoding that keeps every promise; none if the ceilings do.

    Where the ceilings break a class promise that suppression may mend, these lead to the best full-domain
    recoding. Where they break a table promise, they are the fewest: breadth first; what lies below a recoding
    that can never be mended is left out. Raises `Infeasible` where there is none, or none near enough, and
    says which.
    """
    if judge.broken_root is not None:
        return _steps_to_levels(table, promises, aim, judge.broken_root)
    if judge.waiting is None:
        return []
    columns = table.keys
    coarsest = tuple(Cut.coarsest(c.taxonomy) for c in columns)
    queued: set[State] = {coarsest}
    waiting: deque[tuple[State, list[Specialization]]] = deque([(coarsest, [])])
    looked, path = 0, None
    while waiting and path is None and looked < MOST_RECODINGS:
        state, steps = waiting.popleft()
        for step in [Specialization(j, int(v)) for j, cut in enumerate(state) for v in cut.specializations]:
            finer = (
                *state[: step.column],
                state[step.column].specialize(step.node),
                *state[step.column + 1 :],
            )
            if finer in queued:
                continue
            queued.add(finer)
            looked += 1
            answer = _answer(table, promises, judge, finer)
            if answer is Answer.YES:
                path = [*steps, step]
                break
            if answer is Answer.LATER:
                waiting.append((finer, [*steps, step]))
    for watch in judge.watches:
        watch.accept({c.name: cut for c, cut in zip(columns, coarsest, strict=True)})
    if path is None:
        promise, reason = judge.waiting
        raise refusal.no_recoding_found(promise, reason, looked, all_of_them=not waiting)
    return path


def _steps_to_levels(
    table: Microdata, promises: Promises, aim: Aim, refused: Infeasible
) -> list[Specialization]:
    """Returns the steps to the best full-domain recoding; raises what was refused where that is too far."""
    if prod(c.taxonomy.height + 1 for c in table.keys) * max(1, table.distinct) > MOST_LATTICE_ROWS:
        raise refused
    levels = lattice(table, promises, aim).levels or {}
    steps = []
    for j, column in enumerate(table.keys):
        tree, node = column.taxonomy, np.unique(column.taxonomy.levels[levels[column.name]])
        above: list[NDArray[np.int32]] = []
        while len(node := np.unique(tree.parent[node[node != ROOT]])):
            above.append(node)
        opened = np.unique(np.concatenate(above)).tolist() if above else []
        steps += [Specialization(j, int(v)) for v in opened]
    to_ceilings = set(steps_to_ceilings(table))
    return [step for step in steps if step not in to_ceilings]


def _answer(table: Microdata, promises: Promises, judge: StepJudge, state: State) -> Answer:
    cuts = {c.name: cut for c, cut in zip(table.keys, state, strict=True)}
    recoding = Recoding.of_cuts(table, cuts)
    groups = judged_groups(table, recoding.class_of)
    classes = Classes.of(table, groups, sensitive=promises.sensitive)
    if not judge.lasting.holds_on(classes).all():
        return Answer.NEVER
    worst = Answer.YES if keep(classes, promises).all() else Answer.LATER
    for watch in judge.watches:
        answer, _ = watch.ask(cuts)
        if answer is Answer.NEVER:
            return answer
        worst = worst if answer is Answer.YES else answer
    return worst


# Cuts of one column, numbered as a search comes upon them, each with its cost.

Truth = NDArray[np.bool_]

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

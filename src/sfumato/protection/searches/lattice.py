"""Full-domain recoding: the best of all combinations of levels.

A node of the lattice gives every key column one level of its taxonomy. The search returns the node with the
least loss among those that keep the promises with no more than the allowed rows suppressed; of equally good
nodes the one with the fewest suppressed rows, then the one with the smallest levels, compared from the first
key column on. Scores that differ by less than `frontier.TIE_TOLERANCE` of their size are equally good.

Three things rule nodes out without a look at them: they cost at least more than a node already found; they
are finer than a node at which too many rows are in classes that break a promise, where that can only get
worse; they are more general than a node that nothing more general can beat (see `node_cost`).

All of this is counted: where the steps run out, or where a lattice has too many nodes to be held, the best so
far is returned with a bound (see `wide_lattice`), and it is the best there is if the two meet.

Cost: a look at a node groups the classes of a finer one, about 10 ns each while they fit the processor's
cache and 60 ns beyond. Memory: the distinct rows, and tables held in between (`rollup.MOST_HELD_ENTRIES`).
"""

from __future__ import annotations

from math import inf, prod

import numpy as np

from sfumato.core.errors import Infeasible
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promises, Truth
from sfumato.core.watch import Answer
from sfumato.protection.controls import permitted_levels, spared_rows
from sfumato.protection.searches import refusal
from sfumato.protection.searches.frontier import Frontier, Levels, levels_at, ties_up_to
from sfumato.protection.searches.node_cost import NodeCost, node_cost
from sfumato.protection.searches.node_judge import NodeJudge
from sfumato.protection.searches.search import Aim, Outcome
from sfumato.protection.searches.step_check import budget_of
from sfumato.protection.searches.wide_lattice import Walk, lower_bound
from sfumato.protection.suppression import recoded

MOST_NODES = 5_000_000
"""Larger lattices are not held: about 20 bytes are per node."""

MOST_GROUPED = 2_000_000_000
"""So many classes are grouped before the search ends with the best so far."""

MOST_TRIED = 5_000
"""So many nodes are tried for the nearest feasible change of an infeasible request."""

MOST_CLASSES_TRIED = 200_000_000
"""So many classes these nodes may have together; 50 nodes are tried in any case."""

Candidate = tuple[float, int, Levels]
"""What a node costs, its suppressed rows, its levels."""


def lattice(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the best full-domain recoding that keeps the promises; see the module for the rule."""
    cost, spared = node_cost(table, aim), spared_rows(table, aim)
    judge = NodeJudge(table, promises, budget_of(table, promises, aim), spared=spared)
    if prod(c.taxonomy.height + 1 for c in table.keys) > MOST_NODES:
        return _walked(judge, cost, aim, progress)
    permitted = permitted_levels(table, aim)
    frontier = Frontier(permitted.shape, cost, halfway=bool(judge.lasting.members), permitted=permitted)
    candidates, checked = _searched(judge, cost, frontier, progress)
    best = min((score for score, _, _ in candidates), default=inf)
    bound = frontier.least_open(best)
    if bound < inf and (found := Walk(judge, cost, aim).best(progress)) is not None:
        candidates.append((found.score, found.suppressed, found.levels))
        best, checked = min(best, found.score), checked + found.checked
    if not candidates:
        raise _infeasible(judge, permitted)
    _, levels = min((s, levels) for score, s, levels in candidates if score <= ties_up_to(best))
    return _outcome(judge, levels, aim, checked, bound=min(bound, best) if bound < inf else None)


def _searched(
    judge: NodeJudge, cost: NodeCost, frontier: Frontier, progress: Progress
) -> tuple[list[Candidate], int]:
    """Returns the allowed nodes that were met and how many were judged, until none or no step is left."""
    candidates: list[Candidate] = []
    best, checked, whole = inf, 0, frontier.left
    progress("lattice", 0, whole)
    while judge.rollup.work <= MOST_GROUPED and (levels := frontier.pick(best)) is not None:
        checked += 1
        node = judge.judge_node(levels)
        if node is None:
            frontier.refused(levels, finer_too=True)
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
    return candidates, checked


def _walked(judge: NodeJudge, cost: NodeCost, aim: Aim, progress: Progress) -> Outcome:
    """Returns the best that walks find in a lattice which is too large to be held, with a bound."""
    found = Walk(judge, cost, aim).best(progress)
    if found is None:
        top = tuple(c.taxonomy.ceiling for c in judge.table.keys)
        raise _refused_by_table(judge, top) or Infeasible(
            "the most general combination of levels does not keep "
            + " and ".join(str(p) for p in judge.promises),
            remedy="Allow more suppressed rows, or ask for less.",
        )
    bound = lower_bound(judge, cost)
    return _outcome(judge, found.levels, aim, found.checked, bound=-inf if bound is None else bound)


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


def _infeasible(judge: NodeJudge, permitted: Truth) -> Infeasible:
    """Returns the error where no node is allowed, with the nearest change that would allow one."""
    if refused := _refused_by_table(judge, tuple(size - 1 for size in permitted.shape)):
        return refused
    fewest, surely = _fewest(judge, permitted)
    table, asked = judge.table, " and ".join(str(p) for p in judge.promises)
    if fewest >= table.rows:
        which = "every" if surely else "any tried"
        return Infeasible(
            f"at {which} combination of levels {asked} leaves nothing to publish",
            remedy="Ask for less.",
        )
    if fewest <= judge.budget:
        return Infeasible(f"no combination of levels keeps {asked} together", remedy="Relax one of them.")
    n, now, need = table.rows + table.dropped, judge.budget + table.dropped, fewest + table.dropped
    return Infeasible(
        f"no combination of levels keeps {asked} with at most {now} of {n} rows suppressed",
        remedy=f"Allow {need} suppressed rows (suppress: {need}/{n}), or ask for less.",
    )


def _refused_by_table(judge: NodeJudge, top: Levels) -> Infeasible | None:
    """Returns the error of a promise about the whole table that the most general node breaks."""
    for promise, watch in zip(judge.promises.of_table, judge.watches, strict=True):
        answer, reason = watch.ask(judge.cuts(top))
        if answer is not Answer.YES:
            return refusal.by_table(promise, reason)
    return None


def _fewest(judge: NodeJudge, permitted: Truth) -> tuple[int, bool]:
    """Returns the fewest rows that a permitted node suppresses, and whether that is certain.

    Only the most general nodes are tried where trying all would take too long.
    """
    fewest, shape = judge.table.rows, permitted.shape
    tried = min(MOST_TRIED, max(50, MOST_CLASSES_TRIED // max(1, judge.table.distinct)))
    free = NodeJudge(judge.table, judge.promises, fewest - 1, rollup=judge.rollup)
    heights = np.zeros(shape, dtype=np.int64)
    for j, size in enumerate(shape):
        heights += np.arange(size).reshape([-1 if i == j else 1 for i in range(len(shape))])
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
        else:
            fewest = min(fewest, node.suppressed)
    return fewest, bool(closed.all())

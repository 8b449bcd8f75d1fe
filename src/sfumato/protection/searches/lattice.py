"""Full-domain recoding: the best of all combinations of levels.

A node of the lattice gives every key column one level of its taxonomy. The search returns the node with the
least loss among those that keep the promises with no more than the allowed rows suppressed; of equally good
nodes the one with the fewest suppressed rows, then the one with the smallest levels, compared from the first
key column on. Scores that differ by less than `frontier.TIE_TOLERANCE` of their size are equally good.

Three things rule nodes out without a look at them: they cost at least more than a node already found; they
are finer than a node at which too many rows are in classes that break a promise, where that can only get
worse; they are more general than a node that nothing more general can beat (see `node_cost`).

Cost: a look at a node groups the classes of a finer one, about 10 ns each while they fit the processor's
cache and 60 ns beyond. Memory: the distinct rows, and tables held in between (`rollup.MOST_HELD_ENTRIES`).
"""

from __future__ import annotations

from math import inf, prod

import numpy as np

from sfumato.core.classes import Classes
from sfumato.core.cut import Cut
from sfumato.core.errors import Infeasible, WrongCall
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promises, Truth
from sfumato.core.watch import Answer
from sfumato.protection.controls import permitted_levels, spared_rows, spares_all
from sfumato.protection.searches import refusal
from sfumato.protection.searches.frontier import Frontier, Levels, levels_at, ties_up_to
from sfumato.protection.searches.node_cost import JudgedNode, node_cost
from sfumato.protection.searches.rollup import RollUp
from sfumato.protection.searches.search import Aim, Outcome
from sfumato.protection.searches.step_check import budget_of
from sfumato.protection.suppression import keep, recoded

MOST_NODES = 5_000_000
"""Larger lattices are not searched: about 30 bytes are held per node."""

MOST_TRIED = 5_000
"""So many nodes are tried for the nearest feasible change of an infeasible request."""

MOST_CLASSES_TRIED = 200_000_000
"""So many classes these nodes may have together; 50 nodes are tried in any case."""


def lattice(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the best full-domain recoding that keeps the promises; see the module for the rule."""
    shape = tuple(c.taxonomy.height + 1 for c in table.keys)
    if prod(shape) > MOST_NODES:
        raise WrongCall(
            f"the lattice has {prod(shape)} nodes; at most {MOST_NODES} are searched",
            remedy="Search top-down, or give some taxonomies fewer levels.",
        )
    cost = node_cost(table, aim)
    permitted, spared = permitted_levels(table, aim), spared_rows(table, aim)
    judge = NodeJudge(table, promises, budget_of(table, promises, aim), spared=spared)
    frontier = Frontier(shape, cost, halfway=bool(judge.lasting.members), permitted=permitted)
    candidates: list[tuple[float, int, Levels]] = []
    best, checked = inf, 0
    progress("lattice", 0, prod(shape))
    while (levels := frontier.pick(best)) is not None:
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
            progress("lattice", prod(shape) - frontier.left, prod(shape))
    progress("lattice", prod(shape), prod(shape))
    if not candidates:
        raise _infeasible(judge, permitted)
    _, levels = min((s, levels) for score, s, levels in candidates if score <= ties_up_to(best))
    return _outcome(judge, levels, aim, checked)


class NodeJudge:
    """Judges nodes. `budget` rows may be suppressed, but none of the distinct rows that are `spared`.

    A promise is *lasting* if breaking it means breaking it at every finer node: a hereditary one, and a
    monotone one where nothing may be suppressed and rows are people, or where people's positions are judged.
    """

    def __init__(
        self,
        table: Microdata,
        promises: Promises,
        budget: int,
        *,
        rollup: RollUp | None = None,
        spared: Truth | None = None,
    ) -> None:
        self.table, self.promises, self.budget, self.spared = table, promises, budget, spared
        self.rollup = rollup or RollUp(table, promises.sensitive)
        summed = budget == 0 and (table.profiles or not table.has_person)
        self.lasting = Promises(
            tuple(p for p in promises.of_class if p.hereditary or (p.monotone and summed))
        )
        self.by_size = Promises(tuple(p for p in self.lasting.of_class if not p.sensitive))
        self.watches = [p.watch(table) for p in promises.of_table]

    def judge_node(self, levels: Levels) -> JudgedNode | None:
        """Judges the classes of a node; returns `None` if it and every finer one break the budget.

        A node that breaks it alone suppresses more rows than allowed; how many more is not worked out.
        """
        grouped = self.rollup.at(levels)
        classes = self.rollup.classes(grouped, sensitive=False)
        kept = self.by_size.holds_on(classes)
        if _rows(classes, ~kept) > self.budget:
            return None
        if len(self.by_size.members) < len(self.promises.of_class):
            classes = self.rollup.classes(grouped, sensitive=True)
            if self.lasting.sensitive and _rows(classes, ~self.lasting.holds_on(classes)) > self.budget:
                return None
            kept = keep(classes, self.promises, most=self.budget)
        left = self.rollup.rows_of(grouped, kept)
        return JudgedNode(
            levels,
            grouped.rows,
            left[left > 0],
            _rows(classes, ~kept),
            lambda: self.rollup.tally(grouped, ~kept),
            kept,
        )

    def ask(self, node: JudgedNode) -> Answer:
        """Returns what the table promises answer, and whether every row is published that has to be."""
        cuts = self.cuts(node.levels)
        answers = [watch.ask(cuts)[0] for watch in self.watches]
        if node.suppressed and not spares_all(recoded(self.table, cuts, self.promises), self.spared):
            lasts = all(p.hereditary for p in self.promises.of_class)
            answers.append(Answer.NEVER if lasts else Answer.LATER)
        for answer in (Answer.NEVER, Answer.LATER):
            if answer in answers:
                return answer
        return Answer.YES

    def cuts(self, levels: Levels) -> dict[str, Cut]:
        keys = self.table.keys
        return {c.name: Cut.level(c.taxonomy, i) for c, i in zip(keys, levels, strict=True)}


def _rows(classes: Classes, chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int:
    return int(classes.rows[chosen].sum())


def _outcome(judge: NodeJudge, levels: Levels, aim: Aim, checked: int) -> Outcome:
    """Returns the recoding of a node, grouped and judged afresh by the written definitions."""
    table, cuts = judge.table, judge.cuts(levels)
    recoding = recoded(table, cuts, judge.promises)
    named = {c.name: i for c, i in zip(table.keys, levels, strict=True)}
    return Outcome(
        recoding,
        loss=aim.loss_of(recoding, named),
        levels=named,
        optimal=True,
        checked=checked,
    )


def _infeasible(judge: NodeJudge, permitted: Truth) -> Infeasible:
    """Returns the error where no node is allowed, with the nearest change that would allow one."""
    top = tuple(size - 1 for size in permitted.shape)
    for promise, watch in zip(judge.promises.of_table, judge.watches, strict=True):
        answer, reason = watch.ask(judge.cuts(top))
        if answer is not Answer.YES:
            return refusal.by_table(promise, reason)
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

"""Full-domain recoding from the most general node on: branch and bound, with a bound where steps run out.

Rows that stand in classes with too few people are suppressed at a node and at every finer one, whatever else
is promised. So a node that loses too many rows this way rules out everything finer, and few columns have to
be split to know it. Nodes are met by the columns that they split, those of the last column first. When all
are done that split none but the last i columns, it is known what these cost at least; that bounds what they
add to nodes that split others as well ("Russian dolls", Verfaillie, Lemaître and Schiex 1996).

Where the steps run out, the columns that are not done begin anew as a block of their own. An allowed node is
allowed, as far as sizes go, with all columns outside of a block at their most general level; so what the
blocks cost at least adds up to a bound on all.

A node is left out only where it costs more than one that all promises allow, or where it loses too many
rows; every other node is judged. So what is found where all is done is the node that `lattice` names.

Cost: a look at a node is a look at its rows, about 1 ns each; most that lose too many are known to after
some of the rows. Memory: 4 bytes for every row and level of a column (`MOST_CODES`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from sfumato.core.microdata import Counts
from sfumato.core.progress import Progress
from sfumato.core.watch import Answer
from sfumato.kernels.lattice.splits import losses_of_splits
from sfumato.protection.searches.frontier import Levels, ties_up_to
from sfumato.protection.searches.node_cost import NodeCost
from sfumato.protection.searches.node_judge import NodeJudge
from sfumato.protection.searches.splits import Floors, LargeClasses, Lines, Rungs, Splits, floors_of

MOST_CODES = 32_000_000
"""So many codes are held: distinct rows times levels of all columns."""

AMOUNTS = 64
"""So many amounts of suppressed rows are told apart when it is said what a node costs at least."""

MOST_CELLS = 1 << 20
"""Classes are counted by two lines at once where these have no more codes together than this."""

ROUNDING = 1e-12
"""Sums that differ by less than this share of the most general node's may be equal."""

GROUPED_ENTRY = 16
"""A class that the judge groups takes as long as a look at so many rows."""

ROWS_PER_LOOK, ROWS_PER_JUDGEMENT = 20_000, 200_000
"""A look at some nodes, and a judgement of one, take as long as so many rows even where there are few."""

Candidate = tuple[float, int, Levels]
"""What a node costs, its suppressed rows, its levels."""

Opened = tuple[int, int]
"""A group of columns, and the end of the lines that may be split by."""


@dataclass
class _Node:
    """The classes of a node: those of `parts`, split by one more line if it is not negative."""

    parts: LargeClasses
    line: int = -1


class BranchAndBound:
    """Finds the best nodes of a lattice that is never held: `candidates`, all judged and allowed.

    `work` counts the rows that were looked at, `checked` the nodes.
    """

    def __init__(self, judge: NodeJudge, cost: NodeCost, rungs: Rungs) -> None:
        self.judge, self.cost = judge, cost
        self.splits = Splits.of(judge.table, rungs)
        self.candidates: list[Candidate] = []
        self.best = inf
        self.checked = 0
        self._looked, self._end = 0, 0
        self._least = judge.least_rows
        self._asks = any(not p.by_size for p in judge.lasting.of_class)
        self._step = judge.budget // AMOUNTS + 1
        amounts = np.array([*range(0, judge.budget + 1, self._step), judge.budget])
        *self._floors, most = floors_of(cost, self.splits, amounts)
        self._most_before = most.before
        self._slack = ROUNDING * most.before[-1]
        self._top = LargeClasses.most_general(judge.table, rungs, self._least)
        self._widest = int(self.splits.widths.max(initial=1))
        self._cells = np.zeros(max(self._widest, min(self._widest**2, MOST_CELLS)), np.int64)
        self._limit = self._least_met = inf
        self._ties = 0.0
        self._final: Levels | None = None
        self._rest = [0.0] * (len(rungs) + 1)
        self._finer: dict[Lines, bool] = {}

    @staticmethod
    def fits(judge: NodeJudge, cost: NodeCost, rungs: Rungs) -> bool:
        """Whether sums of columns bound the loss, nodes are ruled out, and there are not too many codes."""
        levels = sum(len(levels) for _, levels in rungs)
        return (
            cost.adds_up
            and cost.price >= 1
            and (judge.least_rows > 1 or bool(judge.lasting.members))
            and all(levels for _, levels in rungs)
            and 0 < judge.table.distinct * levels <= MOST_CODES
        )

    @property
    def work(self) -> int:
        return self._looked + GROUPED_ENTRY * self.judge.rollup.work

    def add(self, candidate: Candidate) -> None:
        """Takes an allowed node."""
        better = candidate[0] < self.best
        self.candidates.append(candidate)
        self.best = min(self.best, candidate[0])
        total = self.cost.sum_of(self.best)
        self._limit = self.cost.sum_of(ties_up_to(self.best)) + self._slack
        self._ties = 2 * (self._limit - total)
        if candidate[0] == self.best and not candidate[1]:
            self._final = candidate[2]
        elif better:
            self._final = None

    def guess(self, steps: int) -> None:
        """Judges the end of the steepest way down, and better ones with a column held back meanwhile."""
        self._end = self.work + steps
        if self._top.lost > self.judge.budget:
            return
        total, at = self._descend(())
        improved = True
        while improved:
            improved = False
            for line in at:
                less = tuple(other for other in at if other != line)
                found = self._descend(self._descend(less, held=self.splits.group[line])[1])
                if found[0] < total - self._slack:
                    (total, at), improved = found, True
                    break
        self._may_be_finer(at)

    def search(self, steps: int, steps_per_block: int, progress: Progress) -> float:
        """Returns what every allowed node costs at least; infinite if all that may be chosen were met.

        There are `steps` for all columns together; if these do not suffice, further ones for each block of
        columns that is left.
        """
        if self._top.lost > self.judge.budget:
            return inf
        stop = count = len(self.splits.rungs)
        total = -self._slack
        self._may_be_finer(())
        while stop:
            self._end = self.work + (steps if stop == count else steps_per_block)
            first = self._search_block(stop, progress)
            if first == 0 and stop == count and not self._over:
                return inf
            total += self._rest[first] - (self._most_before[count] - self._most_before[stop])
            stop = first
        return float(self.cost.least_cost(np.array([total]))[0])

    def _search_block(self, stop: int, progress: Progress) -> int:
        """Meets all nodes that split groups before `stop` alone; returns the first group that was done."""
        count, first = len(self.splits.rungs), self.splits.first
        top, floors = _Node(self._top), self._floors_at(self._top.lost)
        self._least_met = floors.before[count]
        self._rest[stop] = floors.before[count] - floors.before[stop]
        done: list[Opened] = []
        for g in range(stop - 1, -1, -1):
            progress("lattice", count - g - 1, count)
            lost = self._look(top, [(g, first[g + 1])], floors, -inf)
            still_open = [] if lost is None else self._branch(top, (), (g, first[g + 1]), lost, done)
            if self._over and g < stop - 1:
                return g + 1
            done += still_open
            self._rest[g] = min(self._limit, self._least_met) - self._most_before[g]
        progress("lattice", count, count)
        return 0

    def _visit(self, parts: LargeClasses, lines: Lines, lost: int, opened: list[Opened]) -> None:
        """Meets all nodes that split classes by the last of the lines, and further by groups that are open.

        The last group comes first. The classes themselves are split only where a node needs it.
        """
        node, floors = _Node(parts, lines[-1]), self._floors_at(lost)
        if int(self.splits.widths[node.line]) * self._widest > len(self._cells):
            self._split_node(node)
        total = floors.of_node(self.splits, lines)
        total += sum(floors.lines[end - 1] - floors.tops[g] for g, end in opened)
        losses = self._look(node, opened, floors, total)
        if losses is not None:
            later: list[Opened] = []
            for one in opened:
                later += self._branch(node, lines, one, losses, later)

    def _branch(
        self, node: _Node, lines: Lines, opened: Opened, lost: Counts, later: list[Opened]
    ) -> list[Opened]:
        """Meets all nodes that split a node by one group, and by later ones; returns how far it is open."""
        (g, end), first = opened, self.splits.first
        feasible = [line for line in range(first[g], end) if lost[line] >= 0]
        last = first[g]
        for line in reversed(feasible):
            gone = int(lost[line])
            finer, floors = (*lines, line), self._floors_at(gone)
            here = floors.of_node(self.splits, finer)
            least_later = max(
                self._rest[g + 1] - (floors.before[-1] - floors.before[g + 1]),
                sum(floors.lines[stop - 1] - floors.tops[other] for other, stop in later),
            )
            least = here + min(0.0, least_later)
            worth = least <= self._limit and not self._over
            if worth and least >= self._limit - self._ties:
                worth = not self._is_beaten((*finer, *(stop - 1 for _, stop in later)))
                self._least_met = min(self._least_met, least)
            if here <= self._limit:
                self._least_met = min(self._least_met, here)
            if worth and (self._asks or here <= self._limit) and not self._may_be_finer(finer):
                continue
            last = max(last, line + 1)
            if worth and later:
                self._split_node(node)
                self._visit(node.parts, finer, gone, list(later))
        return [(g, last)] if last > first[g] else []

    def _is_beaten(self, lines: Lines) -> bool:
        """Whether the best node is finer than this one and suppresses nothing, so that it wins a tie."""
        if self._final is None:
            return False
        levels = self.splits.levels(lines)
        return all(level >= at for level, at in zip(levels, self._final, strict=True))

    def _look(self, node: _Node, opened: list[Opened], floors: Floors, total: float) -> Counts | None:
        """Returns how many rows are lost by each split, -1 if too many; `None` if nothing is worth it."""
        return self._losses(node, [(g, self.splits.first[g], end) for g, end in opened], floors, total)

    def _losses(
        self, node: _Node, opened: list[tuple[int, int, int]], floors: Floors, total: float
    ) -> Counts | None:
        """Returns the same of groups with the first of the lines and their end."""
        parts, tried = node.parts, np.array(opened, np.int64).T.copy()
        lost, looked, lines = losses_of_splits(
            parts.rows,
            parts.counts,
            parts.bounds,
            self.splits.codes,
            self.splits.widths,
            node.line,
            tried,
            self._least,
            self.judge.budget - parts.lost,
            floors.all,
            self._limit - total,
            self._cells,
        )
        self._looked += looked + ROWS_PER_LOOK
        self.checked += abs(lines)
        lost[lost >= 0] += parts.lost
        return None if lines < 0 else lost

    def _split_node(self, node: _Node) -> None:
        if node.line >= 0:
            node.parts, node.line = self._split(node.parts, node.line), -1

    def _split(self, parts: LargeClasses, line: int) -> LargeClasses:
        self._looked += 2 * len(parts.rows)
        return parts.split(self.splits.codes[line], int(self.splits.widths[line]), self._least)

    def _descend(self, lines: Lines, held: int | None = None) -> tuple[float, Lines]:
        """Returns the end of the steepest way down, as far as sizes go, and what it costs at least.

        Every step takes one group one level down, but not the group that is `held`.
        """
        parts, first = self._top, self.splits.first
        for line in lines:
            parts = self._split(parts, line)
        total = self._floors_at(parts.lost).of_node(self.splits, lines)
        while not self._over:
            at = {self.splits.group[line]: line for line in lines}
            below = {g: at.get(g, first[g] - 1) + 1 for g in range(len(first) - 1) if g != held}
            steps = []
            for g, line in below.items():
                if line < first[g + 1]:
                    lost = self._losses(_Node(parts), [(g, line, line + 1)], self._floors_at(0), -inf)
                    moved = (*(other for other in lines if other != at.get(g)), line)
                    if lost is not None and lost[line] >= 0:
                        floors = self._floors_at(int(lost[line]))
                        steps.append((floors.of_node(self.splits, moved), moved))
            best = min(steps, default=(inf, lines))
            if best[0] >= total:
                break
            total, lines = best
            parts = self._split(parts, lines[-1])
        return total, lines

    def _may_be_finer(self, lines: Lines) -> bool:
        """Judges a node by all promises; returns whether something finer may be allowed."""
        if lines not in self._finer:
            self._finer[lines] = self._judged(self.splits.levels(lines)) is not Answer.NEVER
        return self._finer[lines]

    def _judged(self, levels: Levels) -> Answer:
        self._looked += ROWS_PER_JUDGEMENT
        node = self.judge.judge_node(levels)
        if node is None:
            return Answer.NEVER
        if node.suppressed > self.judge.budget:
            return Answer.LATER
        score = self.cost.score(node)
        if score > ties_up_to(self.best):
            return Answer.LATER
        answer = self.judge.ask(node)
        if answer is Answer.YES:
            self.add((score, node.suppressed, levels))
        return answer

    def _floors_at(self, lost: int) -> Floors:
        return self._floors[lost // self._step]

    @property
    def _over(self) -> bool:
        return self.work > self._end

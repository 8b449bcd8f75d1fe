"""Full-domain recoding where the lattice has too many nodes to hold: walks to a good node.

A walk goes from the most general node to finer ones, always to the best that keeps the promises, and again
from where it ended with a column raised, until nothing gets better or the steps run out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.lattice import losses_of_splits, split_classes
from sfumato.models.contract import Answer
from sfumato.search.contract import Aim
from sfumato.search.frontier import Levels, NodeJudge, ties_up_to
from sfumato.search.loss import Reals
from sfumato.search.node_cost import NodeCost
from sfumato.system.progress import Progress
from sfumato.table.microdata import Counts, Microdata

MOST_WALKED = 300_000_000
"""So many classes are grouped on walks."""

Place = tuple[int, ...]
"""Which of its rungs each group of columns is at."""


Candidate = tuple[float, int, Levels]
"""What a node costs, its suppressed rows, its levels."""


def rungs_of(table: Microdata, aim: Aim) -> list[tuple[tuple[int, ...], list[Levels]]]:
    """Returns the groups of columns that move as one, and the levels that each may be at, ascending.

    Every node that the controls permit is one choice of levels for every group, and the other way round.
    """
    group_of = {name: tuple(group) for group in aim.together for name in group}
    groups: dict[object, list[int]] = {}
    for j, column in enumerate(table.keys):
        groups.setdefault(group_of.get(column.name, j), []).append(j)
    return [(tuple(members), _rungs(table, members)) for members in groups.values()]


def _rungs(table: Microdata, members: Sequence[int]) -> list[Levels]:
    trees = [table.keys[j].taxonomy for j in members]
    first, last = max(tree.start for tree in trees), max(tree.start + tree.height for tree in trees)
    rungs = {
        tuple(min(level - tree.start, tree.height) for tree in trees): None
        for level in range(first, max(first, last) + 1)
    }
    return [rung for rung in rungs if all(i <= tree.ceiling for i, tree in zip(rung, trees, strict=True))]


class Walk:
    """Walks down a lattice that is never held: nodes are judged as they are met, each once."""

    def __init__(self, judge: NodeJudge, cost: NodeCost, aim: Aim) -> None:
        self.judge, self.cost = judge, cost
        self.groups = rungs_of(judge.table, aim)
        self._known: dict[Place, tuple[float, int] | None] = {}
        self._end = judge.rollup.work + MOST_WALKED

    @property
    def checked(self) -> int:
        return len(self._known)

    def best(self, progress: Progress) -> Candidate | None:
        """Returns the best node that is found; `None` where the most general one is not allowed."""
        top = tuple(len(rungs) - 1 for _, rungs in self.groups)
        if min(top, default=0) < 0 or self._judged(top) is None:
            return None
        at = self._descend(top)
        progress("lattice", 1, 2)
        while (better := next(self._improved(at), None)) is not None:
            at = better
        progress("lattice", 2, 2)
        return (*(self._judged(at) or (inf, 0)), self.levels(at))

    def levels(self, at: Place) -> Levels:
        """Returns the levels of all columns at a place."""
        levels = [0] * len(self.judge.table.keys)
        for rung, (members, rungs) in zip(at, self.groups, strict=True):
            for j, level in zip(members, rungs[rung], strict=True):
                levels[j] = level
        return tuple(levels)

    def _improved(self, at: Place) -> Iterator[Place]:
        """Yields better places: a group is raised and held there while the others go down again."""
        for column, rung in enumerate(at):
            if self._over:
                return
            if rung + 1 < len(self.groups[column][1]):
                raised = (*at[:column], rung + 1, *at[column + 1 :])
                if self._judged(raised) is not None:
                    place = self._descend(self._descend(raised, column), None)
                    if self._rank(place) < self._rank(at):
                        yield place

    def _descend(self, at: Place, fixed: int | None = None) -> Place:
        """Returns the end of the steepest way down; `held` stays where it is."""
        while not self._over:
            open_ = [(g, rung) for g, rung in enumerate(at) if rung > 0 and g != fixed]
            finer = [(*at[:g], rung - 1, *at[g + 1 :]) for g, rung in open_]
            best = min(finer, key=self._rank, default=at)
            if self._rank(best) >= self._rank(at):
                break
            at = best
        return at

    def _rank(self, at: Place) -> tuple[float, int, Place]:
        """Orders places: what is not allowed comes last."""
        return (*(self._judged(at) or (inf, 0)), at)

    @property
    def _over(self) -> bool:
        return self.judge.rollup.work > self._end

    def _judged(self, at: Place) -> tuple[float, int] | None:
        """Returns score and suppressed rows of a node, `None` if it is not allowed."""
        if at not in self._known:
            node = self.judge.judge_node(self.levels(at))
            allowed = node is not None and node.suppressed <= self.judge.budget
            self._known[at] = None
            if node is not None and allowed and self.judge.ask(node) is Answer.YES:
                self._known[at] = (self.cost.score(node), node.suppressed)
        return self._known[at]


# Columns of a lattice as splits of classes: each level but the most general one is a line of codes.

Rungs = Sequence[tuple[tuple[int, ...], list[Levels]]]
"""Groups of columns that move as one, and the levels that each may be at, ascending."""

Lines = tuple[int, ...]
"""The lines by which columns are split; a column without one is at its most general level."""


@dataclass(frozen=True, eq=False)
class Splits:
    """Every level of every group of columns, but the most general one, as a line of codes.

    Lines `first[g]` up to `first[g + 1]` are those of group g, the most general first; `group[line]` is g,
    and `rung[line]` says which of its levels that is. A line has codes below its `widths`.
    """

    rungs: Rungs
    first: tuple[int, ...]
    group: tuple[int, ...]
    rung: tuple[int, ...]
    codes: NDArray[np.int32]
    widths: Counts

    @classmethod
    def of(cls, table: Microdata, rungs: Rungs) -> Self:
        first, group, rung = [0], list[int](), list[int]()
        for g, (_, levels) in enumerate(rungs):
            below = range(len(levels) - 2, -1, -1)
            rung += below
            group += [g] * len(below)
            first.append(len(rung))
        codes = np.empty((len(rung), table.distinct), np.int32)
        for line, (g, r) in enumerate(zip(group, rung, strict=True)):
            codes[line] = codes_at(table, rungs[g][0], rungs[g][1][r])
        widths = codes.max(axis=1, initial=0).astype(np.int64) + 1
        return cls(rungs, tuple(first), tuple(group), tuple(rung), codes, widths)

    def levels(self, lines: Lines) -> Levels:
        """Returns the levels of all columns of the table."""
        chosen = [len(levels) - 1 for _, levels in self.rungs]
        for line in lines:
            chosen[self.group[line]] = self.rung[line]
        level_of = {
            j: level
            for (members, levels), r in zip(self.rungs, chosen, strict=True)
            for j, level in zip(members, levels[r], strict=True)
        }
        return tuple(level_of[j] for j in range(len(level_of)))


def codes_at(table: Microdata, members: Sequence[int], levels: Levels) -> NDArray[np.int32]:
    """Returns the number of every distinct row among the values of some columns at these levels."""
    numbers = np.zeros(table.distinct, np.int64)
    for j, level in zip(members, levels, strict=True):
        nodes, place = np.unique(table.keys[j].taxonomy.levels[level], return_inverse=True)
        numbers = numbers * len(nodes) + place[table.codes(table.keys[j].name)]
        if len(members) > 1:
            numbers = np.unique(numbers, return_inverse=True)[1]
    return numbers.astype(np.int32)


@dataclass(frozen=True, eq=False)
class LargeClasses:
    """The classes of a node that are large enough, the smallest first; `lost` rows are in the others."""

    rows: NDArray[np.int32]
    counts: Counts
    bounds: Counts
    lost: int

    @classmethod
    def most_general(cls, table: Microdata, rungs: Rungs, least: int) -> Self:
        """Returns the classes of the most general node."""
        rows, counts = np.arange(table.distinct, dtype=np.int32), table.counts.astype(np.int64)
        parts = cls(rows, counts, np.array([[0], [len(rows)]], np.int64), 0)
        for members, levels in rungs:
            codes = codes_at(table, members, levels[-1])
            parts = parts.split(codes, int(codes.max(initial=0)) + 1, least)
        return parts

    def split(self, codes: NDArray[np.int32], width: int, least: int) -> Self:
        """Returns these classes split by a line of codes; parts of fewer than `least` rows are lost."""
        rows, counts, bounds = split_classes(self.rows, self.counts, self.bounds, codes, width, least)
        return type(self)(rows, counts, bounds, self.lost + int(self.counts.sum()) - int(counts.sum()))


class Floors:
    """What groups of columns cost at least where some rows are suppressed: by line, and without a split.

    `before[g]` adds up what all groups before g cost without a split.
    """

    def __init__(self, lines: Reals, tops: Reals) -> None:
        self.all = np.concatenate([lines, tops])
        self.lines: list[float] = lines.tolist()
        self.tops: list[float] = tops.tolist()
        self.before: list[float] = [0.0, *np.cumsum(tops).tolist()]

    def of_node(self, splits: Splits, lines: Lines) -> float:
        """Returns what a node costs at least."""
        return self.before[-1] + sum(self.lines[i] - self.tops[splits.group[i]] for i in lines)


def floors_of(cost: NodeCost, splits: Splits, suppressed: Counts) -> list[Floors]:
    """Returns the floors for each of these numbers of suppressed rows."""

    def of_rung(g: int, r: int) -> Reals:
        members, levels = splits.rungs[g]
        each = [cost.floors(j, level, suppressed) for j, level in zip(members, levels[r], strict=True)]
        total: Reals = np.sum(each, axis=0)
        return total

    lines = [of_rung(g, r) for g, r in zip(splits.group, splits.rung, strict=True)]
    tops = [of_rung(g, len(levels) - 1) for g, (_, levels) in enumerate(splits.rungs)]
    return [
        Floors(np.array([amounts[i] for amounts in lines]), np.array([amounts[i] for amounts in tops]))
        for i in range(len(suppressed))
    ]


# Full-domain recoding from the most general node on: branch and bound, with a bound where steps run out.
#
# Rows that stand in classes with too few people are suppressed at a node and at every finer one, whatever
# else is promised. So a node that loses too many rows this way rules out everything finer, and few columns
# have to be split to know it. Nodes are met by the columns that they split, those of the last column first.
# When all are done that split none but the last i columns, it is known what these cost at least; that bounds
# what they add to nodes that split others as well ("Russian dolls", Verfaillie, Lemaître and Schiex 1996).
#
# Where the steps run out, the columns that are not done begin anew as a block of their own. An allowed node
# is allowed, as far as sizes go, with all columns outside of a block at their most general level; so what the
# blocks cost at least adds up to a bound on all.
#
# A node is left out only where it costs more than one that all promises allow, or where it loses too many
# rows; every other node is judged. So what is found where all is done is the node that `lattice` names.
#
# Cost: a look at a node is a look at its rows, about 1 ns each; most that lose too many are known to after
# some of the rows. Memory: 4 bytes for every row and level of a column (`MOST_CODES`).

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
                less = tuple(kept_line for kept_line in at if kept_line != line)
                descent = self._descend(self._descend(less, fixed=self.splits.group[line])[1])
                if descent[0] < total - self._slack:
                    (total, at), improved = descent, True
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
            for group in opened:
                later += self._branch(node, lines, group, losses, later)

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
                sum(floors.lines[stop - 1] - floors.tops[group] for group, stop in later),
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

    def _descend(self, lines: Lines, fixed: int | None = None) -> tuple[float, Lines]:
        """Returns the end of the steepest way down, as far as sizes go, and what it costs at least.

        Every step takes one group one level down, but not the group that is `held`.
        """
        parts, first = self._top, self.splits.first
        for line in lines:
            parts = self._split(parts, line)
        total = self._floors_at(parts.lost).of_node(self.splits, lines)
        while not self._over:
            at = {self.splits.group[line]: line for line in lines}
            below = {g: at.get(g, first[g] - 1) + 1 for g in range(len(first) - 1) if g != fixed}
            steps = []
            for g, line in below.items():
                if line < first[g + 1]:
                    lost = self._losses(_Node(parts), [(g, line, line + 1)], self._floors_at(0), -inf)
                    moved = (*(kept_line for kept_line in lines if kept_line != at.get(g)), line)
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

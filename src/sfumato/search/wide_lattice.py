"""Full-domain recoding where the lattice has too many nodes to hold: walks to a good node.

A walk goes from the most general node to finer ones, always to the best that keeps the promises, and again
from where it ended with a column raised, until nothing gets better or the steps run out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress
from sfumato.core.watch import Answer
from sfumato.protection.searches.frontier import Levels
from sfumato.protection.searches.node_cost import NodeCost
from sfumato.protection.searches.node_judge import NodeJudge
from sfumato.protection.searches.search import Aim

MOST_WALKED = 300_000_000
"""So many classes are grouped on walks."""

Place = tuple[int, ...]
"""Which of its rungs each group of columns is at."""


@dataclass(frozen=True)
class Found:
    """The best node of a walk: what it costs, its suppressed rows, its levels; and how many were judged."""

    score: float
    suppressed: int
    levels: Levels
    checked: int


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

    def best(self, progress: Progress) -> Found | None:
        """Returns the best node that is found; `None` where the most general one is not allowed."""
        top = tuple(len(rungs) - 1 for _, rungs in self.groups)
        if min(top, default=0) < 0 or self._judged(top) is None:
            return None
        at = self._descend(top)
        progress("lattice", 1, 2)
        while (better := next(self._improved(at), None)) is not None:
            at = better
        progress("lattice", 2, 2)
        score, suppressed = self._judged(at) or (inf, 0)
        return Found(score, suppressed, self.levels(at), self.checked)

    def levels(self, at: Place) -> Levels:
        """Returns the levels of all columns at a place."""
        levels = [0] * len(self.judge.table.keys)
        for rung, (members, rungs) in zip(at, self.groups, strict=True):
            for j, level in zip(members, rungs[rung], strict=True):
                levels[j] = level
        return tuple(levels)

    def _improved(self, at: Place) -> Iterator[Place]:
        """Yields better places: a group is raised and held there while the others go down again."""
        for held, rung in enumerate(at):
            if self._over:
                return
            if rung + 1 < len(self.groups[held][1]):
                raised = (*at[:held], rung + 1, *at[held + 1 :])
                if self._judged(raised) is not None:
                    found = self._descend(self._descend(raised, held), None)
                    if self._rank(found) < self._rank(at):
                        yield found

    def _descend(self, at: Place, held: int | None = None) -> Place:
        """Returns the end of the steepest way down; `held` stays where it is."""
        while not self._over:
            finer = [(*at[:g], rung - 1, *at[g + 1 :]) for g, rung in enumerate(at) if rung > 0 and g != held]
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
            if node is None or not allowed or self.judge.ask(node) is not Answer.YES:
                self._known[at] = None
            else:
                self._known[at] = (self.cost.score(node), node.suppressed)
        return self._known[at]

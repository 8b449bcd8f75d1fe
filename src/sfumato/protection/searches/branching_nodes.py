"""Branching nodes of the trees that a top-down search goes through: how many of them are settled."""

from __future__ import annotations

import numpy as np

from sfumato.core.watch import Answer
from sfumato.protection.searches.refinement import Refinement, Specialization


class BranchingNodes:
    """Counts the nodes that have children and rows below them: each is split, or never reached.

    A step that is made settles its node. One that is refused for good settles all below its node as well.
    """

    def __init__(self, classes: Refinement) -> None:
        self._before = []
        for tree, rows in zip(classes.trees, classes.rows_below, strict=True):
            inner = (tree.end > np.arange(len(tree.end)) + 1) & (rows > 0)
            self._before.append(np.concatenate(([0], np.cumsum(inner))))
        self._end = [tree.end for tree in classes.trees]
        self.total = sum(int(before[-1]) for before in self._before)

    def settled_by(self, step: Specialization, answer: Answer) -> int:
        """Returns how many nodes are settled by an answer: none where the step may be tried again."""
        before = self._before[step.column]
        if answer is Answer.LATER:
            return 0
        last = step.node + 1 if answer is Answer.YES else int(self._end[step.column][step.node])
        return int(before[last] - before[step.node])

"""What is counted of every pattern: classes, rows to suppress, and what these rows hold."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.microdata import Counts, Microdata
from sfumato.core.progress import Progress
from sfumato.core.promise import Answer, Promises, Truth
from sfumato.kernels.lattice import walk as walking
from sfumato.protection.loss import Reals, shuffled_bits
from sfumato.protection.searches.frontier import Levels, levels_at
from sfumato.protection.searches.lattice import NodeJudge
from sfumato.protection.searches.rollup import NodeClasses, RollUp

STEP = 64
"""Progress is told after so many patterns that are looked at one by one."""


@dataclass(frozen=True, eq=False)
class Figures:
    """One line per pattern. Only what suppression does to a pattern depends on promises.

    `k` is the size of the smallest class (people), `squares` adds up the squares of all `classes` (rows).
    `published` classes are left after suppression, the `smallest` of so many people, with the squares
    `published_squares`; `gone` rows are not. Of these, `covered[:, j]` adds up the leaves below their nodes
    in key column j, and `bits[:, j]` is the entropy of these nodes, times the rows.
    """

    counts: NDArray[np.int64]
    bits: Reals

    @classmethod
    def empty(cls, count: int, keys: int) -> Figures:
        return cls(np.zeros((count, walking.COVERED + keys), np.int64), np.zeros((count, keys)))

    @property
    def k(self) -> Counts:
        return self.counts[:, walking.SMALLEST]

    @property
    def classes(self) -> Counts:
        return self.counts[:, walking.GROUPS]

    @property
    def squares(self) -> Counts:
        return self.counts[:, walking.SQUARES]

    @property
    def published(self) -> Counts:
        return self.counts[:, walking.KEPT]

    @property
    def smallest(self) -> Counts:
        return self.counts[:, walking.KEPT_SMALLEST]

    @property
    def published_squares(self) -> Counts:
        return self.counts[:, walking.KEPT_SQUARES]

    @property
    def gone(self) -> Counts:
        return self.counts[:, walking.GONE]

    @property
    def covered(self) -> NDArray[np.int64]:
        return self.counts[:, walking.COVERED :]

    def put(self, at: int, rollup: RollUp, grouped: NodeClasses, classes: Classes, kept: Truth) -> None:
        """Write down a pattern that was looked at by itself."""
        rows, left = classes.rows, classes.rows[kept]
        least = [int(some.min()) if len(some) else 0 for some in (classes.people, classes.people[kept])]
        gone = rollup.tally(grouped, ~kept)
        leaves = [c.taxonomy.leaf_count.astype(np.int64) for c in rollup.table.keys]
        self.counts[at] = [
            least[0],
            len(classes),
            rows @ rows,
            len(left),
            least[1],
            left @ left,
            rows.sum() - left.sum(),
            *(some @ below for some, below in zip(gone, leaves, strict=True)),
        ]
        self.bits[at] = [shuffled_bits(some) for some in gone]


def count_sizes(table: Microdata, promises: Promises, progress: Progress) -> Figures:
    """Every pattern, judged by the promises about class sizes alone."""
    of_size = Promises(tuple(p for p in promises.of_class if not p.sensitive))
    rollup = RollUp(table, ())
    if table.has_person or rollup.fields.packing.words > 1 or not table.keys:
        return _one_by_one(rollup, of_size, progress)
    return _in_one_walk(rollup, of_size, progress)


def _in_one_walk(rollup: RollUp, of_size: Promises, progress: Progress) -> Figures:
    """Rows are people, and a key is one word: one compiled walk for the levels of the first two columns."""
    fields, first, rest = rollup.fields, rollup.order[:2], rollup.order[2:]
    shape = tuple(len(starts) for starts in fields.offset)
    count, keys = prod(shape), len(shape)
    figures = Figures.empty(count, keys)
    levels = np.full((keys, max(shape)), -1, np.int64)
    for j, starts in enumerate(fields.offset):
        levels[j, : len(starts)] = starts
    trees = [c.taxonomy for c in fields.keys]
    begin = np.cumsum([0] + [len(tree.labels) for tree in trees])
    stride = np.array([prod(shape[j + 1 :]) for j in range(keys)], np.int64)
    _, shift, mask = fields.where(range(keys))
    place = np.stack((shift, mask, stride, begin[:-1]), axis=1)
    scratch = np.zeros((2, begin[-1]), np.int64)
    scratch[0] = np.concatenate([tree.leaf_count for tree in trees])
    keeps, order = _kept_sizes(of_size, rollup.table.rows), np.array(rest, np.int64)
    done = 0
    for start in product(*(range(shape[j]) for j in first)):
        at = dict(zip(first, start, strict=True))
        base = tuple(at.get(j, 0) for j in range(keys))
        grouped, node = rollup.at(base), int(stride @ base)
        entries, lift = grouped.keys.reshape(-1), fields.lift
        results = scratch, figures.counts, figures.bits
        done += walking.walk(0, node, entries, grouped.rows, order, place, levels, lift, keeps, *results)
        progress("patterns", done, count)
    return figures


def _kept_sizes(of_size: Promises, rows: int) -> Truth:
    """For every size that a class may have, whether it keeps the promises about sizes."""
    sizes = np.arange(1, rows + 1)
    return np.concatenate(([False], of_size.holds_on(Classes(sizes, sizes))))


def _one_by_one(rollup: RollUp, of_size: Promises, progress: Progress) -> Figures:
    """Where people have several rows, or a key takes several words: pattern by pattern."""
    shape = tuple(len(starts) for starts in rollup.fields.offset)
    figures = Figures.empty(prod(shape), len(shape))
    for at in range(prod(shape)):
        grouped = rollup.at(levels_at(at, shape))
        classes = rollup.classes(grouped, sensitive=False)
        figures.put(at, rollup, grouped, classes, of_size.holds_on(classes))
        if at % STEP == 0:
            progress("patterns", at, prod(shape))
    return figures


def judge_further(
    table: Microdata, promises: Promises, budget: int, figures: Figures, progress: Progress
) -> Truth:
    """Which patterns keep every promise. Where rows go for other promises than sizes, figures are corrected.

    Only patterns that keep the promises about sizes are looked at, the most general first: what breaks a
    lasting promise there rules out everything finer.
    """
    shape = tuple(c.taxonomy.height + 1 for c in table.keys)
    allowed = figures.gone <= budget
    if not (promises.sensitive or promises.of_table):
        return allowed
    judge = NodeJudge(table, promises, budget)
    closed = ~allowed.reshape(shape)
    heights = np.indices(shape).sum(axis=0).ravel() if shape else np.zeros(1, np.int64)
    order = np.flatnonzero(allowed)[np.argsort(-heights[allowed], kind="stable")]
    for done, at in enumerate(order.tolist()):
        levels = levels_at(at, shape)
        if done % STEP == 0:
            progress("promises", done, len(order))
        if closed[levels]:
            allowed[at] = False
            continue
        allowed[at], finer_too = _keeps_all(judge, levels, at, figures)
        if finer_too:
            closed[tuple(slice(0, level + 1) for level in levels)] = True
    return allowed


def _keeps_all(judge: NodeJudge, levels: Levels, at: int, figures: Figures) -> tuple[bool, bool]:
    """Whether a pattern keeps every promise; if not, whether nothing finer can."""
    node = judge.judge_node(levels)
    if node is None:
        return False, True
    if node.suppressed > judge.budget:
        return False, False
    answer = judge.ask(levels)
    if answer is Answer.YES and node.suppressed > figures.gone[at]:
        grouped = judge.rollup.at(levels)
        classes = judge.rollup.classes(grouped, sensitive=False)
        figures.put(at, judge.rollup, grouped, classes, node.kept)
    return answer is Answer.YES, answer is Answer.NEVER

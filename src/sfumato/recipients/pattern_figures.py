"""Figures of every pattern: classes, rows to suppress, and what these rows hold."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import lattice as walking
from sfumato.models.contract import Answer, Promises, Truth
from sfumato.search.frontier import Levels, NodeClasses, NodeJudge, RollUp, levels_at
from sfumato.search.loss import Reals, shuffled_bits
from sfumato.system.progress import Progress
from sfumato.table.classes import Classes
from sfumato.table.microdata import Counts, Microdata

PROGRESS_EVERY = 64
"""Progress is reported after so many patterns that are judged one by one."""


@dataclass(frozen=True, eq=False)
class PatternFigures:
    """Counts of every pattern, one line each; only what suppression does depends on promises.

    `k` is the size of the smallest class (people), `squares` adds up the squares of all `classes` (rows).
    `published` classes are left after suppression, the `smallest` of so many people, with the squares
    `published_squares`; `suppressed` rows are not. Of these, `covered[:, j]` adds up the leaves below their
    nodes in key column j, and `bits[:, j]` is the entropy of these nodes, times the rows.
    """

    counts: NDArray[np.int64]
    bits: Reals

    @classmethod
    def empty(cls, count: int, keys: int) -> PatternFigures:
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
    def suppressed(self) -> Counts:
        return self.counts[:, walking.GONE]

    @property
    def covered(self) -> NDArray[np.int64]:
        return self.counts[:, walking.COVERED :]

    def record(
        self, at: int, rollup: RollUp, grouped: NodeClasses, classes: Classes, published: Truth
    ) -> None:
        """Records a pattern that was judged by itself; `published` tells which of its classes are."""
        rows = grouped.rows
        left = rows[published & (rows > 0)]
        least = [
            int(counts.min()) if len(counts) else 0 for counts in (classes.people, classes.people[published])
        ]
        suppressed = rollup.tally(grouped, ~published)
        leaves = [c.taxonomy.leaf_count.astype(np.int64) for c in rollup.table.keys]
        self.counts[at] = [
            least[0],
            len(rows),
            rows @ rows,
            len(left),
            least[1],
            left @ left,
            rows.sum() - left.sum(),
            *(counts @ below for counts, below in zip(suppressed, leaves, strict=True)),
        ]
        self.bits[at] = [shuffled_bits(counts) for counts in suppressed]


def count_sizes(table: Microdata, promises: Promises, progress: Progress) -> PatternFigures:
    """Returns the figures of every pattern, judged by the promises about class sizes alone."""
    of_size = Promises(tuple(p for p in promises.of_class if not p.sensitive))
    rollup = RollUp(table, ())
    if table.has_person or rollup.fields.packing.words > 1 or not table.keys:
        return _one_by_one(rollup, of_size, progress)
    return _in_one_walk(rollup, of_size, progress)


def _in_one_walk(rollup: RollUp, of_size: Promises, progress: Progress) -> PatternFigures:
    """Counts by compiled walks, where rows are people and a key is one word."""
    fields, first, later = rollup.fields, rollup.order[:2], rollup.order[2:]
    shape = tuple(len(starts) for starts in fields.offset)
    count, keys = prod(shape), len(shape)
    figures = PatternFigures.empty(count, keys)
    levels = np.full((keys, max(shape)), -1, np.int64)
    for j, starts in enumerate(fields.offset):
        levels[j, : len(starts)] = starts
    begin = np.cumsum([0, *fields.packing.sizes])
    stride = np.array([prod(shape[j + 1 :]) for j in range(keys)], np.int64)
    _, shift, mask = fields.where(range(keys))
    place = np.stack((shift, mask, stride, begin[:-1]), axis=1)
    scratch = np.zeros((2, begin[-1]), np.int64)
    scratch[0] = np.concatenate(
        [c.taxonomy.leaf_count[nodes] for c, nodes in zip(fields.keys, fields.present, strict=True)]
    )
    keeps, order = _kept_sizes(of_size, rollup.table.rows), np.array(later, np.int64)
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
    """Returns, for every size that a class may have, whether it keeps the promises about sizes."""
    sizes = np.arange(1, rows + 1)
    return np.concatenate(([False], of_size.holds_on(Classes(sizes, sizes))))


def _one_by_one(rollup: RollUp, of_size: Promises, progress: Progress) -> PatternFigures:
    """Counts pattern by pattern, where people have several rows or a key takes several words."""
    shape = tuple(len(starts) for starts in rollup.fields.offset)
    figures = PatternFigures.empty(prod(shape), len(shape))
    for at in range(prod(shape)):
        grouped = rollup.at(levels_at(at, shape))
        classes = rollup.classes(grouped, sensitive=False)
        figures.record(at, rollup, grouped, classes, of_size.holds_on(classes))
        if at % PROGRESS_EVERY == 0:
            progress("patterns", at, prod(shape))
    return figures


def judge_further(
    table: Microdata, promises: Promises, budget: int, figures: PatternFigures, progress: Progress
) -> Truth:
    """Flags the patterns that keep every promise; corrects figures where other promises suppress rows.

    Only patterns that keep the promises about sizes are judged, the most general first: what breaks a
    lasting promise there rules out everything finer.
    """
    shape = tuple(c.taxonomy.height + 1 for c in table.keys)
    allowed = figures.suppressed <= budget
    if not (promises.sensitive or promises.of_table):
        return allowed
    judge = NodeJudge(table, promises, budget)
    closed = ~allowed.reshape(shape)
    heights = np.indices(shape).sum(axis=0).ravel() if shape else np.zeros(1, np.int64)
    order = np.flatnonzero(allowed)[np.argsort(-heights[allowed], kind="stable")]
    for done, at in enumerate(order.tolist()):
        levels = levels_at(at, shape)
        if done % PROGRESS_EVERY == 0:
            progress("promises", done, len(order))
        if closed[levels]:
            allowed[at] = False
            continue
        allowed[at], finer_too = _keeps_all(judge, levels, at, figures)
        if finer_too:
            closed[tuple(slice(0, level + 1) for level in levels)] = True
    return allowed


def _keeps_all(judge: NodeJudge, levels: Levels, at: int, figures: PatternFigures) -> tuple[bool, bool]:
    """Returns whether a pattern keeps every promise; if not, whether nothing finer can."""
    node = judge.judge_node(levels)
    if node is None:
        return False, True
    if node.suppressed > judge.budget:
        return False, False
    answer = judge.ask(node)
    if answer is Answer.YES and node.suppressed > figures.suppressed[at]:
        grouped = judge.rollup.at(levels)
        classes = judge.rollup.classes(grouped, sensitive=False)
        figures.record(at, judge.rollup, grouped, classes, node.kept)
    return answer is Answer.YES, answer is Answer.NEVER

"""The parts into which classes would split if one column were a step finer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.positions import multisets, positions
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.core.taxonomy import Label, Nodes, Taxonomy
from sfumato.protection.column_shape import published_nodes
from sfumato.protection.loss import leaves_of

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Parts:
    """All steps of one column, taken at once, each apart from the others.

    `part_of` is the part of every distinct row (SUPPRESSED: none, or not touched by any step), `step_of` the
    step that makes a part, `narrower` how many leaves fewer a row of it would publish; `labels` says of each
    step what is published today, `domain` counts the leaves of the column; `nodes` are what steps replace,
    where they replace nodes.
    """

    part_of: Ints
    step_of: Ints
    narrower: Ints
    labels: Sequence[Label]
    domain: int
    nodes: Sequence[int] = ()


def one_step_below(taxonomy: Taxonomy, node_of: Nodes) -> Nodes:
    """Returns for every leaf the child of its node that covers it, or the leaf where the node is one."""
    below = taxonomy.leaves.copy()
    while np.any(deep := taxonomy.depth[below] > taxonomy.depth[node_of] + 1):
        below = np.where(deep, taxonomy.parent[below], below)
    return below


def children_of_nodes(recoding: Recoding, j: int) -> Parts:
    """Returns the parts of steps that replace a node of the cut by its children, in every class with it."""
    column, table = recoding.table.keys[j], recoding.table
    taxonomy = column.taxonomy
    assert recoding.cuts is not None  # noqa: S101  # the caller asks this of global recodings only
    node_of = recoding.cuts[column.name].node_of
    nodes = np.array([v for v in published_nodes(recoding, j) if taxonomy.end[v] > v + 1], dtype=np.int64)
    number = np.full(len(taxonomy.labels), -1, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    codes = table.codes(column.name)
    touched = (recoding.class_of != SUPPRESSED) & (number[node_of[codes]] >= 0)
    below = one_step_below(taxonomy, node_of)[codes[touched]]
    part_of, example = _number(recoding, touched, below, len(taxonomy.labels))
    above, below = node_of[codes[touched]][example], below[example]
    narrower = (taxonomy.leaf_count[above] - taxonomy.leaf_count[below]).astype(np.int64)
    labels = [taxonomy.labels[v] for v in nodes.tolist()]
    return Parts(part_of, number[above], narrower, labels, leaves_of(taxonomy), nodes.tolist())


def halves_of_classes(recoding: Recoding, j: int) -> Parts:
    """Returns the parts of steps that split a class: at its median in an ordered column, else by branches.

    A range is split between nodes of the column's range level.
    """
    column, table = recoding.table.keys[j], recoding.table
    taxonomy = column.taxonomy
    kept = recoding.class_of != SUPPRESSED
    owner, codes = recoding.class_of[kept], table.codes(column.name)[kept]
    beyond = codes + 1
    if taxonomy.ordered:
        codes, beyond = (ends[codes] for ends in taxonomy.range_cells())
    lowest, highest = _extremes(owner, codes, recoding.count, len(taxonomy.leaves))
    if taxonomy.ordered:
        middle = _medians(owner, codes, table.counts[kept], recoding.count)
        middle = np.where(middle == highest, middle - 1, middle)
        side = (codes > middle[owner]).astype(np.int64)
    else:
        side = one_step_below_cover(taxonomy, lowest, highest, owner, codes)
    splits = np.flatnonzero(lowest < highest)
    number = np.full(recoding.count, -1, dtype=np.int64)
    number[splits] = np.arange(len(splits))
    touched = kept.copy()
    touched[kept] = number[owner] >= 0
    inside = number[owner] >= 0
    part_of, example = _number(recoding, touched, side[inside], len(taxonomy.labels) + 1)
    whose, low, high = owner[inside][example], recoding.low[:, j], recoding.high[:, j]
    first, _ = _extremes(part_of[touched], codes[inside], len(example), len(taxonomy.leaves))
    _, end = _extremes(part_of[touched], beyond[inside], len(example), len(taxonomy.leaves))
    narrower = ((high - low)[whose] - (end - first)).astype(np.int64)
    labels = _IntervalLabels(taxonomy, low[splits], high[splits])
    return Parts(part_of, number[whose], narrower, labels, leaves_of(taxonomy))


def one_step_below_cover(
    taxonomy: Taxonomy, lowest: Ints, highest: Ints, owner: NDArray[np.integer], codes: NDArray[np.integer]
) -> Ints:
    """Returns for every row the child, below the lowest node over its class, that covers its value."""
    cover = taxonomy.leaves[lowest]
    while np.any(short := taxonomy.high[cover] <= highest):
        cover = np.where(short, taxonomy.parent[cover], cover)
    limit = taxonomy.depth[cover][owner] + 1
    child = taxonomy.leaves[codes]
    while np.any(deep := taxonomy.depth[child] > limit):
        child = np.where(deep, taxonomy.parent[child], child)
    found: Ints = child.astype(np.int64)
    return found


def judged_parts(
    recoding: Recoding, parts: Parts, sensitive: Sequence[str]
) -> Iterator[tuple[Classes, Ints]]:
    """Yields what promises judge of all steps, and the step of each class.

    Where positions of people are judged, step by step: somebody's rows may be touched by several.
    """
    table, person = recoding.table, recoding.table.person
    if not table.profiles or person is None:
        yield Classes.of(table, parts.part_of, sensitive=sensitive), parts.step_of
        return
    before = positions(table, recoding.class_of)
    whole = Classes.of(table, before, sensitive=sensitive)
    overall = {name: h.overall for name, h in whole.histograms.items()}
    of_person = np.full(int(person.max(initial=-1)) + 1, -1, np.int64)
    of_person[person] = before
    for step in range(len(parts.labels)):
        inside = np.append(parts.step_of == step, False)[parts.part_of]
        who, pattern = multisets(person[inside], parts.part_of[inside], table.counts[inside])
        pairs = of_person[who] * (int(pattern.max(initial=0)) + 1) + pattern
        group = np.full(len(of_person), SUPPRESSED, np.int64)
        group[who] = np.unique(pairs, return_inverse=True)[1].ravel()
        classes = Classes.of(table, group[person], sensitive=sensitive, overall=overall)
        yield classes, np.full(len(classes), step, np.int64)


def _number(
    recoding: Recoding, touched: NDArray[np.bool_], below: NDArray[np.integer], size: int
) -> tuple[Ints, Ints]:
    """Numbers the pairs of class and `below`; returns the part of every row, and one touched row per part."""
    pairs = recoding.class_of[touched].astype(np.int64) * size + below
    _, example, part = np.unique(pairs, return_index=True, return_inverse=True)
    part_of = np.full(len(touched), SUPPRESSED, dtype=np.int64)
    part_of[touched] = part.ravel()
    return part_of, example.astype(np.int64)


def _extremes(
    owner: NDArray[np.integer], codes: NDArray[np.integer], count: int, top: int
) -> tuple[Ints, Ints]:
    lowest, highest = np.full(count, max(0, top - 1), dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.minimum.at(lowest, owner, codes)
    np.maximum.at(highest, owner, codes)
    return lowest, highest


def _medians(owner: NDArray[np.integer], codes: NDArray[np.integer], counts: Ints, classes: int) -> Ints:
    """Returns, per class, the least code that at least half of its rows do not exceed."""
    order = np.lexsort((codes, owner))
    sorted_owner, sorted_counts = owner[order], counts[order]
    totals = np.zeros(classes, dtype=np.int64)
    np.add.at(totals, owner, counts)
    before = np.cumsum(totals) - totals
    running = np.cumsum(sorted_counts) - before[sorted_owner]
    at_half = np.flatnonzero(2 * running >= totals[sorted_owner])
    found, first = np.unique(sorted_owner[at_half], return_index=True)
    medians = np.zeros(classes, dtype=np.int64)
    medians[found] = codes[order][at_half[first]]
    return medians


@dataclass(frozen=True, eq=False)
class _IntervalLabels(Sequence[Label]):
    """Labels of intervals, made when asked for."""

    taxonomy: Taxonomy
    low: NDArray[np.integer]
    high: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.low)

    @overload
    def __getitem__(self, index: int) -> Label: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Label]: ...
    def __getitem__(self, index: int | slice) -> Label | Sequence[Label]:
        if isinstance(index, slice):
            return _IntervalLabels(self.taxonomy, self.low[index], self.high[index])
        return self.taxonomy.describe(int(self.low[index]), int(self.high[index]))

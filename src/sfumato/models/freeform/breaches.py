"""Breaches of a published table: whether there is one, the worst attack on every value, all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.models.freeform.inference import (
    Inference,
    Int32s,
    Int64s,
    LevelMarks,
    NodeTable,
    breachable_targets,
    confidence_thresholds,
    level_marks,
)
from sfumato.table.taxonomy import ROOT

Chosen = NDArray[np.bool_]
Rows = NDArray[np.intp]


def breach(table: NodeTable, threat: Fraction, *, extended: bool = True) -> Inference | None:
    """Some breach, if there is any."""
    for j in range(len(table.guards)):
        wanted = table.targets(j, extended=extended)
        aims = breachable_targets(table.guards[j], wanted, threat, sparse=extended)
        inference = _some_breach(table, j, aims, threat, _levels(table, j))
        if inference is not None:
            return inference
    return None


def breach_of_step(table: NodeTable, threat: Fraction, column: int, node: int) -> Inference | None:
    """Some breach that a step created: `node` of `column` became its children, the rest is as before.

    Supports of values that were there already are what they were, so a new breach observes or infers a
    child. Observed, it is among the rows below the node; the other columns may be taken to be critical.
    """
    guard = table.guards[column]
    children = np.zeros(len(guard.seen), dtype=bool)
    children[guard.taxonomy.children(node)] = True
    children &= table.observable(column) | table.targets(column)
    aims = breachable_targets(guard, children & ~guard.seen, threat, sparse=False)
    if node != ROOT and not guard.seen[node]:
        aims = aims[[guard.sensitivity[a] > guard.sensitivity[node] for a in aims.tolist()]]
    inference = _some_breach(table, column, aims, threat, _levels(table, column))
    if inference is not None:
        return inference
    observed = children & guard.seen
    rows = np.flatnonzero(observed[table.nodes[column]])
    if not len(rows):
        return None
    first = (column, observed)
    for j in range(len(table.guards)):
        if j == column:
            continue
        aims = breachable_targets(table.guards[j], table.targets(j), threat, sparse=True)
        levels = [first, *(level for level in _levels(table, j) if level[0] != column)]
        inference = _some_breach(table, j, aims, threat, levels, rows=rows, whole=False)
        if inference is not None:
            return inference
    return None


def worst(table: NodeTable, *, extended: bool = True) -> list[Inference]:
    """The attack with the largest threat on every target; among equals the one most people match.

    Targets that are not sensitive at all are left out. The order is that of columns and nodes.
    """
    inferences = []
    for j, guard in enumerate(table.guards):
        wanted = table.targets(j, extended=extended)
        aims = np.array([v for v in np.flatnonzero(wanted) if guard.sensitivity[v]], dtype=np.int32)
        if len(aims):
            inferences += _search_slices(table, j, aims, Fraction(0), _levels(table, j), mode=1)
    return inferences


def breaches(table: NodeTable, threat: Fraction, *, extended: bool = True, limit: int) -> Iterator[Inference]:
    """Every breach, the most general first: by columns used, then by the depth of their nodes.

    Of two breaches, one of which observes and infers more general values than the other, it comes first.
    Those that use the same columns are found together, `limit` at most; further ones are left out.
    """
    columns = len(table.guards)
    aims = [
        breachable_targets(guard, table.targets(j, extended=extended), threat, sparse=False)
        for j, guard in enumerate(table.guards)
    ]
    for used in range(columns):
        for j in range(columns):
            others = [i for i in range(columns) if i != j and len(table.guards[i].seen) > 1]
            for chosen in combinations(others, used) if len(aims[j]) else ():
                levels = [(i, _without_root(table.observable(i))) for i in chosen]
                inferences = _search_slices(
                    table, j, aims[j], threat, levels, mode=2, capacity=limit, whole=not chosen
                )
                yield from sorted(inferences, key=lambda inference: (_depth(table, inference), inference))


def _depth(table: NodeTable, inference: Inference) -> int:
    depths = [int(g.taxonomy.depth[v]) for g, v in zip(table.guards, inference.given, strict=True)]
    return sum(depths) + int(table.guards[inference.target].taxonomy.depth[inference.node])


def _without_root(chosen: Chosen) -> Chosen:
    chosen = chosen.copy()
    chosen[ROOT] = False
    return chosen


def _levels(table: NodeTable, target: int) -> list[tuple[int, Chosen]]:
    """The other columns with their critical values; those that multiply rows come last."""
    levels = []
    for i in range(len(table.guards)):
        chosen = table.critical(i)
        if i != target and chosen[ROOT + 1 :].any():
            doubles = int(chosen[table.occurring(i)].sum() < chosen.sum())
            levels.append(((doubles, -int(chosen.sum()), i), (i, chosen)))
    return [level for _, level in sorted(levels, key=lambda pair: pair[0])]


def _some_breach(
    table: NodeTable,
    target: int,
    aims: Int32s,
    threat: Fraction,
    levels: Sequence[tuple[int, Chosen]],
    *,
    rows: Rows | None = None,
    whole: bool = True,
) -> Inference | None:
    if not len(aims):
        return None
    inferences = _search_slices(table, target, aims, threat, levels, mode=0, rows=rows, whole=whole)
    return inferences[0] if inferences else None


def _search_slices(
    table: NodeTable,
    target: int,
    aims: Int32s,
    threat: Fraction,
    levels: Sequence[tuple[int, Chosen]],
    *,
    mode: int,
    rows: Rows | None = None,
    whole: bool = True,
    capacity: int = 1,
) -> list[Inference]:
    """The inferences that the compiled search finds, in the mode that is asked for."""
    from sfumato.models.freeform import kernels  # noqa: PLC0415  # compiles

    counts = table.counts if rows is None else table.counts[rows]
    if not len(counts):
        return []
    marks = [level_marks(table, i, chosen, rows) for i, chosen in levels]
    chosen = np.zeros(len(table.guards[target].seen), dtype=bool)
    chosen[aims] = True
    bins = level_marks(table, target, chosen, rows)
    above, below = confidence_thresholds(table.guards[target], aims.tolist(), threat, int(table.counts.sum()))
    flat = _flattened(marks)
    room = min(capacity, 1 << 16)
    while True:
        count, _, held_bin, hits, total, mark = kernels.visit_slices(
            _stacked(marks, len(counts)), counts, *flat, bins.code, bins.start, bins.chain,
            above, below, mode, whole, room,
        )  # fmt: skip
        if mode != kernels.EVERY or count <= room or room >= capacity:
            break
        room = min(capacity, room * 8)
    node_of = np.concatenate([m.node for m in marks]) if marks else np.zeros(0, np.int32)
    inferences = []
    for i in np.flatnonzero(held_bin >= 0).tolist():
        node = int(aims[held_bin[i]])
        observed = [ROOT] * len(table.guards)
        for (column, _), m in zip(levels, mark[i].tolist(), strict=True):
            observed[column] = ROOT if m < 0 else int(node_of[m])
        s = table.guards[target].sensitivity[node]
        inferences.append(Inference(target, node, tuple(observed), int(hits[i]), int(total[i]), s))
    return inferences


def _stacked(marks: Sequence[LevelMarks], rows: int) -> Int32s:
    return np.stack([m.code for m in marks]) if marks else np.zeros((0, rows), np.int32)


def _flattened(marks: Sequence[LevelMarks]) -> tuple[Int64s, Int64s, Int32s, Int32s, Int32s]:
    """All levels in one set of arrays: codes and marks are numbered on from level to level."""
    level_start, chain_start = [0], []
    codes, links, numbers = 0, 0, 0
    chain, low, high = [], [], []
    for m in marks:
        width = len(m.start) - 1
        # One entry more per level: the end of its last code's chain.
        chain_start.append(m.start + links)
        chain.append(m.chain + numbers)
        low.append(m.low)
        high.append(m.high)
        codes, links, numbers = codes + width + 1, links + len(m.chain), numbers + len(m.node)
        level_start.append(codes)
    if not marks:
        nothing = np.zeros(0, np.int32)
        return np.zeros(1, np.int64), np.zeros(1, np.int64), nothing, nothing, nothing
    return (
        np.array(level_start, np.int64),
        np.concatenate(chain_start).astype(np.int64),
        np.concatenate(chain).astype(np.int32),
        np.concatenate(low).astype(np.int32),
        np.concatenate(high).astype(np.int32),
    )

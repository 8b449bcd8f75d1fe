"""Bare rows: where further rows of people stand, who show their values once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.search.blind_groups import classes_of_keys, group_boxes, publishes_ranges
from sfumato.search.contract import Aim
from sfumato.system.errors import Infeasible
from sfumato.system.progress import Progress, silent
from sfumato.table.microdata import Codes, Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import Label

Numbers = NDArray[np.int64]

PARTS_OF_A_COLUMN = 64
"""So many parts of a column tell which boxes are near a row."""
WHOLE_COST = 1 << 40
"""What a box costs that covers every value of a column."""


def boxes_for_bare_rows(
    table: Microdata, boxes: Sequence[Sequence[Label]], owner: Numbers, own: Numbers
) -> Numbers:
    """Returns the box of other people that covers each row's quasi-identifiers at the least loss, or -1.

    `table` has one row for each, told apart by its person numbers; `boxes` are the texts that classes show,
    one tuple per class, and `owner` whose they are: a row is not placed among its `own`. What is chosen
    depends on boxes and quasi-identifiers alone, never on values.
    """
    from sfumato.kernels.covers import narrowest_cover  # noqa: PLC0415  # compiled when first needed

    count, keys = len(boxes), table.keys
    if not count or not table.rows or table.person is None:
        return np.full(table.rows, -1, np.int64)
    low, high = np.zeros((count, len(keys)), np.int32), np.zeros((count, len(keys)), np.int32)
    cost = np.zeros(count, np.int64)
    for j, column in enumerate(keys):
        tree = column.taxonomy
        spans = {label: tree.span(label) or (0, 0) for label in {box[j] for box in boxes}}
        ends = np.array([spans[box[j]] for box in boxes], np.int32)
        low[:, j], high[:, j] = ends[:, 0], ends[:, 1]
        cost += (high[:, j] - low[:, j]).astype(np.int64) * (WHOLE_COST // max(1, len(tree.leaves)))
    codes = np.ascontiguousarray(np.stack([table.codes(column.name) for column in keys], axis=1), np.int32)
    codes = codes[np.argsort(table.person)]
    chosen = np.full(table.rows, -1, np.int64)
    for rows, near in _neighbours(codes, low, high, [len(column.taxonomy.leaves) for column in keys]):
        found = narrowest_cover(codes[rows], low[near], high[near], cost[near], own[rows], owner[near])
        chosen[rows[found >= 0]] = near[found[found >= 0]]
    return chosen


def _neighbours(
    codes: Codes, low: Codes, high: Codes, leaves: Sequence[int]
) -> Iterator[tuple[Numbers, Numbers]]:
    """Yields rows, each once, and the boxes that may cover them, in order: those near by in two columns.

    The columns are those of which a box holds least.
    """
    parts = np.minimum(np.maximum(leaves, 1), PARTS_OF_A_COLUMN)
    scale = np.maximum(leaves, 1)
    columns = np.argsort(((high - low) / scale).mean(axis=0), kind="stable")[:2]
    row, first, last = (
        (ranks[:, columns].astype(np.int64) * parts[columns] // scale[columns])
        for ranks in (codes, low, high - 1)
    )
    for rows, boxes in _beside(row[:, 0], first[:, 0], last[:, 0]):
        if len(columns) == 1:
            yield rows, boxes
            continue
        for some, near in _beside(row[rows, 1], first[boxes, 1], last[boxes, 1]):
            yield rows[some], boxes[near]


def _beside(parts: Numbers, first: Numbers, last: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Yields the rows in each part of a column, and the boxes that reach into it."""
    order = np.argsort(parts, kind="stable")
    starts = np.flatnonzero(np.diff(parts[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        part = parts[rows[0]]
        yield rows, np.flatnonzero((first <= part) & (part <= last))


def classes_of_bare_rows(
    table: Microdata, rows: Numbers, person: Numbers, people: int, aim: Aim, *, progress: Progress = silent
) -> Recoding | None:
    """Returns classes of bare rows of at least so many people, one row each; `None` where there are too few.

    The rows stand in the order of their person numbers in `table`, and `person` says whose they are. Classes
    are made from quasi-identifiers alone. Further rows of a person are left out.
    """
    first = np.zeros(table.rows, dtype=bool)
    first[rows[np.unique(person, return_index=True)[1]]] = True
    numbers = table.person
    if numbers is None or int(first.sum()) < people:
        return None
    chosen = first[numbers]
    codes = [table.codes(column.name)[chosen] for column in table.keys]
    alone = Microdata.of_codes(table.keys, codes, person=numbers[chosen])
    try:
        place, outcome = classes_of_keys(alone, people, aim, progress)
    except Infeasible:
        return None
    class_of: Codes = outcome.recoding.class_of[place]
    low, high = group_boxes(alone, class_of, outcome.recoding.count, ranges=publishes_ranges(aim))
    return Recoding(alone, class_of, low, high)

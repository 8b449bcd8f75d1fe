"""Changes of a table: what was in it and what is published, in counts alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.cut import Cut
from sfumato.core.microdata import Counts, Microdata
from sfumato.core.recoding import SUPPRESSED, Recoding, classes_under
from sfumato.protection.boxes import boxes_of
from sfumato.protection.column_shape import ColumnShape, shape_of


@dataclass(frozen=True)
class RowsByClass:
    """How rows fall into classes: the rows, the classes, the smallest class, the rows that stand alone."""

    rows: int
    classes: int
    smallest: int
    alone: int

    @classmethod
    def of(cls, sizes: Counts) -> RowsByClass:
        smallest = int(sizes.min()) if len(sizes) else 0
        return cls(int(sizes.sum()), len(sizes), smallest, int((sizes == 1).sum()))


@dataclass(frozen=True)
class ColumnChange:
    """One key column before and after.

    `rare` counts values that fewer rows hold than a class must have; `fewest` are the rows of the group that
    the fewest rows publish, and `hidden` the rows that publish nothing but the root of the tree.
    """

    shape: ColumnShape
    rare: int
    fewest: int
    hidden: int


@dataclass(frozen=True)
class TableChange:
    """A table before and after, in counts: no value, and no row."""

    before: RowsByClass
    after: RowsByClass
    suppressed: int
    columns: tuple[ColumnChange, ...]

    @classmethod
    def of(cls, recoding: Recoding, *, least: int, levels: dict[str, int] | None = None) -> TableChange:
        """Returns what a recoding changes, where a class must have at least so many rows."""
        table, published = recoding.table, boxes_of(recoding)[1]
        here = published != SUPPRESSED
        columns = tuple(
            _column_change(recoding, j, least, None if levels is None else levels.get(c.name))
            for j, c in enumerate(table.keys)
        )
        return cls(
            rows_before(table),
            RowsByClass.of(_sums(published[here], table.counts[here])),
            recoding.suppressed,
            columns,
        )


def rows_before(table: Microdata) -> RowsByClass:
    """Returns how the rows fall into classes while nothing is generalized."""
    class_of, _ = classes_under(table, {c.name: Cut.level(c.taxonomy, 0) for c in table.keys})
    return RowsByClass.of(_sums(class_of, table.counts))


def _column_change(recoding: Recoding, j: int, least: int, level: int | None) -> ColumnChange:
    table, column = recoding.table, recoding.table.keys[j]
    held = _sums(table.codes(column.name), table.counts)
    low, high = recoding.low[:, j], recoding.high[:, j]
    spans, group = np.unique((low.astype(np.int64) << 32) | high, return_inverse=True)
    rows = np.zeros(len(spans), np.int64)
    np.add.at(rows, group.ravel(), recoding.rows)
    shape = shape_of(recoding, j, level)
    root = (low == 0) & (high == len(column.taxonomy.leaves))
    hidden = int(recoding.rows[root].sum()) if shape.values > 1 else 0
    return ColumnChange(shape, int((held < least).sum()), int(rows.min()) if len(rows) else 0, hidden)


def _sums(ids: NDArray[np.integer], counts: Counts) -> Counts:
    """Returns the rows of every number that occurs."""
    sums = np.zeros(int(ids.max(initial=-1)) + 1, np.int64)
    np.add.at(sums, ids, counts)
    return sums[sums > 0]

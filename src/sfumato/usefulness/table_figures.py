"""Figures of a whole table: class sizes, discernibility, what generalized cells cost, and what is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.usefulness.paired_column import PairedColumn
from sfumato.usefulness.paired_tables import PairedTables


@dataclass(frozen=True)
class TableFigures:
    """What the safe table keeps as a whole; n rows before, s of them suppressed, m key columns, D_j leaves.

    `class_size` is C_avg, published rows per class and per k (LeFevre et al. 2006). `discernibility` is DM,
    the sum of squared class sizes and s·n (Bayardo and Agrawal 2005). `ncp` is the mean penalty of a key cell
    (Xu et al. 2006): leaves it stands for / D_j, nothing for a single value; of a numeric column the width of
    its numbers / that of all; 1 for a suppressed row. `granularity` is that of ARX: 1 less the mean over key
    columns of (mean share - 1/D_j) / (1 - 1/D_j), the share of a cell being leaves / D_j, that of a
    suppressed row 1. `cells_lost` counts key cells that tell nothing (any value, the same as everybody's, a
    suppressed row, a column that is not there).
    """

    rows: int
    published: int
    suppressed: int
    keys: int
    classes: int
    k: int
    class_size: float
    discernibility: int
    ncp: float
    granularity: float
    cells: int
    cells_lost: int
    columns_lost: tuple[str, ...]

    @property
    def share_lost(self) -> float:
        """The share of the key cells that tell nothing."""
        return self.cells_lost / self.cells if self.cells else 0.0


def table_figures(tables: PairedTables) -> TableFigures:
    """Returns the figures of a whole table."""
    sizes, n, s, keys = tables.class_rows, tables.rows, tables.suppressed, tables.keys
    lost = sum(column.lost_rows + s for column in keys) + n * len(tables.gone)
    penalties = [column_penalty(column, s) for column in keys] + [1.0] * len(tables.gone)
    kept = [column_granularity(column, s) for column in keys] + [0.0] * len(tables.gone)
    per_class = tables.safe.rows / len(sizes) if len(sizes) else 0.0
    return TableFigures(
        rows=n,
        published=tables.safe.rows,
        suppressed=s,
        keys=len(keys) + len(tables.gone),
        classes=len(sizes),
        k=tables.k,
        class_size=per_class / max(1, tables.k),
        discernibility=int(sizes @ sizes) + s * n,
        ncp=float(np.mean(penalties)) if penalties else 0.0,
        granularity=float(np.mean(kept)) if kept else 1.0,
        cells=n * (len(keys) + len(tables.gone)),
        cells_lost=lost,
        columns_lost=(*(c.name for c in keys if c.is_lost), *tables.gone),
    )


def column_granularity(column: PairedColumn, suppressed: int) -> float:
    """Returns 1 where every row has a single leaf, 0 where none tells anything; see `TableFigures`."""
    n = int(column.safe_rows.sum()) + suppressed
    if not n:
        return 1.0
    if column.leaves <= 1:
        return 1.0 - suppressed / n
    covered = int(column.safe_rows @ (column.high - column.low)) + suppressed * column.leaves
    return 1.0 - (covered - n) / (n * (column.leaves - 1))


def column_penalty(column: PairedColumn, suppressed: int) -> float:
    """Returns the mean penalty of a cell of this column (NCP); see `TableFigures`."""
    n = int(column.safe_rows.sum()) + suppressed
    if not n:
        return 0.0
    width = column.high - column.low
    share = np.where(width > 1, width / max(1, column.leaves), 0.0)
    if column.ordered and column.numbers is not None:
        numbers = column.numbers[1]
        extent = float(np.nanmax(numbers) - np.nanmin(numbers)) if np.isfinite(numbers).any() else 0.0
        if extent > 0:
            filled = _filled(numbers)
            share = np.clip((filled[column.high - 1] - filled[column.low]) / extent, 0.0, 1.0)
            share[width == column.leaves] = 1.0
    return float(column.safe_rows @ share + suppressed) / n


def _filled(numbers: np.typing.NDArray[np.float64]) -> np.typing.NDArray[np.float64]:
    """Returns the numbers, a missing one replaced by the last before it: leaves stand in ascending order."""
    known = np.isfinite(numbers)
    last = np.maximum.accumulate(np.where(known, np.arange(len(numbers)), -1))
    return np.asarray(np.where(last >= 0, numbers[np.maximum(last, 0)], numbers[known][0]))

"""Lost cells: how much of the key columns a recoding tells nothing of any more."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.core.recoding import Recoding


@dataclass(frozen=True)
class LostCells:
    """Which key columns are lost for everybody, and the share of all key cells that are lost.

    A cell is lost where its row is suppressed, where it becomes its taxonomy's root, and where the whole
    column becomes one group.
    """

    columns: tuple[str, ...]
    share: Fraction

    @classmethod
    def of(cls, recoding: Recoding) -> LostCells:
        table = recoding.table
        published = recoding.class_of >= 0
        rows = np.bincount(
            recoding.class_of[published], weights=table.counts[published], minlength=recoding.count
        ).astype(np.int64)
        total = int(rows.sum()) + recoding.suppressed
        columns, cells = [], 0
        for j, column in enumerate(table.keys):
            low, high = recoding.low[:, j], recoding.high[:, j]
            root = (low == 0) & (high == len(column.taxonomy.leaves))
            values = len(table.held_codes(column.name))
            one_group = (
                values > 1 and len(rows) > 0 and bool((low == low[0]).all() and (high == high[0]).all())
            )
            lost = int(rows.sum()) if one_group else int(rows[root].sum()) if values > 1 else 0
            if values > 1 and lost == int(rows.sum()):
                columns.append(column.name)
            cells += lost + recoding.suppressed
        return cls(tuple(columns), Fraction(cells, max(1, total * len(table.keys))))

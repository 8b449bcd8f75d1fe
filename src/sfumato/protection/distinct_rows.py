"""Distinct rows of a matrix of whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Codes

MOST_NUMBERS = 1 << 62


def distinct_rows(rows: Codes) -> tuple[Codes, NDArray[np.int64]]:
    """Returns every row once, in order, and where each row is among them.

    Rows that fit a whole number of 64 bits are sorted as such, which is many times as fast.
    """
    count, columns = rows.shape
    if not count or not columns:
        few, place = np.unique(rows, axis=0, return_inverse=True)
        return few, place.ravel().astype(np.int64)
    low = rows.min(axis=0).astype(np.int64)
    widths = [int(width) for width in rows.max(axis=0).astype(np.int64) - low + 1]
    packed, space = np.zeros(count, np.int64), 1
    for j, width in enumerate(widths):
        space *= width
        if space > MOST_NUMBERS:
            packed = np.unique(packed, return_inverse=True)[1].ravel()
            space = int(packed.max()) * width + width
        packed = packed * width + (rows[:, j] - low[j])
    _, first, place = np.unique(packed, return_index=True, return_inverse=True)
    return rows[first], place.ravel().astype(np.int64)

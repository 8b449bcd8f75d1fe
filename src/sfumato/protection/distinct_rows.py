"""Distinct rows of a matrix of whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Codes
from sfumato.protection.row_order import packed_rows


def distinct_rows(rows: Codes) -> tuple[Codes, NDArray[np.int64]]:
    """Returns every row once, in order, and where each row is among them."""
    _, first, place = np.unique(packed_rows(rows), return_index=True, return_inverse=True)
    return rows[first], place.ravel().astype(np.int64)

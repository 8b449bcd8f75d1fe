"""Which box covers a row at the least loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

NO_BOX = -1


@njit()
def narrowest_cover(
    codes: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    cost: NDArray[np.int64],
    own: NDArray[np.int64],
    owner: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Returns for every row the first of the boxes of least cost that cover it and are not its own.

    `codes` has a row per row and a column per key, `low` and `high` one per box; a box belongs to `owner`,
    and a row is covered by no box of its `own` owner.
    """
    found = np.full(len(codes), NO_BOX, np.int64)
    for i in range(len(codes)):
        best = np.iinfo(np.int64).max
        for c in range(len(low)):
            if cost[c] >= best or owner[c] == own[i]:
                continue
            inside = True
            for j in range(codes.shape[1]):
                code = codes[i, j]
                if code < low[c, j] or code >= high[c, j]:
                    inside = False
                    break
            if inside:
                best = cost[c]
                found[i] = c
    return found

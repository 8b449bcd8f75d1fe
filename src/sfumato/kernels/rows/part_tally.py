"""What parts of a split hold, counted in one pass over the rows of the split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@njit(cache=True)
def tally_parts(
    order: Ints, first: int, part: Ints, parts: int, held: Longs, codes: int
) -> tuple[Longs, Ints, Longs]:
    """How often each code occurs in each part, as compressed rows, codes ascending.

    Row `order[first + i]` is in part `part[i]`; `held` has the weight of a row above its low 32 bits and its
    code below, so that it is looked up once. Every pair of a part and a code has a cell meanwhile, which
    suits parts that are few beside their rows.
    """
    cells = np.zeros(parts * codes, np.int64)
    for i in range(len(part)):
        one = held[order[first + i]]
        cells[np.int64(part[i]) * codes + (one & 0xFFFFFFFF)] += one >> 32
    used = 0
    for cell in range(len(cells)):
        used += cells[cell] > 0
    begin = np.zeros(parts + 1, np.int64)
    value, count = np.empty(used, np.int32), np.empty(used, np.int64)
    used = 0
    for q in range(parts):
        for v in range(codes):
            if cells[q * codes + v] > 0:
                value[used] = v
                count[used] = cells[q * codes + v]
                used += 1
        begin[q + 1] = used
    return begin, value, count

"""Antichains: patterns of which none is more general than another.

Whoever holds a pattern can make every more general version of the table, and no other. So one recipient
cannot make another's version if and only if their patterns are incomparable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import WrongCall
from sfumato.core.packing import Packing
from sfumato.kernels.lattice import antichains

Lines = NDArray[np.integer]
"""One line per pattern, one level per key column."""

MOST_COMPARED = 40_000
"""So many patterns are compared with each other: 200 MB of bits."""


def largest_antichain(levels: Lines) -> NDArray[np.int64]:
    """Returns the positions of the patterns in a largest antichain, ascending.

    Of several largest antichains it is always the same one, whatever the order of the patterns. No two
    patterns are equal.

    >>> largest_antichain(np.array([[0, 0], [1, 0], [0, 1], [0, 2], [1, 1]])).tolist()
    [3, 4]
    """
    if len(levels) > MOST_COMPARED:
        raise WrongCall(
            f"{len(levels):,} patterns are too many to compare each with each; at most {MOST_COMPARED:,} are",
            remedy="Narrow the tolerance.",
        )
    if len(levels) == 0:
        return np.zeros(0, np.int64)
    packed, guard = _guarded(levels)
    chosen = antichains.largest_antichain(antichains.below_rows(packed, guard))
    return np.flatnonzero(chosen)


def _guarded(levels: Lines) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Returns the levels of every pattern in a few words, a free bit above each, and these bits."""
    sizes = (2 * (levels.max(axis=0).astype(np.int64) + 1)).tolist()
    packing = Packing(tuple(2 ** int(size - 1).bit_length() for size in sizes))
    words = packing.pack(list(levels.T))
    guard = np.zeros(packing.words, np.uint64)
    for word, shift, bits in packing.places:
        guard[word] |= np.uint64(1) << np.uint64(shift + bits - 1)
    return np.ascontiguousarray(words.T).astype(np.uint64), guard

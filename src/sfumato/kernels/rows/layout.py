"""Packed rows, and where their codes sit: what the loops of recursive partitioning work on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

Truths = NDArray[np.bool_]

WEIGHT_MASK = 0x7FFFFFFF
"""The bits of a tag that hold the weight of its row."""


class PackedRows(NamedTuple):
    """The rows on the move, and room to move them.

    `spare` has two lines of all rows; `slot` is -1 for every node whenever it is not in use; `tally` and
    `sizes` have room for every node or leaf of a column.
    """

    key: Longs
    tag: Longs
    spare: Longs
    slot: Longs
    tally: Longs
    sizes: Longs


class Layout(NamedTuple):
    """Where each column's code sits, and what its values mean.

    Column j is at `(key[word[j]] >> shift[j]) & mask[j]`. `scale_by[j] / scale_to[j]` makes spans of
    leaves comparable across columns. For unordered columns, `above[j]` says where in `ancestor` its table
    starts: first the leaf's ancestor at depth 0, for every leaf, then at depth 1, and so on down to
    `height[j]` (the leaf itself where it ends sooner). `low` and `high` of the nodes of column j start at
    `base[j]`. `fields[w]` are the bits of word w that hold codes of these columns; the others hold codes that
    move with the rows and decide nothing.
    """

    word: Longs
    shift: Longs
    mask: Longs
    ordered: NDArray[np.bool_]
    scale_by: NDArray[np.float64]
    scale_to: NDArray[np.float64]
    leaves: Longs
    above: Longs
    ancestor: Ints
    base: Longs
    low: Ints
    high: Ints
    height: Longs
    fields: Longs

"""A checksum of a multiset of packed keys, computed by Spark over rows and by numpy over counts.

Spark's own `xxhash64` is rebuilt here: every key is hashed, and two slices of 29 bits of it are added up.
The sums do not depend on the order of rows, and fit into 64 bits up to 2**34 rows. They tell a table that
changed by accident; nobody is kept from making another one with the same sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as F

from sfumato.core.packing import BLOCK_ROWS, Words
from sfumato.engine.spark.lookups import bitwise_or

SLICE = 29
_MASK = (1 << SLICE) - 1
_P = tuple(
    np.uint64(p)
    for p in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_SEED = np.uint64(42)


def sums(words: Sequence[str], copies: Column | None = None) -> list[Column]:
    """The checksum as aggregates over rows; the last counts the keys that lack a word."""
    keys = [F.col(word) for word in words]
    many = F.lit(1) if copies is None else copies
    mixed = F.xxhash64(*keys)
    parts = (mixed, F.shiftright(mixed, SLICE))
    slices = [F.coalesce(F.sum(part.bitwiseAND(F.lit(_MASK)) * many), F.lit(0)) for part in parts]
    lacking = F.coalesce(F.sum(F.when(bitwise_or(keys).isNull(), many).otherwise(F.lit(0))), F.lit(0))
    return [cell.alias(f"sum{i}") for i, cell in enumerate([*slices, lacking])]


def expected(words: Words, counts: NDArray[np.int64]) -> list[int]:
    """The checksum of these keys, each with its count, which may be 0."""
    sums = [0, 0]
    for start in range(0, len(counts), BLOCK_ROWS):
        span = slice(start, start + BLOCK_ROWS)
        many, mixed = counts[span].astype(np.uint64), np.full(len(counts[span]), _SEED)
        with np.errstate(over="ignore"):
            for word in words:
                mixed = _mixed(word[span].astype(np.uint64), mixed)
            parts = (mixed, mixed >> np.uint64(SLICE))
            for i, part in enumerate(parts):
                sums[i] += int(((part & np.uint64(_MASK)) * many).sum())
    return [*sums, 0]


def _mixed(key: NDArray[np.uint64], seed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """XXH64 of a 64-bit key."""
    p1, p2, p3, p4, p5 = _P
    mixed = (seed + p5 + np.uint64(8)) ^ (_rotated(key * p2, 31) * p1)
    mixed = _rotated(mixed, 27) * p1 + p4
    mixed = (mixed ^ (mixed >> np.uint64(33))) * p2
    mixed = (mixed ^ (mixed >> np.uint64(29))) * p3
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _rotated(key: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return np.asarray((key << np.uint64(bits)) | (key >> np.uint64(64 - bits)))

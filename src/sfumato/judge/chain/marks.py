"""Marks, as imprints hold them: 128 bits tell values apart and 64 tell nodes apart, without the texts.

This is the format of what a ledger keeps, written down a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sfumato.judge.taxonomies.value_tree import Text

Marks = NDArray[np.uint64]
"""Two columns of 64 bits per value."""

ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
SHIFT = np.uint64(29)


def text_marks(texts: Sequence[Text]) -> Marks:
    """Returns the mark of every text: BLAKE2b of a byte 1 and the text; of a byte 0 where there is none."""
    digests = (
        blake2b(b"\0" if text is None else b"\1" + text.encode("utf-8", "surrogatepass"), digest_size=16)
        for text in texts
    )
    joined = b"".join(digest.digest() for digest in digests)
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64).reshape(-1, 2)


def in_order(marks: Marks) -> NDArray[np.intp]:
    """Returns an ascending order of marks; equal ones are side by side."""
    order = np.argsort(marks[:, 0])
    head, tail = marks[order, 0], marks[order, 1]
    if np.any((head[1:] == head[:-1]) & (tail[1:] != tail[:-1])):  # rare: half of two marks is the same
        return np.lexsort((marks[:, 1], marks[:, 0]))
    return order


def mixed(marks: Marks, more: Marks) -> Marks:
    """Returns one mark of two; their order counts. Sums and products are taken modulo 2**64.

    >>> one, two = text_marks(["a"]), text_marks(["b"])
    >>> bool((mixed(one, two) == mixed(two, one)).all())
    False
    """
    folded = (marks + ODD) * (more | np.uint64(1)) + more
    folded = (folded ^ (folded >> SHIFT)) * ODD
    return folded ^ (folded >> SHIFT)


def tuple_marks(columns: Sequence[Marks], count: int) -> Marks:
    """Returns the mark of every row of some columns, mixed from nothing on, column by column."""
    found = np.zeros((1 if not columns else count, 2), np.uint64)
    for column in columns:
        found = mixed(found, column)
    return found if columns else np.zeros((count, 2), np.uint64)


def child_marks(above: NDArray[np.uint64], texts: Sequence[Text]) -> NDArray[np.uint64]:
    """Returns the mark of a node with each of these labels (columns) below each of these nodes (rows)."""
    own = text_marks(texts)[:, 0]
    left = np.repeat(above, len(own))
    right = np.tile(own, len(above))
    both = mixed(np.stack([left, left], axis=1), np.stack([right, right], axis=1))
    return both[:, 0].reshape(len(above), len(own))

"""Arrays as short texts, for documents that are JSON."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)


def packed(array: NDArray[np.generic]) -> str:
    """The bytes of an array, little end first, compressed, as text.

    >>> unpacked(packed(np.array([3, 1, 4])), np.int64).tolist()
    [3, 1, 4]
    """
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(little.tobytes(), 6)).decode("ascii")


def unpacked(text: str, dtype: type[Number]) -> NDArray[Number]:
    """The array that `packed` wrote, flat; raises `ValueError` if the text is damaged."""
    try:
        raw = zlib.decompress(base64.b64decode(text, validate=True))
    except (zlib.error, binascii.Error):
        raise ValueError("not a packed array") from None
    return np.frombuffer(raw, dtype=np.dtype(dtype).newbyteorder("<")).astype(dtype)

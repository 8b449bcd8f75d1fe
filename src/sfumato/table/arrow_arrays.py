"""Arrays handed between numpy and Arrow as they lie in memory.

PyArrow's own conversions load pandas, where it is installed, only to ask whether something is a pandas
object; these do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_ARROW = {"int32": pa.int32(), "int64": pa.int64()}


def to_numpy(array: pa.Array, *, missing: float | None = None) -> NDArray[Any]:
    """The numbers of an array of integers or floats; `missing` stands in where there is none.

    >>> to_numpy(pa.array([3, None, 5], pa.int32()), missing=-1).tolist()
    [3, -1, 5]
    """
    validity, data = array.buffers()
    kind = np.dtype({"float": "float32"}.get(str(array.type), str(array.type)))
    span = slice(array.offset, array.offset + len(array))
    numbers = np.frombuffer(data, kind, count=span.stop)[span] if data and span.stop else np.zeros(0, kind)
    if array.null_count and missing is not None:
        bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little", count=span.stop)[span]
        stand_in = np.asarray(missing, np.int64 if isinstance(missing, int) else kind)
        numbers = np.where(bits == 1, numbers, stand_in)
    return numbers


def to_arrow(numbers: NDArray[np.integer], *, missing: int | None = None) -> pa.Array:
    """An integer array; the number `missing` becomes a missing cell (and nothing stays beneath)."""
    validity = None
    if missing is not None and (numbers == missing).any():
        valid = numbers != missing
        numbers = np.where(valid, numbers, 0).astype(numbers.dtype)
        validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(_ARROW[str(numbers.dtype)], len(numbers), [validity, data])


def truth_array(truths: NDArray[np.bool_]) -> pa.Array:
    """An array of truths."""
    data = pa.py_buffer(np.packbits(truths, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(truths), [None, data])


def text_array(texts: Sequence[str | None], kind: pa.DataType | None = None) -> pa.Array:
    """An array of texts, large strings unless told otherwise.

    >>> text_array(["a", None, "é"]).to_pylist()
    ['a', None, 'é']
    """
    encoded = [b"" if text is None else text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(cell) for cell in encoded], out=offsets[1:])
    valid = np.array([text is not None for text in texts], bool)
    validity = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    array = pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)
    return array if kind is None else array.cast(kind)

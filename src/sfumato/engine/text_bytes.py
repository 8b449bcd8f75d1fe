"""Text of files and tables that say of themselves that it is UTF-8: libraries believe them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from sfumato.core.errors import BadData
from sfumato.engine.column_names import safe_name


def with_sound_text(batches: Iterable[pa.RecordBatch], *, where: str = "") -> Iterator[pa.RecordBatch]:
    """Yields the batches; raises at the first that holds bytes for text that are no UTF-8."""
    sound: dict[str, pa.Array] = {}
    for batch in batches:
        for name, cells in zip(batch.schema.names, batch.columns, strict=True):
            texts = cells.dictionary if pa.types.is_dictionary(cells.type) else cells
            if is_text(texts.type) and not _is_same(texts, sound.get(name)):
                _check(texts, name, where)
                sound[name] = texts
        yield batch


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def _is_same(texts: pa.Array, other: pa.Array | None) -> bool:
    """Whether both are one dictionary, which batch after batch brings along."""
    return other is not None and len(texts) == len(other) and _addresses(texts) == _addresses(other)


def _addresses(texts: pa.Array) -> list[int]:
    return [texts.offset, *(0 if buffer is None else buffer.address for buffer in texts.buffers())]


def _check(texts: pa.Array, name: str, where: str) -> None:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:  # its message may hold a cell
        raise BadData(
            f"column {safe_name(name)} holds text that is not in UTF-8",
            where=where,
            remedy="Write it again from where it came from, and name the encoding that it has there, "
            "which often is Latin-1.",
        ) from None

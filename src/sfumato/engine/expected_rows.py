"""Expected rows: how many a reader will hand out, as far as that is known or can be guessed beforehand."""

from __future__ import annotations

from pathlib import Path

from sfumato.engine.reader import Reader

HEAD_BYTES = 1 << 18
"""Bytes of a text file by whose lines its other lines are estimated."""


def expected_rows(reader: Reader) -> int | None:
    """Returns the number of rows; of a text file, what its size and its first lines let expect.

    Nothing but progress is told by it. `None` where nobody can say.
    """
    if reader.total is not None:
        return reader.total
    inner: object = reader
    # `getattr`: a reader may stand on another one, and that of another package may be anything.
    while (below := getattr(inner, "reader", None) or getattr(inner, "_reader", None)) is not None:
        inner = below
    path = getattr(inner, "path", None)
    return rows_by_size(path) if isinstance(path, Path) and path.suffix.lower() != ".gz" else None


def rows_by_size(path: Path) -> int | None:
    """Returns the lines after the first that a file of this size has, if all are like the first ones."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return None
    lines = head.count(b"\n")
    return max(1, size * lines // max(1, len(head)) - 1) if lines else None

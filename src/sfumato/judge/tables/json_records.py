"""JSON lines, as a release writes them: the same names in the same order on every line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadData
from sfumato.judge.tables.cell_text import label
from sfumato.judge.taxonomies.value_tree import Text


def json_columns(path: Path) -> dict[str, list[Text]]:
    """Returns the cells of every column as texts; raises `BadData` where a line is no such record."""
    names: list[str] | None = None
    columns: list[list[Text]] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            pairs = _pairs(line)
            if pairs is None or (names is not None and names != [name for name, _ in pairs]):
                raise BadData(f"line {number} is no record with the names of the first", where=path.name)
            if names is None:
                names = [name for name, _ in pairs]
                columns = [[] for _ in names]
            for cells, (_, cell) in zip(columns, pairs, strict=True):
                cells.append(label(cell))
    if not names or len(set(names)) < len(names):
        raise BadData("the file holds no record, or names a column twice", where=path.name)
    return dict(zip(names, columns, strict=True))


def _pairs(line: bytes) -> list[tuple[str, Any]] | None:
    """Returns the members of the object on a line, as they stand there; `None` where it is something else."""
    try:
        found = json.loads(line.decode("utf-8"), object_pairs_hook=_Members)
    except (ValueError, RecursionError):
        return None
    plain = isinstance(found, _Members) and not any(isinstance(cell, list) for _, cell in found)
    return found if plain and line.startswith(b"{") and line.endswith(b"}\n") else None


class _Members(list[tuple[str, Any]]):
    """The members of an object, in order, each as often as it is there."""

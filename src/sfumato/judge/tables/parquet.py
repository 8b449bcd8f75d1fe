"""What the judge asks of Parquet files: their columns, their notes, and which parts make a table."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadData

if TYPE_CHECKING:
    import duckdb

SCHEMA_OF_SPARK = "org.apache.spark.sql.parquet.row.metadata"
ALLOWED_NOTES = ("ARROW:schema", "org.apache.spark.version", SCHEMA_OF_SPARK)
"""What a published Parquet file may carry besides its columns; Spark's schema only without comments."""

LIST_OF_PARTS = "_manifest.json"
ENDINGS = (".parquet", ".pq")


def is_parquet(path: Path) -> bool:
    """Tells whether a path is meant to be a Parquet file, or a folder of them."""
    return path.suffix.lower() in ENDINGS


def parts_of(path: Path) -> list[Path]:
    """Returns the files of a table: the file itself, or every part in a folder, which holds nothing else."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise BadData("there is no such file", where=path.name)
    found = sorted(path.iterdir())
    parts = [p for p in found if is_parquet(p) and p.is_file() and not p.is_symlink()]
    others = [p for p in found if p not in parts and p.name != LIST_OF_PARTS]
    if others or not parts:
        raise BadData("the folder holds more or less than the parts of a table", where=path.name)
    return parts


def literal(path: Path) -> str:
    """Returns the path as a pattern that matches this one file, whatever its name looks like."""
    text = str(path)
    return text if "\\" in text else re.sub(r"([*?[])", r"[\1]", text)


def relation(path: Path, names: Sequence[str]) -> str:
    """Returns all parts as a relation whose columns are c0, c1, …"""
    places = ", ".join("'" + literal(part).replace("'", "''") + "'" for part in parts_of(path))
    return f"read_parquet([{places}]) AS file({', '.join(f'c{i}' for i in range(len(names)))})"


def check_notes(db: duckdb.DuckDBPyConnection, part: Path) -> None:
    """Raises where a file carries notes that could tell more than its columns do."""
    notes = db.execute("SELECT key, value FROM parquet_kv_metadata(?)", [literal(part)]).fetchall()
    extra = [key for key, value in notes if not _is_harmless(bytes(key), bytes(value))]
    if extra:
        raise BadData(
            f"the file carries {len(extra)} notes besides its columns",
            where=part.name,
            remedy="Write it without metadata.",
        )


def columns(db: duckdb.DuckDBPyConnection, part: Path) -> tuple[str, ...]:
    """Returns the names of the top columns, from the file's own schema: a list of nodes, parents first."""
    nodes = db.execute("SELECT name, num_children FROM parquet_schema(?)", [literal(part)]).fetchall()
    names, place = [], 1
    while place < len(nodes):
        names.append(str(nodes[place][0]))
        place = _after(nodes, place)
    return tuple(names)


def _is_harmless(key: bytes, value: bytes) -> bool:
    name = key.decode("utf-8", "replace")
    if name == SCHEMA_OF_SPARK:
        try:
            return _says_nothing(json.loads(value))
        except ValueError:
            return False
    return name in ALLOWED_NOTES


def _says_nothing(schema: Any) -> bool:
    """Tells whether a schema of Spark has no comment on any field."""
    if isinstance(schema, dict):
        return not schema.get("metadata") and all(_says_nothing(part) for part in schema.values())
    return all(_says_nothing(part) for part in schema) if isinstance(schema, list) else True


def _after(nodes: Sequence[tuple[str, int | None]], place: int) -> int:
    """Returns where the node after this one and everything below it stands."""
    below, place = int(nodes[place][1] or 0), place + 1
    for _ in range(below):
        place = _after(nodes, place)
    return place

"""What the judge asks of Parquet files: their columns, their notes, and which parts make a table."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadData

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SCHEMA_OF_SPARK = "org.apache.spark.sql.parquet.row.metadata"
SCHEMA_OF_ARROW = "ARROW:schema"
ALLOWED_NOTES = (SCHEMA_OF_ARROW, "org.apache.spark.version", SCHEMA_OF_SPARK)
"""What a published Parquet file may carry besides its columns; schemas only without comments."""
NOTE_OF_PANDAS = "pandas"
SAID_BY_PANDAS = ("index_columns", "column_indexes", "columns", "attributes", "creator", "pandas_version")
VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}")

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
    """Returns the path as a pattern that matches this one file, whatever its name looks like.

    Raises `BadData` where it is no text: the database takes no other paths.
    """
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadData(
            "the path is not written in UTF-8", where=path.name, remedy="Rename the file, or move it."
        ) from None
    return text if "\\" in text else re.sub(r"([*?[])", r"[\1]", text)


def relation(path: Path, names: Sequence[str]) -> str:
    """Returns all parts as a relation whose columns are c0, c1, …"""
    places = ", ".join("'" + literal(part).replace("'", "''") + "'" for part in parts_of(path))
    return f"read_parquet([{places}]) AS file({', '.join(f'c{i}' for i in range(len(names)))})"


def check_notes(db: duckdb.DuckDBPyConnection, part: Path) -> None:
    """Raises where a file carries notes that could tell more than its columns do."""
    notes = db.execute("SELECT key, value FROM parquet_kv_metadata(?)", [literal(part)]).fetchall()
    own, names = [note for note in notes if bytes(note[0]) != NOTE_OF_PANDAS.encode()], columns(db, part)
    extra = [key for key, value in own if not is_harmless(bytes(key), bytes(value), names)]
    extra += [key for key, _ in notes if bytes(key) == NOTE_OF_PANDAS.encode()]
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


def is_harmless(key: bytes, value: bytes, names: Sequence[str]) -> bool:
    """Tells whether a note in a file says nothing but what its columns with these names are."""
    name = key.decode("utf-8", "replace")
    try:
        if name == SCHEMA_OF_SPARK:
            return _says_nothing(json.loads(value))
        if name == SCHEMA_OF_ARROW:
            return _is_bare_schema(value, names)
        if name == NOTE_OF_PANDAS:
            return _is_plain_frame(json.loads(value), names)
    except (ValueError, OSError, RecursionError):
        return False
    return name in ALLOWED_NOTES and VERSION.fullmatch(value.decode("utf-8", "replace")) is not None


def _is_bare_schema(value: bytes, names: Sequence[str]) -> bool:
    """Tells whether a schema of Arrow names these columns and holds no comment, and nothing behind it."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    raw = b64decode(value, validate=True)
    try:
        with pa.BufferReader(raw) as reader:
            schema = pa.ipc.read_schema(reader)
            left = raw[reader.tell() :]
    except pa.ArrowException:
        return False
    frame = (schema.metadata or {}).get(NOTE_OF_PANDAS.encode())
    known = {} if frame is None else {NOTE_OF_PANDAS.encode(): frame}
    bare = (schema.metadata or {}) == known and all(_is_bare(part) for part in schema)
    bare &= frame is None or _is_plain_frame(json.loads(frame), names)
    return bare and list(schema.names) == list(names) and not left.strip(b"\0")


def _is_bare(part: pa.Field) -> bool:
    kind = part.type
    below = [kind.field(i) for i in range(kind.num_fields)]
    return part.metadata is None and all(_is_bare(child) for child in below)


def _is_plain_frame(note: Any, names: Sequence[str]) -> bool:
    """Tells whether what pandas notes are the types of these columns, and an index without names."""
    if not isinstance(note, dict) or not set(note) <= set(SAID_BY_PANDAS) or note.get("attributes"):
        return False
    index, frames = note.get("index_columns", []), note.get("column_indexes", [])
    plain = all(isinstance(one, dict) and one.get("kind") == "range" and not one.get("name") for one in index)
    unnamed = all(isinstance(one, dict) and one.get("name") is None for one in frames)
    told = [one.get("name") for one in note.get("columns", [])]
    return plain and unnamed and set(told) <= set(names)


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

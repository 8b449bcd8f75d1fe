"""What a Parquet file of anybody tells beyond its rows, as far as a reader of Parquet shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import BadData
from sfumato.judge.file_bytes.parquet_rewrite import is_as_released
from sfumato.judge.tables.database import NO_LIMIT, strictly
from sfumato.judge.tables.parquet import columns, is_harmless, literal, parts_of
from sfumato.judge.tables.relation import Relation
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    import duckdb

WRITER = re.compile(r"[A-Za-z0-9 .,:+/()_-]{0,120}")
"""What the name of the program that wrote a file looks like."""


@dataclass(frozen=True)
class Surplus:
    """Something that the bytes of a file tell and its rows do not, in a sentence without values.

    `certain` is False where it could not be found out, or may be harmless.
    """

    sentence: str
    columns: tuple[str, ...] = ()
    certain: bool = True


def parquet_surplus(path: Path, *, memory: Memory = NO_LIMIT) -> tuple[Surplus, ...]:
    """Returns what a Parquet file, or the parts of a folder, tell beyond their rows.

    Of a file as releases are written that is nothing. Of any other it is at least said that nobody looked at
    bytes that readers pass over. Raises `BadData` where the file cannot be read.
    """
    return tuple(dict.fromkeys(surplus for part in parts_of(path) for surplus in _of_part(part, memory)))


def _of_part(part: Path, memory: Memory) -> Iterator[Surplus]:
    if is_as_released(part):
        return
    yield from strictly(part.name, lambda db: [*_notes(db, part), *_claims(db, part)], memory)
    if unused := _unused_entries(part):
        yield Surplus("a dictionary holds values that no row has", unused)
    yield Surplus("bytes of the file that readers pass over were not looked at", certain=False)


def _notes(db: duckdb.DuckDBPyConnection, part: Path) -> Iterator[Surplus]:
    names = columns(db, part)
    notes = db.execute("SELECT key, value FROM parquet_kv_metadata(?)", [literal(part)]).fetchall()
    extra = sum(not is_harmless(bytes(key), bytes(value), names) for key, value in notes)
    if extra:
        number = "a note" if extra == 1 else f"{extra} notes"
        yield Surplus(f"the file carries {number} besides its columns", certain=False)
    made_by = db.execute("SELECT created_by FROM parquet_file_metadata(?)", [literal(part)]).fetchall()
    if not WRITER.fullmatch(made_by[0][0] or ""):
        yield Surplus("the name of the file's writer is none", certain=False)


def _claims(db: duckdb.DuckDBPyConnection, part: Path) -> Iterator[Surplus]:
    """Compares what statistics claim of values with the values of the rows, for columns without structure."""
    rows = Relation.of_file(db, part, columns(db, part))
    foreign: list[str] = []
    miscounted: list[str] = []
    for name in rows.names:
        cell, kind = rows.place(name), rows.kind(name)
        counted = f"SELECT count(*) - count({cell}), count(*) FROM {rows.query}"  # noqa: S608
        missing, cells = db.execute(counted).fetchall()[0]
        lows, highs, null_counts, most_distinct = db.execute(CLAIMS, [literal(part), name]).fetchall()[0]
        miscounted += [name] * (null_counts not in (None, missing) or (most_distinct or 0) > cells)
        number = kind in ("FLOAT", "DOUBLE")
        text = f"({cell} + 0::{kind})::VARCHAR" if number else f"{cell}::VARCHAR"  # there is one zero
        column = f"SELECT {text} AS cell FROM {rows.query} WHERE {cell} IS NOT NULL"  # noqa: S608
        for bounds, cut in ((lows, 0), (highs, 1)):
            left = [bound for (bound,) in db.execute(UNMATCHED.format(column), [bounds]).fetchall()]
            left = [bound for bound in left if not (number and bound == "-0.0")]
            if kind in ("VARCHAR", "BLOB"):
                left = [bound for bound in left if not _is_cut_short(db, column, bound, cut)]
            foreign += [name] * (bool(left) and name not in foreign)
    if foreign:
        yield Surplus("statistics name values that no row has", tuple(foreign))
    if miscounted:
        yield Surplus("statistics count other cells than there are", tuple(miscounted))


CLAIMS = """
    SELECT list(stats_min) || list(stats_min_value), list(stats_max) || list(stats_max_value),
        CASE WHEN count(*) = count(stats_null_count) THEN sum(stats_null_count) END, max(stats_distinct_count)
    FROM parquet_metadata(?) WHERE path_in_schema = ?
"""
"""What headers say of a column without structure: bounds by their old and new fields, and counts."""
UNMATCHED = """
    SELECT DISTINCT bound FROM (SELECT unnest(?::VARCHAR[]) AS bound)
    WHERE bound IS NOT NULL AND bound NOT IN ({})
"""


def _is_cut_short(db: duckdb.DuckDBPyConnection, column: str, bound: str, cut: int) -> bool:
    """Tells whether a bound is a text cut short; of an upper one, the last letter is one higher.

    So many letters are `cut` off the bound before texts are looked for that begin with it.
    """
    longer = f"SELECT 1 FROM ({column}) WHERE starts_with(cell, ?) AND length(cell) > ? LIMIT 1"  # noqa: S608
    return bool(db.execute(longer, [bound[: len(bound) - cut], len(bound)]).fetchall())


def _unused_entries(part: Path) -> tuple[str, ...]:
    """Returns the columns of texts whose dictionaries hold a value that no row has."""
    import pyarrow as pa  # noqa: PLC0415  # heavy
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

    unused = []
    try:
        kinds = {column.name: column.type for column in pq.read_schema(part)}
        texts = [n for n, t in kinds.items() if pa.types.is_string(t) or pa.types.is_large_string(t)]
        coded = [name for name, kind in kinds.items() if pa.types.is_dictionary(kind)]
        with pq.ParquetFile(part, read_dictionary=texts) as file:
            for name in texts + coded:
                entries: set[str] = set()
                values: set[str] = set()
                for number in range(file.num_row_groups):
                    for cells in file.read_row_group(number, columns=[name]).column(0).chunks:
                        cells.validate(full=True)
                        entries.update(cells.dictionary.to_pylist())
                        values.update(cells.unique().dictionary_decode().to_pylist())
                unused += [name] * (not entries <= values)
    except (pa.ArrowException, OSError, UnicodeError):
        raise BadData("the file cannot be read as Parquet", where=part.name) from None
    return tuple(unused)

"""The second reader: a published file, from its bytes to counts, through SQL.

Shares no code with the engine that wrote the file. A CSV file must be UTF-8 with comma, double quotes and
a header; an unquoted empty cell is missing, a quoted one is empty text; nothing is repaired or skipped.
Whatever DuckDB says about a bad file may quote a line of it, so only a line number is passed on.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadData
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.judge.cell_text import label, moment
from sfumato.judge.database import strictly
from sfumato.judge.parquet import columns, is_parquet, literal, parts_of, relation
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    import duckdb

Counts = NDArray[np.int64]

Plant = Callable[[Sequence[Label]], Taxonomy]
"""Makes the taxonomy of a column from the texts that occur; knows every one of them."""


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """One sensitive column: in entry i, `count[i]` people of class `owner[i]` hold the leaf `value[i]`.

    `several` people hold more than one value, in whatever classes; it is 0 where rows stand for people.
    """

    owner: Counts
    value: Counts
    count: Counts
    tree: Taxonomy
    several: int = 0


@dataclass(frozen=True, eq=False)
class ReadTable:
    """One key column: its texts, and which of them every class shows."""

    texts: tuple[Label, ...]
    code: Counts


@dataclass(frozen=True, eq=False)
class Tally:
    """A published file, counted: the people of every class, and the spread of every sensitive column.

    `shown` is filled where a promise looks at the texts of the key columns.
    """

    people: Counts
    rows: Counts
    spreads: Mapping[str, ValueCounts]
    shown: Mapping[str, ReadTable] = field(default_factory=dict)


@dataclass(frozen=True)
class SetColumn:
    """How term sets are written: text with a separator, lists, or one 0/1 column per term (`parts`)."""

    separator: str = ";"
    parts: tuple[str, ...] = ()


def header(path: Path) -> tuple[str, ...]:
    """The columns of the file, as they stand in it."""
    if is_parquet(path):
        return _parquet_header(path)
    if not path.is_file():
        raise BadData("there is no such file", where=path.name)
    return _csv_header(path)


def rows(path: Path) -> int:
    """How many rows the file holds."""
    names = header(path)
    return strictly(path, lambda db: _number(db, f"SELECT count(*) FROM {_file(path, names)}"))  # noqa: S608


def tally(
    path: Path,
    *,
    keys: Sequence[str],
    sensitive: Mapping[str, Plant],
    person: str | None,
    sets: Mapping[str, SetColumn] | None = None,
    texts: bool = False,
    memory: Memory,
) -> Tally:
    """Group the whole file once by all columns that matter, then count what promises ask about.

    `sets` says which sensitive columns hold term sets; those are compared as one text, terms joined by a
    mark. `texts` asks for the texts of the key columns too.
    """
    names = header(path)
    alias = {name: f"c{i}" for i, name in enumerate(names)}
    apart = sets or {}
    alias_of = dict(alias)
    alias |= {name: f"s{i}" for i, name in enumerate(apart)}
    wanted = list(dict.fromkeys([*keys, *sensitive, *([person] if person else [])]))

    def ask(db: duckdb.DuckDBPyConnection) -> Tally:
        kinds = _kinds(db, path, names)
        said = {name: _set_cell(name, form, alias_of, kinds) for name, form in apart.items()}
        kinds |= {alias[name]: "VARCHAR" for name in apart}
        cells = [
            f"{said.get(name) or _cell(alias[name], kinds[alias[name]])} AS {alias[name]}" for name in wanted
        ]
        grouped = ", ".join([*cells, "count(*)::BIGINT AS n"])
        db.execute(f"CREATE TEMP TABLE held AS SELECT {grouped} FROM {_file(path, names)} {_by(wanted)}")  # noqa: S608
        who = alias[person] if person else None
        if who and _number(db, f"SELECT coalesce(sum(n), 0)::BIGINT FROM held WHERE {who} IS NULL"):  # noqa: S608
            raise BadData("the person column has missing cells", where=path.name)
        _number_classes(db, [alias[name] for name in keys])
        many = f"count(DISTINCT {who})" if who else "sum(n)"
        people, rows = _arrays(
            db,
            f"SELECT {many}::BIGINT, sum(n)::BIGINT FROM numbered GROUP BY class ORDER BY class",  # noqa: S608
        )
        spreads = {
            name: replace(
                _spread(db, alias[name], kinds[alias[name]], plant, many),
                several=_with_several(db, alias[name], who),
            )
            for name, plant in sensitive.items()
        }
        shown = {name: _shown(db, alias[name], kinds[alias[name]]) for name in keys} if texts else {}
        return Tally(people, rows, spreads, shown)

    return strictly(path, ask, memory)


def _set_cell(name: str, form: SetColumn, alias: Mapping[str, str], kinds: Mapping[str, str]) -> str:
    """A term set as one text."""
    if form.parts:
        held = [
            f"CASE WHEN {alias[p]}::VARCHAR IN ('1', 'true', '1.0') THEN {_quoted(p)} || chr(31) ELSE '' END"
            for p in form.parts
        ]
        return " || ".join(held)
    column = alias[name]
    if kinds[column].endswith("[]"):
        return f"array_to_string({column}, chr(31))"
    return f"replace({column}::VARCHAR, {_quoted(form.separator)}, chr(31))"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def check_witness(path: Path, witness: Path, names: Sequence[str], person: str, *, memory: Memory) -> None:
    """Raise unless the witness holds the rows of the file, and beside them just the person."""
    beside = header(witness)
    if sorted(beside) != sorted([*names, person]):
        raise BadData("the witness must have the columns of the file and the person", where=witness.name)

    def ask(db: duckdb.DuckDBPyConnection) -> int:
        ours, theirs = _as_text(db, path, names, names), _as_text(db, witness, beside, names)
        either = f"({ours} EXCEPT ALL {theirs}) UNION ALL ({theirs} EXCEPT ALL {ours})"
        return _number(db, f"SELECT count(*) FROM ({either})")  # noqa: S608

    differing = strictly(path, ask, memory)
    if differing:
        raise BadData(f"{differing} rows differ between the file and its witness", where=path.name)


def _as_text(db: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str], wanted: Sequence[str]) -> str:
    """A query for these columns as text, in this order."""
    kinds = _kinds(db, path, names)
    places = [f"c{names.index(name)}" for name in wanted]
    cells = ", ".join(f"({_cell(place, kinds[place])})::VARCHAR" for place in places)
    return f"SELECT {cells} FROM {_file(path, names)}"  # noqa: S608


def _number_classes(db: duckdb.DuckDBPyConnection, keys: Sequence[str]) -> None:
    """Rows with the same text, or the same lack of it, in every key column are one class."""
    if not keys:
        db.execute("CREATE TEMP VIEW numbered AS SELECT *, 0 AS class FROM held")
        return
    listed = ", ".join(keys)
    same = " AND ".join(f"held.{key} IS NOT DISTINCT FROM classes.{key}" for key in keys)
    db.execute(
        f"CREATE TEMP TABLE classes AS SELECT {listed}, row_number() OVER () - 1 AS class "  # noqa: S608
        f"FROM (SELECT DISTINCT {listed} FROM held)"
    )
    db.execute(
        f"CREATE TEMP TABLE numbered AS SELECT held.*, classes.class FROM held JOIN classes ON {same}"  # noqa: S608
    )


def _spread(db: duckdb.DuckDBPyConnection, column: str, kind: str, plant: Plant, many: str) -> ValueCounts:
    cells = [cell for (cell,) in db.execute(f"SELECT DISTINCT {column} FROM held").fetchall()]  # noqa: S608
    texts = [_text(cell, kind) for cell in cells]
    tree = plant(sorted(texts, key=lambda text: (text is None, text or "")))
    ranks = [tree.rank(text) for text in texts]
    db.execute(f"CREATE OR REPLACE TEMP TABLE coded AS SELECT {column} AS v, 0 AS leaf FROM held LIMIT 0")  # noqa: S608
    db.execute("INSERT INTO coded SELECT unnest($1), unnest($2)", [cells, ranks])
    owner, value, count = _arrays(
        db,
        f"SELECT class, leaf, {many}::BIGINT FROM numbered JOIN coded "  # noqa: S608
        f"ON numbered.{column} IS NOT DISTINCT FROM coded.v GROUP BY class, leaf ORDER BY class, leaf",
    )
    return ValueCounts(owner, value, count, tree)


def _shown(db: duckdb.DuckDBPyConnection, column: str, kind: str) -> ReadTable:
    cells = [cell for (cell,) in db.execute(f"SELECT {column} FROM classes ORDER BY class").fetchall()]  # noqa: S608
    numbers: dict[object, int] = {}
    code = [numbers.setdefault(cell, len(numbers)) for cell in cells]
    return ReadTable(tuple(_text(cell, kind) for cell in numbers), np.array(code, dtype=np.int64))


def _with_several(db: duckdb.DuckDBPyConnection, column: str, who: str | None) -> int:
    """How many people hold more than one leaf of the column coded last; a missing cell is a leaf too."""
    if who is None:
        return 0
    held = (
        f"SELECT {who} FROM numbered JOIN coded ON numbered.{column} IS NOT DISTINCT FROM coded.v "  # noqa: S608
        f"GROUP BY {who} HAVING count(DISTINCT leaf) > 1"
    )
    return _number(db, f"SELECT count(*) FROM ({held})")  # noqa: S608


def _arrays(db: duckdb.DuckDBPyConnection, query: str) -> list[Counts]:
    return [np.asarray(array, dtype=np.int64) for array in db.execute(query).fetchnumpy().values()]


def _number(db: duckdb.DuckDBPyConnection, query: str) -> int:
    row = db.execute(query).fetchone()
    return int(row[0]) if row else 0


def _file(path: Path, names: Sequence[str]) -> str:
    """The file as a relation whose columns are c0, c1, …: names in a file may differ by case alone."""
    if is_parquet(path):
        return relation(path, names)
    place = "'" + literal(path).replace("'", "''") + "'"
    types = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    return (
        f"read_csv({place}, auto_detect=false, header=true, columns={{{types}}}, delim=',', quote='\"', "
        "escape='\"', nullstr='', allow_quoted_nulls=false, strict_mode=true, null_padding=false, "
        "ignore_errors=false, encoding='utf-8')"
    )


def _kinds(db: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str]) -> dict[str, str]:
    """The SQL type of every column."""
    described = db.execute(f"DESCRIBE SELECT * FROM {_file(path, names)}").fetchall()  # noqa: S608
    return {str(row[0]): str(row[1]) for row in described}


def _cell(column: str, kind: str) -> str:
    """A column as it is compared: not-a-number is a missing cell, and there is one zero."""
    if kind in ("FLOAT", "DOUBLE"):
        found = f"CASE WHEN isnan({column}) THEN NULL ELSE {column} + 0::{kind} END"
        return f"({found})::VARCHAR" if kind == "FLOAT" else found
    return f"{column}::VARCHAR" if kind.startswith("TIMESTAMP") else column


def _text(cell: object, kind: str) -> Label:
    """The label of a cell that was fetched as `_cell` says."""
    if isinstance(cell, str) and kind.startswith("TIMESTAMP"):
        return moment(cell)
    if isinstance(cell, str) and kind == "FLOAT":
        return cell.removesuffix(".0")
    return label(cell)


def _by(wanted: Sequence[str]) -> str:
    return "GROUP BY ALL" if wanted else "HAVING count(*) > 0"


def _csv_header(path: Path) -> tuple[str, ...]:
    with path.open("rb") as file:
        start = file.read(3)
        ending = b""
        if file.seek(0, 2):
            file.seek(-1, 2)
            ending = file.read(1)
    if start == b"\xef\xbb\xbf":
        raise BadData("the file begins with a byte-order mark", where=path.name)
    if ending != b"\n":
        raise BadData("the last line has no end", where=path.name, remedy="The file is empty or truncated.")
    names: list[str] = []
    try:
        with path.open(encoding="utf-8", newline="") as text:
            names = next(csv.reader(text, strict=True))
    except (csv.Error, UnicodeDecodeError, StopIteration):
        names = []
    if not names:
        raise BadData("the header cannot be read", where=path.name)
    return tuple(names)


def _parquet_header(path: Path) -> tuple[str, ...]:
    """The columns of the file, or of every part of a folder."""
    parts = parts_of(path)
    found = strictly(path, lambda db: {columns(db, part) for part in parts})
    if len(found) > 1:
        raise BadData("the parts have different columns", where=path.name)
    return found.pop()

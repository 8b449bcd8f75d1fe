"""Rows that can be asked in SQL: a published file, from its bytes, or rows that were handed over."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.system.disk import private_folder
from sfumato.system.errors import BadData, NotEnoughMemory
from sfumato.system.memory import Memory
from sfumato.verify.cells import TERM_END, label, moment, texts_of
from sfumato.verify.formats import (
    check_notes,
    columns,
    is_parquet,
    is_whole,
    literal,
    parts_of,
    relation,
    whole_table,
)
from sfumato.verify.policy_data import ONE, SetColumn
from sfumato.verify.trees import Text

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


# How a CSV file is written, as the judge is told: its encoding, its separator, texts of empty cells.

LETTERS_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class FileForm:
    """UTF-8 with commas, unless something else is said; `empty` are texts that stand for an empty cell.

    >>> FileForm.of({"delimiter": ";", "empty": "NA, NULL"})
    FileForm(encoding='utf-8', separator=';', empty=('NA', 'NULL'))
    """

    encoding: str = "utf-8"
    separator: str = ","
    empty: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: Mapping[str, str] | None) -> FileForm:
        """Returns the form that plain data tell by `encoding`, `delimiter` and `empty`, or some of them."""
        options = words or {}
        empty = tuple(text for part in options.get("empty", "").split(",") if (text := part.strip()))
        return cls(options.get("encoding", cls.encoding), options.get("delimiter", cls.separator), empty)

    @property
    def is_utf8(self) -> bool:
        return self.encoding == "utf-8"

    def texts(self, path: Path) -> Iterator[str]:
        """Yields the text of a file in pieces; raises `BadData` where its bytes are in another encoding."""
        try:
            with path.open(encoding=self.encoding, newline="") as file:
                while piece := file.read(LETTERS_AT_A_TIME):
                    yield piece
        except UnicodeError:
            wrong = True
        else:
            wrong = False
        if wrong:  # raised here, where the complaint, which quotes bytes, is no part of what is told
            raise BadData("the file is not in the encoding that it is said to have", where=path.name)

    def utf8_copy(self, path: Path, folder: Path) -> Path:
        """Returns a copy of a file in UTF-8, in a folder that its owner alone can see; its last line ends."""
        copy = folder / f"utf-8-{sum(1 for _ in folder.iterdir())}.csv"
        last = ""
        with copy.open("w", encoding="utf-8", newline="") as out:
            for piece in self.texts(path):
                out.write(piece)
                last = piece[-1]
        if last != "\n":
            raise BadData("the last line has no end", where=path.name, remedy="It is empty or truncated.")
        return copy


RELEASED = FileForm()
"""The form of a release, unless its source had another one."""


# Where the judge asks: a database in memory that tells nothing of what it read.

Answer = TypeVar("Answer")

LEAST = 128 << 20
"""The database is given this much memory, however little is left."""

NO_LIMIT = Memory()

_shared: ContextVar[_SharedDatabase | None] = ContextVar("_shared", default=None)
"""What `one_database` keeps open."""


@contextmanager
def one_database() -> Iterator[None]:
    """Meanwhile every `Database` without a limit is a connection to the same one, opened when first asked.

    Opening one takes longer than most questions about a small table. Connections share no table: what they
    make is temporary, and files are read anew by each.
    """
    with _SharedDatabase() as shared:
        token = _shared.set(shared)
        try:
            yield
        finally:
            _shared.reset(token)


class _SharedDatabase(ExitStack):
    """A database in memory, opened when somebody first asks for a connection."""

    def __init__(self) -> None:
        super().__init__()
        self._database: duckdb.DuckDBPyConnection | None = None

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Returns a new connection to it."""
        if self._database is None:
            self._database = _opened(self.enter_context(private_folder()))
            self.callback(self._database.close)
        return self._database.cursor()


def _opened(spill: Path) -> duckdb.DuckDBPyConnection:
    """Returns a database in memory that keeps what does not fit in a folder."""
    import duckdb  # noqa: PLC0415  # heavy

    return duckdb.connect(config={"temp_directory": str(spill), "preserve_insertion_order": "false"})


class Database:
    """A database for one table, called `where` in complaints; open while it is used in a `with`.

    What does not fit in memory goes to a folder that is gone afterwards.
    """

    def __init__(self, where: str, memory: Memory = NO_LIMIT) -> None:
        self._where, self._memory = where, memory
        self._open = ExitStack()

    def __enter__(self) -> Self:
        shared = _shared.get() if self._memory == NO_LIMIT else None
        if shared is None:
            self._db = _opened(self._open.enter_context(private_folder(self._memory.spill)))
        else:
            self._db = shared.connection()
        self._open.callback(self._db.close)
        self._db.execute("SET TimeZone = 'UTC'")  # a moment is written in the zone of the session
        if self._memory.limit is not None:
            self._db.execute(f"SET memory_limit = '{max(LEAST, self._memory.left * 3 // 4)}B'")
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def ask(self, question: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
        """Returns the answer; the database's complaint, which may quote cells, is left behind altogether."""
        import duckdb  # noqa: PLC0415  # heavy

        try:
            return question(self._db)
        except duckdb.Error as error:
            no_room = isinstance(error, duckdb.OutOfMemoryException) or "No space left" in str(error)
            line = re.search(r"CSV Error on Line: (\d+)", str(error))
        # Raised here, where the complaint is handled no more, so that it is no part of what is told.
        if no_room:
            full = "neither in memory nor in the folder for what does not fit"
            raise NotEnoughMemory(
                f"the second judge has no room left, {full}",
                where=self._where,
                remedy="Allow more with --memory, or name a folder with more room with --spill.",
            )
        complaint = f"line {line[1]} cannot be read" if line else "the file cannot be read"
        raise BadData(complaint, where=self._where, remedy="Write it again: it is damaged or no such table.")


def strictly(
    where: str, question: Callable[[duckdb.DuckDBPyConnection], Answer], memory: Memory = NO_LIMIT
) -> Answer:
    """Returns what a database of its own answers to one question."""
    with Database(where, memory) as db:
        return db.ask(question)


APART = "\0told apart"
"""The name of a column that no policy has: what tells rows apart beside their texts."""
COLUMNS_TOGETHER = 16
"""So many columns are counted in one scan: each takes a table of its different cells."""
TERMS = "TERMS"
"""The kind of a column whose lists of terms have become texts already."""


@dataclass(frozen=True)
class Relation:
    """Rows whose columns are c0, c1, … in SQL: names in a file may differ by case alone.

    `query` stands behind FROM, `kinds` are the SQL types. `weight` counts rows; a table that was added up
    before has a column for that.
    """

    query: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    weight: str = "count(*)"

    @classmethod
    def of_file(
        cls, db: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str], form: FileForm = RELEASED
    ) -> Relation:
        """Returns the rows of a published file with these columns; `form` is that of a CSV file."""
        if is_whole(path):
            return cls(_whole_in_sql(db, path), tuple(names), ("VARCHAR",) * len(names))
        query = relation(path, names) if is_parquet(path) else _csv_in_sql(db, path, names, form)
        described = db.execute(f"DESCRIBE SELECT * FROM {query}").fetchall()  # noqa: S608
        return cls(query, tuple(names), tuple(str(row[1]) for row in described))

    def place(self, name: str) -> str:
        """Returns the column of this name, as SQL knows it."""
        return f"c{self._places[name]}"

    def kind(self, name: str) -> str:
        return self.kinds[self._places[name]]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def cell(self, name: str) -> str:
        """Returns a column as it is compared: not-a-number is a missing cell, and there is one zero."""
        column, kind = self.place(name), self.kind(name)
        if kind in ("FLOAT", "DOUBLE"):
            plain = f"CASE WHEN isnan({column}) THEN NULL ELSE {column} + 0::{kind} END"
            return f"({plain})::VARCHAR" if kind == "FLOAT" else plain
        return f"{column}::VARCHAR" if kind.startswith("TIMESTAMP") else column

    def told_apart(self, names: Sequence[str]) -> str | None:
        """Returns what tells cells of these columns apart that are compared as one value, if anything does.

        Those are bits of zeros and of what is not a number, missing cells among them, and marks that came
        with the rows.
        """
        floats = [self.place(name) for name in names if self.kind(name) in ("FLOAT", "DOUBLE")]
        parts = [
            f"CASE WHEN {cell} IS NULL THEN '-' WHEN isnan({cell}) OR {cell} = 0 THEN {cell}::BIT::VARCHAR "
            "ELSE '' END"
            for cell in floats
        ]
        parts += [self.place(APART)] if APART in self.names else []
        return f"concat_ws('|', {', '.join(parts)})" if parts else None

    def as_text(self, names: Sequence[str]) -> str:
        """Returns a query for these columns as text, in this order."""
        cells = ", ".join(f"({self.cell(name)})::VARCHAR" for name in names)
        return f"SELECT {cells} FROM {self.query}"  # noqa: S608


def text_of(cell: object, kind: str) -> Text:
    """Returns the label of a cell that was fetched as `Relation.cell` says."""
    if isinstance(cell, str) and kind.startswith("TIMESTAMP"):
        return moment(cell)
    if isinstance(cell, str) and kind == "FLOAT":
        return cell.removesuffix(".0")
    return label(cell)


def header(path: Path, *, notes: bool = False, form: FileForm = RELEASED) -> tuple[str, ...]:
    """Returns the columns of a published file, as they stand in it; `form` is that of a CSV file.

    Unless `notes` are allowed, a Parquet file that carries more than its columns is refused.
    """
    if is_parquet(path):
        return _parquet_header(path, notes=notes)
    if is_whole(path):
        return tuple(whole_table(path).column_names)
    if not path.is_file():
        raise BadData("there is no such file", where=path.name)
    return _csv_header(path, form)


def rows(path: Path, *, form: FileForm = RELEASED) -> int:
    """Returns how many rows a published file holds."""
    names = header(path, form=form)

    def ask(db: duckdb.DuckDBPyConnection) -> int:
        return number(db, f"SELECT count(*) FROM {Relation.of_file(db, path, names, form).query}")  # noqa: S608

    return strictly(path.name, ask)


def number(db: duckdb.DuckDBPyConnection, query: str) -> int:
    """Returns the one number that a query comes to."""
    rows = db.execute(query).fetchall()  # to the end: the connection is busy until then
    return int(rows[0][0]) if rows else 0


def rows_and_empty_cells(
    db: duckdb.DuckDBPyConnection, table: Relation, names: Sequence[str]
) -> tuple[int, list[int]]:
    """Returns how many rows a table has, and how many cells of each of these columns are missing."""
    missing = [f"count(*) FILTER (WHERE {table.cell(name)} IS NULL)" for name in names]
    counts = db.execute(f"SELECT {', '.join(['count(*)', *missing])} FROM {table.query}").fetchall()[0]  # noqa: S608
    return int(counts[0]), [int(count) for count in counts[1:]]


def different_cells(
    db: duckdb.DuckDBPyConnection, table: Relation, names: Sequence[str], *, most: int | None = None
) -> dict[str, list[tuple[object, int]]]:
    """Returns the different cells of each of these columns, and in how many rows they stand, in one scan.

    Missing cells are left out. Of a column with more than `most`, one more than that is returned.
    """
    by_name: dict[str, list[tuple[object, int]]] = {name: [] for name in names}
    for begin in range(0, len(names), COLUMNS_TOGETHER):
        group = list(enumerate(names[begin : begin + COLUMNS_TOGETHER]))
        cells = ", ".join(f"{table.cell(name)} AS k{j}" for j, name in group)
        every, each = ", ".join(f"k{j}" for j, _ in group), ", ".join(f"(k{j})" for j, _ in group)
        column = " ".join(f"WHEN grouping(k{j}) = 0 THEN {j}" for j, _ in group)
        counted = (
            f"SELECT CASE {column} END AS place, {every}, {table.weight} AS n"  # noqa: S608  # columns by number
            f" FROM (SELECT {cells} FROM {table.query}) GROUP BY GROUPING SETS ({each})"
        )
        there = " ".join(f"WHEN {j} THEN k{j} IS NOT NULL" for j, _ in group)
        query = f"SELECT * FROM ({counted}) WHERE CASE place {there} END"  # noqa: S608  # as above
        if most is not None:
            query += f" QUALIFY row_number() OVER (PARTITION BY place) <= {most + 1}"
        for place, *values, count in db.execute(query).fetchall():
            by_name[group[place][1]].append((values[place], int(count)))
    return by_name


def _csv_in_sql(db: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str], form: FileForm) -> str:
    """Returns a CSV file as a relation.

    It must have the encoding and the separator that it is said to have, double quotes and a header; an
    unquoted empty cell, or one with a text that stands for that, is missing, a quoted one is text; nothing is
    repaired or skipped. A file in another encoding is first copied to UTF-8, where the database keeps what
    has no room in memory.
    """
    if not form.is_utf8:
        folder = db.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
        path = form.utf8_copy(path, Path(folder))
    place, mark = _quoted(literal(path)), _quoted(form.separator)
    types = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    missing = ", ".join(_quoted(text) for text in ("", *form.empty))
    return (
        f"read_csv({place}, auto_detect=false, header=true, columns={{{types}}}, delim={mark}, quote='\"', "
        f"escape='\"', nullstr=[{missing}], allow_quoted_nulls=false, strict_mode=true, null_padding=false, "
        "ignore_errors=false, encoding='utf-8')"
    )


def _whole_in_sql(db: duckdb.DuckDBPyConnection, path: Path) -> str:
    """Returns a file that is read as a whole as a relation whose columns are c0, c1, …"""
    table = whole_table(path)
    name = f"whole_{sha256(os.fsencode(path)).hexdigest()[:16]}"
    db.register(name, table.rename_columns([f"c{i}" for i in range(table.num_columns)]))
    return name


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _csv_header(path: Path, form: FileForm) -> tuple[str, ...]:
    if form.is_utf8:
        _check_ends(path)
    names: list[str] = []
    try:
        with path.open(encoding=form.encoding, newline="") as text:
            names = next(csv.reader(text, strict=True, delimiter=form.separator))
    except (csv.Error, UnicodeError, StopIteration):
        names = []
    if not names:
        raise BadData("the header cannot be read", where=path.name)
    return tuple(names)


def _check_ends(path: Path) -> None:
    """Raises where a file in UTF-8 begins with a mark, or ends within a line."""
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


def _parquet_header(path: Path, *, notes: bool) -> tuple[str, ...]:
    """Returns the columns of the file, or of every part of a folder."""

    def read(db: duckdb.DuckDBPyConnection) -> set[tuple[str, ...]]:
        for part in () if notes else parts:
            check_notes(db, part)
        return {columns(db, part) for part in parts}

    parts = parts_of(path)
    headers = strictly(path.name, read)
    if len(headers) > 1:
        raise BadData("the parts have different columns", where=path.name)
    return headers.pop()


# Rows of a table in memory, handed over batch by batch: the narrow door for whatever is no file.
#
# The caller asks its own table for rows and pushes them; nothing of the caller's runs while the judge does.

WHERE = "the table"
BATCH = "sfumato_handed_batch"
PILED = 4_000_000
"""Rows that wait before equal ones are put together."""


class HandedRows:
    """A table that comes in batches; open while it is used in a `with`.

    `wanted` are the columns that have to be handed over, in the order that they have in every batch. With
    `marked`, a column `APART` is stored behind them.
    """

    def __init__(self, wanted: Sequence[str], *, memory: Memory = NO_LIMIT, marked: bool = False) -> None:
        self.wanted = tuple(wanted)
        self._stored = (*self.wanted, APART) if marked else self.wanted
        self._db = Database(WHERE, memory)
        self._waiting = 0
        self._kinds = ["VARCHAR"] * len(self._stored)

    def __enter__(self) -> Self:
        self._db.__enter__()
        declared = ", ".join([*(f"c{i} VARCHAR" for i in range(len(self._stored))), "n BIGINT"])
        self._db.ask(lambda db: db.execute(f"CREATE TEMP TABLE handed ({declared})"))
        return self

    def __exit__(self, *_: object) -> None:
        self._db.__exit__()

    def restart(self) -> None:
        """Forgets all rows that were handed over."""
        self._db.ask(lambda db: db.execute("DELETE FROM handed"))
        self._waiting = 0

    def add(self, batch: pa.RecordBatch, counts: pa.Array | None = None) -> None:
        """Takes a batch of rows; `counts` says how many rows of the table each stands for, if not one."""
        import pyarrow as pa  # noqa: PLC0415  # heavy

        if batch.num_columns != len(self._stored):
            raise BadData("a batch of rows has other columns than were asked for", where=WHERE)
        if not batch.num_rows:
            return
        for i, column in enumerate(batch.columns):
            if pa.types.is_nested(column.type):
                self._kinds[i] = TERMS
        cells = [texts_of(column) for column in batch.columns]
        amount = pa.array([1] * batch.num_rows, pa.int64()) if counts is None else counts.cast(pa.int64())
        names = [*(f"c{i}" for i in range(len(cells))), "n"]
        piece = pa.table([*cells, amount], names=names)
        self._db.ask(lambda db: self._take(db, piece))

    def ask(self, question: Callable[[duckdb.DuckDBPyConnection, Relation], Answer]) -> Answer:
        """Returns the answer to a question about all rows that were handed over."""
        table = Relation("handed", self._stored, tuple(self._kinds), "sum(n)")
        return self._db.ask(lambda db: question(db, table))

    def _take(self, db: duckdb.DuckDBPyConnection, piece: pa.Table) -> None:
        listed = ", ".join(f"c{i}" for i in range(len(self._stored)))
        grouped = f"{listed}, sum(n)::BIGINT AS n" if listed else "sum(n)::BIGINT AS n"
        db.register(BATCH, piece)
        db.execute(f"INSERT INTO handed SELECT {grouped} FROM {BATCH} GROUP BY ALL")  # noqa: S608
        db.unregister(BATCH)
        self._waiting += len(piece)
        if self._waiting > PILED:
            db.execute(f"CREATE TEMP TABLE fewer AS SELECT {grouped} FROM handed GROUP BY ALL")  # noqa: S608
            db.execute("DROP TABLE handed")
            db.execute("ALTER TABLE fewer RENAME TO handed")
            self._waiting = 0


# Digits of published numbers, told a second time: character by character, from the text of a cell.

_WRITTEN = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?")


def too_exact_cells(
    db: duckdb.DuckDBPyConnection, table: Relation, digits: Mapping[str, int]
) -> dict[str, int]:
    """Returns, for columns of numbers, how many different cells tell more than so many digits."""
    counts = {}
    for column, places in digits.items():
        cells = db.execute(f"SELECT DISTINCT {table.cell(column)} FROM {table.query}").fetchall()  # noqa: S608
        counts[column] = too_exact((text_of(cell, table.kind(column)) for (cell,) in cells), places)
    return counts


def too_exact(texts: Iterable[Text], digits: int) -> int:
    """Returns how many texts tell more than a number with so many digits behind the point.

    These are texts that write no number, numbers with more digits, zeros among them, and a zero with a sign.
    With fewer digits than none, the last ones before the point have to be zeros.

    >>> too_exact(["2.50", "7", None, "2.500", "-0", "n/a", "1e-3"], 2), too_exact(["1200", "1250"], -2)
    (4, 1)
    """
    return sum(text is not None and _says_more(text, digits) for text in texts)


def _says_more(text: str, digits: int) -> bool:
    written = _WRITTEN.fullmatch(text)
    if written is None:
        return True
    sign, whole, part, exponent = written[1], written[2], written[3] or "", int(written[4] or 0)
    every = whole + part
    if not every.strip("0"):
        return sign == "-" or len(part) > max(digits, 0)
    if exponent == 0 and len(part) > max(digits, 0):
        return True
    idle = len(every) - len(every.rstrip("0"))
    return len(part) - exponent - idle > digits


# Cells that are sets of terms, as SQL that makes one text of each.


def set_cell(table: Relation, name: str, form: SetColumn) -> str:
    """Returns a term set as one text, in SQL."""
    mark = f"chr({ord(TERM_END)})"
    if form.parts:
        return " || ".join(_part_of_set(table, part, form, mark) for part in form.parts)
    if table.kind(name) == TERMS:
        return table.place(name)
    if table.kind(name).endswith("[]"):
        return f"array_to_string({table.place(name)}, {mark})"
    return f"replace({table.place(name)}::VARCHAR, {_quoted(form.separator)}, {mark})"


def _part_of_set(table: Relation, part: str, form: SetColumn, mark: str) -> str:
    """Returns the term that one column of a set stands for, with its end, in SQL; nothing where it is not."""
    text = f"{table.place(part)}::VARCHAR"
    if part in form.by_value:
        return (
            f"CASE WHEN coalesce({text}, '') = '' THEN '' ELSE {_quoted(part + '=')} || {text} || {mark} END"
        )
    present = ", ".join(_quoted(word) for word in form.marks.get(part, ONE))
    return f"CASE WHEN {text} IN ({present}) THEN {_quoted(part)} || {mark} ELSE '' END"


# Every different combination of texts in some columns of a table, as numbers, with its rows.


@dataclass(frozen=True, eq=False)
class TextTable:
    """Row i stands for `counts[i]` rows that show the text `texts[j][codes[j][i]]` in column j of `names`."""

    names: tuple[str, ...]
    texts: tuple[tuple[Text, ...], ...]
    codes: tuple[NDArray[np.int64], ...]
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        db: duckdb.DuckDBPyConnection,
        table: Relation,
        names: Sequence[str],
        *,
        computed: Mapping[str, str] | None = None,
    ) -> TextTable:
        """Returns these columns of a table; rows are grouped once, then cells are put into words.

        `computed` gives, in SQL, columns of text that are made from others.
        """
        expressions = computed or {}
        cells = [
            f"{expressions[name] if name in expressions else table.cell(name)} AS t{i}"
            for i, name in enumerate(names)
        ]
        grouped = ", ".join([*cells, f"{table.weight}::BIGINT AS n"])
        by = "GROUP BY ALL" if names else "HAVING count(*) > 0"
        db.execute(f"CREATE OR REPLACE TEMP TABLE shown AS SELECT {grouped} FROM {table.query} {by}")  # noqa: S608
        texts = []
        for i, name in enumerate(names):
            values = [cell for (cell,) in db.execute(f"SELECT DISTINCT t{i} FROM shown").fetchall()]  # noqa: S608
            db.execute(f"CREATE OR REPLACE TEMP TABLE d{i} AS SELECT t{i} AS v, 0 AS code FROM shown LIMIT 0")  # noqa: S608
            db.execute(f"INSERT INTO d{i} SELECT unnest($1), unnest($2)", [values, list(range(len(values)))])
            kind = "VARCHAR" if name in expressions else table.kind(name)
            texts.append(tuple(text_of(cell, kind) for cell in values))
        joins = " ".join(f"JOIN d{i} ON shown.t{i} IS NOT DISTINCT FROM d{i}.v" for i in range(len(names)))
        listed = ", ".join([*(f"d{i}.code AS k{i}" for i in range(len(names))), "n"])
        arrays = list(db.execute(f"SELECT {listed} FROM shown {joins}").fetchnumpy().values())  # noqa: S608
        *codes, counts = (np.asarray(array, dtype=np.int64) for array in arrays)
        return cls(tuple(names), tuple(texts), tuple(codes), counts)

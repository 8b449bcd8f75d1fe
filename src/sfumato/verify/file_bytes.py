"""How the cells of a CSV file are written: one text with and without quotes, lines with different ends.

A reader of rows sees no difference; whoever reads the bytes tells the rows apart. A file in the shortest
form, in which releases are written, has one way to write each text, and is known by its length. Cells may be
separated by commas, semicolons, tabs or bars, or by what the judge is told.
"""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.system.errors import BadData
from sfumato.system.memory import Memory
from sfumato.verify.formats import columns, is_harmless, is_parquet, is_whole, literal, parts_of, whole_table
from sfumato.verify.tables import NO_LIMIT, RELEASED, Database, FileForm, Relation, header, number, strictly
from sfumato.verify.trees import Text

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


# Cells of a CSV file that a spreadsheet would run when somebody opens the file in it.

BEGINS = r"(?s)[=+@\t\r＝＋－＠-]."
"""How a cell begins that is run: a mark alone is none, and wide forms are read like the others."""
NUMBER = r"[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?\s?%?"
"""Signed numbers begin so, too, and are what they look like."""
AT_A_TIME = 500
"""So many columns are asked about at once."""


def is_formula(text: str) -> bool:
    """Tells whether a spreadsheet would run this cell.

    >>> is_formula("=1+1"), is_formula("-5"), is_formula("-"), is_formula("+49 30 1")
    (True, False, False, True)
    """
    return re.match(BEGINS, text) is not None and re.fullmatch(NUMBER, text) is None


def check_formulas(db: Database, path: Path, names: Sequence[str], form: FileForm) -> None:
    """Raises `BadData` where a name or a cell of a CSV file would be run; the message names columns alone."""
    if is_parquet(path):
        return
    begun = sum(map(is_formula, names))
    if begun:
        named = "1 name of a column" if begun == 1 else f"{begun} names of columns"
        raise BadData(f"{named} would be run by a spreadsheet", where=path.name, remedy=REMEDY)

    def ask(connection: duckdb.DuckDBPyConnection) -> list[int]:
        table = Relation.of_file(connection, path, names, form)
        counts: list[int] = []
        for start in range(0, len(names), AT_A_TIME):
            listed = ", ".join(_count(table.place(name)) for name in names[start : start + AT_A_TIME])
            # All rows: a result that is not read to its end keeps the connection busy.
            answer = connection.execute(f"SELECT {listed} FROM {table.query}").fetchall()  # noqa: S608  # our names
            counts += answer[0]
        return counts

    counts = db.ask(ask)
    run = [(name, count) for name, count in zip(names, counts, strict=True) if count]
    if run:
        name, count = run[0]
        more = f", and {len(run) - 1} more columns have such cells" if len(run) > 1 else ""
        raise BadData(
            f"a spreadsheet would run {count:,} cells of column {name}: "
            f"they begin with =, +, -, @ or a tab{more}",
            where=path.name,
            remedy=REMEDY,
        )


REMEDY = (
    "Change them beforehand, write Parquet, or say `formulas: keep` in the policy if no spreadsheet "
    "will open the file."
)


def _count(cell: str) -> str:
    text = f"{cell}::VARCHAR"
    begins, number = (pattern.replace("'", "''") for pattern in (f"^{BEGINS}", NUMBER))
    return (
        f"count(*) FILTER (regexp_matches({text}, '{begins}') AND NOT regexp_full_match({text}, '{number}'))"
    )


# A Parquet file written again from its rows, to see whether its bytes hold anything else.
#
# The settings are those of releases. The same library writes the same bytes for the same rows, so a file that
# differs was written otherwise, or changed afterwards: it may hold values that no row has.

SETTINGS = {"compression": "zstd", "store_schema": False, "use_dictionary": True, "version": "2.6"}
ROWS_OF_A_GROUP = 1 << 20
"""So many rows every group has, but for the last."""
SCHEMA_NOTE = "ARROW:schema"


def is_as_released(path: Path) -> bool:
    """Tells whether the bytes of a Parquet file are those that its rows and the types of its columns give.

    One group of rows is in memory at a time, and nothing is written to disk. Raises `BadData` where the rows
    cannot be read.
    """
    import pyarrow as pa  # noqa: PLC0415  # heavy
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

    try:
        schema = pa.schema([column.remove_metadata() for column in pq.read_schema(path)])
        texts = [column.name for column in schema if pa.types.is_string(column.type)]
        coded = pa.dictionary(pa.int32(), pa.string())
        written = pa.schema([c.with_type(coded) if c.name in texts else c for c in schema])
        with path.open("rb") as original, pq.ParquetFile(path, read_dictionary=texts) as rows:
            sizes = [rows.metadata.row_group(number).num_rows for number in range(rows.num_row_groups)]
            if sizes and (set(sizes[:-1]) - {ROWS_OF_A_GROUP} or sizes[-1] > ROWS_OF_A_GROUP):
                return False
            compared = ComparedBytes(original)
            with pq.ParquetWriter(compared, written, **SETTINGS) as writer:
                note = base64.b64encode(schema.serialize()).decode()
                writer.add_key_value_metadata({SCHEMA_NOTE: note})
                for number in range(rows.num_row_groups):
                    if compared.differ:
                        return False
                    columns = map(canonical_cells, rows.read_row_group(number).columns)
                    batch = pa.RecordBatch.from_arrays(list(columns), schema=written)
                    writer.write_batch(batch, row_group_size=ROWS_OF_A_GROUP)
            return not compared.differ and not original.read(1)
    except (pa.ArrowException, OSError, UnicodeError):  # the last of names
        raise BadData("the file cannot be read as Parquet", where=path.name) from None


class ComparedBytes(io.RawIOBase):
    """Takes what is written to it, and notes whether it differs from the bytes of a file; keeps nothing."""

    def __init__(self, original: io.BufferedReader) -> None:
        super().__init__()
        self._original = original
        self._place = 0
        self.differ = False

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def write(self, data: Any) -> int:  # whatever has bytes
        piece = memoryview(data)
        self._place += piece.nbytes
        self.differ = self.differ or self._original.read(piece.nbytes) != piece
        return piece.nbytes


def canonical_cells(cells: pa.ChunkedArray) -> pa.Array:
    """Returns the cells in one array; of a dictionary, only the values that occur, once each, in their order.

    Raises `pyarrow.ArrowInvalid` where a cell names no entry: Arrow drops an entry that a dictionary holds
    twice, and leaves the numbers of those behind it.

    >>> import pyarrow as pa
    >>> cells = pa.DictionaryArray.from_arrays([2, 0, 2], ["x", "unused", "x"])
    >>> canonical_cells(pa.chunked_array([cells])).dictionary.to_pylist()
    ['x']
    """
    import pyarrow as pa  # noqa: PLC0415  # heavy

    cells.validate(full=True)
    whole = cells.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    if not pa.types.is_dictionary(whole.type):
        return whole
    entries = whole.dictionary.dictionary_encode()
    codes = entries.indices.take(whole.indices).dictionary_encode()
    return pa.DictionaryArray.from_arrays(codes.indices, entries.dictionary.take(codes.dictionary))


# What a Parquet file of anybody tells beyond its rows, as far as a reader of Parquet shows it.

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


LARGEST = 256 << 20
"""Files of more bytes are looked at only as far as their length tells."""

SEPARATORS = ",;\t|"


@cache
def _cell(mark: str) -> re.Pattern[str]:
    """Returns what a cell and its end look like, where this mark separates cells."""
    return re.compile(rf'("(?:[^"]|"")*"|[^{re.escape(mark)}"\r\n]*)({re.escape(mark)}|\r\n|\n|\r|\Z)')


@dataclass(frozen=True)
class WrittenRow:
    """One row: its cells as text, and how each of them and the end of its line are written."""

    cells: tuple[Text, ...]
    quoted: tuple[bool, ...]
    end: str


def is_shortest(
    path: Path, columns: Sequence[str], *, memory: Memory = NO_LIMIT, form: FileForm = RELEASED
) -> bool:
    """Tells whether a CSV file with these columns is in the shortest form, in which releases are written.

    Such a file has no quotes but where they are needed, and short line ends: its rows tell all that its bytes
    do.
    """

    def ask(db: duckdb.DuckDBPyConnection) -> int:
        table = Relation.of_file(db, path, columns, form)
        return number(db, length_query(table, form.separator))

    try:
        if header(path, form=form) != tuple(columns):
            return False
        return _size(path, form) - _header_bytes(path, form) == strictly(path.name, ask, memory)
    except BadData:  # lines that end in different ways are among what a strict reader refuses
        return False


def length_query(table: Relation, separator: str) -> str:
    """Returns how many bytes all rows take in the shortest form, each with its end, as a query.

    What a cell takes is said once, for a list of all cells of a row: said for each column, ten thousand of
    them take a database a minute to understand.
    """
    cells = ", ".join(map(table.place, table.names))
    lengths = f"list_transform([{cells}], lambda cell: {_length('cell', separator)})"
    return f"SELECT coalesce(sum(list_sum({lengths}) + {len(table.names)}), 0)::BIGINT FROM {table.query}"  # noqa: S608


def form_of_file(path: Path, columns: Sequence[str], expected: FileForm = RELEASED) -> FileForm | None:
    """Returns the form of a file that begins with these columns, as told or found; `None` for none we know.

    A mark at the beginning of a file in UTF-8 is passed over.
    """
    encoding = "utf-8-sig" if expected.is_utf8 else expected.encoding
    for mark in dict.fromkeys((expected.separator, *SEPARATORS)):
        try:
            with path.open(encoding=encoding, newline="") as text:
                if next(csv.reader(text, delimiter=mark, strict=True), []) == list(columns):
                    return FileForm(expected.encoding, mark)
        except (csv.Error, UnicodeError):
            continue
    return None


def written_rows(path: Path, columns: Sequence[str], form: FileForm = RELEASED) -> Iterator[WrittenRow]:
    """Yields the rows of a CSV file as they are written; raises `BadData` where it is too large for that.

    The last line may lack its end: it is taken to end as the line before.
    """
    if path.stat().st_size > LARGEST:
        raise BadData("the file is too large to look at every quote", where=path.name)
    try:
        text = path.read_bytes().decode("utf-8-sig" if form.is_utf8 else form.encoding)
    except UnicodeError:
        raise BadData("the file is not in the encoding that was expected", where=path.name) from None
    cells: list[Text] = []
    quoted: list[bool] = []
    place, first, before = 0, True, "\n"
    while place < len(text):
        match = _cell(form.separator).match(text, place)
        if match is None:
            raise BadData("the file cannot be read", where=path.name)
        raw, end = match[1], match[2]
        is_quoted = raw.startswith('"')
        cells.append(raw[1:-1].replace('""', '"') if is_quoted else raw or None)
        quoted.append(is_quoted)
        place = match.end()
        if end != form.separator:
            blank = len(columns) > 1 and cells == [None] and not is_quoted
            if len(cells) != len(columns) and not blank:
                raise BadData("a row has more or fewer cells than the header", where=path.name)
            before = end or before
            if not first and not blank:
                yield WrittenRow(tuple(cells), tuple(quoted), before)
            cells, quoted, first = [], [], False


def csv_surplus(
    path: Path, columns: Sequence[str], *, memory: Memory = NO_LIMIT, form: FileForm = RELEASED
) -> tuple[Surplus, ...]:
    """Returns what the form of a CSV file tells beyond its rows; raises `BadData` where it cannot be read.

    `columns` are those that somebody else has read, `form` is how. Of a file in a form that is not known here
    (compressed, another encoding or separator) it is said that nobody looked.
    """
    if is_whole(path):
        return _whole_surplus(path, columns)
    found_form = form_of_file(path, columns, form)
    if found_form is None:
        return (Surplus("how the cells of the file are written was not looked at", certain=False),)
    if is_shortest(path, columns, memory=memory, form=found_form):
        return ()
    forms: list[dict[Text, bool]] = [{} for _ in columns]
    several = [False] * len(columns)
    ends = set()
    for row in written_rows(path, columns, found_form):
        ends.add(row.end)
        for i, (cell, quoted) in enumerate(zip(row.cells, row.quoted, strict=True)):
            several[i] |= forms[i].setdefault(cell, quoted) != quoted
    surplus = []
    if any(several):
        named = tuple(name for name, many in zip(columns, several, strict=True) if many)
        surplus.append(Surplus("one text is written with quotes and without", named, certain=False))
    if len(ends) > 1:
        surplus.append(Surplus("lines end in different ways", certain=False))
    return tuple(surplus)


def _whole_surplus(path: Path, columns: Sequence[str]) -> tuple[Surplus, ...]:
    """Returns nothing for a file that holds cells alone, as releases do; else that nobody looked further."""
    try:
        if whole_table(path).column_names == list(columns):
            return ()
    except BadData:
        pass
    return (Surplus("what the file holds beside its cells was not looked at", certain=False),)


def marks_of(row: WrittenRow, places: Sequence[int]) -> str:
    """Returns what tells a row from others with the same texts in these columns."""
    return "".join('"' if row.quoted[i] else "," for i in places) + row.end


def _length(cell: str, separator: str) -> str:
    """Returns how many bytes a cell takes in the shortest form, in SQL and in UTF-8."""
    quotes = f"strlen({cell}) - strlen(replace({cell}, '\"', ''))"
    special = " OR ".join(
        f"contains({cell}, chr({ord(mark)}))" for mark in (separator, '"', "\n", "\r", "\ufeff")
    )
    return (
        f"CASE WHEN {cell} IS NULL THEN 0 WHEN {cell} = '' THEN 2 "
        f"WHEN {special} THEN strlen({cell}) + 2 + {quotes} ELSE strlen({cell}) END"
    )


def _size(path: Path, form: FileForm) -> int:
    """Returns how many bytes the text of a file takes in UTF-8."""
    return path.stat().st_size if form.is_utf8 else sum(len(piece.encode()) for piece in form.texts(path))


def _header_bytes(path: Path, form: FileForm) -> int:
    """Returns how many bytes the first line takes, with its end, in UTF-8."""
    inside, size = False, 0
    with path.open("rb") if form.is_utf8 else path.open(encoding=form.encoding, newline="") as file:
        for raw in file:
            line = raw if isinstance(raw, bytes) else raw.encode()
            size += len(line)
            inside ^= line.count(b'"') % 2 == 1
            if not inside:
                break
    return size

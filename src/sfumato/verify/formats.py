"""What the judge asks of Parquet files: their columns, their notes, and which parts make a table."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zipfile import BadZipFile, ZipFile

from sfumato.system.errors import BadData
from sfumato.system.expansion import NoMessages, arrow_bytes, check_expansion
from sfumato.system.plugins import Declared, declared
from sfumato.verify.cells import label
from sfumato.verify.trees import Text

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
    entries = sorted(path.iterdir())
    parts = [p for p in entries if is_parquet(p) and p.is_file() and not p.is_symlink()]
    others = [p for p in entries if p not in parts and p.name != LIST_OF_PARTS]
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
    allowed = {} if frame is None else {NOTE_OF_PANDAS.encode(): frame}
    bare = (schema.metadata or {}) == allowed and all(_is_bare(part) for part in schema)
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
    plain = all(
        isinstance(entry, dict) and entry.get("kind") == "range" and not entry.get("name") for entry in index
    )
    unnamed = all(isinstance(entry, dict) and entry.get("name") is None for entry in frames)
    described = [entry.get("name") for entry in note.get("columns", [])]
    return plain and unnamed and set(described) <= set(names)


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


# Files that are neither CSV nor Parquet: each reader says in a decorator which it reads.

READERS = "sfumato.verify"
"""Where they are."""
Columns = Mapping[str, list[Text]]
R = TypeVar("R", bound="Callable[[Path], Columns | pa.Table]")


def built_in_format(*endings: str) -> Callable[[R], R]:
    """Offers a function as the judge's reader of files with these endings, in lower case.

    It returns the cells of every column, and raises `BadData` where the file is not as releases are. The
    endings are read from its file without importing it, so they are literals.
    """
    del endings  # read from the file
    return lambda reader: reader


@cache
def _readers() -> dict[str, Declared]:
    """Returns the readers by the endings of their files."""
    return {ending: part for part in declared(READERS, "built_in_format") for ending in part.words}


# JSON lines, as a release writes them: the same names in the same order on every line.


@built_in_format(".jsonl", ".ndjson")
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
        members = json.loads(line.decode("utf-8"), object_pairs_hook=_Members)
    except (ValueError, RecursionError):
        return None
    plain = isinstance(members, _Members) and not any(isinstance(cell, list) for _, cell in members)
    return members if plain and line.startswith(b"{") and line.endswith(b"}\n") else None


class _Members(list[tuple[str, Any]]):
    """The members of an object, in order, each as often as it is there."""


# Files of SPSS and Stata, as a release writes them: cells, and nothing that describes them.

READ_BY = {".sav": "read_sav", ".dta": "read_dta"}
TOLD_BESIDE_CELLS = (
    "variable_value_labels",
    "missing_ranges",
    "missing_user_values",
    "notes",
    "file_label",
    "mr_sets",
)


@built_in_format(".sav", ".dta")
def statistics_columns(path: Path) -> dict[str, list[Text]]:
    """Returns the cells of every column as texts; raises `BadData` where the file tells more than these."""
    try:
        library: Any = import_module("pyreadstat")  # it has no types
        read = getattr(library, READ_BY[path.suffix.lower()])
        columns, about = read(str(path), output_format="dict", user_missing=True)
    except Exception:  # of the library, whose message may quote cells
        raise BadData("the file cannot be read", where=path.name, remedy="Write it again.") from None
    descriptions = [name for name in TOLD_BESIDE_CELLS if getattr(about, name, None)]
    if descriptions or any(about.column_labels):
        raise BadData("the file tells more than its cells", where=path.name, remedy="Write it again.")
    return {name: [_text(cell) for cell in cells] for name, cells in columns.items()}


def _text(cell: object) -> Text:
    if cell is None or cell == "" or (isinstance(cell, float) and isnan(cell)):
        return None
    if not isinstance(cell, str | float | int | date):
        raise BadData("a cell is neither a number, a text nor a date")
    return label(cell)


# XLSX files, as a release writes them: read from the bytes, by a grammar that has room for cells alone.
#
# Whatever else a workbook may hold (properties, other sheets, formulas, comments, styles, bytes between its
# parts) is no such file. One that another program saved is refused here, and judged by its rows instead.

SHEET = "xl/worksheets/sheet1.xml"
KNOWN_PARTS = {
    "[Content_Types].xml": "2bb85ed4ca1edbd73bc2df269dd0e0f61feb70a3f926a80b0a8db4f8633e3a8c",
    "_rels/.rels": "9f96bb683e71c45171c7ae310bf6c37fb5a834bb9738497ac7084c42ac9c2d9a",
    "xl/workbook.xml": "87daec00a41ef0b53ff23c4a14e05e978b94919841a29711f578b9c44fd0ce4a",
    "xl/_rels/workbook.xml.rels": "1b2fc82d18a622c89e94093d1d5a256857ac9641b8ee51a8290ea82796b1060f",
    "xl/styles.xml": "4d2f544936654995212724e440a8bb6a08c07c729017847cd3927399e3c193af",
}
"""The parts of a release beside its cells, and the SHA-256 of each: they say nothing of anybody."""

PLAIN_FILE = 0o600 << 16
UNREADABLE = (
    BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError, RuntimeError, UnicodeError, OSError
)  # fmt: skip
"""What a file raises that is damaged, or no workbook."""
LOCAL_BYTES, CENTRAL_BYTES, END_BYTES = 30, 46, 22
"""What a ZIP file has, beside names and contents, for each part, in its list of parts, and at its end."""
BEGIN = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
)
END = "</sheetData></worksheet>"
ROW = re.compile(r'<row r="([0-9]+)">(.*?)</row>', re.DOTALL)
CELL = re.compile(
    r'<c r="([A-Z]+)([0-9]+)"(?:'
    r' t="inlineStr"><is><t xml:space="preserve">([^<]+)</t></is>'
    r'|( t="b"| s="1"|)><v>([^<>&]+)</v>)</c>'
)
OTHER_ESCAPE = re.compile("&(?!amp;|lt;|gt;|#13;)|[\x00-\x08\x0b-\x1f]")
DAY_ZERO = date(1899, 12, 30)
COPIES_OF_SHEET = 4
"""The bytes of a sheet, its text, and the texts of its cells."""


@built_in_format(".xlsx")
def workbook_columns(path: Path) -> dict[str, list[Text]]:
    """Returns the cells of every column as texts; raises `BadData` where the file holds anything else."""
    sheet = _sheet(path)
    if not sheet.startswith(BEGIN) or not sheet.endswith(END):
        raise _more(path)
    place, last = len(BEGIN), len(sheet) - len(END)
    names: list[str] = []
    columns: list[list[Text]] = []
    number = 0
    while place < last:
        row = ROW.match(sheet, place, last)
        number += 1
        if row is None or int(row[1]) != number:
            raise _more(path)
        cells = _cells(row[2], number, path)
        if number == 1:
            names = [str(cells[j]) for j in range(len(cells)) if cells.get(j) is not None]
            columns = [[] for _ in names]
            if len(names) != len(cells) or len(set(names)) < len(names):
                raise BadData("the names of columns cannot be read", where=path.name)
        elif not cells or max(cells) >= len(names):
            raise BadData(f"row {number} has no cells, or more than the first", where=path.name)
        else:
            for j, column in enumerate(columns):
                column.append(cells.get(j))
        place = row.end()
    if not names:
        raise BadData("the sheet is empty", where=path.name)
    return dict(zip(names, columns, strict=True))


def _sheet(path: Path) -> str:
    """Returns the XML of the only sheet of a file that holds the known parts and nothing else."""
    try:
        with ZipFile(path) as file:
            entries = file.infolist()
            expected = [*KNOWN_PARTS, SHEET]
            bare = all(not (e.extra or e.comment or e.internal_attr) for e in entries)
            bare &= all((e.create_system, e.external_attr) == (0, PLAIN_FILE) for e in entries)
            names = sum(2 * len(e.filename.encode()) + e.compress_size for e in entries)
            size = names + len(entries) * (LOCAL_BYTES + CENTRAL_BYTES) + END_BYTES
            if [e.filename for e in entries] != expected or not bare or size != path.stat().st_size:
                raise _more(path)
            if any(e.date_time != (1980, 1, 1, 0, 0, 0) for e in entries):
                raise _more(path)
            if any(sha256(file.read(name)).hexdigest() != mark for name, mark in KNOWN_PARTS.items()):
                raise _more(path)
            check_expansion(file.getinfo(SHEET).file_size * COPIES_OF_SHEET, path)
            return file.read(SHEET).decode("utf-8")
    except UNREADABLE:
        raise BadData("the file cannot be read as XLSX", where=path.name, remedy="Write it again.") from None


def _cells(text: str, row: int, path: Path) -> dict[int, Text]:
    """Returns the cells of a row by the number of their column, which rises."""
    cells: dict[int, Text] = {}
    place, before = 0, -1
    while place < len(text):
        cell = CELL.match(text, place)
        if cell is None or int(cell[2]) != row or (column := _number(cell[1])) <= before:
            raise _more(path)
        cells[column] = _value(cell[4], cell[5], path) if cell[3] is None else _workbook_text(cell[3], path)
        place, before = cell.end(), column
    return cells


def _workbook_text(written: str, path: Path) -> str:
    if OTHER_ESCAPE.search(written):
        raise _more(path)
    from xml.sax.saxutils import unescape  # noqa: PLC0415  # slow to load, and only workbooks need it

    return unescape(written, {"&#13;": "\r"})


def _value(kind: str, text: str, path: Path) -> Text:
    try:
        if kind == ' t="b"':
            return {"0": "false", "1": "true"}[text]
        if kind == ' s="1"':
            return (DAY_ZERO + timedelta(days=int(text))).isoformat()
        return label(float(text))
    except (ValueError, KeyError, OverflowError):
        raise BadData("a cell cannot be read", where=path.name) from None


def _number(letters: str) -> int:
    """Returns the number of a column, counted from nought.

    >>> [_number(letters) for letters in ("A", "Z", "AA", "ZZ")]
    [0, 25, 26, 701]
    """
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _more(path: Path) -> BadData:
    return BadData(
        "the workbook holds more or other things than a release writes",
        where=path.name,
        remedy="Write it again.",
    )


# Published files that are neither CSV nor Parquet: read as a whole, each cell as its text.
#
# The judge has readers of its own: XLSX by its bytes, Arrow by Polars, JSON lines cell by
# cell. Files of SPSS and Stata are read by the library that wrote them, and refused where they hold more than
# cells.


def is_whole(path: Path) -> bool:
    """Tells whether a path is meant to be a file that is read as a whole."""
    return path.suffix.lower() in _readers()


def whole_table(path: Path) -> pa.Table:
    """Returns all cells of a published file as texts; raises `BadData` where it is not as releases are."""
    if not path.is_file():
        raise BadData("there is no such file", where=path.name)
    state = path.stat()
    return _read(path, state.st_ino, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=1)
def _read(path: Path, *_: int) -> pa.Table:
    """Returns the table of a file in the state that the numbers tell: it is asked for several times."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    content = _readers()[path.suffix.lower()].load()(path)
    if isinstance(content, pa.Table):
        return content
    return pa.table({name: pa.array(cells, pa.large_string()) for name, cells in content.items()})


@built_in_format(".arrow", ".feather")
def _arrow_table(path: Path) -> pa.Table:
    """Returns the cells of an Arrow file without metadata, as Polars reads them."""
    import polars as pl  # noqa: PLC0415  # heavy
    import pyarrow as pa  # noqa: PLC0415  # heavy

    from sfumato.verify.cells import texts_of  # noqa: PLC0415  # loads Arrow

    unreadable = BadData("the file cannot be read as Arrow", where=path.name, remedy="Write it again.")
    try:
        check_expansion(arrow_bytes(path), path)
        frame = pl.read_ipc(path)
        with pa.OSFile(str(path)) as file:
            schema = pa.ipc.open_file(file).schema
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError, NoMessages):
        raise unreadable from None
    if schema.metadata or any(field.metadata for field in schema) or schema.names != frame.columns:
        raise BadData("the file carries notes besides its columns", where=path.name, remedy="Write it again.")
    cells = [texts_of(column.combine_chunks()) for column in frame.to_arrow().columns]
    return pa.table([column.cast(pa.large_string()) for column in cells], names=frame.columns)

"""JSON lines as readers: one record on each line, a mapping of column names to cells.

Columns are all that some record names, in the order of their appearance; a record that lacks one has a
missing cell there. A column of numbers, or of truths, keeps its type; any other is read as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import ipc

from sfumato.system.address import POSTGRESQL, SQLITE, DatabaseAddress
from sfumato.system.errors import BadData
from sfumato.system.expansion import NoMessages, arrow_bytes, check_expansion
from sfumato.system.json_object import read_json
from sfumato.table.cell_text import canonical, safe_name
from sfumato.table.data_file import SourceForm, built_in_reader
from sfumato.table.reading.loaded_file import LoadedFileReader, extra_library

JSON_BYTES_PER_BYTE = 8
"""Memory for each byte of the file: measured were 6.7, most of it for single cells."""


def _texts(cells: list[object], kind: type) -> Iterator[str]:
    """Yields the texts of all cells of one type, in their order."""
    return iter(canonical(pa.array([cell for cell in cells if type(cell) is kind])).to_pylist())


@built_in_reader(".jsonl", ".ndjson", what="a file of JSON lines", place=7, named=(".jsonl",))
@dataclass(frozen=True, eq=False)
class JsonLinesReader(LoadedFileReader):
    """A file of JSON lines, in UTF-8."""

    def needed_bytes(self) -> int:
        return self.path.stat().st_size * JSON_BYTES_PER_BYTE

    def load(self) -> pa.Table:
        columns: dict[str, list[object]] = {}
        rows = 0
        for number, line in enumerate(self._lines(), 1):
            if not line.strip():
                continue
            for name, cell in self._record(line, number).items():
                cells = columns.setdefault(name, [])
                cells.extend([None] * (rows - len(cells)))
                cells.append(cell)
            rows += 1
        for cells in columns.values():
            cells.extend([None] * (rows - len(cells)))
        if not columns:
            raise BadData("the file holds no record", where=self.path.name)
        return pa.table({name: self._column(name, cells) for name, cells in columns.items()})

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="utf-8-sig").split("\n")
        except UnicodeDecodeError:
            raise BadData("the file is not in UTF-8", where=self.path.name) from None

    def _record(self, line: str, number: int) -> dict[str, object]:
        try:
            record = read_json(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise BadData(
                f"line {number} is no record", where=self.path.name, remedy="Each line is an object {…}."
            )
        return record

    def _column(self, name: str, cells: list[object]) -> pa.Array:
        """Returns the cells in the one type that all of them have, or as texts."""
        kinds = {type(cell) for cell in cells if cell is not None}
        try:
            if kinds <= {int, float} or kinds == {bool}:
                return pa.array(cells, None if kinds else pa.string())
            if kinds == {str}:
                return pa.array(cells, pa.string())
            if kinds <= {str, int, float, bool}:
                texts = {kind: _texts(cells, kind) for kind in kinds}
                as_texts = [None if cell is None else next(texts[type(cell)]) for cell in cells]
                return pa.array(as_texts, pa.string())
        except (pa.ArrowException, OverflowError):
            pass
        raise BadData(
            f"column {safe_name(name)} holds lists, records or numbers that are too large",
            where=self.path.name,
            remedy="Leave it out or turn it into text.",
        )


# The rows that a query gives, read once: whoever asks again gets the same ones.

DRIVERS: Mapping[str, str] = {
    POSTGRESQL: "adbc_driver_postgresql.dbapi",
    SQLITE: "adbc_driver_sqlite.dbapi",
}

COPIES = 2
"""An answer is held as it comes, and with types that others know as texts."""
NO_DATABASE = DatabaseAddress(SQLITE, "file::memory:")


@dataclass(frozen=True, eq=False)
class QueryReader(LoadedFileReader):
    """What a database answers to a query; it is asked in a transaction that can only read."""

    address: DatabaseAddress = NO_DATABASE
    query: str = ""

    @property
    def source_form(self) -> SourceForm:
        return SourceForm(query=self.query)

    def load(self) -> pa.Table:
        driver = extra_library(DRIVERS[self.address.kind], "a query of a database")
        try:
            connection = driver.connect(self.address.uri)
        except driver.Error:  # its message may hold the address
            raise BadData(
                "the database cannot be reached",
                where=self.path.name,
                remedy="Check its address, and whether it lets you in.",
            ) from None
        with closing(connection), closing(connection.cursor()) as cursor:
            try:
                if self.address.kind == POSTGRESQL:
                    cursor.execute("SET TRANSACTION READ ONLY")
                cursor.execute(self.query)
                table = self._answer(cursor.fetch_record_batch())
            except (driver.Error, pa.ArrowException, OSError, UnicodeError):  # a message may quote cells
                raise BadData(
                    "the database refuses the query, or its answer cannot be read",
                    where=self.path.name,
                    remedy="Try the query in the database's own program. It may only read; cast columns in"
                    " which texts and numbers are mixed, and types that are neither.",
                ) from None
        return pa.table([_plain(column) for column in table.columns], names=table.column_names)

    def _answer(self, rows: pa.RecordBatchReader) -> pa.Table:
        """Returns all rows of an answer, as long as there is room for as many more.

        Drivers hand on whatever bytes a database has for a text; those that are no text are refused here.
        """
        batches = []
        for batch in rows:
            batch.validate(full=True)
            batches.append(batch)
            self.check_room(COPIES * batch.nbytes)
        return pa.Table.from_batches(batches, rows.schema)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns the cells of a type that the driver does not know as the texts that stand for them."""
    if isinstance(column.type, pa.BaseExtensionType):
        return pa.chunked_array([chunk.storage for chunk in column.chunks], type=column.type.storage_type)
    return column


# Arrow files as readers: the IPC file format (Feather), and its streams.

ARROW_BYTES_PER_BYTE = 2
"""Memory for each byte of a file that is not compressed: measured were 1.8."""


@built_in_reader(".arrow", ".feather", ".ipc", ".arrows", what="an Arrow file", place=6, named=(".arrow",))
@dataclass(frozen=True, eq=False)
class ArrowFileReader(LoadedFileReader):
    """An Arrow IPC file or stream."""

    def needed_bytes(self) -> int:
        return self.path.stat().st_size * ARROW_BYTES_PER_BYTE

    def load(self) -> pa.Table:
        try:
            check_expansion(arrow_bytes(self.path) * ARROW_BYTES_PER_BYTE, self.path)
        except NoMessages:
            raise self._unreadable() from None
        try:
            with pa.OSFile(str(self.path)) as file:
                try:
                    packed = ipc.open_file(file)
                except pa.ArrowInvalid:
                    file.seek(0)
                    stream = ipc.open_stream(file)
                    return self._joined(stream.schema, stream)
                batches = (packed.get_batch(number) for number in range(packed.num_record_batches))
                return self._joined(packed.schema, batches)
        except (pa.ArrowException, OSError):
            raise self._unreadable() from None

    def _unreadable(self) -> BadData:
        return BadData("the file cannot be read as Arrow", where=self.path.name, remedy="Is it complete?")

    def _joined(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        """Returns all batches as a table; what is compressed shows its size only when it is unpacked.

        Arrow believes the offsets of a file, and reads where nothing is if they are damaged.
        """
        loaded = []
        for batch in batches:
            batch.validate(full=True)
            loaded.append(batch)
            self.check_room(batch.nbytes)
        return pa.Table.from_batches(loaded, schema)

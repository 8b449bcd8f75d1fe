"""The rows that a query gives, read once: whoever asks again gets the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from sfumato.core.data_file import SourceForm
from sfumato.core.errors import BadData
from sfumato.engine.files.extra_library import extra_library
from sfumato.engine.files.loaded_file import LoadedFileReader
from sfumato.system.database_address import POSTGRESQL, SQLITE, DatabaseAddress

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
        held = []
        for batch in rows:
            batch.validate(full=True)
            held.append(batch)
            self.check_room(COPIES * batch.nbytes)
        return pa.Table.from_batches(held, rows.schema)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns the cells of a type that the driver does not know as the texts that stand for them."""
    if isinstance(column.type, pa.BaseExtensionType):
        return pa.chunked_array([chunk.storage for chunk in column.chunks], type=column.type.storage_type)
    return column

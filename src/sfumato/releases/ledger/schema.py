"""The schema of the tables: made, or refused."""

from __future__ import annotations

from sqlalchemy import Connection, insert, inspect, select

from sfumato.core.errors import BadLedger
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.tables import ENTRIES, FORMAT, METADATA, VERSION


def check(connection: Connection) -> None:
    """Raises unless the tables are those of this version."""
    if not _has_ledger(connection):
        raise BadLedger("there is no ledger in this database", remedy="A first release makes one.")
    there = inspect(connection).has_table(FORMAT.name)
    versions = connection.execute(select(FORMAT.c.version)).scalars().all() if there else []
    if versions != [VERSION]:
        raise BadLedger(
            "the ledger was made by another version of Sfumato",
            remedy="Read it with that version, or begin a ledger of this version in another place.",
        )


def prepare(database: LedgerDatabase) -> None:
    """Makes the tables where there are none; raises where there are those of another version."""
    database.make_file()
    with database.reading() as connection:
        if _has_ledger(connection):
            check(connection)
            return
    with database.writing() as connection:
        if _has_ledger(connection):
            check(connection)
            return
        METADATA.create_all(connection)
        connection.execute(insert(FORMAT).values(version=VERSION))


def _has_ledger(connection: Connection) -> bool:
    tables = inspect(connection)
    return tables.has_table(FORMAT.name) or tables.has_table(ENTRIES.name)

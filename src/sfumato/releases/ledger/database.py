"""The database of a ledger: many may read, one may write.

SQLite: a writer begins IMMEDIATE, so that it reads what it decides on under the lock. The rollback journal is
used, not the write-ahead log: a ledger is written rarely, stays one file, can be read from a read-only disk,
and leaves no second file behind that holds deleted pages.

PostgreSQL: a writer takes an advisory lock before its SERIALIZABLE transaction begins. In the other order the
snapshot could be older than the lock.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from sfumato.releases.ledger.tables import ENTRIES, FORMAT, METADATA, VERSION
from sfumato.releases.ledger.vault import VAULT, Vault
from sfumato.system.errors import BadLedger, LedgerConflict, SfumatoError, UsageError

# Failures of databases as errors that may be shown: a driver's own words may quote what it holds.


class SerializationConflict(LedgerConflict):
    """Two transactions conflict; this one left no trace and may be tried again."""


class LostDatabase(LedgerConflict):
    """The database went away; whether the last transaction counts is not known."""


class AccessDenied(BadLedger):
    """The database does not let this role do it."""


BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
CLOSED = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}

CLOSED_REMEDY = "Look at its permissions; after a crash run `sfumato ledger recover`."

CONFLICTS = {"40001", "40P01"}
WAITED = {"55P03", "57014"}
DENIED = {"28000", "28P01", "42501", "3D000", "25006"}


FAILURES = (SQLAlchemyError, UnicodeDecodeError)
"""What a database raises: SQLite quotes the names of a damaged schema, which may be no Unicode."""


def translated(error: SQLAlchemyError | UnicodeDecodeError) -> SfumatoError:
    """Returns the same failure in our words."""
    if isinstance(error, UnicodeDecodeError):
        return _from_sqlite(sqlite3.SQLITE_CORRUPT)
    if not isinstance(error, DBAPIError):
        return BadLedger("the ledger does not hold what it should", remedy="Run `sfumato ledger verify`.")
    # `getattr`: the error is whatever the driver raised, and each driver has attributes of its own.
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return _from_sqlite(code & 0xFF)
    if isinstance(error.orig, sqlite3.Error):
        return BadLedger("the ledger is damaged", remedy="Run `sfumato ledger verify`.")
    return _from_postgresql(getattr(error.orig, "sqlstate", None), type(error).__name__)


def _from_sqlite(code: int) -> SfumatoError:
    if code in BUSY:
        return LedgerConflict("the ledger is in use by another process", remedy="Try again.")
    if code in FULL:
        return BadLedger("there is no room to write the ledger", remedy="Free some space on its disk.")
    if code in DAMAGED:
        return BadLedger("the ledger is damaged", remedy="Run `sfumato ledger verify`; restore a backup.")
    if code in CLOSED:
        return BadLedger("the ledger cannot be opened, or not written to", remedy=CLOSED_REMEDY)
    return BadLedger(f"the ledger cannot be used (SQLite says {code})", remedy="Run `sfumato ledger verify`.")


def _from_postgresql(state: str | None, kind: str) -> SfumatoError:
    if state in CONFLICTS:
        return SerializationConflict(
            "somebody else wrote to the ledger at the same moment", remedy="Try again."
        )
    if state in WAITED:
        return LedgerConflict("the ledger is in use by another process", remedy="Try again.")
    if state in DENIED:
        return AccessDenied(
            "the database does not let this role in, or not write", remedy="Look at its grants."
        )
    if state is None or state[:2] == "08" or state in {"57P01", "57P02", "57P03"}:
        return LostDatabase("the database of the ledger cannot be reached", remedy="Try again later.")
    return BadLedger(f"the ledger cannot be used ({kind}, {state})", remedy="Run `sfumato ledger verify`.")


T = TypeVar("T")

RETRY_PAUSES = (0.05, 0.2, 0.6, 1.5, 3.0)
"""Seconds to wait before each new try of a transaction."""

ADVISORY_LOCK = 0x5F0A70
"""The advisory lock of a ledger in PostgreSQL; one database holds one ledger."""

SHARED_DRIVES = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph"}


class LedgerDatabase:
    """A SQLite file or a PostgreSQL database, and its transactions.

    `vault` opens what is encrypted in it; every connection has it at hand.
    """

    def __init__(self, url: str, *, readonly: bool = False, patience: float = 10.0) -> None:
        self.readonly = readonly
        self.patience = patience
        self.vault = Vault()
        self._url = _parsed(url)
        self.path = _file(self._url)
        self.engine = self._sqlite(self.path) if self.path else self._postgresql()

    def __repr__(self) -> str:
        return f"LedgerDatabase({self.name})"

    @property
    def name(self) -> str:
        """The URL, without the password."""
        return self._url.render_as_string(hide_password=True)

    @property
    def exists(self) -> bool:
        """Whether there is a file; a server is taken to be there."""
        return self.path is None or self.path.exists()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Opens one consistent view."""
        try:
            with self.engine.connect().execution_options(**self._options(writing=False)) as connection:
                if self.path is None:
                    connection.execution_options(isolation_level="REPEATABLE READ")
                with connection.begin():
                    yield connection
        except FAILURES as error:
            raise translated(error) from None

    def read(self, query: Callable[[Connection], T]) -> T:
        """Returns what is asked of one consistent view."""
        with self.reading() as connection:
            return query(connection)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Opens one transaction; nobody else writes meanwhile."""
        if self.readonly:
            raise UsageError("the ledger was opened for reading only")
        try:
            with self.engine.connect().execution_options(**self._options(writing=True)) as connection:
                if self.path is None:
                    self._take_lock(connection)
                with connection.begin():
                    yield connection
        except FAILURES as error:
            raise translated(error) from None

    def write(self, work: Callable[[Connection], T]) -> T:
        """Does `work` in one transaction, and again where the database asks for it; returns its result."""
        for pause in (*RETRY_PAUSES, None):
            try:
                with self.writing() as connection:
                    return work(connection)
            except (SerializationConflict, LostDatabase):
                if pause is None:
                    raise
                time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  # no secret
        raise AssertionError

    def _options(self, *, writing: bool) -> dict[str, bool | Vault]:
        return {"writing": writing, VAULT: self.vault}

    def _take_lock(self, connection: Connection) -> None:
        """Takes the lock for the session, not the transaction: it ends when the connection closes."""
        connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(text(f"SET lock_timeout = {int(self.patience * 1000)}"))
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": ADVISORY_LOCK})
        connection.commit()
        connection.execution_options(isolation_level="SERIALIZABLE")

    def _sqlite(self, path: Path) -> Engine:
        mode = "ro" if self.readonly else "rw"
        address = f"file:{quote(str(path))}?mode={mode}"

        def connect() -> sqlite3.Connection:
            opened = sqlite3.connect(address, uri=True, timeout=self.patience, isolation_level=None)
            opened.execute("PRAGMA synchronous = EXTRA")
            opened.execute("PRAGMA secure_delete = ON")
            opened.execute("PRAGMA trusted_schema = OFF")
            opened.execute("PRAGMA cell_size_check = ON")
            return opened

        engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            kind = "IMMEDIATE" if connection.get_execution_options().get("writing") else "DEFERRED"
            connection.exec_driver_sql(f"BEGIN {kind}")

        return engine

    def _postgresql(self) -> Engine:
        try:
            return create_engine(
                self._url,
                poolclass=NullPool,
                hide_parameters=True,
                connect_args={"connect_timeout": max(2, int(self.patience)), "application_name": "sfumato"},
            )
        except ImportError:
            raise UsageError(
                "PostgreSQL needs a driver", remedy="Install it: pip install 'sfumato[postgres]'."
            ) from None

    def clean(self) -> None:
        """Writes the tables anew, so that no page holds what was deleted from them.

        Raises `LedgerConflict` while others read. In PostgreSQL its log still holds what was there.
        """
        if self.path is None:
            self._write_anew_in_postgresql()
            return
        opened = self.engine.raw_connection()
        try:
            opened.cursor().execute("VACUUM")
        except sqlite3.Error as error:
            raise translated(DBAPIError("VACUUM", {}, error)) from None
        finally:
            opened.close()

    def _write_anew_in_postgresql(self) -> None:
        try:
            with self.engine.connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT")
                connection.execute(text(f"SET lock_timeout = {int(self.patience * 1000)}"))
                self._outwait_readers(connection)
                for table in ("entries", "people"):
                    connection.execute(text(f"VACUUM FULL {table}"))
        except SQLAlchemyError as error:
            raise translated(error) from None

    def _outwait_readers(self, connection: Connection) -> None:
        """Waits until nobody can still see what was deleted: a table written anew keeps it for them."""
        until = time.monotonic() + self.patience
        begun = connection.execute(text("SELECT now()")).scalar()
        others = text(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND xact_start <= :begun"
        )
        while connection.execute(others, {"begun": begun}).scalar():
            if time.monotonic() > until:
                raise LedgerConflict("the ledger is in use by another process", remedy="Try again later.")
            time.sleep(0.05)

    def make_file(self) -> None:
        """Makes an empty file that only its owner can read."""
        if self.path is None or self.path.exists():
            return
        if not self.path.parent.is_dir():
            raise UsageError("the folder of the ledger does not exist", remedy="Make it first.")
        self.path.touch(mode=0o600, exist_ok=True)

    def require(self) -> None:
        """Raises where there is nothing to open."""
        if not self.exists:
            raise BadLedger(
                "there is no such ledger",
                where=str(self.path),
                remedy="Look at its name: --ledger says where it is.",
            )

    @property
    def on_a_shared_drive(self) -> bool:
        """Whether the file is on a network drive, where locks cannot be relied on."""
        return self.path is not None and _file_system(self.path.absolute()) in SHARED_DRIVES


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # such as a port that is no number
        raise UsageError(
            "the ledger is named by a URL", remedy="Such as sqlite:///ledger.db or postgresql://host/db."
        ) from None
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend == "sqlite" and Path(parsed.database or "").name and parsed.database != ":memory:":
        return parsed
    raise UsageError(
        "a ledger is a SQLite file or a PostgreSQL database",
        remedy="Such as sqlite:///ledger.db or postgresql://host/db.",
    )


def _file(url: URL) -> Path | None:
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None


def _file_system(path: Path) -> str:
    """Returns the kind of file system below a path, where the system says so."""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    mounts = [(Path(fields[1]), fields[2]) for fields in (line.split() for line in lines) if len(fields) > 2]
    above = [(len(at.parts), kind) for at, kind in mounts if path.is_relative_to(at)]
    return max(above)[1] if above else ""


# The schema of the tables: made, or refused.


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

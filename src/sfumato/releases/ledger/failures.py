"""Failures of databases as errors that may be shown: a driver's own words may quote what it holds."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from sfumato.core.errors import BadLedger, LedgerConflict, SfumatoError


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

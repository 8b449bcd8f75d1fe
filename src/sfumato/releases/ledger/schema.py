"""The schema of the tables: made, upgraded, or refused."""
# ruff: noqa: PLC0415  # Alembic is loaded only where something is to be made

from __future__ import annotations

import shutil
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from sfumato.core.errors import BadLedger
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.tables import PEOPLE, READABLE, REVISION, SECRETS

MIGRATIONS = Path(__file__).parent / "migrations"

ADDED = (("0003", PEOPLE), ("0004", SECRETS))
"""Which migration added which table: a ledger that is said to be older has none."""


def revision(connection: Connection) -> str | None:
    """Returns the migration that the tables are at; `None` where there are none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    row = connection.execute(text("SELECT version_num FROM alembic_version")).first()
    return None if row is None else str(row[0])


def check(connection: Connection) -> None:
    """Raises unless this version can read the tables."""
    current = revision(connection)
    if current is None:
        raise BadLedger("there is no ledger in this database", remedy="A first release makes one.")
    later = [table for first, table in ADDED if current < first]
    newer = any(inspect(connection).has_table(table.name) for table in later)
    if current not in READABLE or newer:
        raise BadLedger(
            "the ledger was made by another version of Sfumato",
            remedy="An older one is upgraded when it is next written to; for a newer one upgrade Sfumato.",
        )


def prepare(database: LedgerDatabase, *, migrations: Path = MIGRATIONS, goal: str = REVISION) -> None:
    """Makes the tables, or brings them up to date; keeps a copy of an older SQLite ledger beside it."""
    database.make_file()
    with database.reading() as connection:
        current = revision(connection)
    if current == goal:
        return
    with database.writing() as connection:
        current = revision(connection)
        if current == goal:
            return
        steps = _steps(migrations, goal)
        if current is not None and current not in steps:
            raise BadLedger("the ledger was made by a newer version of Sfumato", remedy="Upgrade Sfumato.")
        if current is not None and database.path is not None:
            shutil.copy2(database.path, database.path.with_name(f"{database.path.name}.before-{goal}"))
        _upgrade(connection, migrations, goal)


def _steps(migrations: Path, goal: str) -> list[str]:
    from alembic.script import ScriptDirectory

    return [step.revision for step in ScriptDirectory(str(migrations)).iterate_revisions(goal, "base")]


def _upgrade(connection: Connection, migrations: Path, goal: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, goal)

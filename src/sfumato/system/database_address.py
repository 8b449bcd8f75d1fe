"""The address of a database: PostgreSQL or a file of SQLite, and no password where others could see it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from sfumato.core.errors import BadData, WrongCall

POSTGRESQL, SQLITE = "postgresql", "sqlite"
SQLITE_ENDINGS = (".db", ".sqlite", ".sqlite3")
FROM_ENVIRONMENT = "env:"
_POSTGRESQL = re.compile(r"postgres(?:ql)?://", re.IGNORECASE)
_PASSWORD = re.compile(r"//[^/@]*:[^/@]*@|[?&]password=", re.IGNORECASE)


def is_database(data: object) -> bool:
    """Whether a text names a database, and not a file of rows.

    >>> [is_database(text) for text in ("postgresql://host/care", "care.sqlite", "env:CARE", "care.csv")]
    [True, True, True, False]
    """
    text = os.fspath(data) if isinstance(data, str | os.PathLike) else ""
    text = str(text)
    return (
        _POSTGRESQL.match(text) is not None
        or text.lower().startswith(("sqlite://", FROM_ENVIRONMENT))
        or text.lower().endswith(SQLITE_ENDINGS)
    )


@dataclass(frozen=True)
class DatabaseAddress:
    """Which database it is, and the address that its driver takes; that one is never shown."""

    kind: str
    uri: str

    @classmethod
    def of(cls, text: str) -> DatabaseAddress:
        """Returns what a text names; what is wrong with it is said without repeating it."""
        if text.lower().startswith(FROM_ENVIRONMENT):
            return cls._named(_from_environment(text[len(FROM_ENVIRONMENT) :]))
        if _PASSWORD.search(text):
            raise WrongCall(
                "an address with a password can be seen by everybody who lists processes",
                remedy="Put it into an environment variable and say env:NAME; or use PGPASSWORD.",
            )
        return cls._named(text)

    @classmethod
    def _named(cls, text: str) -> DatabaseAddress:
        if _POSTGRESQL.match(text):
            return cls(POSTGRESQL, text)
        path = Path(unquote(text[len("sqlite:///") :]) if text.lower().startswith("sqlite:///") else text)
        if "://" in text and not text.lower().startswith("sqlite:///"):
            raise WrongCall(
                "this is no address of a database that is known",
                remedy="Write postgresql://HOST/NAME, sqlite:///FILE, or the path of an SQLite file.",
            )
        if not path.is_file():
            raise BadData("there is no such file", where=path.name, remedy="Check the path.")
        return cls(SQLITE, f"file:{quote(str(path.absolute()))}?mode=ro")

    def __repr__(self) -> str:
        return f"<{self.kind} database>"


def _from_environment(name: str) -> str:
    text = os.environ.get(name, "")
    if not text:
        raise WrongCall(
            f"the environment variable {name} is empty", remedy="Put the address of the database there."
        )
    return text

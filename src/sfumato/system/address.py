"""Addresses of object stores and of databases."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard
from urllib.parse import quote, unquote

from sfumato.system.errors import BadData, UsageError

# An address in an object store, such as `s3://bucket/releases/2026-11`.

SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
"""Amazon S3 and what speaks its protocol (`s3a` is Spark's word for it), Google Cloud Storage, Azure."""

NAMES_A_CONTAINER = ("abfs", "abfss")
"""Where what stands before the @ is no user, but a container."""


def is_address(place: object) -> TypeGuard[str | Address]:
    """Whether a text names a place by a URI, and not a path.

    >>> is_address("s3://bucket/2026-11"), is_address("releases/2026-11"), is_address(None)
    (True, False, False)
    """
    return isinstance(place, Address) or (
        isinstance(place, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", place) is not None
    )


@dataclass(frozen=True)
class Address:
    """The bucket, and the names of folders below it. It never holds a credential.

    >>> place = Address.of("s3://bucket/releases/2026-11/")
    >>> str(place), place.name, str(place / "data.csv"), str(place.parent)
    ('s3://bucket/releases/2026-11', '2026-11', 's3://bucket/releases/2026-11/data.csv', 's3://bucket/releases')
    """

    bucket: str
    path: str

    @classmethod
    def of(cls, place: str | Address) -> Address:
        """Read an address; what is wrong with it is said without repeating it."""
        if isinstance(place, Address):
            return place
        scheme, _, below = place.partition("://")
        scheme = scheme.lower()
        if scheme not in SCHEMES:
            raise UsageError(
                "this is no address of a store that is known",
                remedy=f"Begin it with one of {', '.join(f'{s}://' for s in SCHEMES)}, or name a path.",
            )
        authority, _, path = below.partition("/")
        before, at, _ = authority.rpartition("@")
        if (at and scheme not in NAMES_A_CONTAINER) or ":" in before or set("?#") & set(below):
            raise UsageError(
                "an address may hold neither a user, nor a password, nor options",
                where=f"{scheme}://…",
                remedy="Keys belong into the environment, such as AWS_ACCESS_KEY_ID.",
            )
        steps = path.rstrip("/").split("/")
        if not authority or any(step in ("", ".", "..") or not step.isprintable() for step in steps):
            raise UsageError(
                "this is no address of a folder in a store",
                where=f"{scheme}://…",
                remedy="Write it as s3://bucket/releases/2026-11.",
            )
        return cls(f"{scheme}://{authority}", "/".join(steps))

    @property
    def name(self) -> str:
        """The last name."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> Address:
        """Without the last name."""
        return Address(self.bucket, self.path.rpartition("/")[0])

    def __truediv__(self, name: str) -> Address:
        return Address(self.bucket, "/".join(part for part in (self.path, name) if part))

    def __str__(self) -> str:
        return f"{self.bucket}/{self.path}"

    @property
    def flat(self) -> str:
        """As the name of one file.

        >>> Address.of("s3://bucket/releases/2026-11").flat
        's3-bucket-releases-2026-11'
        """
        return re.sub(r"[:/@]+", "-", str(self))


# The address of a database: PostgreSQL or a file of SQLite, and no password where others could see it.

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
            name = text[len(FROM_ENVIRONMENT) :]
            if address := os.environ.get(name):
                return cls._named(address)
            raise UsageError(
                f"the environment variable {name} is empty", remedy="Put the address of the database there."
            )
        if _PASSWORD.search(text):
            raise UsageError(
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
            raise UsageError(
                "this is no address of a database that is known",
                remedy="Write postgresql://HOST/NAME, sqlite:///FILE, or the path of an SQLite file.",
            )
        if not path.is_file():
            raise BadData("there is no such file", where=path.name, remedy="Check the path.")
        return cls(SQLITE, f"file:{quote(str(path.absolute()))}?mode=ro")

    def __repr__(self) -> str:
        return f"<{self.kind} database>"

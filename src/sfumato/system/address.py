"""An address in an object store, such as `s3://bucket/releases/2026-11`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeGuard

from sfumato.core.errors import WrongCall

SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
"""Amazon S3 and what speaks its protocol (`s3a` is Spark's word for it), Google Cloud Storage, Azure."""

NAMES_A_CONTAINER = ("abfs", "abfss")
"""Where what stands before the @ is no user, but a container."""


def is_address(given: object) -> TypeGuard[str | Address]:
    """Whether a text names a place by a URI, and not a path.

    >>> is_address("s3://bucket/2026-11"), is_address("releases/2026-11"), is_address(None)
    (True, False, False)
    """
    return isinstance(given, Address) or (
        isinstance(given, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", given) is not None
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
    def of(cls, given: str | Address) -> Address:
        """Read an address; what is wrong with it is said without repeating it."""
        if isinstance(given, Address):
            return given
        scheme, _, rest = given.partition("://")
        scheme = scheme.lower()
        if scheme not in SCHEMES:
            raise WrongCall(
                "this is no address of a store that is known",
                remedy=f"Begin it with one of {', '.join(f'{s}://' for s in SCHEMES)}, or name a path.",
            )
        authority, _, path = rest.partition("/")
        before, at, _ = authority.rpartition("@")
        if (at and scheme not in NAMES_A_CONTAINER) or ":" in before or set("?#") & set(rest):
            raise WrongCall(
                "an address may hold neither a user, nor a password, nor options",
                where=f"{scheme}://…",
                remedy="Keys belong into the environment, such as AWS_ACCESS_KEY_ID.",
            )
        steps = path.rstrip("/").split("/")
        if not authority or any(step in ("", ".", "..") or not step.isprintable() for step in steps):
            raise WrongCall(
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

"""The objects below an address in a store: put once, read back, removed. Nothing here can be renamed.

What the library says of a failure may hold addresses that were signed, so only the kind of it is passed on.
"""
# ruff: noqa: PLC0415  # the library waits until a store is spoken of

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import OutOfReach
from sfumato.system.address import Address

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import RetryConfig

REQUEST_BYTES = 8 << 20
"""So many bytes are sent or fetched by one request, for which the library allows half a minute."""

MOST_PARTS = 9_000
"""A store takes a large object in so many parts at most, and a little more."""

RETRIES = 6
RETRY_TIMEOUT = timedelta(seconds=60)
"""How often, and how long, a request is tried again before the store counts as out of reach."""


class Occupied(Exception):
    """Something else is stored under this name already."""


class Store:
    """The objects whose names begin with an address."""

    def __init__(self, address: Address) -> None:
        self.address = address
        try:
            from obstore.store import from_url
        except ImportError:
            raise OutOfReach(
                "object stores need a library that is not installed",
                where=address.name,
                remedy="Run `pip install 'sfumato[stores]'`.",
            ) from None
        again: RetryConfig = {"max_retries": RETRIES, "retry_timeout": RETRY_TIMEOUT}
        with self._our_errors():  # options for the client would replace those of the environment: none
            self._objects = from_url(address.bucket, retry_config=again)

    def put(self, name: str, content: bytes) -> None:
        """Puts a new object; raises `Occupied` where another one is there already.

        The same one may be there: an answer that was lost makes the library ask again.
        """
        from obstore.exceptions import AlreadyExistsError, NotSupportedError

        try:
            with self._our_errors(AlreadyExistsError, NotSupportedError):
                self._objects.put(self._key(name), content, mode="create")
        except AlreadyExistsError:
            if self.get(name) != content:
                raise Occupied(name) from None
        except NotSupportedError:
            raise self._overwrites() from None

    def check_create_only(self, name: str, content: bytes) -> None:
        """Raises unless the store keeps this object from being overwritten, which is tried with the same."""
        from obstore.exceptions import AlreadyExistsError

        with suppress(AlreadyExistsError), self._our_errors(AlreadyExistsError):
            self._objects.put(self._key(name), content, mode="create")
            raise self._overwrites()

    def upload(self, name: str, file: Path) -> None:
        """Puts a file: a small one only where nothing is, a large one in parts that are visible together."""
        size = file.stat().st_size
        if size <= REQUEST_BYTES:
            self.put(name, file.read_bytes())
            return
        piece = max(REQUEST_BYTES, -(-size // MOST_PARTS))
        with self._our_errors():
            self._objects.put(self._key(name), file, chunk_size=piece, max_concurrency=4)

    def get(self, name: str) -> bytes | None:
        """Returns a small object; `None` if it is not there."""
        try:
            with self._our_errors(FileNotFoundError):
                return bytes(self._objects.get(self._key(name)).bytes())
        except FileNotFoundError:
            return None

    def pieces(self, name: str, size: int) -> Iterator[bytes]:
        """Yields the bytes of an object of this size, a piece at a time."""
        for start in range(0, size, REQUEST_BYTES):
            length = min(REQUEST_BYTES, size - start)
            with self._our_errors():
                piece = bytes(self._objects.get_range(self._key(name), start=start, length=length))
            yield piece

    def digest(self, name: str, size: int) -> str:
        """Returns the SHA-256 of what is in the store, read back."""
        sha256 = hashlib.sha256()
        for piece in self.pieces(name, size):
            sha256.update(piece)
        return sha256.hexdigest()

    def sizes(self) -> dict[str, int]:
        """Returns the sizes of the objects below the address, by name; marks of empty folders are none."""
        before = f"{self.address.path}/"
        with self._our_errors():
            found = [meta for batch in self._objects.list(self.address.path) for meta in batch]
        return {
            meta["path"].removeprefix(before): meta["size"]
            for meta in found
            if meta["path"].startswith(before)
        }

    def first_names(self) -> list[str]:
        """Returns the names of some objects below the address; none, if there is none."""
        before = f"{self.address.path}/"
        with self._our_errors():
            first: Sequence[ObjectMeta] = next(iter(self._objects.list(self.address.path)), [])
        return [meta["path"].removeprefix(before) for meta in first if meta["path"].startswith(before)]

    def remove(self, names: Iterable[str]) -> None:
        """Removes objects, one after the other; one that is not there does no harm."""
        for name in names:
            with suppress(FileNotFoundError), self._our_errors(FileNotFoundError):
                self._objects.delete(self._key(name))

    def _key(self, name: str) -> str:
        return (self.address / name).path

    @contextmanager
    def _our_errors(self, *expected: type[Exception]) -> Iterator[None]:
        """Turns whatever else goes wrong into an error of ours."""
        from obstore.exceptions import BaseError

        try:
            yield
        except expected:
            raise
        except (BaseError, OSError, ValueError) as error:
            raise self._refused(error) from None

    def _refused(self, error: Exception) -> OutOfReach:
        from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

        where = self.address.name
        if isinstance(error, PermissionDeniedError | UnauthenticatedError):
            remedy = "Reading, listing, writing and removing must be allowed there."
            return OutOfReach("the store does not let us", where=where, remedy=remedy)
        if isinstance(error, FileNotFoundError) or "NoSuchBucket" in str(error):
            return OutOfReach("the bucket or the object is not there", where=where, remedy="Make it first.")
        remedy = "Is the address right, are region, endpoint and keys in the environment?"
        return OutOfReach("the store cannot be reached", where=where, remedy=remedy)

    def _overwrites(self) -> OutOfReach:
        return OutOfReach(
            "the store cannot keep an object from being overwritten",
            where=self.address.name,
            remedy="It must know conditional writes (If-None-Match).",
        )

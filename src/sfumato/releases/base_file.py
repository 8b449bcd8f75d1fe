"""The file of a base: encrypted beside the ledger, its digest and its key in the ledger."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import GROUPS, notes_of_groups
from sfumato.system.disk import replace_file
from sfumato.system.errors import BadLedger, SfumatoError, UsageError
from sfumato.system.json_object import JsonObject

if TYPE_CHECKING:
    from sfumato.table.base import Base

NONCE_BYTES = 12
SECONDS_OF_A_DAY = 86_400
FOLDER_MODE, FILE_MODE = 0o700, 0o600


class BaseMissing(BadLedger):
    """The base of a chain is not where it should be."""


@dataclass(frozen=True)
class BaseFile:
    """A base as it is kept: encrypted bytes, their digest, and the key that opens them."""

    content: bytes = field(repr=False)
    digest: str
    key: str = field(repr=False)

    @classmethod
    def of(cls, base: Base) -> BaseFile:
        """Returns a base, encrypted under a new key."""
        key, nonce = AESGCM.generate_key(256), secrets.token_bytes(NONCE_BYTES)
        content = nonce + AESGCM(key).encrypt(nonce, base.to_bytes(), None)
        return cls(content, sha256(content).hexdigest(), key.hex())

    @property
    def notes(self) -> JsonObject:
        """What the ledger remembers of it, encrypted like all that it remembers."""
        return {"kind": GROUPS, "base": self.digest, "key": self.key}


@dataclass(frozen=True)
class BaseStore:
    """The folder beside a ledger where bases lie, each under its digest."""

    folder: Path

    @classmethod
    def beside(cls, path: Path) -> BaseStore:
        """Returns the store beside a file: a ledger in SQLite, a backup, or the key of a ledger elsewhere."""
        return cls(path.with_name(f"{path.name}.bases"))

    @classmethod
    def of(cls, ledger: Ledger) -> BaseStore:
        """Returns the store of a ledger: beside its file or, of one in PostgreSQL, beside its key."""
        if ledger.key_path is None:
            raise UsageError(
                "the base of a chain lies beside the key of its ledger", remedy="Name it with --key."
            )
        return cls.beside(ledger.database.path or ledger.key_path)

    def keep(self, file: BaseFile) -> None:
        """Writes a base to disk; it counts when the ledger has its digest."""
        self.folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        replace_file(self.folder / file.digest, file.content, mode=FILE_MODE)

    def has(self, memory: bytes) -> bool:
        """Whether the base that a release remembers is there."""
        notes = notes_of_groups(memory)
        return notes is not None and (self.folder / str(notes["base"])).is_file()

    def open(self, memory: bytes) -> Base:
        """Returns the base that a release remembers; raises where it is missing or was changed."""
        notes = notes_of_groups(memory)
        if notes is None:
            raise BadLedger("this release has no base")
        path = self.folder / str(notes["base"])
        try:
            content = path.read_bytes()
        except OSError:
            raise BaseMissing(
                "the base of this chain is not beside the ledger",
                where=f"{self.folder.name}/{path.name[:12]}…",
                remedy="Restore it from the backup of the ledger: without it the chain cannot go on.",
            ) from None
        if sha256(content).hexdigest() != notes["base"]:
            raise BadLedger(
                "the base of this chain was changed",
                where=f"{self.folder.name}/{path.name[:12]}…",
                remedy="Restore it from a backup.",
            )
        try:
            plain = AESGCM(bytes.fromhex(str(notes["key"]))).decrypt(
                content[:NONCE_BYTES], content[NONCE_BYTES:], None
            )
        except (InvalidTag, ValueError):
            raise BadLedger("the base of this chain cannot be opened", remedy="Restore a backup.") from None
        from sfumato.table.base import Base  # noqa: PLC0415  # rows, where one is opened

        return Base.from_bytes(plain)

    def copy_to(self, folder: Path) -> None:
        """Copies every base to another folder, which is made; nothing where there is none."""
        there = [path for path in self.folder.iterdir() if path.is_file()] if self.folder.is_dir() else []
        if there:
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        for path in there:
            if not (folder / path.name).exists():
                replace_file(folder / path.name, path.read_bytes(), mode=FILE_MODE)

    def forget(self, memory: bytes) -> None:
        """Removes the base that a release remembered, if it is there."""
        notes = notes_of_groups(memory)
        if notes is not None:
            with contextlib.suppress(OSError):
                (self.folder / str(notes["base"])).unlink(missing_ok=True)

    def sweep(self, ledger: Ledger) -> None:
        """Removes bases that have been followed by others, and those that no release ever named.

        The latter are of releases that failed. Nobody has their keys; they are left for a day, since a
        release may still be under way that is going to name one.
        """
        if not self.folder.is_dir():
            return
        there = [path for path in self.folder.iterdir() if path.is_file()]
        records = ledger.history() if there else ()
        last = {record.chain: record.memory for record in records}
        named, kept = _digests(record.memory for record in records), _digests(last.values())
        for path in there:
            old = time() - path.stat().st_mtime > SECONDS_OF_A_DAY
            if path.name not in kept and (path.name in named or old):
                with contextlib.suppress(OSError):
                    path.unlink()


def _digests(memories: Iterable[bytes]) -> set[str]:
    return {str(notes["base"]) for memory in memories if (notes := notes_of_groups(memory)) is not None}


def sweep_bases(ledger: Ledger) -> None:
    """Removes every base that no release needs; what cannot be removed now, a later release removes."""
    if not ledger.readonly and ledger.key_path is not None:
        with contextlib.suppress(SfumatoError, OSError):
            BaseStore.of(ledger).sweep(ledger)

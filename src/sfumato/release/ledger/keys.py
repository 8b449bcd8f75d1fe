"""The signing key of a ledger: one file, readable by its owner alone, and its public half beside it."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sfumato.core.errors import BadLedger
from sfumato.system.disk import LARGEST_NOTE, read_document

NOT_A_KEY = (ValueError, TypeError, UnsupportedAlgorithm)

PUBLIC_BLOCK = re.compile(
    rb"(?:entries (?P<first>[0-9]{1,12})-(?P<last>[0-9]{0,12})\s+)?"
    rb"(?P<pem>-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----)",
    re.DOTALL,
)
"""A public key in a file of several, below the numbers of the entries that it signed, if they are told."""


def read_private(path: Path) -> bytes:
    """Returns what a file of secrets holds; refuses one that others can read."""
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise BadLedger("others can read the key", where=path.name, remedy=f"chmod 600 {path.name}")
        return read_document(path, most=LARGEST_NOTE)
    except FileNotFoundError:
        raise BadLedger(
            "the key of the ledger is not there", where=path.name, remedy="Name it with --key."
        ) from None


def write_private(path: Path, content: bytes) -> None:
    """Writes a new file that only its owner can read: whole, or not at all; raises `FileExistsError`."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(part, path)
    finally:
        part.unlink()


@dataclass(frozen=True)
class Key:
    """An Ed25519 key; `public` is its public half in hexadecimal."""

    public: str
    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def load(cls, path: Path) -> Key:
        """Reads a private key; refuses a file that others can read."""
        try:
            private = serialization.load_pem_private_key(read_private(path), password=None)
        except NOT_A_KEY:
            raise BadLedger("this is no key", where=path.name, remedy="Name an Ed25519 key.") from None
        if not isinstance(private, Ed25519PrivateKey):
            raise BadLedger("this is no Ed25519 key", where=path.name)
        return cls(private.public_key().public_bytes_raw().hex(), private)

    @classmethod
    def make(cls, path: Path) -> Key:
        """Makes a new key in a new file; where somebody else made one meanwhile, returns that one."""
        private = Ed25519PrivateKey.generate()
        pem = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        with contextlib.suppress(FileExistsError):
            write_private(path, pem)
        key = cls.load(path)
        key.publish(path.with_name(f"{path.name}.pub"))
        return key

    def publish(self, path: Path) -> None:
        """Writes the public half."""
        path.write_bytes(_pem(self.public))

    def sign(self, message: bytes) -> str:
        """Returns the signature, in hexadecimal."""
        return self._private.sign(message).hex()

    def derived(self, purpose: bytes) -> bytes:
        """Returns 256 secret bits for one purpose, the same for the same key; they tell nothing of it."""
        hkdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose)
        return hkdf.derive(self._private.private_bytes_raw())


@dataclass(frozen=True)
class DatedKey:
    """A public key, and the numbers of the first and the last entry that it may have signed.

    The key in force has no last one yet.
    """

    public: str
    first: int = 1
    last: int | None = None

    def may_have_signed(self, number: int) -> bool:
        """Whether the key was in force when an entry with this number was made."""
        return self.first <= number and (self.last is None or number <= self.last)


def as_text(keys: Sequence[DatedKey]) -> str:
    """Returns public keys as one file for readers, in the order given; a single one is plain PEM."""
    if len(keys) == 1:
        return _pem(keys[0].public).decode()
    return "\n".join(
        f"entries {key.first}-{'' if key.last is None else key.last}\n{_pem(key.public).decode()}"
        for key in keys
    )


def publish_all(path: Path, keys: Sequence[DatedKey]) -> None:
    """Writes public keys, whole or not at all."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        part.write_text(as_text(keys), encoding="ascii")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def public_keys(path: Path) -> tuple[DatedKey, ...]:
    """Returns the public keys in a file of either half, as they stand there: the one in force first."""
    try:
        content = read_document(path, most=LARGEST_NOTE)
    except OSError:
        raise BadLedger(
            "the key cannot be read",
            where=path.name,
            remedy="Name the public half: it lies beside the ledger, and ends in .key.pub.",
        ) from None
    if b"PRIVATE" in content:
        return (DatedKey(Key.load(path).public),)
    blocks = list(PUBLIC_BLOCK.finditer(content))
    if not blocks:
        raise BadLedger("this is no key", where=path.name, remedy="Name an Ed25519 key.")
    return tuple(_dated(block, path) for block in blocks)


def public_key(path: Path) -> str:
    """Returns the public half in a file of either half, in hexadecimal; of several the one in force."""
    return public_keys(path)[0].public


def _dated(block: re.Match[bytes], path: Path) -> DatedKey:
    try:
        public = serialization.load_pem_public_key(block["pem"])
    except NOT_A_KEY:
        raise BadLedger("this is no key", where=path.name, remedy="Name an Ed25519 key.") from None
    if not isinstance(public, Ed25519PublicKey):
        raise BadLedger("this is no Ed25519 key", where=path.name)
    first, last = int(block["first"] or 1), int(block["last"]) if block["last"] else None
    return DatedKey(public.public_bytes_raw().hex(), first, last)


def _pem(public: str) -> bytes:
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )

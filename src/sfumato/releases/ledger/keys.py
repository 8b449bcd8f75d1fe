"""The signing key of a ledger: one file, readable by its owner alone, and its public half beside it."""

from __future__ import annotations

import contextlib
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sfumato.core.errors import BadLedger
from sfumato.system.disk import LARGEST_NOTE, read_document

NOT_A_KEY = (ValueError, TypeError, UnsupportedAlgorithm)


@dataclass(frozen=True)
class Key:
    """An Ed25519 key; `public` is its public half in hexadecimal."""

    public: str
    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def load(cls, path: Path) -> Key:
        """Reads a private key; refuses a file that others can read."""
        try:
            if path.stat().st_mode & 0o077:
                raise BadLedger("others can read the key", where=path.name, remedy=f"chmod 600 {path.name}")
            private = serialization.load_pem_private_key(
                read_document(path, most=LARGEST_NOTE), password=None
            )
        except FileNotFoundError:
            raise BadLedger(
                "the key of the ledger is not there", where=path.name, remedy="Name it with --key."
            ) from None
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
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(pem)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(part, path)
        finally:
            part.unlink()
        key = cls.load(path)
        key.publish(path.with_name(f"{path.name}.pub"))
        return key

    def publish(self, path: Path) -> None:
        """Writes the public half."""
        pem = self._private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        path.write_bytes(pem)

    def sign(self, message: bytes) -> str:
        """Returns the signature, in hexadecimal."""
        return self._private.sign(message).hex()


def public_key(path: Path) -> str:
    """Returns the public half in a file of either half, in hexadecimal."""
    try:
        content = read_document(path, most=LARGEST_NOTE)
    except OSError:
        raise BadLedger("the key cannot be read", where=path.name) from None
    if b"PRIVATE" in content:
        return Key.load(path).public
    try:
        public = serialization.load_pem_public_key(content)
    except NOT_A_KEY:
        raise BadLedger("this is no key", where=path.name, remedy="Name an Ed25519 key.") from None
    if not isinstance(public, Ed25519PublicKey):
        raise BadLedger("this is no Ed25519 key", where=path.name)
    return public.public_bytes_raw().hex()

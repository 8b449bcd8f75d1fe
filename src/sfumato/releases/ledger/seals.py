"""Hashes and signatures: an entry that was changed no longer matches them."""

from __future__ import annotations

import hashlib
import re

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sfumato.core.json_object import JsonMapping

HEXADECIMAL = re.compile("[0-9a-f]+")

NOTHING = "0" * 64
"""The hash before the first entry."""


def canonical(content: JsonMapping) -> str:
    """Returns the canonical form of a JSON object (RFC 8785).

    >>> canonical({"b": 1, "a": [True, None, "ü"]})
    '{"a":[true,null,"ü"],"b":1}'
    """
    return rfc8785.dumps(dict(content)).decode()


def digest(content: str | bytes) -> str:
    """Returns SHA-256 in hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def entry_message(sealed: str) -> bytes:
    """Returns what is signed of an entry: its hash."""
    return f"sfumato entry {sealed}".encode()


def head_message(number: int, sealed: str) -> bytes:
    """Returns what is signed of the head: where the ledger ends."""
    return f"sfumato head {number} {sealed}".encode()


def signed(message: bytes, signature: str, public: str) -> bool:
    """Whether the holder of the key signed the message (Ed25519).

    Signature and key have one spelling: capitals or blanks, which mean the same bytes, are a change. So are
    bytes, which a cell of a database may hold instead of a text.
    """
    if not HEXADECIMAL.fullmatch(str(signature)) or not HEXADECIMAL.fullmatch(str(public)):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True

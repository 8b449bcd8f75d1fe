"""The reading key of a ledger: opens what is encrypted in it, and signs nothing. For auditors."""

from __future__ import annotations

import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.core.errors import BadLedger, WrongCall
from sfumato.core.json_object import read_json
from sfumato.releases.ledger.envelope import SECRET_BYTES, Secret, Unopened, wrapped_check
from sfumato.releases.ledger.keys import Key, read_private, write_private

FORMAT = "sfumato_reading_key"
VERSION = 1


@dataclass(frozen=True)
class ReadingKey:
    """The secrets of a ledger up to now; those that later changes of keys begin are not among them."""

    secrets: tuple[Secret, ...] = field(repr=False)

    def secrets_of(self, wrapped: Mapping[int, bytes]) -> dict[int, Secret]:
        """Returns the secrets by number, as far as the ledger has them (wrapped).

        Raises `Unopened` where they are those of another ledger.
        """
        if any(wrapped_check(wrapped.get(one.number, b"")) != one.check for one in self.secrets):
            raise Unopened
        return {one.number: one for one in self.secrets}

    def write(self, path: Path) -> None:
        """Writes the key to a new file that only its owner can read."""
        secrets = {str(one.number): one.value.hex() for one in self.secrets}
        try:
            write_private(path, json.dumps({FORMAT: VERSION, "secrets": secrets}, indent=1).encode() + b"\n")
        except FileExistsError:
            raise WrongCall(
                "the output exists already", where=path.name, remedy="Name another file."
            ) from None

    @classmethod
    def of(cls, content: bytes, name: str) -> ReadingKey:
        """Reads the content of such a file, of this name."""
        try:
            words = read_json(content)
            if words[FORMAT] != VERSION:
                raise ValueError
            secrets = [Secret(int(n), binascii.unhexlify(value)) for n, value in words["secrets"].items()]
            if not secrets or any(len(one.value) != SECRET_BYTES for one in secrets):
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadLedger("this is no key", where=name, remedy="Name an Ed25519 key.") from None
        return cls(tuple(secrets))


def load_key(path: Path) -> Key | ReadingKey:
    """Reads a signing key or a reading key; refuses a file that others can read."""
    content = read_private(path)
    return ReadingKey.of(content, path.name) if content.lstrip().startswith(b"{") else Key.load(path)

"""An entry: one row of the ledger, sealed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.seals import canonical, digest, entry_message, signed

RELEASE = "release"
KEY = "key"

CHANGED = b"not what was sealed"
"""In place of what an entry remembers where that is no bytes any more; nothing that is sealed looks so."""


@dataclass(frozen=True)
class Entry:
    """What one row says, the hash of all of it, and a signature of the hash.

    `body` may be shown to anybody and is part of certificates. `kept` stays in the ledger; it holds random
    salt, so that its digest, which certificates carry, tells nothing. `memory` is what later checks need; its
    digest is in `kept`.
    """

    number: int
    release: str
    chain: str
    sequence: int
    kind: str
    previous: str
    body: str
    kept: str
    memory: bytes = field(repr=False)
    signer: str
    hash: str = ""
    signature: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Entry:
        """From a row of the table; whatever is not of its type shows when the entry is verified."""
        memory = row["memory"]
        return cls(**{**row, "memory": bytes(memory) if isinstance(memory, bytes | memoryview) else CHANGED})

    def seal(self, key: Key) -> Entry:
        """The same entry, hashed and signed."""
        whole = replace(self, signer=key.public)
        found = whole.computed_hash
        return replace(whole, hash=found, signature=key.sign(entry_message(found)))

    @property
    def public(self) -> dict[str, Any]:
        """What is hashed: everything but the secrets, which are there as a digest."""
        shown = asdict(self)
        for name in ("memory", "hash", "signature"):
            del shown[name]
        return {**shown, "kept": digest(self.kept)}

    @property
    def computed_hash(self) -> str:
        return digest(canonical(self.public))

    @property
    def event(self) -> str:
        """What the entry is part of: its versions for several recipients have one in common."""
        return str(json.loads(self.kept).get("event") or self.release)

    @property
    def row(self) -> dict[str, Any]:
        """As the table holds it."""
        return asdict(self)

    def fault(self, signer: str) -> str:
        """What is wrong with the entry on its own, in a few words; nothing if it is as `signer` sealed it."""
        if self.computed_hash != self.hash:
            return "its content does not match its hash"
        if self.signer != signer:
            return "it names another key than the one in force"
        if not signed(entry_message(self.hash), self.signature, signer):
            return "its signature is wrong"
        return "" if self.memory_is_whole else "what it remembers was changed"

    @property
    def memory_is_whole(self) -> bool:
        """Whether what is remembered is what was sealed; a change of keys has nothing to remember."""
        if self.kind == KEY:
            return not self.memory
        return bool(json.loads(self.kept)["memory"] == digest(self.memory))

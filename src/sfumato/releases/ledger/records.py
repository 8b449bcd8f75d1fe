"""Entries: rows of the ledger, each hashed and signed."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from sfumato.releases.ledger.keys import (
    EncryptedLedger,
    Key,
    canonical,
    digest,
    entry_message,
    shown_digest,
    signed,
)
from sfumato.system.errors import BadLedger
from sfumato.system.json_object import JsonMapping, JsonObject

CHANGED = "the certificate was changed: its content does not match its hash"
NOT_SIGNED = "the certificate is not signed by the key it names"

RELEASE = "release"
KEY = "key"
WITHDRAWAL = "withdrawal"
LOSS = "loss"
RETIREMENT = "retirement"
ERASURE = "erasure"
REFUSAL = "refusal"
"""Kinds of entries: a release, a change of key, and notices about releases that are there, were, or end."""

NOT_HASHED = frozenset({"memory", "hash", "signature"})
"""The fields of an entry that its hash is not made of; the digest of the memory is in `kept`."""

UNREADABLE_MEMORY = b"not what was sealed"
"""Stands for the memory of an entry that is no bytes any more; nothing that is sealed looks so."""

UNREADABLE_KEPT = "not what was sealed"
"""Stands for what an entry kept, where that cannot be decrypted any more."""


@dataclass(frozen=True)
class Entry:
    """The content of one row, the hash of all of it, and a signature of the hash.

    `body` may be shown to anybody and is part of certificates. `kept` stays in the ledger; it holds random
    salt, so that its digest, which certificates carry, discloses nothing. `memory` is what later checks need;
    its digest is in `kept`. Whoever reads the entry without the ledger's key has both encrypted, as they are
    stored (`is_closed`): hash and signature can be looked at all the same.
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
    def of(cls, row: JsonMapping) -> Entry:
        """Returns the entry of a row; a value of a wrong type shows when the entry is verified.

        SQLite keeps bytes in a column of texts, if somebody writes them there: they become another text.
        """
        memory = row["memory"]
        texts = {name: repr(v) for name, v in row.items() if isinstance(v, bytes) and name != "memory"}
        whole = bytes(memory) if isinstance(memory, bytes | memoryview) else UNREADABLE_MEMORY
        return cls(**{**row, **texts, "memory": whole})

    def seal(self, key: Key) -> Entry:
        """Returns the same entry, hashed and signed."""
        unsealed = replace(self, signer=key.public)
        computed = unsealed.computed_hash
        return replace(unsealed, hash=computed, signature=key.sign(entry_message(computed)))

    @property
    def public(self) -> JsonObject:
        """The fields that are hashed: everything but the secrets, which are there as a digest."""
        fields = {name: value for name, value in self.row.items() if name not in NOT_HASHED}
        return {**fields, "kept": shown_digest(self.kept) or digest(self.kept)}

    @property
    def computed_hash(self) -> str:
        """The hash that its fields have; empty where they hold a number that no ledger writes."""
        try:
            return digest(canonical(self.public))
        except ValueError:
            return ""

    @property
    def event(self) -> str:
        """The event of the entry: versions for several recipients have one in common."""
        return str(self.kept_words.get("event") or self.release)

    @property
    def is_closed(self) -> bool:
        """Whether what it keeps and remembers is encrypted, because the key was not at hand."""
        return shown_digest(self.kept) is not None

    @property
    def kept_words(self) -> JsonObject:
        """What is kept, as plain data; raises where it is encrypted, or cannot be decrypted any more."""
        if self.is_closed:
            raise EncryptedLedger("what the ledger keeps is encrypted, and its key is not here")
        if self.kept == UNREADABLE_KEPT:
            raise BadLedger(
                f"entry {self.number} of the ledger is missing or was changed",
                remedy="Run `sfumato ledger verify`.",
            )
        words: JsonObject = json.loads(self.kept)
        return words

    @property
    def row(self) -> JsonObject:
        """The entry as the table holds it."""
        return dict(vars(self))

    def fault(self, signer: str, *, forgotten: bool = False, memory: str = "") -> str:
        """Returns what is wrong with the entry on its own; nothing if it is as `signer` sealed it.

        What was `forgotten` on purpose is not missed. Where somebody was erased from what it remembers,
        `memory` is the digest of the rest. What is encrypted is not compared.
        """
        if self.computed_hash != self.hash:
            return "its content does not match its hash"
        if self.signer != signer:
            return "it names another key than the one in force"
        if not signed(entry_message(self.hash), self.signature, signer):
            return "its signature is wrong"
        whole = forgotten or self.is_closed or digest(self.memory) == (memory or self.sealed_memory)
        return "" if whole else "what it remembers was changed"

    def is_signed(self, keys: Collection[str]) -> bool:
        """Whether one of these keys signed the entry, and is the one it names."""
        return self.signer in keys and signed(entry_message(self.hash), self.signature, self.signer)

    @property
    def sealed_memory(self) -> str:
        """The digest of the memory when the entry was sealed; a change of keys has none."""
        return digest(b"") if self.kind == KEY else str(self.kept_words["memory"])

    @property
    def sealed_counts(self) -> str:
        """The digest of the part of its memory that no erasure changes, if it remembers an imprint."""
        return str(self.kept_words.get("lasting", ""))


def seal_fault(document: JsonMapping) -> str:
    """Returns what is wrong with the seal of what is shown of an entry; nothing if it is as it was sealed."""
    entry = document["entry"]
    hashed = digest(canonical({**entry, "body": canonical(entry["body"])}))
    if hashed != document["hash"]:
        return CHANGED
    return (
        "" if signed(entry_message(hashed), str(document["signature"]), str(entry["signer"])) else NOT_SIGNED
    )

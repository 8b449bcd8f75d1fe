"""Notices: entries that are no release. A change of key, a withdrawal, a loss, a retirement, an erasure.

They stand in one sequence of their own, without a chain, and are hashed and signed like every entry. None of
them takes a release away: what was published stays published.
"""

from __future__ import annotations

import json
import secrets
import uuid
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import Connection, insert, update

from sfumato.releases.ledger import entries
from sfumato.releases.ledger.checkpoint import Head
from sfumato.releases.ledger.keys import NOTHING, Key, canonical, digest, head_message
from sfumato.releases.ledger.records import ERASURE, KEY, Entry
from sfumato.releases.ledger.tables import ENTRIES, HEAD
from sfumato.releases.ledger.vault import stored_entry, vault_of
from sfumato.system.errors import LedgerConflict
from sfumato.system.json_object import JsonMapping, JsonObject, read_json
from sfumato.table.keyed_hashes import Marks, are_known, order_of_marks
from sfumato.table.release_summary import Imprint


def begin(connection: Connection, key: Key, at: str) -> None:
    """Enters the first entry, unless it is there: a name for the ledger, and the key that signs.

    What releases leave is encrypted under a secret that is made with it.
    """
    if entries.head(connection) is not None:
        return
    body = canonical({"at": at, "ledger": uuid.uuid4().hex, "public_key": key.public})
    entry = Entry(1, uuid.uuid4().hex, "", 1, KEY, NOTHING, body, "{}", b"", "").seal(key)
    connection.execute(insert(ENTRIES).values(entry.row))
    signature = key.sign(head_message(1, entry.hash))
    connection.execute(insert(HEAD).values(one=1, number=1, hash=entry.hash, signature=signature))
    vault_of(connection).begin(connection, key)


def new_name() -> str:
    """Returns a name for an entry; whoever tries to enter it again is recognised by it."""
    return uuid.uuid4().hex


def notice(connection: Connection, name: str, kind: str, body: JsonMapping, head: Head) -> Entry:
    """Returns the next entry after the head, a notice, without a seal."""
    last = entries.last_entry(connection, "")
    return Entry(
        number=head.number + 1,
        release=name,
        chain="",
        sequence=last.sequence + 1 if last else 1,
        kind=kind,
        previous=head.hash,
        body=canonical(body),
        kept="{}" if kind == KEY else canonical({"memory": digest(b"")}),
        memory=b"",
        signer="",
    )


def append(connection: Connection, entry: Entry, key: Key, *, then: Key | None = None) -> Entry:
    """Seals an entry, enters it and moves the head; `then` is the key that signs the head, if it changes."""
    sealed = entry.seal(key)
    connection.execute(insert(ENTRIES).values(stored_entry(connection, sealed.row)))
    signature = (then or key).sign(head_message(sealed.number, sealed.hash))
    connection.execute(update(HEAD).values(number=sealed.number, hash=sealed.hash, signature=signature))
    return sealed


# Redaction: a person is taken out of what an entry keeps, and the seals of the ledger still verify.
#
# An entry seals the digest of what it remembers and of the marks of its people. Both hold salt: whoever has
# the digest and guesses a person cannot tell whether they were in, once the salt is gone. An erasure deletes
# salt and mark, and its own sealed entry says what the digests are from then on. What no erasure may change,
# the published counts, has a digest of its own that stays.

SALTED = b"sfumato-salted\x00\x00"
"""Before the salt of marks of people; as long as a mark, so that marks stay aligned."""

SALT_BYTES = 16
SALT = "salt"
PERSONAL = ("batches", "erased", SALT)
"""The parts of an imprint that an erasure changes."""


def mark_bytes(marks: Marks) -> bytes:
    """Returns marks of people as bytes, in order, each once."""
    if not len(marks):
        return b""
    order, fresh = order_of_marks(marks)
    return np.ascontiguousarray(marks[order[fresh]].astype("<u8")).tobytes()


def marks_of(stored: bytes) -> Marks:
    """Returns the marks that `mark_bytes` wrote, with salt or without."""
    bare = stored[len(SALTED) + SALT_BYTES :] if stored.startswith(SALTED) else stored
    return np.frombuffer(bare, dtype="<u8").astype(np.uint64).reshape(-1, 2)


def salted_marks(stored: bytes) -> bytes:
    """Returns marks of people with fresh salt, as a ledger keeps them; nothing where there are none."""
    marks = mark_bytes(marks_of(stored))
    return SALTED + secrets.token_bytes(SALT_BYTES) + marks if stored else b""


def salted_memory(memory: bytes) -> bytes:
    """Returns what an entry remembers, with fresh salt where that holds marks of people."""
    words = imprint_words(memory)
    if words is None or not words.get("people"):
        return memory
    return canonical({**words, SALT: secrets.token_hex(SALT_BYTES)}).encode()


def salted_table(table: str, salt: bytes) -> str:
    """Returns the digest of a table as an entry keeps it; whoever has no salt cannot guess a row of it."""
    return digest(salt + table.encode()) if table and salt else table


def imprint_words(memory: bytes) -> JsonObject | None:
    """Returns the imprint that an entry remembers, as plain data; `None` where it remembers none."""
    try:
        words = read_json(memory) if memory else None
    except ValueError:
        return None
    return words if isinstance(words, dict) and "sfumato-imprint" in words else None


def lasting_digest(memory: bytes) -> str:
    """Returns the digest of the part of an imprint that no erasure changes; nothing where there is none."""
    words = imprint_words(memory)
    if words is None:
        return ""
    lasting = {name: value for name, value in words.items() if name not in PERSONAL}
    return digest(json.dumps(lasting, sort_keys=True, separators=(",", ":")))


def check_none_since(connection: Connection, erasures: int | None) -> None:
    """Raises where people were erased since a table was read: it may still hold their rows."""
    if erasures is not None and Redactions.of(connection).notices > erasures:
        raise LedgerConflict(
            "people were erased while this release was made, and may still be in it",
            remedy="Delete their rows from the table, and release again.",
        )


def without_marks(memory: bytes, marks: Marks) -> tuple[bytes, Marks]:
    """Returns what an entry remembers without some people, and the marks that were in it."""
    words = imprint_words(memory)
    if words is None or not words.get("people"):
        return memory, marks[:0]
    imprint = Imprint.from_dict(words)
    left, gone = imprint.without(marks)
    if not gone:
        return memory, marks[:0]
    there = marks[are_known(marks, imprint.batches)]
    return salted_memory(canonical(left.as_dict()).encode()), there


def with_erased(memory: bytes, count: int) -> bytes:
    """Returns what an entry remembers, in which so many more people are counted as erased."""
    words = imprint_words(memory) or {}
    return canonical({**words, "erased": int(words.get("erased", 0)) + count}).encode()


def marks_without(stored: bytes, marks: Marks) -> tuple[bytes, Marks]:
    """Returns stored marks without those of some people, and those that were among them."""
    stored_marks = marks_of(stored)
    gone = are_known(stored_marks, marks)
    if not gone.any():
        return stored, marks[:0]
    left = mark_bytes(stored_marks[~gone])
    return SALTED + secrets.token_bytes(SALT_BYTES) + left, stored_marks[gone]


@dataclass(frozen=True)
class Redactions:
    """What erasures made of entries: by number, the digests of memory and of marks of people from then on.

    Of the entries in `tables`, the digest of the table has lost its salt.
    """

    memory: dict[int, str] = field(default_factory=dict)
    people: dict[int, str] = field(default_factory=dict)
    tables: frozenset[int] = frozenset()
    notices: int = 0

    @classmethod
    def of(cls, connection: Connection) -> Redactions:
        """Returns what the notices of a ledger say; the newest counts."""
        erasures = entries.notices(connection, ERASURE)
        changes = [entry for _, body in erasures for entry in body["entries"]]
        return cls(
            {int(change["number"]): str(change["memory"]) for change in changes if change.get("memory")},
            {int(change["number"]): str(change["people"]) for change in changes if change.get("people")},
            frozenset(int(number) for _, body in erasures for number in body.get("tables", ())),
            len(erasures),
        )

    def is_whole(self, entry: Entry) -> bool:
        """Whether what an entry remembers is what was sealed, but for people who were erased from it."""
        redacted = self.memory.get(entry.number)
        if redacted is None:
            return digest(entry.memory) == entry.sealed_memory
        return digest(entry.memory) == redacted and lasting_digest(entry.memory) == entry.sealed_counts

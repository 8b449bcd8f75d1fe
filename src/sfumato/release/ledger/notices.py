"""Notices: entries that are no release. A change of key, a withdrawal, a loss, a retirement, an erasure.

They stand in one sequence of their own, without a chain, and are hashed and signed like every entry. None of
them takes a release away: what was published stays published.
"""

from __future__ import annotations

import uuid

from sqlalchemy import Connection, insert, update

from sfumato.core.json_object import JsonMapping
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.entry import KEY, Entry
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.seals import NOTHING, canonical, digest, head_message
from sfumato.releases.ledger.seen_head import Head
from sfumato.releases.ledger.tables import ENTRIES, HEAD
from sfumato.releases.ledger.vault import stored_entry, vault_of


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
    last = entries.last(connection, "")
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

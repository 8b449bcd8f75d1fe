"""The current state of a ledger: the key in force, and a head that is signed, the last, and not put back."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from sfumato.core.errors import BadLedger
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.closed_chains import lost_heads
from sfumato.releases.ledger.keys import Key, publish_all
from sfumato.releases.ledger.seals import head_message, signed
from sfumato.releases.ledger.seen_head import Head

REMEDY = "Run `sfumato ledger verify`."


def key_in_force(connection: Connection, key: Key, path: Path | None) -> Key:
    """Returns the key in force, also where a change of keys was cut off after its entry.

    `path` is the file of the key; its successor lies beside it until the change is entered.
    """
    force = entries.key_in_force(connection)
    if key.public == force:
        return key
    if path is not None:
        if (stored := Key.load(path)).public == force:
            return stored
        successor = path.with_name(f"{path.name}.new")
        if successor.exists() and (new := Key.load(successor)).public == force:
            publish_all(path.with_name(f"{path.name}.pub"), entries.dated_keys(connection))
            successor.replace(path)
            return new
    raise BadLedger("this is not the key of the ledger", remedy="Name the right one with --key.")


def checked_head(connection: Connection, public: str, before: Head | None = None) -> Head:
    """Returns the head; raises unless it is signed, the last entry, and no older than one seen `before`."""
    head, last = entries.head(connection), entries.last(connection)
    if head is None or last is None or (head.number, head.hash) != (last.number, last.hash):
        raise BadLedger("the ledger does not end where its head says", remedy=REMEDY)
    if not signed(head_message(head.number, head.hash), head.signature, public):
        raise BadLedger("the head of the ledger is not signed by its key", remedy=REMEDY)
    if wrong := last.fault(last.signer):
        raise BadLedger(f"entry {last.number}: {wrong}", remedy=REMEDY)
    if before and not entries.holds(connection, before) and before not in lost_heads(connection):
        raise BadLedger(
            "the ledger is older than it was: entries are gone",
            remedy=f"{REMEDY} To go on without them, restore with --accept-loss.",
        )
    return Head(head.number, head.hash)

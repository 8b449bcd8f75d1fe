"""The chain of hashes from the first entry to the signed head: enough to trust a history."""

from __future__ import annotations

from sqlalchemy import Connection, select

from sfumato.core.errors import BadLedger
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.entry import KEY, Entry
from sfumato.releases.ledger.seals import NOTHING, head_message, signed
from sfumato.releases.ledger.tables import ENTRIES

COLUMNS_WITHOUT_MEMORY = [column for column in ENTRIES.c if column.name != "memory"]
REMEDY = "Run `sfumato ledger verify`."


def check_links(connection: Connection) -> None:
    """Raises unless every entry is there, in its place, and what it was when the head was signed.

    An entry that was moved to another chain is missing from its own: so all entries are followed, not only
    those of one chain. What entries remember is left out; whoever reads it compares it.
    """
    number, previous, key_in_force = 0, NOTHING, ""
    for row in connection.execute(select(*COLUMNS_WITHOUT_MEMORY).order_by(ENTRIES.c.number)).mappings():
        entry = Entry.of({**row, "memory": b""})
        number += 1
        if entry.number != number or entry.previous != previous or entry.computed_hash != entry.hash:
            raise damaged(number)
        previous = entry.hash
        if entry.kind == KEY:
            key_in_force = entries.public_key(entry.body)
    head = entries.head(connection)
    if head is None or (head.number, head.hash) != (number, previous):
        raise damaged(number + 1)
    if not signed(head_message(number, previous), head.signature, key_in_force):
        raise BadLedger("the head of the ledger is not signed by its key", remedy=REMEDY)


def damaged(number: int) -> BadLedger:
    """Returns the error for an entry that is not what it was."""
    return BadLedger(f"entry {number} of the ledger is missing or was changed", remedy=REMEDY)

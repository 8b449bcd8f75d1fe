"""The chain of hashes from the first entry to the signed head: enough to trust a history."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, select

from sfumato.core.errors import BadLedger
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.checkpoint import NOWHERE, Checkpoint, FollowedEntries, Seal, extended
from sfumato.releases.ledger.entry import KEY, Entry
from sfumato.releases.ledger.redaction import Redactions
from sfumato.releases.ledger.seals import NOTHING, head_message, signed
from sfumato.releases.ledger.tables import ENTRIES

COLUMNS_WITHOUT_MEMORY = [column for column in ENTRIES.c if column.name != "memory"]
REMEDY = "Run `sfumato ledger verify`."


def check_links(connection: Connection, before: Checkpoint = NOWHERE) -> FollowedEntries:
    """Raises unless every entry is there, in its place, and what it was when the head was signed.

    An entry that was moved to another chain is missing from its own: so all entries are followed, not only
    those of one chain. What entries remember is left out; whoever reads it compares it. Rows that a
    checkpoint from `before` holds for are not looked at one by one; one that does not hold is left aside.
    """
    holds = before.number > 0 and before.is_signed(entries.key_in_force(connection))
    followed = (_followed(connection, before) if holds else None) or _followed(connection, NOWHERE)
    if followed is None:
        raise AssertionError
    return followed


def _followed(connection: Connection, before: Checkpoint) -> FollowedEntries | None:
    """Returns the entries, followed to the head; `None` where the checkpoint does not hold."""
    number, previous, digest, key_entry, others = 0, NOTHING, b"", "", list[Seal]()
    for row in connection.execute(select(*COLUMNS_WITHOUT_MEMORY).order_by(ENTRIES.c.number)):
        number, digest = number + 1, extended(digest, row)
        if number == before.number and digest.hex() != before.digest:
            return None
        if number > before.number:
            entry = entries.opened(connection, {**row._mapping, "memory": b""})
            if entry.number != number or entry.previous != previous or entry.computed_hash != entry.hash:
                raise damaged(number)
            others.append(Seal(entry.hash, entry.signer, entry.signature))
        previous = row.hash
        if row.kind == KEY:
            key_entry = row.body
    if number < before.number:
        return None
    key_in_force = entries.public_key(key_entry) if key_entry else ""
    if before.number and not before.is_signed(key_in_force):
        return None
    head = entries.head(connection)
    if head is None or (head.number, head.hash) != (number, previous):
        raise damaged(number + 1)
    if not signed(head_message(number, previous), head.signature, key_in_force):
        raise BadLedger("the head of the ledger is not signed by its key", remedy=REMEDY)
    return FollowedEntries(before.number, digest.hex(), tuple(others))


def check_releases(
    releases: Sequence[Entry],
    followed: FollowedEntries,
    keys: Collection[str],
    retired: Collection[int] | None,
    redactions: Redactions,
) -> None:
    """Raises where one of the `keys` did not sign an entry, or its memory is not what was sealed.

    That of `retired` entries may be gone; where these are `None`, no memory was read. Where people were
    erased, `redactions` say what is left of it.
    """
    for entry in releases:
        forgotten = retired is None or (entry.number in retired and not entry.memory)
        sealed = entry.number <= followed.trusted or entry.is_signed(keys)
        if not sealed or not (forgotten or redactions.is_whole(entry)):
            raise damaged(entry.number)


def damaged(number: int) -> BadLedger:
    """Returns the error for an entry that is not what it was."""
    return BadLedger(f"entry {number} of the ledger is missing or was changed", remedy=REMEDY)

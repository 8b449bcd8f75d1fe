"""Closed chains: what the ledger no longer knows, and therefore holds no further release against.

A retirement deletes what was remembered of a chain; a loss says which entries a restored ledger lacks. In
such a chain nothing is released any more. In other chains its recipients are told apart by name alone, since
who was in its tables is not known any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from sfumato.core.errors import RefusedByHistory
from sfumato.core.json_object import JsonMapping
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.entry import LOSS, RETIREMENT
from sfumato.releases.ledger.record import Record
from sfumato.releases.ledger.seen_head import Head
from sfumato.releases.names import same_name
from sfumato.show.card import several

NEW_LEDGER = "Find the certificates of the lost releases and restore again; or begin a new ledger."


@dataclass(frozen=True)
class ClosedChain:
    """A chain that ended with notice `number`; `recipients` may hold releases whose people are forgotten.

    Of a chain whose `tables` are still known by their digests, only marks of people are missing.
    """

    chain: str
    number: int
    why: str
    recipients: frozenset[str | None]
    tables: bool

    def concerns(self, record: Record) -> bool:
        """Whether a release might have met one of this chain; one to nobody is in everybody's hands."""
        if self.tables and not record.people:
            return False
        whom = record.recipient
        return bool(self.recipients) and (whom is None or None in self.recipients or whom in self.recipients)


def closed_chains(connection: Connection) -> list[ClosedChain]:
    """Returns the chains that are closed, in order of their notices."""
    return [*_retired(connection), *_lost(connection)]


def check_open(connection: Connection, chain: str) -> None:
    """Raises `RefusedByHistory` where nothing may be released in a chain any more."""
    for number, body in entries.notices(connection, LOSS):
        known = sum(lost.get("chain") is not None for lost in body["lost"])
        if unknown := body["to"] - body["after"] - known:
            raise RefusedByHistory(
                f"entry {number} of the ledger says that {several(unknown, 'entry', 'entries')} of it got "
                "lost, and nobody knows what was released by them",
                remedy=NEW_LEDGER,
            )
    for closed in closed_chains(connection):
        if closed.chain == same_name(chain):
            raise RefusedByHistory(
                f"chain {closed.chain} is closed: {closed.why} (entry {closed.number} of the ledger)",
                remedy="Nothing can be held against its releases any more. Start a new chain, about people "
                "who are in none of them.",
            )


def check_beside(connection: Connection, records: Sequence[Record]) -> None:
    """Raises where a recipient may hold a release whose people the ledger has forgotten.

    Chains that a record names in `despite` are let be: nothing is promised of what both tell together.
    """
    closed = closed_chains(connection)
    for record in records:
        check_open(connection, record.chain)
        for other in closed:
            if other.chain not in record.despite and other.concerns(record):
                raise RefusedByHistory(
                    f"chain {other.chain} of this ledger is closed ({other.why}): whether it has people of "
                    "this table for the same recipient cannot be told any more",
                    remedy=f"With --despite {other.chain} this is released all the same, and neither promises"
                    " anything of what both tell together; ledger and certificate will say so.",
                )


def retired_entries(connection: Connection) -> frozenset[int]:
    """Returns the numbers of entries whose memory and marks of people were deleted on purpose."""
    return frozenset(n for _, body in entries.notices(connection, RETIREMENT) for n in body["entries"])


def lost_heads(connection: Connection) -> frozenset[Head]:
    """Returns the entries that the ledger says it lost, each by its number and its hash."""
    return frozenset(head for _, body in entries.notices(connection, LOSS) for head in heads_in(body))


def heads_in(body: JsonMapping) -> Iterator[Head]:
    """Yields the entries whose hashes a notice of loss knows."""
    for lost in body["lost"]:
        if lost.get("hash"):
            yield Head(int(lost["number"]), str(lost["hash"]))


def _retired(connection: Connection) -> Iterator[ClosedChain]:
    for number, body in entries.notices(connection, RETIREMENT):
        recipients = frozenset(body["recipients"])
        why = "what was remembered of it was deleted"
        yield ClosedChain(str(body["chain"]), number, why, recipients, tables=True)


def _lost(connection: Connection) -> Iterator[ClosedChain]:
    for number, body in entries.notices(connection, LOSS):
        chains: dict[str, set[str | None]] = {}
        for lost in body["lost"]:
            if lost.get("chain") is not None:
                chains.setdefault(same_name(lost["chain"]), set()).add(lost["recipient"])
        for chain, recipients in sorted(chains.items()):
            yield ClosedChain(chain, number, "releases of it are lost", frozenset(recipients), tables=False)

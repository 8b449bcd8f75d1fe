"""Retirement: a chain ends, and what was remembered of it for later checks is deleted."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, select, update

from sfumato.core.errors import WrongCall
from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.closed_chains import closed_chains
from sfumato.releases.ledger.entry import RETIREMENT
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import Record
from sfumato.releases.ledger.tables import ENTRIES, PEOPLE
from sfumato.releases.names import checked_name
from sfumato.show.card import Card, Printable, several

LOST_BY_IT = (
    "nothing is released in the chain any more: no check could hold it against these releases",
    "a leak is traced by the cuts of versions alone, not by who is in them",
    "in other chains, releases about people to the same recipients need --despite, and say so",
    "older backups still hold what was deleted: delete them, too",
)
"""What is lost by a retirement, for people."""


@dataclass(frozen=True)
class Retirement(Printable):
    """The end of a chain: how many releases it had, and where the ledger says so."""

    chain: str
    number: int
    releases: int
    recipients: tuple[str, ...]

    def as_dict(self) -> JsonObject:
        """Returns the retirement as JSON."""
        return {
            "chain": self.chain,
            "entry": self.number,
            "releases": self.releases,
            "recipients": list(self.recipients),
            "lost": list(LOST_BY_IT),
        }

    def card(self) -> Card:
        """Returns what was deleted, and what is lost by it."""
        title = f"chain {self.chain} is closed, by entry {self.number} of the ledger"
        releases = several(self.releases, "release")
        lines = [(releases, "what was remembered of them, and the marks of their people, are deleted")]
        return Card(title, lines, LOST_BY_IT)


def retire(ledger: Ledger, chain: str) -> Retirement:
    """Closes a chain for good and deletes what was remembered of it; entries and certificates stay.

    Deletion and notice are one transaction. Entries can be verified afterwards, and are listed.
    """
    name, found = checked_name(chain, "chain"), list[Record]()

    def compose(connection: Connection) -> JsonMapping:
        found[:] = map(Record.of, entries.releases(connection, name, memory=False))
        if not found:
            raise WrongCall(f"the ledger has no chain {name}", remedy="`sfumato history` lists the chains.")
        if any(closed.chain == name for closed in closed_chains(connection)):
            raise WrongCall(f"chain {name} is closed already", remedy="`sfumato ledger verify` says why.")
        numbers = [record.number for record in found]
        marked = _forget(connection, numbers)
        recipients = {record.recipient for record in found if record.number in marked}
        return {
            "ledger": entries.identity(connection),
            "chain": name,
            "entries": numbers,
            "recipients": sorted(recipients, key=lambda recipient: recipient or ""),
        }

    entry = ledger.enter_notice(RETIREMENT, compose)
    recipients = sorted({record.recipient or "–" for record in found})
    return Retirement(name, entry.number, len(found), tuple(recipients))


def _forget(connection: Connection, numbers: list[int]) -> set[int]:
    """Deletes memory and marks of people of these entries; returns the numbers of those that had marks."""
    connection.execute(update(ENTRIES).where(ENTRIES.c.number.in_(numbers)).values(memory=b""))
    mine = PEOPLE.c.number.in_(numbers)
    marked = set(connection.execute(select(PEOPLE.c.number).where(mine)).scalars())
    connection.execute(delete(PEOPLE).where(mine))
    return marked

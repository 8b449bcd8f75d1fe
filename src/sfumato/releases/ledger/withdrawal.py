"""Withdrawal: a release is called back. The ledger records it; nothing is undone by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from sfumato.core.errors import LedgerConflict, WrongCall
from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.entry import WITHDRAWAL, Entry
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import Record
from sfumato.releases.names import checked_name, same_name
from sfumato.show.card import Card, Printable, several

LONGEST_REASON = 1000


@dataclass(frozen=True)
class Withdrawal(Printable):
    """A release that was called back, why, and what remains dangerous; `entry` is the sealed notice."""

    record: Record
    reason: str
    entry: Entry
    remains: tuple[str, ...]

    def as_dict(self) -> JsonObject:
        """Returns the withdrawal as JSON."""
        return {
            "release": self.record.release,
            "chain": self.record.chain,
            "sequence": self.record.sequence,
            "recipient": self.record.recipient,
            "reason": self.reason,
            "entry": self.entry.number,
            "head": self.entry.hash,
            "remains": list(self.remains),
        }

    def card(self) -> Card:
        """Returns what was withdrawn, and what remains."""
        record = self.record
        title = f"release {record.sequence} of chain {record.chain} is withdrawn, and nothing is undone by it"
        lines = [(sentence,) for sentence in self.remains]
        return Card(title, lines, (f"entry {self.entry.number} of the ledger: {self.reason}",))


def withdraw(ledger: Ledger, release: str, *, reason: str, chain: str = "main") -> Withdrawal:
    """Records that a release, named by its id or its number in the chain, is called back, and why.

    Later releases are held against it as before, since whoever has it keeps it. The reason is public. Of a
    release that was withdrawn before for the same reason, the notice that is there is returned.
    """
    why = checked_name(reason, "reason", most=len(reason))
    if len(why) > LONGEST_REASON:
        raise WrongCall(f"a reason has at most {LONGEST_REASON} characters", remedy="Say it in fewer words.")
    records = ledger.history(memory=False)
    record = _record(records, release, same_name(chain))

    def compose(connection: Connection) -> JsonMapping:
        if record.release in withdrawn_releases(connection):
            raise LedgerConflict(
                "somebody else withdrew this release first", where=release, remedy="Withdraw it again."
            )
        return {
            "ledger": entries.identity(connection),
            "release": record.release,
            "hash": record.hash,
            "reason": why,
        }

    entry = _notice(ledger, record, why) or ledger.enter_notice(WITHDRAWAL, compose)
    return Withdrawal(record, why, entry, tuple(remaining_dangers(record, records)))


def _notice(ledger: Ledger, record: Record, reason: str) -> Entry | None:
    """Returns the notice of a release that was withdrawn before; raises where that had another reason."""
    with ledger.database.reading() as connection:
        before = withdrawn_releases(connection).get(record.release)
        if before is None:
            return None
        if before["reason"] != reason:
            raise WrongCall(
                "this release was withdrawn before, for another reason",
                where=f"entry {before['entry']}",
                remedy="With the reason of then (`sfumato history --json`) its notice is written again.",
            )
        return entries.at(connection, before["entry"])


def withdrawals(ledger: Ledger) -> dict[str, JsonObject]:
    """Returns what was withdrawn: the id of each release, with the number, time and reason of its notice."""
    with ledger.database.reading() as connection:
        return withdrawn_releases(connection)


def withdrawn_releases(connection: Connection) -> dict[str, JsonObject]:
    """Returns the same from an open connection."""
    return {
        str(body["release"]): {"entry": number, "at": str(body["at"]), "reason": str(body["reason"])}
        for number, body in entries.notices(connection, WITHDRAWAL)
    }


def remaining_dangers(record: Record, records: Sequence[Record]) -> list[str]:
    """Says what stays as dangerous as it was, given all releases of the ledger."""
    whom = record.recipient or "anybody: it was released to nobody in particular"
    rows = record.figures.get("rows")
    told = [f"whoever has the files keeps them: {whom}{f' ({rows} rows)' if rows is not None else ''}"]
    told.append("files, copies and caches are not removed: delete them where they are")
    later = [other for other in records if other.chain == record.chain and other.number > record.number]
    after = [other for other in later if other.event != record.event]
    held = f"; so far {several(len(after), 'later release')} beside it" if after else ""
    told.append(f"it stays in chain {record.chain}: later releases are held against it as before{held}")
    if event := [o for o in records if record.event and o.event == record.event and o is not record]:
        names = ", ".join(sorted(other.recipient or "–" for other in event))
        told.append(f"other versions of the same table are out there, and count where put together: {names}")
    if together := _same_hands(record, records):
        told.append(f"its recipient may also hold {several(together, 'other release')} of this ledger")
    if broken := [str(v["promise"]) for v in record.verdicts if v["holds"] is not True]:
        told.append(f"what it did not keep, it does not keep now: {', '.join(broken)}")
    told.append("its certificate still verifies: hand out the notice of withdrawal (--out)")
    return told


def _same_hands(record: Record, records: Sequence[Record]) -> int:
    """Returns how many other releases whoever holds this one may hold."""
    return sum(
        other is not record and (record.recipient is None or other.recipient in (None, record.recipient))
        for other in records
    )


def _record(records: Sequence[Record], release: str, chain: str) -> Record:
    """Returns the release with this id, or with this number in a chain."""
    for record in records:
        if record.release == release or (record.chain == chain and str(record.sequence) == release):
            return record
    raise WrongCall(
        "the ledger has no such release",
        where=release,
        remedy="Name its number in the chain (`sfumato history`; --chain), or its id (`--json`).",
    )

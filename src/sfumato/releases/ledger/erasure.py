"""Erasure: people are taken out of everything that a ledger keeps. What was published stays published.

Marks of people, and the counts of those who were erased, change in one transaction with a sealed notice that
says what the digests of the changed parts are. Published counts are never edited: they are what the world
holds, and later releases are held against them.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import Connection, delete, select, update

from sfumato.releases.base_file import BaseStore
from sfumato.releases.ledger import encryption as underway
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.cross_chain_overlap import closed_chains
from sfumato.releases.ledger.encryption import clean
from sfumato.releases.ledger.keys import digest
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.notices import (
    Redactions,
    imprint_words,
    marks_without,
    with_erased,
    without_marks,
)
from sfumato.releases.ledger.record import ReleaseRecord, check_links, damaged
from sfumato.releases.ledger.records import ERASURE, RETIREMENT, WITHDRAWAL, Entry
from sfumato.releases.ledger.tables import ENTRIES, PEOPLE
from sfumato.releases.ledger.vault import opened_marks, stored_marks, stored_memory
from sfumato.releases.names import checked_name, same_name
from sfumato.releases.staging import StepHook, no_hook
from sfumato.system.errors import LedgerConflict, SfumatoError, Unfinished, UsageError
from sfumato.system.json_object import JsonMapping, JsonObject
from sfumato.system.presentation.cards import Card, Printable, pluralize
from sfumato.table.keyed_hashes import Marks, are_known

ERASURE_STEPS = (
    "begun",  # nothing has happened
    "redacted",  # all changes and the notice are in the transaction, not yet committed
    "committed",  # from here on recovery goes forward
    "cleaned",  # no page of the database holds what was deleted
    "done",
)


@dataclass(frozen=True)
class ErasedBase:
    """The base of a chain of groups from which people were taken out: what its last release remembers of it.

    `number` is that of the entry, which remembers `before`, and `after` from the erasure on. `people` were in
    it, `marks` are theirs, and `groups` are withheld with everybody in them.
    """

    number: int
    before: bytes = field(repr=False)
    after: bytes = field(repr=False)
    people: int
    groups: int
    marks: Marks = field(repr=False)


@dataclass(frozen=True)
class ErasureRequest:
    """Who is to be erased: their marks, and what the table says of those whom no mark in an entry tells.

    `column` tells people apart. `rows` maps numbers of entries to how many rows of theirs the release held,
    where rows are told by batches; it was counted when `chain` ended with the entry whose hash is `after`.
    `unmarked` people have no key at all: they are known by their rows alone. `bases` are those of chains of
    groups, without these people; `closed_to` names such chains in which nobody can be found. With `forget`
    no mark of them stays in bases either.
    """

    marks: Marks = field(repr=False)
    column: str | None = None
    chain: str = ""
    rows: Mapping[int, int] = field(default_factory=dict)
    after: str | None = None
    unmarked: int = 0
    bases: tuple[ErasedBase, ...] = ()
    closed_to: tuple[str, ...] = ()
    forget: bool = False

    @property
    def people(self) -> int:
        return len(self.marks) + self.unmarked


@dataclass
class ErasedEntries:
    """What an erasure changed: per entry the digests from then on, and who was found."""

    request: ErasureRequest
    changed: list[JsonObject] = field(default_factory=list)
    records: list[Entry] = field(default_factory=list)
    uncounted: set[str] = field(default_factory=set)
    found: Marks = field(default_factory=lambda: np.zeros((0, 2), np.uint64), repr=False)
    tables: list[int] = field(default_factory=list)

    def add(self, entry: Entry, memory: bytes, people: bytes | None, count: int, marked: Marks) -> None:
        """Notes what an entry remembers now, and the marks of its people where these changed.

        `count` people are gone from it, those of `marked` from what it remembers.
        """
        words = imprint_words(entry.memory) or {}
        counted = self.request.after is not None and entry.chain == self.request.chain
        if words.get("since") is not None and not len(marked) and not counted:  # rows are told by batches
            self.uncounted.add(entry.chain)
        digests = {
            "memory": digest(memory) if memory != entry.memory else "",
            "people": "" if people is None else digest(people),
        }
        self.changed.append({"number": entry.number, **digests, "erased": count})
        self.records.append(entry)

    def check(self, in_table: int) -> None:
        """Raises where somebody is in no entry and not in the table, or where rows could not be counted."""
        lacking = int((~are_known(self.request.marks, self.found)).sum())
        if lacking > in_table:
            raise UsageError(
                f"{lacking - in_table} of {self.request.people} people are in nothing that the ledger keeps",
                remedy="Look at how their keys are written in the table. Who was erased before is not known"
                " any more.",
            )
        if self.request.chain in self.uncounted:
            raise UsageError(
                f"chain {self.request.chain} tells by batches which rows were released: without the table it"
                " is not known which releases hold theirs",
                remedy="Name the table, as it is before their rows are deleted, and its policy.",
            )


def erase_people(
    ledger: Ledger, request: ErasureRequest, *, in_table: int = 0, at: StepHook = no_hook
) -> tuple[Entry, ErasedEntries]:
    """Takes people out of all entries, in one transaction with its notice; then cleans the database.

    Returns the notice and what was changed. `in_table` of them are known by their rows alone. Raises
    `Unfinished` where only the cleaning is left, which recovery does.
    """
    at("begun")
    tried = list[ErasedEntries]()

    def compose(connection: Connection) -> JsonMapping:
        check_links(connection)
        _check_unchanged(connection, request)
        tried.append(_redact(connection, request))
        tried[-1].check(in_table)
        underway.note_cleaning(connection, uuid.uuid4().hex, ledger.signing_key)
        at("redacted")
        changes = {"people": request.people, "entries": tried[-1].changed, "tables": tried[-1].tables}
        return {"ledger": entries.identity(connection), **changes}

    entry = ledger.enter_notice(ERASURE, compose)
    at("committed")
    try:
        clean(ledger.database)
    except SfumatoError:
        raise Unfinished(
            f"entry {entry.number} of the ledger erases them, but its database could not be cleaned",
            remedy="Run `sfumato ledger recover` when nobody else uses it.",
        ) from None
    at("cleaned")
    _forget_bases(ledger, [base.before for base in request.bases])
    at("done")
    return entry, tried[-1]


def _forget_bases(ledger: Ledger, memories: Sequence[bytes]) -> None:
    """Removes the bases that entries remembered."""
    if memories and ledger.key_path is not None:
        store = BaseStore.of(ledger)
        for memory in memories:
            store.forget(memory)


def erased_people(ledger: Ledger) -> dict[int, int]:
    """Returns how many people were erased from each entry."""
    counts: dict[int, int] = {}
    for _, body in ledger.database.read(lambda connection: entries.notices(connection, ERASURE)):
        for entry in body["entries"]:
            counts[int(entry["number"])] = counts.get(int(entry["number"]), 0) + int(entry["erased"])
    return counts


def _check_unchanged(connection: Connection, request: ErasureRequest) -> None:
    """Raises where the chain went on since rows were counted."""
    if request.after is None:
        return
    last = entries.last_of_chain(connection, request.chain)
    if (last.hash if last else "") != request.after:
        raise LedgerConflict(
            f"chain {request.chain} went on while rows were counted", remedy="Try again on the new state."
        )


def _redact(connection: Connection, request: ErasureRequest) -> ErasedEntries:
    """Takes the people out of every entry; returns what its digests are now."""
    erased, redactions = ErasedEntries(request), Redactions.of(connection)
    bases = {base.number: base for base in request.bases}
    for bare in entries.releases(connection, None, memory=False):
        entry = entries.at(connection, bare.number)
        if entry is None or not (redactions.is_whole(entry) or not entry.memory):
            raise damaged(bare.number)
        memory, marked = without_marks(entry.memory, request.marks)
        count = len(marked)
        if extra := request.rows.get(entry.number, 0):
            memory, count = with_erased(memory, extra), count + extra
        if base := bases.pop(entry.number, None):
            if entry.memory != base.before or _is_followed(connection, entry):
                raise LedgerConflict(
                    f"chain {entry.chain} went on while people were taken out of it",
                    remedy="Try again on the new state.",
                )
            memory, count, marked = base.after, count + base.people, np.concatenate([marked, base.marks])
        stored = _stored(connection, entry, redactions)
        people, removed = marks_without(stored, request.marks)
        if memory != entry.memory:
            mine = ENTRIES.c.number == entry.number
            stored_now = stored_memory(connection, entry.number, memory)
            connection.execute(update(ENTRIES).where(mine).values(memory=stored_now))
        if people != stored:
            marks = stored_marks(connection, entry.number, people)
            connection.execute(update(PEOPLE).where(PEOPLE.c.number == entry.number).values(marks=marks))
        if memory != entry.memory or people != stored:
            erased.add(entry, memory, people if people != stored else None, count, marked)
            erased.found = np.concatenate([erased.found, marked, removed])
    erased.tables = _forget_tables(connection, {entry.chain for entry in erased.records})
    return erased


def _is_followed(connection: Connection, entry: Entry) -> bool:
    """Whether a chain went on after an entry."""
    last = entries.last_of_chain(connection, entry.chain)
    return last is None or last.hash != entry.hash


def _forget_tables(connection: Connection, chains: set[str]) -> list[int]:
    """Deletes the salt of the digests of all tables of these chains; returns the numbers of their entries.

    Somebody with the rest of such a table could otherwise try which row is missing from it. Tables hold more
    people than releases do, so all entries of a chain are meant.
    """
    every = entries.releases(connection, None, memory=False)
    numbers = [-entry.number for entry in every if entry.chain in chains]
    mine = PEOPLE.c.number.in_(numbers)
    there = sorted(-number for number in connection.execute(select(PEOPLE.c.number).where(mine)).scalars())
    connection.execute(delete(PEOPLE).where(mine))
    return there


def _stored(connection: Connection, entry: Entry, redactions: Redactions) -> bytes:
    """Returns the marks of the people of an entry; raises where they are not what was sealed."""
    mine = PEOPLE.c.number == entry.number
    cell = connection.execute(select(PEOPLE.c.marks).where(mine)).scalar()
    stored = opened_marks(connection, entry.number, cell)
    sealed = redactions.people.get(entry.number) or entry.kept_words.get("people", "")
    if stored and digest(stored) != sealed:
        raise damaged(entry.number)
    return stored


# Retirement: a chain ends, and what was remembered of it for later checks is deleted.

LOST_BY_IT = (
    "nothing is released in the chain any more: no check could hold it against these releases",
    "a leak is traced by the cuts of versions alone, not by who is in them",
    "in other chains, releases about people to the same recipients need --ignore-chain, and say so",
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
        releases = pluralize(self.releases, "release")
        lines = [(releases, "what was remembered of them, and the marks of their people, are deleted")]
        return Card(title, lines, LOST_BY_IT)


def retire(ledger: Ledger, chain: str) -> Retirement:
    """Closes a chain for good and deletes what was remembered of it; entries and certificates stay.

    Deletion and notice are one transaction. Entries can be verified afterwards, and are listed.
    """
    name, records = checked_name(chain, "chain"), list[ReleaseRecord]()

    def compose(connection: Connection) -> JsonMapping:
        records[:] = map(ReleaseRecord.of, entries.releases(connection, name, memory=False))
        if not records:
            raise UsageError(f"the ledger has no chain {name}", remedy="`sfumato history` lists the chains.")
        if any(closed.chain == name for closed in closed_chains(connection)):
            raise UsageError(f"chain {name} is closed already", remedy="`sfumato ledger verify` says why.")
        numbers = [record.number for record in records]
        marked = _forget(connection, numbers)
        recipients = {record.recipient for record in records if record.number in marked}
        return {
            "ledger": entries.identity(connection),
            "chain": name,
            "entries": numbers,
            "recipients": sorted(recipients, key=lambda recipient: recipient or ""),
        }

    memories = [record.memory for record in ledger.history(name)]
    entry = ledger.enter_notice(RETIREMENT, compose)
    _forget_bases(ledger, memories)
    recipients = sorted({record.recipient or "–" for record in records})
    return Retirement(name, entry.number, len(records), tuple(recipients))


def _forget(connection: Connection, numbers: list[int]) -> set[int]:
    """Deletes memory and marks of people of these entries; returns the numbers of those that had marks."""
    connection.execute(update(ENTRIES).where(ENTRIES.c.number.in_(numbers)).values(memory=b""))
    mine = PEOPLE.c.number.in_(numbers)
    marked = set(connection.execute(select(PEOPLE.c.number).where(mine)).scalars())
    connection.execute(delete(PEOPLE).where(mine))
    return marked


# Withdrawal: a release is called back. The ledger records it; nothing is undone by it.

LONGEST_REASON = 1000


@dataclass(frozen=True)
class Withdrawal(Printable):
    """A release that was called back, why, and what remains dangerous; `entry` is the sealed notice."""

    record: ReleaseRecord
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
        raise UsageError(f"a reason has at most {LONGEST_REASON} characters", remedy="Say it in fewer words.")
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


def _notice(ledger: Ledger, record: ReleaseRecord, reason: str) -> Entry | None:
    """Returns the notice of a release that was withdrawn before; raises where that had another reason."""
    with ledger.database.reading() as connection:
        before = withdrawn_releases(connection).get(record.release)
        if before is None:
            return None
        if before["reason"] != reason:
            raise UsageError(
                "this release was withdrawn before, for another reason",
                where=f"entry {before['entry']}",
                remedy="With the reason of then (`sfumato history --json`) its notice is written again.",
            )
        return entries.at(connection, before["entry"])


def withdrawals(ledger: Ledger) -> dict[str, JsonObject]:
    """Returns what was withdrawn: the id of each release, with the number, time and reason of its notice."""
    return ledger.database.read(withdrawn_releases)


def withdrawn_releases(connection: Connection) -> dict[str, JsonObject]:
    """Returns the same from an open connection."""
    return {
        str(body["release"]): {"entry": number, "at": str(body["at"]), "reason": str(body["reason"])}
        for number, body in entries.notices(connection, WITHDRAWAL)
    }


def remaining_dangers(record: ReleaseRecord, records: Sequence[ReleaseRecord]) -> list[str]:
    """Says what stays as dangerous as it was, given all releases of the ledger."""
    whom = record.recipient or "anybody: it was released to nobody in particular"
    rows = record.figures.get("rows")
    sentences = [f"whoever has the files keeps them: {whom}{f' ({rows} rows)' if rows is not None else ''}"]
    sentences.append("files, copies and caches are not removed: delete them where they are")
    later = [
        release for release in records if release.chain == record.chain and release.number > record.number
    ]
    after = [release for release in later if release.event != record.event]
    so_far = f"; so far {pluralize(len(after), 'later release')} beside it" if after else ""
    sentences.append(
        f"it stays in chain {record.chain}: later releases are held against it as before{so_far}"
    )
    if event := [o for o in records if record.event and o.event == record.event and o is not record]:
        names = ", ".join(sorted(release.recipient or "–" for release in event))
        sentences.append(
            f"other versions of the same table are out there, and count where put together: {names}"
        )
    if together := _same_hands(record, records):
        sentences.append(f"its recipient may also hold {pluralize(together, 'other release')} of this ledger")
    if broken := [str(v["promise"]) for v in record.verdicts if v["holds"] is not True]:
        sentences.append(f"what it did not keep, it does not keep now: {', '.join(broken)}")
    sentences.append("its certificate still verifies: hand out the notice of withdrawal (--out)")
    return sentences


def _same_hands(record: ReleaseRecord, records: Sequence[ReleaseRecord]) -> int:
    """Returns how many other releases whoever holds this one may hold."""
    return sum(
        release is not record and (record.recipient is None or release.recipient in (None, record.recipient))
        for release in records
    )


def _record(records: Sequence[ReleaseRecord], release: str, chain: str) -> ReleaseRecord:
    """Returns the release with this id, or with this number in a chain."""
    for record in records:
        if record.release == release or (record.chain == chain and str(record.sequence) == release):
            return record
    raise UsageError(
        "the ledger has no such release",
        where=release,
        remedy="Name its number in the chain (`sfumato history`; --chain), or its id (`--json`).",
    )

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

from sfumato.core.errors import LedgerConflict, SfumatoError, Unfinished, WrongCall
from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.core.marks import Marks, are_known
from sfumato.releases.ledger import entries, underway
from sfumato.releases.ledger.encryption import clean
from sfumato.releases.ledger.entry import ERASURE, Entry
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.links import check_links, damaged
from sfumato.releases.ledger.redaction import (
    Redactions,
    imprint_words,
    marks_without,
    with_erased,
    without_marks,
)
from sfumato.releases.ledger.seals import digest
from sfumato.releases.ledger.tables import ENTRIES, PEOPLE
from sfumato.releases.ledger.vault import opened_marks, stored_marks, stored_memory
from sfumato.releases.steps import StepHook, no_hook

ERASURE_STEPS = (
    "begun",  # nothing has happened
    "redacted",  # all changes and the notice are in the transaction, not yet committed
    "committed",  # from here on recovery goes forward
    "cleaned",  # no page of the database holds what was deleted
    "done",
)


@dataclass(frozen=True)
class ErasureRequest:
    """Who is to be erased: their marks, and what the table says of those whom no mark in an entry tells.

    `column` tells people apart. `rows` maps numbers of entries to how many rows of theirs the release held,
    where rows are told by batches; it was counted when `chain` ended with the entry whose hash is `after`.
    `unmarked` people have no key at all: they are known by their rows alone.
    """

    marks: Marks = field(repr=False)
    column: str | None = None
    chain: str = ""
    rows: Mapping[int, int] = field(default_factory=dict)
    after: str | None = None
    unmarked: int = 0

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

    def add(self, entry: Entry, memory: str, people: str, erased: int, found: Sequence[Marks]) -> None:
        """Notes what became of an entry."""
        told = {"number": entry.number, "memory": memory, "people": people, "erased": erased}
        self.changed.append(told)
        self.records.append(entry)
        self.found = np.concatenate([self.found, *found])

    def check(self, in_table: int) -> None:
        """Raises where somebody is in no entry and not in the table, or where rows could not be counted."""
        lacking = int((~are_known(self.request.marks, self.found)).sum())
        if lacking > in_table:
            raise WrongCall(
                f"{lacking - in_table} of {self.request.people} people are in nothing that the ledger keeps",
                remedy="Look at how their keys are written in the table. Who was erased before is not known"
                " any more.",
            )
        if self.request.chain in self.uncounted:
            raise WrongCall(
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
        told = {"people": request.people, "entries": tried[-1].changed, "tables": tried[-1].tables}
        return {"ledger": entries.identity(connection), **told}

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
    at("done")
    return entry, tried[-1]


def erased_people(ledger: Ledger) -> dict[int, int]:
    """Returns how many people were erased from each entry."""
    with ledger.database.reading() as connection:
        found = entries.notices(connection, ERASURE)
    counts: dict[int, int] = {}
    for _, body in found:
        for one in body["entries"]:
            counts[int(one["number"])] = counts.get(int(one["number"]), 0) + int(one["erased"])
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
    for bare in entries.releases(connection, None, memory=False):
        entry = entries.at(connection, bare.number)
        if entry is None or not (redactions.is_whole(entry) or not entry.memory):
            raise damaged(bare.number)
        memory, marked = without_marks(entry.memory, request.marks)
        count = len(marked)
        if extra := request.rows.get(entry.number, 0):
            memory, count = with_erased(memory, extra), count + extra
        stored = _stored(connection, entry, redactions)
        people, held = marks_without(stored, request.marks)
        if memory != entry.memory:
            mine = ENTRIES.c.number == entry.number
            stored_now = stored_memory(connection, entry.number, memory)
            connection.execute(update(ENTRIES).where(mine).values(memory=stored_now))
        if people != stored:
            marks = stored_marks(connection, entry.number, people)
            connection.execute(update(PEOPLE).where(PEOPLE.c.number == entry.number).values(marks=marks))
        if memory != entry.memory or people != stored:
            _note(erased, entry, (memory, people, stored), count, (marked, held))
    erased.tables = _forget_tables(connection, {entry.chain for entry in erased.records})
    return erased


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


def _note(
    erased: ErasedEntries,
    entry: Entry,
    texts: tuple[bytes, bytes, bytes],
    count: int,
    found: tuple[Marks, Marks],
) -> None:
    memory, people, stored = texts
    words = imprint_words(entry.memory) or {}
    told_by_batch = words.get("since") is not None and not len(found[0])
    counted = erased.request.after is not None and entry.chain == erased.request.chain
    if told_by_batch and not counted:
        erased.uncounted.add(entry.chain)
    new_memory = digest(memory) if memory != entry.memory else ""
    erased.add(entry, new_memory, digest(people) if people != stored else "", count, found)


def _stored(connection: Connection, entry: Entry, redactions: Redactions) -> bytes:
    """Returns the marks of the people of an entry; raises where they are not what was sealed."""
    mine = PEOPLE.c.number == entry.number
    found = connection.execute(select(PEOPLE.c.marks).where(mine)).scalar()
    stored = opened_marks(connection, entry.number, found)
    sealed = redactions.people.get(entry.number) or entry.kept_words.get("people", "")
    if stored and digest(stored) != sealed:
        raise damaged(entry.number)
    return stored

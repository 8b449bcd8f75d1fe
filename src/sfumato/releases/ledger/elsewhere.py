"""The same people in another chain: what a recipient could hold together, and no check would have seen."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import Connection, insert, inspect, select

from sfumato.core.errors import RefusedByHistory
from sfumato.core.marks import are_known
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.closed_chains import check_beside, retired_entries
from sfumato.releases.ledger.entry import Entry
from sfumato.releases.ledger.links import damaged
from sfumato.releases.ledger.record import Record
from sfumato.releases.ledger.redaction import Redactions, marks_of, salted_table
from sfumato.releases.ledger.seals import digest
from sfumato.releases.ledger.tables import PEOPLE
from sfumato.releases.names import same_name
from sfumato.show.card import several

Item = TypeVar("Item")

ENTRIES_AT_ONCE = 200
"""Of so many entries marks of people are read at a time."""


def check_elsewhere(connection: Connection, records: Sequence[Record]) -> None:
    """Raises where another chain holds the same table, or one of the same people, for the same recipient.

    A release to nobody in particular is in everybody's hands. Chains that a record names in `despite` are let
    be: nothing is promised of what both tell together.
    """
    check_beside(connection, records)
    retired, redactions = retired_entries(connection), Redactions.of(connection)
    for record in records:
        if not record.table and not record.people:
            continue
        there = _same_recipient(connection, record)
        others = [entry for entry in there if same_name(entry.chain) not in record.despite]
        for page in _pages(others):
            marked = [entry.number for entry in page if entry.number not in retired] if record.people else []
            stored = _stored(connection, marked)
            salts = _stored(connection, [-entry.number for entry in page]) if record.table else {}
            for entry in page:
                kept = json.loads(entry.kept)
                if record.table and _is_same_table(record, entry, salts, redactions):
                    raise _refusal(record, entry, "the same table")
                now = redactions.people.get(entry.number) or kept.get("people")
                sealed = now if entry.number in marked else ""
                if sealed and (shared := _shared_people(record, entry, sealed, stored)):
                    raise _refusal(record, entry, f"{several(shared, 'person', 'people')} of this table")


def enter_people(connection: Connection, number: int, record: Record) -> None:
    """Enters the marks of the people in a table, and the salt of its digest."""
    for place, stored in ((number, record.people), (-number, record.table_salt)):
        if stored:
            connection.execute(insert(PEOPLE).values(number=place, marks=stored))


def people_faults(
    connection: Connection, sealed: dict[int, str], gone: Collection[int] = ()
) -> Iterator[int]:
    """Yields the numbers of entries whose marks of people are not what was sealed (number -> digest).

    Those of the entries in `gone` may be missing. Negative numbers are those of salts of tables.
    """
    there = inspect(connection).has_table(PEOPLE.name)
    stored = set(connection.execute(select(PEOPLE.c.number)).scalars()) if there else set()
    for page in _pages(sorted(stored | {number for number, told in sealed.items() if told})):
        marks = _stored(connection, page) if there else {}
        for number in page:
            mine = marks.get(number, b"")
            if not mine and number in gone:
                continue
            if (digest(mine) if mine else "") != sealed.get(number, ""):
                yield abs(number)


def _same_recipient(connection: Connection, record: Record) -> Iterator[Entry]:
    """Yields the releases of other chains that whoever receives this one may hold."""
    for entry in entries.releases(connection, None, memory=False):
        if same_name(entry.chain) == same_name(record.chain):
            continue
        other = json.loads(entry.body)["recipient"]
        if other is None or record.recipient is None or same_name(other) == record.recipient:
            yield entry


def _is_same_table(record: Record, entry: Entry, salts: Mapping[int, bytes], redactions: Redactions) -> bool:
    """Whether an entry is of the same table; not known where somebody was erased from it."""
    kept, salt = json.loads(entry.kept), salts.get(-entry.number, b"")
    sealed = kept.get("table_salt", "")
    if sealed and digest(salt) != sealed:
        if salt or entry.number not in redactions.tables:
            raise damaged(entry.number)
        return False
    return bool(kept.get("table") == salted_table(record.table, salt))


def _shared_people(record: Record, entry: Entry, sealed: str, stored: Mapping[int, bytes]) -> int:
    """Returns how many people a record and an entry have in common; raises where marks were changed."""
    marks = stored.get(entry.number, b"")
    if digest(marks) != sealed:
        raise damaged(entry.number)
    return int(are_known(marks_of(record.people), marks_of(marks)).sum())


def _pages(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yields the items some at a time: what is asked of a database once for all, and still held."""
    for begin in range(0, len(items), ENTRIES_AT_ONCE):
        yield items[begin : begin + ENTRIES_AT_ONCE]


def _stored(connection: Connection, numbers: Sequence[int]) -> dict[int, bytes]:
    """Returns the marks that are stored for these entries."""
    if not numbers:
        return {}
    rows = connection.execute(select(PEOPLE).where(PEOPLE.c.number.in_(numbers)))
    return {
        row.number: bytes(row.marks) if isinstance(row.marks, bytes | memoryview) else b"" for row in rows
    }


def _refusal(record: Record, entry: Entry, what: str) -> RefusedByHistory:
    whom = "a recipient who has" if record.recipient is None else f"{record.recipient}, who may have"
    chain = same_name(entry.chain)
    return RefusedByHistory(
        f"chain {chain} of this ledger has {what} for {whom} its release {entry.sequence}: nothing was held"
        " against it",
        remedy=f"Continue chain {chain}. With --despite {chain} this is released all the same, and neither"
        " promises anything of what both tell together; ledger and certificate will say so.",
    )

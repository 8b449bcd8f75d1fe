"""The same people in another chain: what a recipient could hold together, and no check would have seen."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, inspect, select

from sfumato.core.errors import RefusedByHistory
from sfumato.core.marks import Marks, are_known
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.closed_chains import check_beside, retired_entries
from sfumato.releases.ledger.entry import Entry
from sfumato.releases.ledger.links import damaged
from sfumato.releases.ledger.record import Record
from sfumato.releases.ledger.seals import digest
from sfumato.releases.ledger.tables import PEOPLE
from sfumato.releases.names import same_name
from sfumato.show.card import several


def mark_bytes(marks: Marks) -> bytes:
    """Returns marks of people as bytes, in order, each once: how a ledger keeps them."""
    if not len(marks):
        return b""
    order = np.unique(np.ascontiguousarray(marks), axis=0)
    return np.ascontiguousarray(order.astype("<u8")).tobytes()


def marks_of(stored: bytes) -> Marks:
    """Returns the marks that `mark_bytes` wrote."""
    whole: NDArray[np.uint64] = np.frombuffer(stored, dtype="<u8").astype(np.uint64)
    return whole.reshape(-1, 2)


def check_elsewhere(connection: Connection, records: Sequence[Record]) -> None:
    """Raises where another chain holds the same table, or one of the same people, for the same recipient.

    A release to nobody in particular is in everybody's hands. Chains that a record names in `despite` are let
    be: nothing is promised of what both tell together.
    """
    check_beside(connection, records)
    retired = retired_entries(connection)
    for record in records:
        if not record.table and not record.people:
            continue
        for entry in _same_recipient(connection, record):
            if same_name(entry.chain) in record.despite:
                continue
            if record.table and json.loads(entry.kept).get("table") == record.table:
                raise _refusal(record, entry, "the same table")
            shared = 0 if entry.number in retired else _shared_people(connection, record, entry)
            if shared:
                raise _refusal(record, entry, f"{several(shared, 'person', 'people')} of this table")


def people_faults(
    connection: Connection, sealed: dict[int, str], retired: Collection[int] = ()
) -> Iterator[int]:
    """Yields the numbers of entries whose marks of people are not what was sealed (number -> digest).

    Those of `retired` entries may be gone.
    """
    there = inspect(connection).has_table(PEOPLE.name)
    stored = set(connection.execute(select(PEOPLE.c.number)).scalars()) if there else set()
    for number in sorted(stored | {number for number, told in sealed.items() if told}):
        marks = _stored(connection, number) if number in stored else b""
        if not marks and number in retired:
            continue
        if (digest(marks) if marks else "") != sealed.get(number, ""):
            yield number


def _same_recipient(connection: Connection, record: Record) -> Iterator[Entry]:
    """Yields the releases of other chains that whoever receives this one may hold."""
    for entry in entries.releases(connection, None, memory=False):
        if same_name(entry.chain) == same_name(record.chain):
            continue
        other = json.loads(entry.body)["recipient"]
        if other is None or record.recipient is None or same_name(other) == record.recipient:
            yield entry


def _shared_people(connection: Connection, record: Record, entry: Entry) -> int:
    """Returns how many people a record and an entry have in common; raises where marks were changed."""
    sealed = json.loads(entry.kept).get("people")
    if not record.people or not sealed:
        return 0
    stored = _stored(connection, entry.number)
    if digest(stored) != sealed:
        raise damaged(entry.number)
    return int(are_known(marks_of(record.people), marks_of(stored)).sum())


def _stored(connection: Connection, number: int) -> bytes:
    cell = connection.execute(select(PEOPLE.c.marks).where(PEOPLE.c.number == number)).scalar()
    return bytes(cell) if isinstance(cell, bytes | memoryview) else b""


def _refusal(record: Record, entry: Entry, what: str) -> RefusedByHistory:
    whom = "a recipient who has" if record.recipient is None else f"{record.recipient}, who may have"
    chain = same_name(entry.chain)
    return RefusedByHistory(
        f"chain {chain} of this ledger has {what} for {whom} its release {entry.sequence}: nothing was held"
        " against it",
        remedy=f"Continue chain {chain}. With --despite {chain} this is released all the same, and neither"
        " promises anything of what both tell together; ledger and certificate will say so.",
    )

"""The same people in another chain: what a recipient could hold together, and no check would have seen."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, inspect, select

from sfumato.core.errors import RefusedByHistory
from sfumato.core.marks import Marks, are_known
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.closed_chains import check_beside, retired_entries
from sfumato.releases.ledger.entry import RELEASE
from sfumato.releases.ledger.links import damaged
from sfumato.releases.ledger.record import Record
from sfumato.releases.ledger.seals import digest
from sfumato.releases.ledger.tables import ENTRIES, PEOPLE
from sfumato.releases.names import same_name
from sfumato.show.card import several

Item = TypeVar("Item")

ENTRIES_AT_ONCE = 200
"""Of so many entries marks of people are read at a time."""


class ReleaseElsewhere(NamedTuple):
    """A release of another chain: the digests of its table, and of the marks of its people, if it has any."""

    number: int
    chain: str
    sequence: int
    table: str
    people: str


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
        others = list(_same_recipient(connection, record))
        for page in _pages(others):
            marked = {one.number for one in page if one.people and one.number not in retired}
            stored = _stored(connection, sorted(marked)) if record.people else {}
            if record.people:
                _check_marks(page, marked, stored)
            shares = bool(stored) and _shared_people(record, b"".join(stored.values())) > 0
            for one in page:
                if record.table and one.table == record.table:
                    raise _refusal(record, one, "the same table")
                if shares and (shared := _shared_people(record, stored.get(one.number, b""))):
                    raise _refusal(record, one, f"{several(shared, 'person', 'people')} of this table")


def people_faults(
    connection: Connection, sealed: dict[int, str], retired: Collection[int] = ()
) -> Iterator[int]:
    """Yields the numbers of entries whose marks of people are not what was sealed (number -> digest).

    Those of `retired` entries may be gone.
    """
    there = inspect(connection).has_table(PEOPLE.name)
    stored = set(connection.execute(select(PEOPLE.c.number)).scalars()) if there else set()
    for page in _pages(sorted(stored | {number for number, told in sealed.items() if told})):
        marks = _stored(connection, page) if there else {}
        for number in page:
            mine = marks.get(number, b"")
            if not mine and number in retired:
                continue
            if (digest(mine) if mine else "") != sealed.get(number, ""):
                yield number


def _same_recipient(connection: Connection, record: Record) -> Iterator[ReleaseElsewhere]:
    """Yields the releases of other chains that whoever receives this one may hold, in order of entry."""
    own = entries.spellings(connection, record.chain)
    columns = [ENTRIES.c[name] for name in ("number", "chain", "sequence", "body", "kept")]
    wanted = select(*columns).where(ENTRIES.c.kind == RELEASE, ENTRIES.c.chain.not_in(own))
    for row in connection.execute(wanted.order_by(ENTRIES.c.number)):
        if (chain := same_name(row.chain)) in record.despite:
            continue
        other = json.loads(row.body)["recipient"]
        if other is None or record.recipient is None or same_name(other) == record.recipient:
            kept = json.loads(row.kept)
            yield ReleaseElsewhere(
                row.number, chain, row.sequence, kept.get("table") or "", kept.get("people") or ""
            )


def _check_marks(
    page: Sequence[ReleaseElsewhere], marked: Collection[int], stored: Mapping[int, bytes]
) -> None:
    """Raises where the marks of people of an entry are not what was sealed."""
    for one in page:
        if one.number in marked and digest(stored.get(one.number, b"")) != one.people:
            raise damaged(one.number)


def _shared_people(record: Record, marks: bytes) -> int:
    """Returns how many people of a record are among the marks."""
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


def _refusal(record: Record, other: ReleaseElsewhere, what: str) -> RefusedByHistory:
    whom = "a recipient who has" if record.recipient is None else f"{record.recipient}, who may have"
    chain = other.chain
    return RefusedByHistory(
        f"chain {chain} of this ledger has {what} for {whom} its release {other.sequence}: nothing was held"
        " against it",
        remedy=f"Continue chain {chain}. With --despite {chain} this is released all the same, and neither"
        " promises anything of what both tell together; ledger and certificate will say so.",
    )

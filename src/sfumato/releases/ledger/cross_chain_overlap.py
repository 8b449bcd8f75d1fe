"""The same people in another chain: what a recipient could hold together, and no check would have seen."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, insert, select

from sfumato.releases.ledger import entries
from sfumato.releases.ledger.checkpoint import Head
from sfumato.releases.ledger.keys import digest
from sfumato.releases.ledger.notices import Redactions, marks_of, salted_table
from sfumato.releases.ledger.record import ReleaseRecord, check_names, damaged
from sfumato.releases.ledger.records import LOSS, RELEASE, RETIREMENT, UNREADABLE_KEPT
from sfumato.releases.ledger.tables import ENTRIES, PEOPLE
from sfumato.releases.ledger.vault import opened_kept, opened_marks, stored_marks
from sfumato.releases.names import same_name
from sfumato.system.errors import RefusedByHistory
from sfumato.system.json_object import JsonMapping
from sfumato.system.presentation.cards import pluralize
from sfumato.table.keyed_hashes import KnownMarks

# Closed chains: what the ledger no longer knows, and therefore holds no further release against.
#
# A retirement deletes what was remembered of a chain; a loss says which entries a restored ledger lacks. In
# such a chain nothing is released any more. In other chains its recipients are told apart by name alone,
# since
# who was in its tables is not known any more.

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

    def concerns(self, record: ReleaseRecord) -> bool:
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
        described = sum(lost.get("chain") is not None for lost in body["lost"])
        if unknown := body["to"] - body["after"] - described:
            raise RefusedByHistory(
                f"entry {number} of the ledger says that {pluralize(unknown, 'entry', 'entries')} of it got "
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


def check_beside(connection: Connection, records: Sequence[ReleaseRecord]) -> None:
    """Raises where a recipient may hold a release whose people the ledger has forgotten.

    Chains that a record names in `ignore_chains` are let be: nothing is promised of what both tell together.
    """
    closed = closed_chains(connection)
    for record in records:
        check_open(connection, record.chain)
        for chain in closed:
            if chain.chain not in record.ignore_chains and chain.concerns(record):
                raise RefusedByHistory(
                    f"chain {chain.chain} of this ledger is closed ({chain.why}): whether it has people of "
                    "this table for the same recipient cannot be told any more",
                    remedy=f"With --ignore-chain {chain.chain} this is released all the same, and neither"
                    " promises anything of what both tell together; ledger and certificate will say so.",
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


Item = TypeVar("Item")

ENTRIES_AT_ONCE = 200
"""So many entries are asked for at a time."""

CELLS_AT_ONCE = 8
"""The marks of so many entries are held at a time: those of an entry with a million people take 16 MB."""


NAMES_PEOPLE = re.compile('"people":"[0-9a-f]')
"""How an entry with marks of people says so, in the canonical form that is sealed."""


HAS_SALT = re.compile('"table_salt":"[0-9a-f]')
"""How an entry says that the digest of its table holds salt."""


class ReleaseElsewhere(NamedTuple):
    """A release of another chain: the digests of its table, and of the marks of its people, if it has any.

    `salt` is the digest of the salt that the digest of its table holds.
    """

    number: int
    chain: str
    sequence: int
    table: str
    people: str
    salt: str


def check_elsewhere(connection: Connection, records: Sequence[ReleaseRecord]) -> None:
    """Raises where another chain holds the same table, or one of the same people, for the same recipient.

    A release to nobody in particular is in everybody's hands. Chains that a record names in
    `ignore_chains` are let be: nothing is promised of what both tell together. Names that look like
    known ones are refused before.
    """
    check_names(connection, records)
    check_beside(connection, records)
    retired, redactions = retired_entries(connection), Redactions.of(connection)
    for record in records:
        if not record.table and not record.people:
            continue
        others, people = list(_same_recipient(connection, record)), KnownMarks(marks_of(record.people))
        for page in _pages(others):
            sealed = {
                release.number: redactions.people.get(release.number, release.people)
                for release in page
                if release.people and release.number not in retired
            }
            shared = _shared_people(connection, people, sealed) if record.people else {}
            salted = [-release.number for release in page if release.salt and record.table]
            salts = dict(_stored(connection, salted))
            for release in page:
                if record.table and _is_same_table(record, release, salts, redactions):
                    raise _refusal(record, release, "the same table")
                if shared_count := shared.get(release.number):
                    raise _refusal(
                        record, release, f"{pluralize(shared_count, 'person', 'people')} of this table"
                    )


def enter_people(connection: Connection, number: int, record: ReleaseRecord) -> None:
    """Enters the marks of the people in a table, and the salt of its digest."""
    for place, stored in ((number, record.people), (-number, record.table_salt)):
        if stored:
            marks = stored_marks(connection, place, stored)
            connection.execute(insert(PEOPLE).values(number=place, marks=marks))


def people_faults(
    connection: Connection, sealed: dict[int, str], gone: Collection[int] = ()
) -> Iterator[int]:
    """Yields the numbers of entries whose marks of people are not what was sealed (number -> digest).

    Those of the entries in `gone` may be missing. Negative numbers are those of salts of tables.
    """
    stored = set(connection.execute(select(PEOPLE.c.number)).scalars())
    for page in _pages(
        sorted(stored | {number for number, sealed_digest in sealed.items() if sealed_digest})
    ):
        digests = {number: digest(marks) for number, marks in _stored(connection, page) if marks}
        for number in page:
            if number not in digests and number in gone:
                continue
            if digests.get(number, "") != sealed.get(number, ""):
                yield abs(number)


def _same_recipient(connection: Connection, record: ReleaseRecord) -> Iterator[ReleaseElsewhere]:
    """Yields the releases of other chains that whoever receives this one may hold, in order of entry."""
    salts = _salts(connection) if record.table else {}
    columns = [ENTRIES.c[name] for name in ("number", "chain", "sequence", "body", "kept")]
    wanted = select(*columns).where(ENTRIES.c.kind == RELEASE, ENTRIES.c.chain != record.chain)
    for row in connection.execute(wanted.order_by(ENTRIES.c.number)):
        if (text := opened_kept(connection, row.number, row.kept)) == UNREADABLE_KEPT:
            raise damaged(row.number)
        may_meet = _may_meet(record, text, salts.get(-row.number, b""))
        if not may_meet or row.chain in record.ignore_chains:
            continue
        recipient = json.loads(row.body)["recipient"]
        if recipient is None or record.recipient is None or recipient == record.recipient:
            words = json.loads(text)
            digests = (words.get(name) or "" for name in ("table", "people", "table_salt"))
            yield ReleaseElsewhere(row.number, row.chain, row.sequence, *digests)


def _is_same_table(
    record: ReleaseRecord, release: ReleaseElsewhere, salts: Mapping[int, bytes], redactions: Redactions
) -> bool:
    """Whether a release is of the same table; not known where somebody was erased from it."""
    salt = salts.get(-release.number, b"")
    if release.salt and digest(salt) != release.salt:
        if salt or release.number not in redactions.tables:
            raise damaged(release.number)
        return False
    return release.table == salted_table(record.table, salt)


def _may_meet(record: ReleaseRecord, text: str, salt: bytes) -> bool:
    """Whether what is kept of a release can name a record's table, or people; if not, it is not parsed.

    A digest that holds salt is made again with it; where the salt is gone, or another, that is looked into.
    """
    if record.people and NAMES_PEOPLE.search(text):
        return True
    if not record.table:
        return False
    if HAS_SALT.search(text) and (not salt or digest(salt) not in text):
        return True
    return salted_table(record.table, salt) in text


def _shared_people(connection: Connection, people: KnownMarks, sealed: Mapping[int, str]) -> dict[int, int]:
    """Returns how many of these people are in each entry (number -> digest of the marks of its people).

    Raises where the marks of an entry are not what was sealed.
    """
    shared = {}
    for number, stored in _stored(connection, sorted(sealed)):
        if digest(stored) != sealed[number]:
            raise damaged(number)
        shared[number] = int(people.hold(marks_of(stored)).sum())
    if lost := sealed.keys() - shared.keys():
        raise damaged(min(lost))
    return shared


def _pages(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yields the items some at a time: what is asked of a database once for all, and still held."""
    for begin in range(0, len(items), ENTRIES_AT_ONCE):
        yield items[begin : begin + ENTRIES_AT_ONCE]


def _stored(connection: Connection, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Yields the marks that are stored for these entries, in plain."""
    if numbers:
        yield from _bytes_of(connection, PEOPLE.c.number.in_(numbers))


def _bytes_of(connection: Connection, where: ColumnElement[bool]) -> Iterator[tuple[int, bytes]]:
    wanted = select(PEOPLE).where(where).execution_options(yield_per=CELLS_AT_ONCE)
    for row in connection.execute(wanted):
        yield row.number, opened_marks(connection, row.number, row.marks)


def _salts(connection: Connection) -> dict[int, bytes]:
    """Returns the salts of all tables, under the negative number of their entries."""
    return dict(_bytes_of(connection, PEOPLE.c.number < 0))


def _refusal(record: ReleaseRecord, release: ReleaseElsewhere, what: str) -> RefusedByHistory:
    whom = "a recipient who has" if record.recipient is None else f"{record.recipient}, who may have"
    chain = release.chain
    return RefusedByHistory(
        f"chain {chain} of this ledger has {what} for {whom} its release {release.sequence}: nothing was held"
        " against it",
        remedy=f"Continue chain {chain}. With --ignore-chain {chain} this is released all the same, and"
        " neither promises anything of what both tell together; ledger and certificate will say so.",
    )

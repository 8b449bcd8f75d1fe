"""Verification of a whole ledger: every entry is read, and whatever was changed is named."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select, text

from sfumato.releases.ledger import checkpoint as seen_head
from sfumato.releases.ledger import cross_chain_overlap, entries
from sfumato.releases.ledger import encryption as underway
from sfumato.releases.ledger.checkpoint import Head
from sfumato.releases.ledger.database import AccessDenied, LedgerDatabase
from sfumato.releases.ledger.keys import NOTHING, head_message, signed
from sfumato.releases.ledger.notices import Redactions
from sfumato.releases.ledger.records import ERASURE, KEY, WITHDRAWAL, Entry
from sfumato.releases.ledger.tables import ENTRIES, HEAD
from sfumato.releases.ledger.vault import unsigned_entries, unsigned_marks, unsigned_secrets, vault_of
from sfumato.system.errors import BadLedger
from sfumato.system.json_object import JsonMapping, JsonObject
from sfumato.system.presentation.cards import Card, pluralize

ENTRIES_PER_PAGE = 500
"""So many entries are read at a time."""

SEEN = "it was here before"
CERTIFIED = "a certificate knows it, but it is not here"
ANCHORED = "an anchor knows it, but it is not here"

FORGED = "what it keeps, or remembers, is not what the key of the ledger signed"
NOT_OPENED = (
    "what releases left for later checks is encrypted, and the key is not here: that it is signed was"
    " checked, not what it says"
)
"""What is said of a ledger that was verified without its key."""

UNREADABLE = (Exception,)
"""The errors that a damaged row may raise, anywhere between the disk and the dataclass."""


@dataclass(frozen=True)
class Fault:
    """A fault of one entry, or of the ledger as a whole (no number)."""

    number: int | None
    what: str

    def __str__(self) -> str:
        return self.what if self.number is None else f"entry {self.number}: {self.what}"


@dataclass(frozen=True)
class Verification:
    """The result of reading a whole ledger; `faults` begins with the first bad entry.

    `pinned` says that the public key was given, and not taken from the ledger itself. `certificates` and
    `anchors` count what it was compared with, `lost` the entries that the ledger itself says it lost;
    `remarks` tell of closed chains and withdrawals. Of a `closed` ledger what is encrypted was not opened,
    since its key was not at hand: its signatures were looked at.
    """

    entries: int
    head: Head | None
    public_key: str
    pinned: bool
    certificates: int
    faults: tuple[Fault, ...]
    anchors: int = 0
    lost: int = 0
    remarks: tuple[str, ...] = ()
    closed: bool = False

    @property
    def holds(self) -> bool:
        return not self.faults

    def as_dict(self) -> JsonObject:
        """Returns the result as JSON; of anchors, losses, remarks and a lacking key only where there are."""
        more = {
            "anchors": self.anchors,
            "lost": self.lost,
            "remarks": list(self.remarks),
            "closed": self.closed,
        }
        return {
            "holds": self.holds,
            "entries": self.entries,
            "head": None if self.head is None else {"number": self.head.number, "hash": self.head.hash},
            "public_key": self.public_key,
            "pinned": self.pinned,
            "certificates": self.certificates,
            "faults": [{"entry": fault.number, "what": fault.what} for fault in self.faults],
            **{name: value for name, value in more.items() if value},
        }

    def card(self) -> Card:
        """Returns the result in a few lines."""
        if not self.holds:
            return Card("the ledger is NOT what it was", [(str(fault),) for fault in self.faults])
        lines = [(pluralize(self.entries, "entry", "entries"), "each as it was sealed")]
        where = "in the ledger, or lost as it says" if self.lost else "in the ledger"
        if self.certificates:
            lines.append((pluralize(self.certificates, "certificate"), where))
        if self.anchors:
            lines.append((pluralize(self.anchors, "anchor"), where))
        source = "as given" if self.pinned else "by its own word: name the public key with --key to be sure"
        lines.append((f"key {self.public_key[:16]}…", source))
        title = "the ledger is whole, but for what it says it lost" if self.lost else "the ledger is whole"
        return Card(title, lines, self.remarks)


def verify(
    database: LedgerDatabase,
    key_path: Path | None = None,
    *,
    certificates: Sequence[JsonMapping] = (),
    anchors: Sequence[Head] = (),
    key: str | Sequence[str] | None = None,
) -> Verification:
    """Reads all entries, follows hashes and keys, and compares the end with what was seen elsewhere.

    `key` is the public key that is known from elsewhere, of any time, or several: without it whoever writes a
    whole new ledger with a new key is believed. `certificates` and `anchors` show a ledger that was rolled
    back; what a notice of loss names is known to be missing. Without the private key, what is encrypted is
    not opened.
    """
    pinned = [key] if isinstance(key, str) else list(key or ())
    before = seen_head.last_seen(key_path)  # first: meanwhile others may go on
    faults: list[Fault] = []
    keys: list[str] = []
    hashes: list[str] = []
    people: dict[int, str] = {}
    head: Head | None = None
    lost: frozenset[Head] = frozenset()
    remarks: tuple[str, ...] = ()
    closed = False
    try:
        with database.reading() as connection:
            faults += _file_faults(connection, database.path is not None)
            closed = vault_of(connection).why_closed(connection) is not None
            retired, redacted = _retired(connection), _redactions(connection)
            faults += _entry_faults(connection, keys, hashes, people, (retired, redacted))
            head, wrong = _head_faults(connection, keys, hashes)
            faults += [*wrong, *_underway_faults(connection, keys), *_secret_faults(connection, keys)]
            gone = {*retired, *(-number for number in redacted.tables)}
            if closed:
                faults += [Fault(number, FORGED) for number in unsigned_entries(connection, keys)]
                changed = unsigned_marks(connection, keys)
            else:
                changed = cross_chain_overlap.people_faults(connection, {**people, **redacted.people}, gone)
            faults += [Fault(number, "the marks of its people were changed") for number in changed]
            if not faults:
                lost, remarks = (
                    cross_chain_overlap.lost_heads(connection),
                    _remarks(connection, closed=closed),
                )
    except AccessDenied:
        raise
    except BadLedger:
        faults.append(Fault(len(hashes) + 1, "it cannot be read"))
    outside = [(before, SEEN)] if before else []
    outside += [(Head(int(c["entry"]["number"]), c["hash"]), CERTIFIED) for c in certificates]
    outside += [(anchor, ANCHORED) for anchor in anchors]
    faults += _outside_faults(outside, hashes, lost)
    if any(public not in keys for public in pinned):
        faults.append(Fault(1, "no entry was made with the key that was given"))
    faults.sort(key=lambda fault: (fault.number is None, fault.number or 0))
    force = keys[-1] if keys else ""
    return Verification(
        len(hashes),
        head,
        force,
        bool(pinned),
        len(certificates),
        tuple(faults),
        anchors=len(anchors),
        lost=len(lost),
        remarks=remarks,
        closed=closed,
    )


def _file_faults(connection: Connection, is_file: bool) -> Iterator[Fault]:
    if is_file and connection.execute(text("PRAGMA integrity_check(1)")).scalar() != "ok":
        yield Fault(None, "the database file is damaged")


def _retired(connection: Connection) -> frozenset[int]:
    """Returns the entries whose memory may be gone, as notices say; their seals are looked at later."""
    with contextlib.suppress(*UNREADABLE):
        return cross_chain_overlap.retired_entries(connection)
    return frozenset()


def _redactions(connection: Connection) -> Redactions:
    """Returns what erasures made of entries, as notices say; their seals are looked at later."""
    with contextlib.suppress(*UNREADABLE):
        return Redactions.of(connection)
    return Redactions()


def _remarks(connection: Connection, *, closed: bool) -> tuple[str, ...]:
    """Says what notices tell: what was withdrawn, and which chains are closed; and what was not opened."""
    withdrawn = len(entries.notices(connection, WITHDRAWAL))
    remarks = [f"{pluralize(withdrawn, 'release')} withdrawn, and still counted"] if withdrawn else []
    if erased := sum(int(body["people"]) for _, body in entries.notices(connection, ERASURE)):
        remarks.append(
            f"{pluralize(erased, 'person', 'people')} erased from what is kept; published counts stay"
        )
    remarks += [
        f"chain {chain.chain} is closed: {chain.why}"
        for chain in cross_chain_overlap.closed_chains(connection)
    ]
    return (*remarks, *((NOT_OPENED,) if closed else ()))


def _secret_faults(connection: Connection, keys: list[str]) -> Iterator[Fault]:
    if keys and unsigned_secrets(connection, keys[-1]):
        yield Fault(None, "the secrets that it is encrypted under were changed")


def _entry_faults(
    connection: Connection,
    keys: list[str],
    hashes: list[str],
    people: dict[int, str],
    deleted: tuple[frozenset[int], Redactions],
) -> Iterator[Fault]:
    """Yields the faults of all entries, in order; fills keys, hashes, and digests of people on the way."""
    numbers = connection.execute(select(ENTRIES.c.number).order_by(ENTRIES.c.number)).scalars().all()
    lengths: dict[str, int] = {}
    if not numbers:
        yield Fault(1, "it is not there")
    for begin in range(1, len(numbers) + 1, ENTRIES_PER_PAGE):
        end = min(begin + ENTRIES_PER_PAGE, len(numbers) + 1)
        page = _page(connection, begin, end)
        for number in range(begin, end):
            entry = page.get(number)
            if entry is None:
                hashes.append("")
                there = number in numbers
                yield Fault(number, "it was changed, and cannot be read" if there else "it is not there")
                continue
            what = _entry_fault(entry, hashes[-1] if hashes else NOTHING, keys, lengths, deleted)
            if what:
                yield Fault(number, what)
            people[number], people[-number] = _sealed_people(entry)
            hashes.append(entry.hash)
    if numbers and numbers[-1] != len(numbers):
        yield Fault(None, "there are entries with numbers out of order")


def _sealed_people(entry: Entry) -> tuple[str, str]:
    """Returns the digests of the marks of people and of the salt of its table, as the entry has them."""
    with contextlib.suppress(*UNREADABLE):
        words = entry.kept_words
        return str(words.get("people", "")), str(words.get("table_salt", ""))
    return "", ""


def _page(connection: Connection, begin: int, end: int) -> dict[int, Entry]:
    """Returns the entries with these numbers; reads one by one where a row is damaged."""
    wanted = select(ENTRIES).where(ENTRIES.c.number >= begin, ENTRIES.c.number < end)
    with contextlib.suppress(*UNREADABLE):
        rows = connection.execute(wanted).mappings()
        return {row["number"]: entries.opened(connection, dict(row)) for row in rows}
    page = {}
    for number in range(begin, end):
        with contextlib.suppress(*UNREADABLE):
            if entry := entries.at(connection, number):
                page[number] = entry
    return page


def _entry_fault(
    entry: Entry,
    previous: str,
    keys: list[str],
    lengths: dict[str, int],
    deleted: tuple[frozenset[int], Redactions],
) -> str:
    """Returns the first fault of an entry in its place; nothing if there is none."""
    (retired, redactions), number = deleted, entry.number
    forgotten = number in retired and not entry.memory
    try:
        if not keys:
            keys.append(str(json.loads(entry.body)["public_key"]))
        what = entry.fault(keys[-1], forgotten=forgotten, memory=redactions.memory.get(number, ""))
        if not what and not forgotten and not entry.is_closed and not redactions.is_whole(entry):
            what = "the counts that it remembers were changed"
        if not what and entry.previous != previous:
            what = "it does not follow the entry before it"
        lengths[entry.chain] = lengths.get(entry.chain, 0) + 1
        if not what and entry.sequence != lengths[entry.chain]:
            what = "it is out of order in its chain"
        if entry.kind == KEY:
            keys.append(str(json.loads(entry.body)["public_key"]))
    except Exception:  # whatever it is that a changed byte turned the content into
        return "its content makes no sense"
    return what


def _head_faults(
    connection: Connection, keys: list[str], hashes: list[str]
) -> tuple[Head | None, list[Fault]]:
    rows = connection.execute(select(HEAD)).all()
    if len(rows) != 1 or rows[0].one != 1:
        return None, [Fault(None, "the head is missing, or there are several")]
    row = rows[0]
    head = Head(row.number, row.hash)
    if head.number != len(hashes) and isinstance(head.number, int) and head.number > len(hashes):
        return head, [Fault(len(hashes) + 1, "the last entries were cut off: the head is further")]
    if head.number != len(hashes) or not hashes or head.hash != hashes[-1]:
        return head, [Fault(None, "the head is not the last entry")]
    if not keys or not signed(head_message(head.number, head.hash), str(row.signature), keys[-1]):
        return head, [Fault(None, "the head is not signed by the key in force")]
    return head, []


def _underway_faults(connection: Connection, keys: list[str]) -> Iterator[Fault]:
    for row in underway.rows(connection):
        if not underway.is_sealed(row, keys):
            yield Fault(None, "what it says of a release under way was changed")


def _outside_faults(
    outside: Sequence[tuple[Head, str]], hashes: list[str], lost: frozenset[Head]
) -> Iterator[Fault]:
    """Yields the entries that are known from outside, and are neither here nor named by a notice of loss."""
    for head, whence in outside:
        if hashes[head.number - 1 : head.number] != [head.hash] and head not in lost:
            yield Fault(head.number, f"{whence}: an older state was put back, or it was replaced")

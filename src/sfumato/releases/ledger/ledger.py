"""The ledger: releases in order, sealed, in a SQLite file or a PostgreSQL database."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, insert, select, text

from sfumato.releases.ledger import checkpoint, cross_chain_overlap, entries, notices
from sfumato.releases.ledger import checkpoint as seen_head
from sfumato.releases.ledger import database as schema
from sfumato.releases.ledger import encryption as underway
from sfumato.releases.ledger.checkpoint import Head
from sfumato.releases.ledger.cross_chain_overlap import lost_heads, retired_entries
from sfumato.releases.ledger.database import AccessDenied, LedgerDatabase, LostDatabase
from sfumato.releases.ledger.encryption import Staged, opening_key
from sfumato.releases.ledger.keys import NOTHING, DatedKey, Key, as_text, head_message, signed
from sfumato.releases.ledger.notices import Redactions, check_none_since
from sfumato.releases.ledger.record import ReleaseRecord, check_links, check_releases
from sfumato.releases.ledger.records import ERASURE, KEY, REFUSAL, WITHDRAWAL, Entry
from sfumato.releases.ledger.tables import ENTRIES, HEAD, STAGED
from sfumato.releases.ledger.vault import Vault, unsigned_entries, unsigned_marks, unsigned_secrets, vault_of
from sfumato.system.address import Address
from sfumato.system.coins import Coins
from sfumato.system.disk import replace_file
from sfumato.system.errors import BadLedger, LedgerConflict, Unfinished, UsageError
from sfumato.system.json_object import JsonMapping, JsonObject
from sfumato.system.presentation.cards import Card, pluralize

# The current state of a ledger: the key in force, and a head that is signed, the last, and not put back.

REMEDY = "Run `sfumato ledger verify`."


def key_in_force(connection: Connection, key: Key, path: Path | None) -> Key:
    """Returns the key in force, also where a change of keys was cut off after its entry.

    `path` is the file of the key; its successor lies beside it until the change is entered.
    """
    force = entries.key_in_force(connection)
    if key.public == force:
        return key
    if path is not None:
        if (stored := Key.load(path)).public == force:
            return stored
        successor = path.with_name(f"{path.name}.new")
        if successor.exists() and (new := Key.load(successor)).public == force:
            public = as_text(entries.dated_keys(connection)).encode("ascii")
            replace_file(path.with_name(f"{path.name}.pub"), public, mode=0o666)
            successor.replace(path)
            return new
    raise BadLedger("this is not the key of the ledger", remedy="Name the right one with --key.")


def checked_head(connection: Connection, public: str, before: Head | None = None) -> Head:
    """Returns the head; raises unless it is signed, the last entry, and no older than one seen `before`."""
    head, last = entries.head(connection), entries.last_entry(connection)
    if head is None or last is None or (head.number, head.hash) != (last.number, last.hash):
        raise BadLedger("the ledger does not end where its head says", remedy=REMEDY)
    if not signed(head_message(head.number, head.hash), head.signature, public):
        raise BadLedger("the head of the ledger is not signed by its key", remedy=REMEDY)
    if wrong := last.fault(last.signer):
        raise BadLedger(f"entry {last.number}: {wrong}", remedy=REMEDY)
    if before and not entries.holds(connection, before) and before not in lost_heads(connection):
        raise BadLedger(
            "the ledger is older than it was: entries are gone",
            remedy=f"{REMEDY} To go on without them, restore with --accept-loss.",
        )
    return Head(head.number, head.hash)


# Verification of a whole ledger: every entry is read, and whatever was changed is named.

T = TypeVar("T")

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


def _file_faults(connection: Connection, is_file: bool) -> Iterator[Fault]:
    if is_file and connection.execute(text("PRAGMA integrity_check(1)")).scalar() != "ok":
        yield Fault(None, "the database file is damaged")


def _readable(read: Callable[[], T], otherwise: T) -> T:
    """Returns what is read of a ledger, or the other thing where it is damaged; seals are looked at later."""
    with contextlib.suppress(*UNREADABLE):
        return read()
    return otherwise


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


Clock = Callable[[], datetime]

DEFAULT_URL = "sqlite:///ledger.db"


def now() -> datetime:
    """Returns the time in UTC. Entries carry it; their order never depends on it, nor runs against it."""
    return datetime.now(UTC)


class Ledger:
    """Every release, in order, and the proof that nothing was changed or taken away.

    A ledger opened for reading needs the key, or one in the variable SFUMATO_LEDGER_KEY, to read what
    releases left for later checks, which is encrypted, and no key to be verified.

    Args:
        url: a SQLite file (`sqlite:///ledger.db`) or a PostgreSQL database (`postgresql://host/name`).
        key: the file of the signing key; by default beside the SQLite file. It is made when first needed.
        readonly: never write.
        clock: tells the time of entries.
        patience: the seconds to wait for another writer.

    >>> import sfumato as sf
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home, sf.Ledger(f"sqlite:///{home}/ledger.db") as ledger:
    ...     ledger.history(), bool(ledger.verify())
    ((), True)
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        key: str | Path | None = None,
        readonly: bool = False,
        clock: Clock = now,
        patience: float = 10.0,
    ) -> None:
        self.database = LedgerDatabase(url, readonly=readonly, patience=patience)
        self.clock = clock
        self.key_path = self._key_path(key)
        self.database.vault = Vault(opening_key(self.key_path) if readonly else self.key_path)
        if readonly:
            self.database.require()
            self.database.read(schema.check)
        else:
            self._key = self._open()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections to the database."""
        self.database.engine.dispose()

    def __repr__(self) -> str:
        return f"Ledger({self.database.name!r})"

    @property
    def readonly(self) -> bool:
        return self.database.readonly

    @property
    def signing_key(self) -> Key:
        return self._key

    # -- opening ------------------------------------------------------------------------------------------

    def _key_path(self, key: str | Path | None) -> Path | None:
        if key is not None:
            return Path(key)
        path = self.database.path
        return None if path is None else path.with_name(f"{path.name}.key")

    def _open(self) -> Key:
        if self.key_path is None:
            raise UsageError("a ledger in PostgreSQL needs a key file", remedy="Name one with --key FILE.")
        schema.prepare(self.database)
        begun = self.database.read(entries.head) is not None
        path = self.key_path
        key = Key.load(path) if begun or path.exists() else Key.make(path)
        if not begun:
            at = self.clock().isoformat()
            self.write(lambda connection: notices.begin(connection, key, at))
        before = seen_head.last_seen(self.key_path)  # first: meanwhile others may go on
        with self.database.reading() as connection:
            key = key_in_force(connection, key, self.key_path)
            head = checked_head(connection, key.public, before)
            lost = before is not None and before in lost_heads(connection)
        if lost:
            seen_head.note_seen_head(path, head, instead=True)
        return key

    # -- reading ------------------------------------------------------------------------------------------

    @property
    def head(self) -> Head:
        """Where the ledger ends."""
        head = self.database.read(entries.head)
        if head is None:
            raise BadLedger("the ledger has no head", remedy=REMEDY)
        return Head(head.number, head.hash)

    @property
    def public_key(self) -> str:
        """The public half of the key in force, in hexadecimal, as the ledger tells it."""
        return self.database.read(entries.key_in_force)

    @property
    def public_keys(self) -> tuple[str, ...]:
        """Every public key that was ever in force, newest first."""
        return self.database.read(entries.keys)

    @property
    def dated_keys(self) -> tuple[DatedKey, ...]:
        """The same, each with the numbers of the entries that it may have signed."""
        with self.database.reading() as connection:
            check_links(connection)
            return entries.dated_keys(connection)

    @property
    def chains(self) -> frozenset[str]:
        """The names of all chains, also of those whose releases are lost."""
        closed = {chain.chain for chain in self.database.read(cross_chain_overlap.closed_chains)}
        return frozenset(closed | {record.chain for record in self.history(memory=False)})

    def history(self, chain: str | None = None, *, memory: bool = True) -> tuple[ReleaseRecord, ...]:
        """Returns the releases of a chain, or of all, in order, after following all hashes to the head.

        Args:
            chain: the name of the chain.
            memory: also read what they left for later checks, which may be long.
        """
        before = checkpoint.last_checkpoint(self.key_path)
        with self.database.reading() as connection:
            followed = check_links(connection, before)
            releases = entries.releases(connection, chain, memory=memory)
            keys, retired = entries.keys(connection), retired_entries(connection)
            redactions = Redactions.of(connection)
        check_releases(releases, followed, keys, retired if memory else None, redactions)
        if not self.readonly:
            checkpoint.note_checkpoint(self.key_path, followed, self._key, keys)
        return tuple(ReleaseRecord.of(entry) for entry in releases)

    def moment(self) -> datetime:
        """Returns the time of the next entry: now, or that of the last one if the clock stands before it."""
        return self.database.read(lambda connection: entries.not_before_last(connection, self.clock()))

    def refusals(self, table: str) -> int:
        """Returns how often releases of the table with this digest were refused, under the key in force."""
        if self.key_path is None or not self.key_path.exists():
            return 0
        mark = self._refusal_mark(table)
        refused = self.database.read(lambda connection: entries.notices(connection, REFUSAL))
        return sum(body["table"] == mark for _, body in refused)

    def note_refusal(self, table: str) -> None:
        """Enters that a release of the table with this digest was refused; the table by a keyed mark."""
        self.enter_notice(REFUSAL, lambda _: {"table": self._refusal_mark(table)})

    def _refusal_mark(self, table: str) -> str:
        key = Key.load(self.key_path) if self.readonly and self.key_path else self._key
        return key.derived(f"refusals of {table}".encode()).hex()

    def check_open(self, chain: str) -> None:
        """Raises `RefusedByHistory` where nothing may be released in the chain any more."""
        self.database.read(lambda connection: cross_chain_overlap.check_open(connection, chain))

    def check_elsewhere(self, records: Sequence[ReleaseRecord]) -> None:
        """Raises where another chain holds the same people for the same recipient.

        It is asked before anything leaves this machine, if the database is there; the commit asks again.
        """
        with contextlib.suppress(LostDatabase), self.database.reading() as connection:
            cross_chain_overlap.check_elsewhere(connection, records)

    def memory(self, release: str) -> bytes:
        """Returns what a release left for later checks; raises where its entry is missing or was changed."""
        with self.database.reading() as connection:
            entry, redactions = entries.find(connection, release), Redactions.of(connection)
        if entry is None or not redactions.is_whole(entry):
            raise BadLedger("an entry is missing or was changed", remedy=REMEDY)
        return entry.memory

    @property
    def erasures(self) -> int:
        """How often people were erased."""
        return self.database.read(Redactions.of).notices

    def entry(self, release: str) -> Entry | None:
        """Returns the entry of a release; `None` if it is not in the ledger."""
        return self.database.read(lambda connection: entries.find(connection, release))

    def verify(
        self,
        *,
        certificates: Sequence[JsonMapping] = (),
        anchors: Sequence[Head] = (),
        key: str | Sequence[str] | None = None,
    ) -> Verification:
        """Reads every entry and returns what is wrong, the first fault first.

        Hashes and keys are followed, and the end is compared with what was seen elsewhere. What a notice of
        loss names is known to be missing. Without the private key, what is encrypted is not opened.

        Args:
            certificates: certificates of releases, which show a ledger that was rolled back.
            anchors: heads of the ledger that were noted elsewhere, which show the same.
            key: the public key that is known from elsewhere, of any time, or several of them. Without it
                whoever writes a whole new ledger with a new key is believed.
        """
        pinned = [key] if isinstance(key, str) else list(key or ())
        before = seen_head.last_seen(self.key_path)  # first: meanwhile others may go on
        faults: list[Fault] = []
        keys: list[str] = []
        hashes: list[str] = []
        people: dict[int, str] = {}
        head: Head | None = None
        lost: frozenset[Head] = frozenset()
        remarks: tuple[str, ...] = ()
        closed = False
        try:
            with self.database.reading() as connection:
                faults += _file_faults(connection, self.database.path is not None)
                closed = vault_of(connection).why_closed(connection) is not None
                retired = _readable(lambda: retired_entries(connection), frozenset[int]())
                redacted = _readable(lambda: Redactions.of(connection), Redactions())
                faults += _entry_faults(connection, keys, hashes, people, (retired, redacted))
                head, wrong = _head_faults(connection, keys, hashes)
                faults += [*wrong, *_underway_faults(connection, keys), *_secret_faults(connection, keys)]
                gone = {*retired, *(-number for number in redacted.tables)}
                if closed:
                    faults += [Fault(number, FORGED) for number in unsigned_entries(connection, keys)]
                    changed = unsigned_marks(connection, keys)
                else:
                    changed = cross_chain_overlap.people_faults(
                        connection, {**people, **redacted.people}, gone
                    )
                faults += [Fault(number, "the marks of its people were changed") for number in changed]
                if not faults:
                    lost, remarks = lost_heads(connection), _remarks(connection, closed=closed)
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

    # -- writing ------------------------------------------------------------------------------------------

    def write(self, work: Callable[[Connection], T]) -> T:
        """Does `work` in one transaction, and again where the database asks for it; returns its result."""
        return self.database.write(work)

    def commit(self, record: ReleaseRecord, *, after: str, staged: bool = True) -> Entry:
        """Enters one release, an event of its own; see `commit_event`."""
        return self.commit_event([record], after=after, staged=staged)[0]

    def commit_event(
        self,
        records: Sequence[ReleaseRecord],
        *,
        after: str,
        before_commit: Callable[[], object] = lambda: None,
        staged: bool = True,
        erasures: int | None = None,
    ) -> tuple[Entry, ...]:
        """Enters all releases of an event, if their chain still ends with the entry whose hash is `after`.

        Returns the sealed entries. This is the moment of publication. What is in the ledger already is not
        entered again: the same entries are returned. All records are of one chain; the name of the first is
        that of the event. What brings no files to a place, an import, is not `staged`. Where there are more
        `erasures` than when the table was read, it may still hold who was erased: that is a conflict.
        """
        event, chain = records[0].release, records[0].chain

        def work(connection: Connection) -> tuple[Entry, ...]:
            if committed := entries.of_event(connection, event):
                return committed
            if staged and not underway.is_open(connection, event):
                raise LedgerConflict("this release was given up by a recovery", remedy="Release again.")
            last = entries.last_of_chain(connection, chain)
            if (last.hash if last else "") != after:
                raise LedgerConflict("somebody else released first", remedy="Try again on the new state.")
            check_none_since(connection, erasures)
            cross_chain_overlap.check_elsewhere(connection, records)
            self._key = key_in_force(connection, self._key, self.key_path)
            head = checked_head(connection, self._key.public, seen_head.last_seen(self.key_path))
            identity, sealed = entries.identity(connection), list[Entry]()
            at = entries.not_before_last(connection, self.clock()).isoformat()
            before = entries.last_entry(connection, chain)
            for i, record in enumerate(bare.salted(at) for bare in records):
                entry = record.entry(
                    number=head.number + 1 + i,
                    sequence=(before.sequence if before else 0) + 1 + i,
                    previous=sealed[-1].hash if sealed else head.hash,
                    ledger=identity,
                )
                sealed.append(notices.append(connection, entry, self._key))
                cross_chain_overlap.enter_people(connection, entry.number, record)
            before_commit()
            return tuple(sealed)

        try:
            committed = self.write(work)
        except LostDatabase:
            raise Unfinished(
                "the database went away: whether the release counts is not known yet",
                remedy="Run `sfumato ledger recover` when it is back.",
            ) from None
        seen_head.note_seen_head(self.key_path, Head(committed[-1].number, committed[-1].hash))
        return committed

    def enter_notice(
        self, kind: str, compose: Callable[[Connection], JsonMapping], *, then: Key | None = None
    ) -> Entry:
        """Enters a notice, which `compose` says the content of, in the same transaction; returns it sealed.

        `then` is the key that signs the head from now on, if it changes. An entry whose commit was not
        answered is not entered again.
        """
        name = notices.new_name()

        def work(connection: Connection) -> Entry:
            if (entered := entries.find(connection, name)) is not None:
                return entered
            self._key = key_in_force(connection, self._key, self.key_path)
            head = checked_head(connection, self._key.public, seen_head.last_seen(self.key_path))
            at = entries.not_before_last(connection, self.clock()).isoformat()
            blank = notices.notice(connection, name, kind, {"at": at, **compose(connection)}, head)
            return notices.append(connection, blank, self._key, then=then)

        entry = self.write(work)
        seen_head.note_seen_head(self.key_path, Head(entry.number, entry.hash))
        return entry

    def rotate(self) -> str:
        """Changes to a new key, which an entry signed by the old one names; returns the new public key."""
        if self.readonly or self.key_path is None:
            raise UsageError("the ledger was opened for reading only")
        path = self.key_path.with_name(f"{self.key_path.name}.new")
        new = Key.load(path) if path.exists() else Key.make(path)

        def compose(connection: Connection) -> JsonMapping:
            self.database.vault.pass_on(connection, new)
            return {"public_key": new.public}

        self.enter_notice(KEY, compose, then=new)
        self.database.vault.forget()
        with self.database.reading() as connection:
            self._key = key_in_force(connection, self._key, self.key_path)
        path.with_name(f"{path.name}.pub").unlink(missing_ok=True)
        return new.public

    # -- releases under way -------------------------------------------------------------------------------

    def stage(self, release: str, *, host: str, folder: Path, target: Path | Address) -> None:
        """Notes that a release is being written to `folder`, to become `target`."""
        staged = {"release": release, "host": host, "folder": str(folder), "target": str(target)}

        def work(connection: Connection) -> None:
            if not underway.is_open(connection, release):
                row = underway.sealed({**staged, "state": underway.OPEN}, self._key)
                connection.execute(insert(STAGED).values(row))

        self.write(work)

    def staged(self) -> list[Staged]:
        """Returns the releases under way, on any machine."""
        return self.database.read(underway.staged)

    def event(self, name: str) -> tuple[Entry, ...]:
        """Returns the entries of an event, as far as they are there now."""
        return self.database.read(lambda connection: entries.of_event(connection, name))

    def resolve(self, release: str) -> tuple[Entry, ...]:
        """Returns the entries of a release or event; gives up one that has none, so that none can come.

        They are read under the writer's lock, so that a commit that is still on its way has arrived.
        """

        def work(connection: Connection) -> tuple[Entry, ...]:
            if committed := entries.of_event(connection, release):
                return committed
            underway.give_up(connection, release, self._key)
            return ()

        return self.write(work)

    def unstage(self, release: str) -> None:
        """Forgets a release under way: it is in place, or gone."""
        self.write(
            lambda connection: connection.execute(STAGED.delete().where(STAGED.c.release == release)) and None
        )


def ledger_coins(ledger: Ledger | None, purpose: str) -> Coins:
    """Returns coins of the ledger's key: a rehearsal draws the same ones, where the key is there."""
    if ledger is None:
        return Coins.fresh()
    if not ledger.readonly:
        return Coins(ledger.signing_key.derived(purpose.encode()))
    if ledger.key_path is None or not ledger.key_path.exists():
        return Coins.fresh()
    return Coins(Key.load(ledger.key_path).derived(purpose.encode()))

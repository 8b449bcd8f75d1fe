"""The ledger: releases in order, sealed, in a SQLite file or a PostgreSQL database."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from sqlalchemy import Connection, insert

from sfumato.releases.ledger import checkpoint, cross_chain_overlap, entries, notices
from sfumato.releases.ledger import checkpoint as seen_head
from sfumato.releases.ledger import database as schema
from sfumato.releases.ledger import encryption as underway
from sfumato.releases.ledger.checkpoint import Head
from sfumato.releases.ledger.cross_chain_overlap import lost_heads, retired_entries
from sfumato.releases.ledger.database import LedgerDatabase, LostDatabase
from sfumato.releases.ledger.encryption import Staged, opening_key
from sfumato.releases.ledger.keys import DatedKey, Key, head_message, publish_all, signed
from sfumato.releases.ledger.notices import Redactions, check_none_since
from sfumato.releases.ledger.record import ReleaseRecord, check_links, check_releases
from sfumato.releases.ledger.records import KEY, Entry
from sfumato.releases.ledger.tables import STAGED
from sfumato.releases.ledger.vault import Vault
from sfumato.releases.ledger.verification import Verification, verify
from sfumato.system.disk import Address
from sfumato.system.errors import BadLedger, LedgerConflict, Unfinished, UsageError
from sfumato.system.json_object import JsonMapping

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
            publish_all(path.with_name(f"{path.name}.pub"), entries.dated_keys(connection))
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


T = TypeVar("T")
Clock = Callable[[], datetime]

DEFAULT_URL = "sqlite:///ledger.db"


def now() -> datetime:
    """Returns the time in UTC. Entries carry it; their order never depends on it, nor runs against it."""
    return datetime.now(UTC)


class Ledger:
    """Every release, in order, and the proof that nothing was changed or taken away.

    `url` names a SQLite file (`sqlite:///ledger.db`) or a PostgreSQL database (`postgresql://host/name`).
    `key` is the file of the signing key: by default beside the SQLite file, made when first needed. A ledger
    opened with `readonly=True` never writes; it needs the key, or one in the variable SFUMATO_LEDGER_KEY, to
    read what releases left for later checks, which is encrypted, and no key to be verified.
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
            with self.database.reading() as connection:
                schema.check(connection)
        else:
            self._key = self._open()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        with self.database.reading() as connection:
            begun = entries.head(connection) is not None
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
        with self.database.reading() as connection:
            head = entries.head(connection)
        if head is None:
            raise BadLedger("the ledger has no head", remedy="Run `sfumato ledger verify`.")
        return Head(head.number, head.hash)

    @property
    def public_key(self) -> str:
        """The public half of the key in force, in hexadecimal, as the ledger tells it."""
        with self.database.reading() as connection:
            return entries.key_in_force(connection)

    @property
    def public_keys(self) -> tuple[str, ...]:
        """Every public key that was ever in force, newest first."""
        with self.database.reading() as connection:
            return entries.keys(connection)

    @property
    def dated_keys(self) -> tuple[DatedKey, ...]:
        """The same, each with the numbers of the entries that it may have signed."""
        with self.database.reading() as connection:
            check_links(connection)
            return entries.dated_keys(connection)

    @property
    def chains(self) -> frozenset[str]:
        """The names of all chains, also of those whose releases are lost."""
        with self.database.reading() as connection:
            closed = {chain.chain for chain in cross_chain_overlap.closed_chains(connection)}
        return frozenset(closed | {record.chain for record in self.history(memory=False)})

    def history(self, chain: str | None = None, *, memory: bool = True) -> tuple[ReleaseRecord, ...]:
        """Returns the releases of a chain, or of all, in order, after following all hashes to the head.

        Without `memory`, what they left for later checks is not read: it may be long.
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
        with self.database.reading() as connection:
            return entries.not_before_last(connection, self.clock())

    def check_open(self, chain: str) -> None:
        """Raises `RefusedByHistory` where nothing may be released in the chain any more."""
        with self.database.reading() as connection:
            cross_chain_overlap.check_open(connection, chain)

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
            raise BadLedger("an entry is missing or was changed", remedy="Run `sfumato ledger verify`.")
        return entry.memory

    @property
    def erasures(self) -> int:
        """How often people were erased."""
        with self.database.reading() as connection:
            return Redactions.of(connection).notices

    def entry(self, release: str) -> Entry | None:
        """Returns the entry of a release; `None` if it is not in the ledger."""
        with self.database.reading() as connection:
            return entries.find(connection, release)

    def verify(
        self,
        *,
        certificates: Sequence[JsonMapping] = (),
        anchors: Sequence[Head] = (),
        key: str | Sequence[str] | None = None,
    ) -> Verification:
        """Reads every entry and returns what is wrong, the first fault first; see `verification.verify`."""
        return verify(self.database, self.key_path, certificates=certificates, anchors=anchors, key=key)

    # -- writing ------------------------------------------------------------------------------------------

    def write(self, work: Callable[[Connection], T]) -> T:
        """Does `work` in one transaction, and again where the database asks for it; returns its result."""
        return self.database.write(work)

    def commit(
        self,
        record: ReleaseRecord,
        *,
        after: str,
        before_commit: Callable[[], object] = lambda: None,
        staged: bool = True,
    ) -> Entry:
        """Enters one release, an event of its own; see `commit_event`."""
        return self.commit_event([record], after=after, before_commit=before_commit, staged=staged)[0]

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
        with self.database.reading() as connection:
            return underway.staged(connection)

    def event(self, name: str) -> tuple[Entry, ...]:
        """Returns the entries of an event, as far as they are there now."""
        with self.database.reading() as connection:
            return entries.of_event(connection, name)

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

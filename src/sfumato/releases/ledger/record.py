"""Records: what the ledger knows of one release, and the checks of a release beside earlier ones."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import Connection, select

from sfumato.releases.ledger import entries
from sfumato.releases.ledger.checkpoint import NOWHERE, Checkpoint, FollowedEntries, Seal, extended
from sfumato.releases.ledger.entries import NO_CHAIN
from sfumato.releases.ledger.keys import NOTHING, canonical, digest, head_message, signed
from sfumato.releases.ledger.notices import (
    SALT_BYTES,
    Redactions,
    lasting_digest,
    salted_marks,
    salted_memory,
    salted_table,
)
from sfumato.releases.ledger.records import KEY, RELEASE, Entry
from sfumato.releases.ledger.tables import ENTRIES
from sfumato.releases.names import look_of, same_name
from sfumato.system.errors import BadLedger, RefusedByHistory
from sfumato.system.json_object import JsonMapping
from sfumato.system.verdict import Verdict


@dataclass(frozen=True)
class ReleaseRecord:
    """One release: what was promised, how columns were recoded, what later checks need. Never a row.

    `cuts` maps columns to the node numbers of their cuts, in the taxonomies that `taxonomies` gives the
    digests of; `trees` lets published texts be read as such nodes. `memory` is whatever later
    checks need, as bytes. `figures` are for the history; they are not in the certificate. `files` are the
    written tables and `described` what stands beside them, while the release is being made, and only then. A
    record that is not in the ledger yet has number 0.

    Versions for several recipients are records of one `event`, entered one after the other; `place` is the
    folder of each below that of the event (none where there is one version). `weaker` says who allowed a
    policy that promises less than the chain's first one, and which parts do. `statement` is what the policy
    promises (`policy/strictness.py`). `table` is the digest of the original table, `people` the marks of the
    people in it, while the release is being made; `ignore_chains` names chains with the same people that it
    was not held against. `imported` says that the version was handed out without the ledger and entered
    later: nothing was judged, and nothing is promised of it. `states` are sentences on what the rows of the
    table are, `adversaries` on what no promise stops. `not_protected` names sensitive columns of which
    promises protect no value (0), or so many alone. `marks` is the digest of the key by which versions for
    recipients are drawn, in a chain of groups.
    """

    release: str
    chain: str
    policy: str
    manifest: str = ""
    at: str = ""
    recipient: str | None = None
    verdicts: Sequence[JsonMapping] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    taxonomies: Mapping[str, str] = field(default_factory=dict)
    cuts: Mapping[str, Sequence[int]] | None = None
    trees: JsonMapping = field(default_factory=dict, repr=False)
    weaker: JsonMapping | None = None
    ignore_chains: Sequence[str] = ()
    imported: bool = False
    marks: str = ""
    states: Sequence[str] = ()
    adversaries: Sequence[JsonMapping] = ()
    not_protected: Mapping[str, int] = field(default_factory=dict)
    statement: JsonMapping = field(default_factory=dict, repr=False)
    table: str = ""
    event: str = ""
    place: str = ""
    figures: JsonMapping = field(default_factory=dict)
    memory: bytes = field(default=b"", repr=False)
    people: bytes = field(default=b"", repr=False, compare=False)
    table_salt: bytes = field(default=b"", repr=False, compare=False)
    files: tuple[Path, ...] = field(default=(), compare=False)
    described: tuple[Path, ...] = field(default=(), compare=False)
    number: int = 0
    sequence: int = 0
    hash: str = ""

    @property
    def is_of_groups(self) -> bool:
        """Whether it is of a chain of groups: it then remembers where the base of the chain is."""
        return notes_of_groups(self.memory) is not None

    @classmethod
    def of(cls, entry: Entry) -> ReleaseRecord:
        """Returns the record that a sealed entry holds."""
        body, private = json.loads(entry.body), entry.kept_words
        public = {name: body[name] for name in PUBLIC}
        return cls(
            release=entry.release,
            chain=entry.chain,
            **public,
            **{name: body[key] for name, key in REMARKS.items() if key in body},
            **{name: private[name] for name in KEPT},
            memory=entry.memory,
            number=entry.number,
            sequence=entry.sequence,
            hash=entry.hash,
        )

    def salted(self, at: str) -> ReleaseRecord:
        """Returns the record as it is entered at a time, with salt for what tells of people."""
        memory, people = salted_memory(self.memory), salted_marks(self.people)
        salt = secrets.token_bytes(SALT_BYTES) if self.table else b""
        table = salted_table(self.table, salt)
        return replace(self, at=at, memory=memory, people=people, table=table, table_salt=salt)

    def entry(self, *, number: int, sequence: int, previous: str, ledger: str) -> Entry:
        """Returns the entry of this record, without a seal."""
        fields = vars(self)
        body = {name: fields[name] for name in PUBLIC}
        body |= {key: fields[name] for name, key in REMARKS.items() if fields[name]}
        private = {name: fields[name] for name in KEPT}
        digests = {"memory": digest(self.memory), "people": digest(self.people) if self.people else ""}
        if lasting := lasting_digest(self.memory):
            digests["lasting"] = lasting
        if self.table_salt:
            digests["table_salt"] = digest(self.table_salt)
        return Entry(
            number=number,
            release=self.release,
            chain=self.chain,
            sequence=sequence,
            kind=RELEASE,
            previous=previous,
            body=canonical({**body, "ledger": ledger}),
            kept=canonical({**private, **digests, "salt": secrets.token_hex(16)}),
            memory=self.memory,
            signer="",
        )


PUBLIC = ("policy", "manifest", "at", "recipient", "verdicts", "versions")
REMARKS = {
    "weaker": "weaker",
    "ignore_chains": "despite",
    "imported": "imported",
    "marks": "marks",
    "states": "states",
    "adversaries": "adversaries",
    "not_protected": "not_protected",
}
"""Fields that are in a certificate where they say something, and what they are called in it."""
KEPT = ("taxonomies", "cuts", "trees", "statement", "table", "event", "place", "figures")
"""Fields that stay in the ledger."""


@dataclass(frozen=True)
class HistoryComparison:
    """The result of comparing a release with earlier ones: more figures, and verdicts that replace those on
    the file alone."""

    figures: JsonMapping = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()


HistoryCheck = Callable[[Sequence[ReleaseRecord], ReleaseRecord], JsonMapping | HistoryComparison | None]
"""Compares a release with earlier ones of its chain; raises `RefusedByHistory`, or returns more figures."""


GROUPS = "groups"
"""What the memory of a release of groups says."""
LONGEST_NOTES = 1000


def notes_of_groups(memory: bytes) -> JsonMapping | None:
    """Returns what a release of groups remembers: the digest of its base, and its key; else `None`."""
    if not memory or len(memory) > LONGEST_NOTES:
        return None
    try:
        notes = json.loads(memory)
    except ValueError:
        return None
    return notes if isinstance(notes, dict) and notes.get("kind") == GROUPS else None


def memory_bytes(content: bytes | JsonMapping | None) -> bytes:
    """Returns what is to be remembered as bytes; a document is written in its one canonical form."""
    if content is None:
        return b""
    return content if isinstance(content, bytes) else canonical(content).encode()


# The chain of hashes from the first entry to the signed head: enough to trust a history.

COLUMNS_WITHOUT_MEMORY = [column for column in ENTRIES.c if column.name != "memory"]
REMEDY = "Run `sfumato ledger verify`."


def check_links(connection: Connection, before: Checkpoint = NOWHERE) -> FollowedEntries:
    """Raises unless every entry is there, in its place, and what it was when the head was signed.

    An entry that was moved to another chain is missing from its own: so all entries are followed, not only
    those of one chain. What entries remember is left out; whoever reads it compares it. Rows that a
    checkpoint from `before` holds for are not looked at one by one; one that does not hold is left aside.
    """
    holds = before.number > 0 and before.is_signed(entries.key_in_force(connection))
    followed = (_followed(connection, before) if holds else None) or _followed(connection, NOWHERE)
    if followed is None:
        raise AssertionError
    return followed


def _followed(connection: Connection, before: Checkpoint) -> FollowedEntries | None:
    """Returns the entries, followed to the head; `None` where the checkpoint does not hold."""
    number, previous, digest, key_entry, others = 0, NOTHING, b"", "", list[Seal]()
    for row in connection.execute(select(*COLUMNS_WITHOUT_MEMORY).order_by(ENTRIES.c.number)):
        number, digest = number + 1, extended(digest, row)
        if number == before.number and digest.hex() != before.digest:
            return None
        if number > before.number:
            entry = entries.opened(connection, {**row._mapping, "memory": b""})
            if entry.number != number or entry.previous != previous or entry.computed_hash != entry.hash:
                raise damaged(number)
            others.append(Seal(entry.hash, entry.signer, entry.signature))
        previous = row.hash
        if row.kind == KEY:
            key_entry = row.body
    if number < before.number:
        return None
    key_in_force = entries.public_key(key_entry) if key_entry else ""
    if before.number and not before.is_signed(key_in_force):
        return None
    head = entries.head(connection)
    if head is None or (head.number, head.hash) != (number, previous):
        raise damaged(number + 1)
    if not signed(head_message(number, previous), head.signature, key_in_force):
        raise BadLedger("the head of the ledger is not signed by its key", remedy=REMEDY)
    return FollowedEntries(before.number, digest.hex(), tuple(others))


def check_releases(
    releases: Sequence[Entry],
    followed: FollowedEntries,
    keys: Collection[str],
    retired: Collection[int] | None,
    redactions: Redactions,
) -> None:
    """Raises where one of the `keys` did not sign an entry, or its memory is not what was sealed.

    That of `retired` entries may be gone; where these are `None`, no memory was read. Where people were
    erased, `redactions` say what is left of it.
    """
    for entry in releases:
        forgotten = retired is None or (entry.number in retired and not entry.memory)
        sealed = entry.number <= followed.trusted or entry.is_signed(keys)
        if not sealed or not (forgotten or redactions.is_whole(entry)):
            raise damaged(entry.number)


def damaged(number: int) -> BadLedger:
    """Returns the error for an entry that is not what it was."""
    return BadLedger(f"entry {number} of the ledger is missing or was changed", remedy=REMEDY)


# Lookalikes: names of chains and recipients that are one to people, and would be two to the ledger.

NAMED = re.compile(r'"recipient":("(?:[^"\\]|\\.)*")')
"""How an entry names who received it, in the canonical form that is sealed."""


def check_names(connection: Connection, records: Sequence[ReleaseRecord]) -> None:
    """Raises `RefusedByHistory` where a name is new and differs from a known one in case or width alone.

    Whoever was to hold `registry` to a floor, or to what it has already, would not hold `Registry` to it.
    """
    chains = select(ENTRIES.c.chain).where(ENTRIES.c.chain != NO_CHAIN).distinct()
    _check("chain", {same_name(record.chain) for record in records}, connection.execute(chains).scalars())
    recipients = {same_name(record.recipient) for record in records if record.recipient is not None}
    if recipients:
        _check("recipient", recipients, _known_recipients(connection))


def _known_recipients(connection: Connection) -> Iterator[str]:
    bodies = connection.execute(select(ENTRIES.c.body).where(ENTRIES.c.kind == RELEASE)).scalars()
    written = {text for body in bodies for text in NAMED.findall(body)}
    return (json.loads(text) for text in written)


def _check(what: str, new: set[str], written: Iterator[str]) -> None:
    names = {same_name(str(name)) for name in written}
    looks = {look_of(name): name for name in names}
    for name in sorted(new - names):
        if (twin := looks.get(look_of(name))) is not None:
            raise RefusedByHistory(
                f"the ledger has a {what} {twin}, and {name} differs from it in case or width alone: people"
                " take both for one, and nothing would be held against the other",
                remedy=f"Write {twin}, or choose a name that differs in more than that.",
            )

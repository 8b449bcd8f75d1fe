"""Backup and restore: a backup is a ledger of its own, a SQLite file, from whichever database it comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sqlalchemy import Connection, insert, select

from sfumato.releases.ledger import checkpoint as seen_head
from sfumato.releases.ledger import database as schema
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.checkpoint import Head
from sfumato.releases.ledger.cross_chain_overlap import lost_heads
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.keys import Key, head_message, public_key, signed
from sfumato.releases.ledger.ledger import Ledger, checked_head, key_in_force, now
from sfumato.releases.ledger.notices import append, new_name, notice
from sfumato.releases.ledger.record import check_links
from sfumato.releases.ledger.records import LOSS, seal_fault
from sfumato.releases.ledger.tables import ENTRIES, HEAD, PEOPLE, SECRETS
from sfumato.releases.names import same_name
from sfumato.system.disk import LARGEST_NOTE, read_document
from sfumato.system.errors import BadData, BadLedger, UsageError
from sfumato.system.json_object import JsonMapping, JsonObject, read_json
from sfumato.system.presentation.cards import Card, pluralize

# Anchors: where a ledger ended, signed, kept outside of it.
#
# An anchor tells nothing but a number and a hash. Whoever keeps one notices a ledger that was put back to
# an
# earlier day, or written anew: print it, mail it, hand it to an auditor.

ANCHOR_VERSION = 1


@dataclass(frozen=True)
class Anchor:
    """The last entry of a ledger at some time, and the signature of the key that was in force."""

    ledger: str
    head: Head
    public_key: str
    signature: str

    def as_dict(self) -> JsonObject:
        """Returns the anchor as JSON."""
        return {
            "sfumato_anchor": ANCHOR_VERSION,
            "ledger": self.ledger,
            "number": self.head.number,
            "hash": self.head.hash,
            "public_key": self.public_key,
            "signature": self.signature,
        }

    @property
    def is_signed(self) -> bool:
        """Whether the key that it names signed it."""
        return signed(head_message(self.head.number, self.head.hash), self.signature, self.public_key)


def anchor(ledger: Ledger) -> Anchor:
    """Returns the anchor of a ledger as it is now; needs no private key."""
    with ledger.database.reading() as connection:
        check_links(connection)
        head, key = entries.head(connection), entries.key_in_force(connection)
        if head is None:
            raise BadLedger("the ledger has no head", remedy="Run `sfumato ledger verify`.")
        return Anchor(entries.identity(connection), Head(head.number, head.hash), key, head.signature)


def read_anchor(path: Path) -> Anchor:
    """Reads an anchor; refuses one that its own key did not sign."""
    try:
        words = read_json(read_document(path, most=LARGEST_NOTE))
        texts = [words[name] for name in ("ledger", "hash", "public_key", "signature")]
        if words["sfumato_anchor"] != ANCHOR_VERSION or type(words["number"]) is not int:
            raise TypeError
        if not all(isinstance(text, str) for text in texts):
            raise TypeError
    except OSError as error:
        raise BadData(f"the anchor cannot be read ({error.strerror})", where=str(path)) from None
    except (ValueError, KeyError, TypeError):
        raise BadData(
            "this is no anchor", where=path.name, remedy="`sfumato ledger anchor` makes them."
        ) from None
    anchor = Anchor(texts[0], Head(words["number"], texts[1]), texts[2], texts[3])
    if not anchor.is_signed:
        raise BadData("the anchor is not signed by the key it names", where=path.name)
    return anchor


# Missing entries: what is known of a ledger from outside, and is not in it.
#
# Certificates, anchors and the head that was noted beside the key tell of entries. What a ledger lacks of
# them was published, or may have been: the next release cannot be held against it.


@dataclass(frozen=True)
class MissingEntries:
    """The entries `after` the last one of a ledger, up to the furthest that is known of (`to`).

    `lost` are those whose hashes are known, each with what a certificate says of it, if there is one.
    `contradicted` are entries that are there, and were others once: this is no older state but a different
    ledger.
    """

    after: int
    to: int
    lost: tuple[JsonObject, ...] = ()
    contradicted: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self.to > self.after or bool(self.contradicted)

    @property
    def count(self) -> int:
        return self.to - self.after

    @property
    def releases(self) -> list[JsonObject]:
        """The lost entries of which there is a certificate, in order."""
        return [lost for lost in self.lost if lost.get("chain") is not None]

    @property
    def unknown(self) -> list[tuple[int, int]]:
        """The first and the last number of every run of entries of which nobody has a certificate."""
        bounds = [self.after, *(int(lost["number"]) for lost in self.releases), self.to + 1]
        return [(begin + 1, end - 1) for begin, end in pairwise(bounds) if end - begin > 1]

    @property
    def sentences(self) -> list[str]:
        """Says what is missing."""
        sentences = [
            f"entry {lost['number']}: release {lost['sequence']} of chain {lost['chain']}, to "
            f"{lost['recipient'] or 'nobody in particular'}"
            for lost in self.releases
        ]
        sentences += [f"{_run(*run)}: not known, no certificate was given" for run in self.unknown]
        return sentences + [f"entry {number} is here, and was another one" for number in self.contradicted]

    def as_dict(self) -> JsonObject:
        """Returns the result as JSON; a notice of loss says the same."""
        return {"after": self.after, "to": self.to, "lost": [dict(lost) for lost in self.lost]}

    def card(self) -> Card:
        """Returns the result in a few lines."""
        lacks = f"it ends with entry {self.after}, and lacks {pluralize(self.count, 'entry', 'entries')}"
        title = lacks if self else f"it ends with entry {self.after}; nothing that is known of is missing"
        return Card(title, [(sentence,) for sentence in self.sentences])


def missing_entries(
    connection: Connection,
    *,
    certificates: Sequence[JsonMapping] = (),
    anchors: Sequence[Anchor] = (),
    noted: Head | None = None,
) -> MissingEntries:
    """Returns what a ledger lacks of what certificates, anchors and the head `seen` last tell of it.

    Raises `BadData` for a certificate or an anchor of another ledger, or one that was forged.
    """
    _check_origin(connection, certificates, anchors)
    rows = connection.execute(select(ENTRIES.c.number, ENTRIES.c.hash))
    hashes: dict[int, str] = {row.number: row.hash for row in rows}
    accounted, last = lost_heads(connection), max(hashes, default=0)
    certified = [(Head(c["entry"]["number"], c["hash"]), c) for c in certificates]
    heads = [(head, None) for head in (*(anchor.head for anchor in anchors), *([noted] if noted else ()))]
    absent: dict[int, JsonObject] = {}
    contradicted = set[int]()
    for head, certificate in [*heads, *certified]:
        if head in accounted or hashes.get(head.number) == head.hash:
            continue
        if head.number in hashes or absent.get(head.number, {}).get("hash", head.hash) != head.hash:
            contradicted.add(head.number)
        absent[head.number] = {"number": head.number, "hash": head.hash, **_release(certificate)}
    lost = tuple(absent[number] for number in sorted(absent) if number > last)
    return MissingEntries(last, max([last, *absent]), lost, tuple(sorted(contradicted)))


def _check_origin(
    connection: Connection, certificates: Sequence[JsonMapping], anchors: Sequence[Anchor]
) -> None:
    identity, keys = entries.identity(connection), entries.keys(connection)
    for certificate in certificates:
        entry = certificate["entry"]
        if wrong := seal_fault(certificate):
            raise BadData(wrong, remedy="Leave it out, or find the right one.")
        if entry["body"].get("ledger") != identity or entry["signer"] not in keys:
            raise BadData(
                "a certificate is of another ledger, or of a key that this one does not know",
                where=f"entry {entry['number']}",
                remedy="Leave it out, or restore a newer backup.",
            )
    for anchor in anchors:
        if anchor.ledger != identity or anchor.public_key not in keys or not anchor.is_signed:
            raise BadData(
                "an anchor is of another ledger, or of a key that this one does not know",
                where=f"entry {anchor.head.number}",
                remedy="Leave it out, or restore a newer backup.",
            )


def _release(certificate: JsonMapping | None) -> JsonObject:
    """Returns what a notice of loss says of a release."""
    if certificate is None:
        return {}
    entry = certificate["entry"]
    recipient = entry["body"]["recipient"]
    return {
        "chain": same_name(entry["chain"]),
        "sequence": entry["sequence"],
        "release": entry["release"],
        "recipient": None if recipient is None else same_name(recipient),
    }


def _run(first: int, last: int) -> str:
    return f"entry {first}" if first == last else f"entries {first}–{last}"


# Copies of a ledger: made of it, and filled back into an empty database.


def backup(ledger: Ledger, path: str | Path) -> Path:
    """Copies the ledger, as it is at one moment, to a new SQLite file, without the key; returns its path."""
    target = Path(path)
    if os.path.lexists(target):
        raise UsageError("the backup exists already", remedy="Name another file.")
    _require_whole(ledger)
    part = target.with_name(f".{target.name}.part")
    _remove(part)
    try:
        copy = LedgerDatabase(f"sqlite:///{part}")
        _copy(ledger.database, copy)
        copied = Ledger(f"sqlite:///{part}", readonly=True)
        copied.database.vault = ledger.database.vault  # no key lies beside the copy
        _require_whole(copied)
        _copy_bases(ledger, target)
        os.link(part, target)
    finally:
        _remove(part)
    return target


def _copy_bases(ledger: Ledger, target: Path) -> None:
    """Copies the bases of chains of groups, which are encrypted, to a folder beside a backup."""
    from sfumato.releases.base_file import BaseStore  # noqa: PLC0415  # it knows ledgers

    if ledger.key_path is not None:
        BaseStore.of(ledger).copy_to(BaseStore.beside(target).folder)


def _remove(part: Path) -> None:
    """Removes a copy that was not finished, with what SQLite may have left beside it."""
    part.with_name(f"{part.name}-journal").unlink(missing_ok=True)
    part.unlink(missing_ok=True)


def restore(
    path: str | Path,
    url: str,
    *,
    key: str | Path | None = None,
    certificates: Sequence[JsonMapping] = (),
    anchors: Sequence[Anchor] = (),
    accept_loss: bool = False,
) -> Ledger:
    """Fills an empty database from a backup and returns the ledger in it: all of it, or nothing.

    A backup is refused if it is damaged, is of another key, or misses entries that are known from a
    certificate, an anchor or what was noted beside the key: the next release could not be judged beside them.
    With `accept_loss` they are entered as lost, in the same transaction. Their chains are closed by that, and
    so is the whole ledger where nobody knows what they were.
    """
    new = LedgerDatabase(url)
    key_path = Path(key) if key else (new.path.with_name(f"{new.path.name}.key") if new.path else None)
    old = Ledger(f"sqlite:///{Path(path)}", key=key_path, readonly=True)
    old.key_path = None  # what was seen is compared below
    _require_whole(old, key=None if key is None else public_key(Path(key)))
    missing = missing_in(old, key_path, certificates=certificates, anchors=anchors)
    if missing.contradicted:
        raise BadLedger(
            f"the backup is of another history: {missing.sentences[-1]}",
            remedy="Two copies of one ledger were written to, or one was made up. Find out which one counts.",
        )
    if missing and not accept_loss:
        raise BadLedger(
            f"the backup ends before entry {missing.to}, which was published; it lacks "
            + "; ".join(missing.sentences),
            remedy="Find a newer backup: the next release cannot be held against what is missing. "
            "--accept-loss restores it all the same, and closes the chains that lost something.",
        )
    _require_key(old, key_path)
    from sfumato.releases.base_file import BaseStore  # noqa: PLC0415  # it knows ledgers

    _copy(old.database, new, also=lambda connection: _enter_loss(connection, missing, key_path))
    restored = Ledger(url, key=key)
    BaseStore.beside(Path(path)).copy_to(BaseStore.of(restored).folder)
    return restored


def missing_in(
    ledger: Ledger,
    key_path: Path | None,
    *,
    certificates: Sequence[JsonMapping] = (),
    anchors: Sequence[Anchor] = (),
) -> MissingEntries:
    """Returns what a ledger lacks of what is known from outside, and from what was noted beside the key."""
    with ledger.database.reading() as connection:
        noted = seen_head.last_seen(key_path)
        return missing_entries(connection, certificates=certificates, anchors=anchors, noted=noted)


def _require_key(ledger: Ledger, key_path: Path | None) -> None:
    """Raises, before anything is copied, unless the key that continues the ledger is there."""
    if key_path is None:
        raise UsageError("a ledger in PostgreSQL needs a key file", remedy="Name one with --key FILE.")
    with ledger.database.reading() as connection:
        key_in_force(connection, Key.load(key_path), key_path)


def _enter_loss(connection: Connection, missing: MissingEntries, key_path: Path | None) -> None:
    """Enters what is lost, with the key of the ledger."""
    if not missing or key_path is None:
        return
    key = key_in_force(connection, Key.load(key_path), key_path)
    head = checked_head(connection, key.public)
    at = entries.not_before_last(connection, now()).isoformat()
    body = {"at": at, "ledger": entries.identity(connection), **missing.as_dict()}
    loss = notice(connection, new_name(), LOSS, body, head)
    append(connection, loss, key)


def _require_whole(ledger: Ledger, *, key: str | None = None) -> None:
    verification = ledger.verify(key=key)
    if not verification.holds:
        raise BadLedger(f"the ledger is not whole: {verification.faults[0]}", remedy="Nothing was copied.")


def _copy(
    source: LedgerDatabase, target: LedgerDatabase, *, also: Callable[[Connection], None] = lambda _: None
) -> None:
    """Copies all tables in one transaction, in which more may be done; what is encrypted stays so."""
    schema.prepare(target)
    with source.reading() as old, target.writing() as new:
        if entries.head(new) is not None:
            raise UsageError("there is a ledger already", remedy="Restore into an empty database.")
        for table in (ENTRIES, HEAD, PEOPLE, SECRETS):
            order = HEAD.c.one if table is HEAD else table.c.number
            for row in old.execute(select(table).order_by(order)).mappings():
                new.execute(insert(table).values(dict(row)))
        also(new)

"""Missing entries: what is known of a ledger from outside, and is not in it.

Certificates, anchors and the head that was noted beside the key tell of entries. What a ledger lacks of them
was published, or may have been: the next release cannot be held against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sqlalchemy import Connection, select

from sfumato.releases.ledger import entries
from sfumato.releases.ledger.checkpoint import Head
from sfumato.releases.ledger.cross_chain_overlap import lost_heads
from sfumato.releases.ledger.keys import head_message, signed
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import check_links
from sfumato.releases.ledger.records import seal_fault
from sfumato.releases.ledger.tables import ENTRIES
from sfumato.releases.names import same_name
from sfumato.system.disk import LARGEST_NOTE, read_document
from sfumato.system.errors import BadData, BadLedger
from sfumato.system.json_object import JsonMapping, JsonObject, read_json
from sfumato.system.presentation.cards import Card, pluralize

# Anchors: where a ledger ended, signed, kept outside of it.
#
# An anchor tells nothing but a number and a hash. Whoever keeps one notices a ledger that was put back to
# an
# earlier day, or written anew: print it, mail it, hand it to an auditor.

VERSION = 1


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
            "sfumato_anchor": VERSION,
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
        if words["sfumato_anchor"] != VERSION or type(words["number"]) is not int:
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

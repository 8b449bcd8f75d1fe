"""Anchors: where a ledger ended, signed, kept outside of it.

An anchor tells nothing but a number and a hash. Whoever keeps one notices a ledger that was put back to an
earlier day, or written anew: print it, mail it, hand it to an auditor.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import BadData, BadLedger
from sfumato.core.json_object import JsonObject, read_json
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.links import check_links
from sfumato.releases.ledger.seals import head_message, signed
from sfumato.releases.ledger.seen_head import Head
from sfumato.system.disk import LARGEST_NOTE, read_document

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
        found = read_json(read_document(path, most=LARGEST_NOTE))
        texts = [found[name] for name in ("ledger", "hash", "public_key", "signature")]
        if found["sfumato_anchor"] != VERSION or type(found["number"]) is not int:
            raise TypeError
        if not all(isinstance(text, str) for text in texts):
            raise TypeError
    except OSError as error:
        raise BadData(f"the anchor cannot be read ({error.strerror})", where=str(path)) from None
    except (ValueError, KeyError, TypeError):
        raise BadData(
            "this is no anchor", where=path.name, remedy="`sfumato ledger anchor` makes them."
        ) from None
    made = Anchor(texts[0], Head(found["number"], texts[1]), texts[2], texts[3])
    if not made.is_signed:
        raise BadData("the anchor is not signed by the key it names", where=path.name)
    return made

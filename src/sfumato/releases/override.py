"""Overrides: a second person lets one recipient have a smaller k, for a stated reason and time."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from pathlib import Path

from sfumato.core.errors import BadData, WrongCall
from sfumato.core.json_object import JsonObject, read_json
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.seals import canonical
from sfumato.releases.second_signature import check_author, check_day, check_purpose
from sfumato.system.disk import LARGEST_NOTE, read_document

VERSION = 1


@dataclass(frozen=True)
class Override:
    """A smaller k that was allowed, by whom, until when (a day, inclusive), signed.

    It is for one policy, one chain and one recipient. The signature is by a key that the policy lists under
    `recipients.overriders`, and never by the key of the ledger: two people are needed.
    """

    policy: str
    chain: str
    recipient: str
    k: int
    reason: str
    by: str
    until: str
    public_key: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        if self.k < 1 or isinstance(self.k, bool):
            raise WrongCall("k is a whole number from 1")
        if not self.reason.strip() or not self.by.strip() or not self.recipient.strip():
            raise WrongCall("an override names the recipient, a reason, and who gives it")
        check_day(self.until)

    def sign(self, key: Key) -> Override:
        """Returns the same override, signed by its author."""
        named = replace(self, public_key=key.public)
        return replace(named, signature=key.sign(named.message))

    @property
    def message(self) -> bytes:
        """The bytes that are signed: all of it."""
        content = {name: value for name, value in asdict(self).items() if name != "signature"}
        return f"sfumato override {canonical(content)}".encode()

    def as_dict(self) -> JsonObject:
        """Returns the override as JSON."""
        return {"sfumato-override": VERSION, **asdict(self)}

    def as_bytes(self) -> bytes:
        return (json.dumps(self.as_dict(), ensure_ascii=False, indent=2) + "\n").encode()

    @classmethod
    def read(cls, path: str | Path) -> Override:
        """Reads an override from its file; `check` looks at the signature."""
        file = Path(path)
        try:
            words = read_json(read_document(file, most=LARGEST_NOTE))
            if not isinstance(words, Mapping) or words.get("sfumato-override") != VERSION:
                raise ValueError
            known = {f.name: words[f.name] for f in fields(cls)}
            if not all(isinstance(v, int if n == "k" else str) for n, v in known.items()):
                raise ValueError
        except OSError:
            raise BadData("the override cannot be read", where=file.name) from None
        except (ValueError, KeyError):
            raise BadData("this is no override", where=file.name) from None
        return cls(**known)

    def check(
        self,
        *,
        policy: str,
        chain: str,
        names: Collection[str],
        overriders: Collection[str],
        ledger_keys: Collection[str],
        now: datetime,
    ) -> None:
        """Raises unless a listed person other than the one who releases signed it, for this release."""
        unlisted = WrongCall(
            "the policy does not let the author of the override give one",
            remedy="List their public key under recipients.overriders, or ask somebody who is listed.",
        )
        check_author(self, overriders=overriders, ledger_keys=ledger_keys, unlisted=unlisted)
        if self.recipient not in names:
            raise WrongCall("the override is for somebody who is not named", remedy="Name them with --to.")
        check_purpose(self, policy=policy, chain=chain, now=now)

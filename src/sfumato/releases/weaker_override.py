"""Overrides of a chain's floor: a second person lets a later policy promise less, for a reason and a time."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import date, datetime
from pathlib import Path

from sfumato.core.errors import BadData, WrongCall
from sfumato.core.json_object import JsonObject, read_json
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.seals import canonical, signed
from sfumato.releases.override import VERSION, Override
from sfumato.system.disk import read_document

WEAKER = "weaker"


@dataclass(frozen=True)
class WeakerOverride:
    """A policy that may promise less than the first one of a chain, by whom, until when, signed.

    It is for one policy, by its digest, and one chain. The signature is by a key that the *first* policy
    lists under `recipients.overriders`, and never by the key of the ledger: two people are needed.
    """

    policy: str
    chain: str
    reason: str
    by: str
    until: str
    public_key: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        if not self.reason.strip() or not self.by.strip():
            raise WrongCall("an override names a reason, and who gives it")
        try:
            date.fromisoformat(self.until)
        except ValueError:
            raise WrongCall("an override ends on a day such as 2026-12-31") from None

    def sign(self, key: Key) -> WeakerOverride:
        """Returns the same override, signed by its author."""
        named = replace(self, public_key=key.public)
        return replace(named, signature=key.sign(named.message))

    @property
    def message(self) -> bytes:
        """The bytes that are signed: all of it, and never those of another kind of override."""
        content = {name: value for name, value in asdict(self).items() if name != "signature"}
        return f"sfumato override {WEAKER} {canonical(content)}".encode()

    def as_dict(self) -> JsonObject:
        """Returns the override as JSON."""
        return {"sfumato-override": VERSION, "kind": WEAKER, **asdict(self)}

    def as_bytes(self) -> bytes:
        return (json.dumps(self.as_dict(), ensure_ascii=False, indent=2) + "\n").encode()

    def check(
        self,
        *,
        policy: str,
        chain: str,
        overriders: Collection[str],
        ledger_keys: Collection[str],
        now: datetime,
    ) -> None:
        """Raises unless somebody else than the one who releases, whom the floor lists, signed it for this."""
        if not signed(self.message, self.signature, self.public_key):
            raise BadData("the override was changed after it was signed, or signed by another key")
        if self.public_key in ledger_keys:
            raise WrongCall(
                "the override is signed by the key of the ledger",
                remedy="It takes a second person, with a key of their own.",
            )
        if self.public_key not in overriders:
            raise WrongCall(
                "the first policy of the chain does not let the author of the override give one",
                remedy="Ask somebody whom it lists under recipients.overriders.",
            )
        if self.policy != policy or self.chain != chain:
            raise WrongCall("the override is for another policy or chain", remedy="Have a new one signed.")
        if now.date() > date.fromisoformat(self.until):
            raise WrongCall(f"the override ended on {self.until}", remedy="Have a new one signed.")


AnyOverride = Override | WeakerOverride


def read_override(path: str | Path) -> AnyOverride:
    """Reads an override of either kind from its file; `check` looks at the signature."""
    file = Path(path)
    try:
        words = read_json(read_document(file))
    except OSError:
        raise BadData("the override cannot be read", where=file.name) from None
    except ValueError:
        raise BadData("this is no override", where=file.name) from None
    if not isinstance(words, Mapping) or words.get("kind") != WEAKER:
        return Override.read(file)
    told = {field.name: words.get(field.name) for field in fields(WeakerOverride)}
    known = {name: word for name, word in told.items() if isinstance(word, str)}
    if words.get("sfumato-override") != VERSION or len(known) < len(told):
        raise BadData("this is no override", where=file.name)
    return WeakerOverride(**known)

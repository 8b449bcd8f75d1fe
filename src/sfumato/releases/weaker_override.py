"""Overrides of a chain's floor: a second person lets a later policy promise less, for a reason and a time."""

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
from sfumato.releases.override import VERSION, Override
from sfumato.releases.second_signature import check_author, check_day, check_purpose
from sfumato.system.disk import LARGEST_NOTE, read_document

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
        check_day(self.until)

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
        unlisted = WrongCall(
            "the first policy of the chain does not let the author of the override give one",
            remedy="Ask somebody whom it lists under recipients.overriders.",
        )
        check_author(self, overriders=overriders, ledger_keys=ledger_keys, unlisted=unlisted)
        check_purpose(self, policy=policy, chain=chain, now=now)


AnyOverride = Override | WeakerOverride


def read_override(path: str | Path) -> AnyOverride:
    """Reads an override of either kind from its file; `check` looks at the signature."""
    file = Path(path)
    try:
        words = read_json(read_document(file, most=LARGEST_NOTE))
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

"""The second signature: what every override is held to, whatever it allows."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import Field, asdict, fields, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, ClassVar, Self, get_type_hints

from sfumato.core.errors import BadData, WrongCall
from sfumato.core.json_object import JsonObject, read_json
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.seals import canonical, signed
from sfumato.system.disk import LARGEST_NOTE, read_document

VERSION = 1


class OverrideDocument:
    """What a second person allows, for one policy and chain, until a day (inclusive).

    A kind of override is a frozen dataclass of texts and whole numbers. All of them but the signature are
    signed, together with its `kind`: no override can be passed off as one of another kind.
    """

    kind: ClassVar[str]
    """What tells it from other kinds, in files and signatures; empty for the kind that was first."""
    policy: str
    chain: str
    until: str
    public_key: str
    signature: str
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # those of any dataclass

    def sign(self, key: Key) -> Self:
        """Returns the same override, signed by its author."""
        named = replace(self, public_key=key.public)
        return replace(named, signature=key.sign(named.message))

    @property
    def message(self) -> bytes:
        """The bytes that are signed: all of it."""
        content = {name: value for name, value in asdict(self).items() if name != "signature"}
        return " ".join(filter(None, ("sfumato override", self.kind, canonical(content)))).encode()

    def as_dict(self) -> JsonObject:
        """Returns the override as JSON."""
        named = {"kind": self.kind} if self.kind else {}
        return {"sfumato-override": VERSION, **named, **asdict(self)}

    def as_bytes(self) -> bytes:
        return (json.dumps(self.as_dict(), ensure_ascii=False, indent=2) + "\n").encode()

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Reads an override of this kind from its file; `check` looks at the signature."""
        return cls.from_words(read_words(path), where=Path(path).name)

    @classmethod
    def from_words(cls, words: Mapping[str, object], *, where: str) -> Self:
        """Returns the override that a file holds; raises `BadData` where it is none of this kind."""
        kinds = get_type_hints(cls)
        told = {field.name: words.get(field.name) for field in fields(cls)}
        named = words.get("sfumato-override"), words.get("kind", "")
        if named != (VERSION, cls.kind) or any(type(word) is not kinds[name] for name, word in told.items()):
            raise BadData("this is no override", where=where)
        return cls(**told)


def read_words(path: str | Path) -> Mapping[str, object]:
    """Returns what the file of an override holds, of whatever kind."""
    file = Path(path)
    try:
        words = read_json(read_document(file, most=LARGEST_NOTE))
    except OSError:
        raise BadData("the override cannot be read", where=file.name) from None
    except ValueError:
        raise BadData("this is no override", where=file.name) from None
    if not isinstance(words, Mapping):
        raise BadData("this is no override", where=file.name)
    return words


def check_day(until: str) -> None:
    """Raises unless an override ends on a day."""
    try:
        date.fromisoformat(until)
    except ValueError:
        raise WrongCall("an override ends on a day such as 2026-12-31") from None


def check_author(
    given: OverrideDocument, *, overriders: Collection[str], ledger_keys: Collection[str], unlisted: WrongCall
) -> None:
    """Raises unless the document is as its author signed it, who is listed and not the one who releases.

    `unlisted` is what to raise where they are not listed.
    """
    if not signed(given.message, given.signature, given.public_key):
        raise BadData("the override was changed after it was signed, or signed by another key")
    if given.public_key in ledger_keys:
        raise WrongCall(
            "the override is signed by the key of the ledger",
            remedy="It takes a second person, with a key of their own.",
        )
    if given.public_key not in overriders:
        raise unlisted


def check_purpose(given: OverrideDocument, *, policy: str, chain: str, now: datetime) -> None:
    """Raises unless the document is for this policy and chain, and has not ended."""
    if given.policy != policy or given.chain != chain:
        raise WrongCall("the override is for another policy or chain", remedy="Have a new one signed.")
    if now.date() > date.fromisoformat(given.until):
        raise WrongCall(f"the override ended on {given.until}", remedy="Have a new one signed.")

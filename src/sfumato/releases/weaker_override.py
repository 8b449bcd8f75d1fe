"""Overrides of a chain's floor: a second person lets a later policy promise less, for a reason and a time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from sfumato.core.errors import WrongCall
from sfumato.releases.override import Override
from sfumato.releases.second_signature import (
    OverrideDocument,
    check_author,
    check_day,
    check_purpose,
    read_words,
)


@dataclass(frozen=True)
class WeakerOverride(OverrideDocument):
    """A policy that may promise less than the first one of a chain, by whom, until when, signed.

    It is for one policy, by its digest, and one chain. The signature is by a key that the *first* policy
    lists under `recipients.overriders`, and never by the key of the ledger: two people are needed.
    """

    kind: ClassVar[str] = "weaker"
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
    words = read_words(path)
    kind = WeakerOverride if words.get("kind") == WeakerOverride.kind else Override
    return kind.from_words(words, where=Path(path).name)

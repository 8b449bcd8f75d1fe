"""Overrides: a second person lets one recipient have a smaller k, for a stated reason and time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from sfumato.core.errors import WrongCall
from sfumato.releases.second_signature import OverrideDocument, check_author, check_day, check_purpose


@dataclass(frozen=True)
class Override(OverrideDocument):
    """A smaller k that was allowed, by whom, until when (a day, inclusive), signed.

    It is for one policy, one chain and one recipient. The signature is by a key that the policy lists under
    `recipients.overriders`, and never by the key of the ledger: two people are needed.
    """

    kind: ClassVar[str] = ""
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

"""The second signature: what every override is held to, whatever it allows."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime
from typing import Protocol

from sfumato.core.errors import BadData, WrongCall
from sfumato.releases.ledger.seals import signed


class SignedDocument(Protocol):
    """A document that somebody signed, for one policy and chain, until a day."""

    @property
    def policy(self) -> str: ...
    @property
    def chain(self) -> str: ...
    @property
    def until(self) -> str: ...
    @property
    def public_key(self) -> str: ...
    @property
    def signature(self) -> str: ...
    @property
    def message(self) -> bytes:
        """The bytes that are signed."""
        ...


def check_day(until: str) -> None:
    """Raises unless an override ends on a day."""
    try:
        date.fromisoformat(until)
    except ValueError:
        raise WrongCall("an override ends on a day such as 2026-12-31") from None


def check_author(
    given: SignedDocument, *, overriders: Collection[str], ledger_keys: Collection[str], unlisted: WrongCall
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


def check_purpose(given: SignedDocument, *, policy: str, chain: str, now: datetime) -> None:
    """Raises unless the document is for this policy and chain, and has not ended."""
    if given.policy != policy or given.chain != chain:
        raise WrongCall("the override is for another policy or chain", remedy="Have a new one signed.")
    if now.date() > date.fromisoformat(given.until):
        raise WrongCall(f"the override ended on {given.until}", remedy="Have a new one signed.")

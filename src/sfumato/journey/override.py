"""The verb `override`: a second person signs that one recipient may have a smaller k."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import WrongCall
from sfumato.journey.policy_argument import AnyPolicy, load_policy
from sfumato.releases.ledger.keys import Key
from sfumato.releases.override import Override


@dataclass(frozen=True)
class SignedOverride:
    """An override that was written; `is_listed` says whether the policy lists the key that signed it."""

    override: Override
    is_listed: bool


def sign_override(
    policy: AnyPolicy,
    *,
    to: str,
    k: int,
    reason: str,
    by: str,
    until: str,
    key: Path,
    out: Path,
    chain: str = "main",
) -> SignedOverride:
    """Sign that the recipient `to` may have a smaller `k` until a day, and write that to a new file.

    A key that is not there yet is made. The policy lists the public keys of those who may sign, under
    `recipients.overriders`; a release refuses the override of anybody else.
    """
    if out.exists():
        raise WrongCall("the output exists already", where=out.name, remedy="Name another file.")
    rules = load_policy(policy)
    unsigned = Override(rules.digest, chain, to, k, reason, by, until)
    signer = Key.load(key) if key.exists() else Key.make(key)
    signed = unsigned.sign(signer)
    out.write_bytes(signed.as_bytes())
    is_listed = rules.recipients is not None and signer.public in rules.recipients.overriders
    return SignedOverride(signed, is_listed)

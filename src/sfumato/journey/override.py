"""The verb `override`: a second person signs for a smaller k, or for a policy that promises less."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import WrongCall
from sfumato.journey.policy_argument import AnyPolicy, load_policy
from sfumato.policy.policy import Policy
from sfumato.releases.ledger.keys import Key
from sfumato.releases.names import checked_name
from sfumato.releases.override import Override
from sfumato.releases.weaker_override import AnyOverride, WeakerOverride


@dataclass(frozen=True)
class SignedOverride:
    """An override that was written; `is_listed` says whether the policy lists the key that signed it."""

    override: AnyOverride
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
    rules, series = load_policy(policy), checked_name(chain, "chain")
    unsigned = Override(rules.digest, series, checked_name(to, "recipient"), k, reason, by, until)
    return _signed(unsigned, rules, key, out)


def sign_weaker(
    policy: AnyPolicy,
    *,
    reason: str,
    by: str,
    until: str,
    key: Path,
    out: Path,
    chain: str = "main",
) -> SignedOverride:
    """Sign that releases of a chain may follow this policy, though it promises less than the first one did.

    The key is one that the *first* policy of the chain lists under `recipients.overriders`; a release refuses
    the override of anybody else. It is for this policy, word by word, until a day.
    """
    rules = load_policy(policy)
    unsigned = WeakerOverride(rules.digest, checked_name(chain, "chain"), reason, by, until)
    return _signed(unsigned, rules, key, out)


def _signed(unsigned: AnyOverride, policy: Policy, key: Path, out: Path) -> SignedOverride:
    """Sign an override and write it to a new file."""
    if out.exists():
        raise WrongCall("the output exists already", where=out.name, remedy="Name another file.")
    signer = Key.load(key) if key.exists() else Key.make(key)
    signed = unsigned.sign(signer)
    out.write_bytes(signed.as_bytes())
    is_listed = policy.recipients is not None and signer.public in policy.recipients.overriders
    return SignedOverride(signed, is_listed)

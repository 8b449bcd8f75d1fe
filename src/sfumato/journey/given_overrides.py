"""The overrides that a release is given: those for one recipient, and those of the chain's floor."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from sfumato.core.errors import WrongCall
from sfumato.journey.chain_floor import ChainFloor
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import RecipientRule
from sfumato.releases.ledger.ledger import Ledger, now
from sfumato.releases.override import Override
from sfumato.releases.weaker_override import AnyOverride, WeakerOverride, read_override


def read_overrides(
    given: Sequence[AnyOverride | str | Path],
) -> tuple[list[Override], list[WeakerOverride]]:
    """Returns the overrides of both kinds; raises where there are two of the floor."""
    read = [read_override(one) if isinstance(one, str | Path) else one for one in given]
    weaker = [one for one in read if isinstance(one, WeakerOverride)]
    if len(weaker) > 1:
        raise WrongCall(
            "the policy has two overrides of the chain's floor", remedy="Give the one that holds."
        )
    return [one for one in read if isinstance(one, Override)], weaker


def overrides_and_floor(
    given: Sequence[AnyOverride | str | Path],
    policy: Policy,
    names: Sequence[str],
    ledger: Ledger | None,
    chain: str,
) -> tuple[dict[str, Override], ChainFloor]:
    """Returns the overrides by recipient, and what holds the policy to the floor of the chain."""
    for_some, weaker = read_overrides(given)
    keys, moment = ((), now()) if ledger is None else (ledger.public_keys, ledger.moment())
    allowed = by_recipient(for_some, policy, names, chain=chain, ledger_keys=keys, moment=moment)
    return allowed, ChainFloor(policy, chain, weaker, keys, moment)


def by_recipient(
    given: Sequence[Override],
    policy: Policy,
    names: Sequence[str],
    *,
    chain: str,
    ledger_keys: Collection[str],
    moment: datetime,
) -> dict[str, Override]:
    """Returns the overrides by recipient; raises unless each is genuine and by somebody who may give it."""
    rule = policy.recipients or RecipientRule()
    overrides: dict[str, Override] = {}
    for override in given:
        override.check(
            policy=policy.digest,
            chain=chain,
            names=names,
            overriders=rule.overriders,
            ledger_keys=ledger_keys,
            now=moment,
        )
        if override.recipient in overrides:
            raise WrongCall("a recipient has two overrides", remedy="Give the one that holds.")
        overrides[override.recipient] = override
    return overrides

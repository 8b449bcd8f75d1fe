"""Everybody who holds several releases strikes."""

from __future__ import annotations

from sfumato.attacks.chain_history import adversaries
from sfumato.models.attack_contract import worst_first


def strike_across(held, policy):
    """What every adversary finds who holds these releases; they look at imprints alone."""
    limits = policy.promises.limits
    return worst_first(f for a in adversaries(held, policy) for f in a.strike(None, limits))

"""Everybody who holds several releases strikes."""

from __future__ import annotations

from sfumato.attacks.attack import worst_first
from sfumato.attacks.chain.adversaries import adversaries


def strike_across(held, policy):
    """What every adversary finds who holds these releases; they look at imprints alone."""
    limits = policy.promises.limits
    return worst_first(f for a in adversaries(held, policy) for f in a.strike(None, limits))

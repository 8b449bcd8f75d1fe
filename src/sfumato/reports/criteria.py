"""The three criteria of the Article 29 Working Party, and which attacks test each of them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from sfumato.core.promise import Promise


class Criterion(StrEnum):
    """What must not be possible with anonymous data (Opinion 05/2014, WP216)."""

    SINGLING_OUT = "singling out"
    LINKABILITY = "linkability"
    INFERENCE = "inference"


ATTACKS = {
    "linkage": Criterion.SINGLING_OUT,
    "exact-ends": Criterion.SINGLING_OUT,
    "downcoding": Criterion.SINGLING_OUT,
    "correspondence": Criterion.LINKABILITY,
    "composition": Criterion.LINKABILITY,
    "differencing": Criterion.LINKABILITY,
    "intersection": Criterion.LINKABILITY,
    "posterior-belief": Criterion.LINKABILITY,
}
"""Attacks that pick out a record, or put several together. Every other one concludes something."""


def criterion_of(attack: str) -> Criterion:
    """Returns the criterion that an attack tests; one of another package is taken to infer something."""
    return ATTACKS.get(attack, Criterion.INFERENCE)


def concerns(promise: Promise, criterion: Criterion) -> bool:
    """Whether a promise is threatened by an attack on this criterion, or bounds numbers of people."""
    threats: Iterable[str] = promise.threats
    return any(criterion_of(attack) is criterion for attack in threats)

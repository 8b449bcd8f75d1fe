"""How far an adversary may get: what promises say of attacks, as data that both sides can read.

A promise states limits (`Promise.limits`); an attack looks for those that concern it. Neither knows the
other, so a promise of one package limits an attack of another. A number has a *measure*, which the attack
defines; what no number can say is a class of its own, derived from `AttackLimit`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TypeVar

DEFAULT = "default"
PROMISED = "promised"


@dataclass(frozen=True)
class AttackMeasure:
    """What an attack measures, and how much of it is tolerated where no promise speaks of it.

    `at_least` says that the adversary gets the further the smaller the number is.
    """

    name: str
    default: Fraction
    at_least: bool = False


RECOGNITION = AttackMeasure("the chance of recognizing a person", Fraction(1, 5))
"""The chance of recognizing a person: at most one in five where no promise says otherwise."""
VALUES = AttackMeasure("the different sensitive values of a class", Fraction(2), at_least=True)
"""How many values a class holds: at least two where no promise says otherwise, so that none is certain."""
CERTAINTY = AttackMeasure("the chance of guessing a sensitive value", Fraction(1))
"""The chance of guessing a sensitive value: any where no promise says otherwise (`VALUES` bars certainty)."""
ABSENCE = AttackMeasure("the chance of guessing that somebody has no value", Fraction(1))
"""The chance of guessing that a sensitive value is missing: any where no promise says otherwise."""
CANDIDATES = AttackMeasure("the records that may be a person's, by all releases", Fraction(5), at_least=True)
"""How many records may be a person's, by all releases: at least five where no promise says otherwise."""
SHIFT = AttackMeasure("the distance of a class from the whole table", Fraction(1, 2))
"""How far a class is from the table (half the sum of gaps): at most 1/2 where no promise says otherwise."""

EVENNESS = AttackMeasure("the equally likely values that a belief is worth", Fraction(1), at_least=True)
"""e to the entropy of a belief."""

UNASKED = 5
"""The number of people that everybody should stay among where no promise says how many."""


@dataclass(frozen=True)
class AttackLimit:
    """One thing that a promise says of what an adversary may achieve."""


@dataclass(frozen=True)
class Bound(AttackLimit):
    """A number that a measure must not exceed; with `at_least`, must not fall below.

    `column` is the sensitive column that is concerned, `None` where the measure is about people.
    """

    measure: AttackMeasure
    value: Fraction
    column: str | None = None


L = TypeVar("L", bound=AttackLimit)


@dataclass(frozen=True)
class AttackLimits:
    """All that the promises of a policy say of attacks.

    >>> half, third = (Bound(CERTAINTY, Fraction(1, n), "disease") for n in (2, 3))
    >>> promised = AttackLimits((half, third))
    >>> promised.limit(CERTAINTY, "disease"), promised.limit(RECOGNITION)
    ((Fraction(1, 3), 'promised'), (Fraction(1, 5), 'default'))
    """

    limits: tuple[AttackLimit, ...] = ()

    @classmethod
    def of(cls, limits: Iterable[AttackLimit]) -> AttackLimits:
        return cls(tuple(limits))

    def limit(self, measure: AttackMeasure, column: str | None = None) -> tuple[Fraction, str]:
        """Returns the strictest bound on a measure, and who sets it: `promised`, or `default`."""
        stated = [b.value for b in self.of_kind(Bound) if b.measure == measure and b.column == column]
        if not stated:
            return measure.default, DEFAULT
        return (max(stated) if measure.at_least else min(stated)), PROMISED

    def over_columns(self, measure: AttackMeasure) -> Fraction:
        """Returns the strictest limit of a measure, whatever the column."""
        stated = [b.value for b in self.of_kind(Bound) if b.measure == measure] or [measure.default]
        return max(stated) if measure.at_least else min(stated)

    @property
    def asked_k(self) -> int | None:
        """How many people everybody must stay among: across releases, else within one; `None`: not said."""
        candidates, across = self.limit(CANDIDATES)
        if across == PROMISED:
            return ceil(candidates)
        chance, within = self.limit(RECOGNITION)
        return ceil(1 / chance) if within == PROMISED else None

    def of_kind(self, kind: type[L]) -> tuple[L, ...]:
        """Returns the limits of one class, in the order of the policy."""
        return tuple(limit for limit in self.limits if isinstance(limit, kind))

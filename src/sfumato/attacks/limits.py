"""How much an adversary may achieve before it is a breach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any

LINKAGE = Fraction(1, 5)
"""Where no promise limits it: nobody is recognized with a better chance than one in five."""
VALUES = 2
"""Where no promise limits it: no class gives a sensitive value away with certainty."""
CERTAINTY = Fraction(1)
SHIFT = Fraction(1, 2)
"""Where no promise limits it: a class is at most halfway from the table's distribution."""

DEFAULT = "default"
PROMISED = "promised"


@dataclass(frozen=True)
class Tolerance:
    """What the policy's promises still allow; a stated default where none speaks of it.

    `linkage` is the largest chance of recognizing a person. Per sensitive column: `values` is the smallest
    number of values of a class, `certainty` the largest chance of guessing a value, `shift` the largest
    distance of a class from the whole table (half the sum of absolute differences). `freeform` is the
    promise that limits inference value by value, with what it is told of the columns.

    >>> Tolerance().linkage_limit
    (Fraction(1, 5), 'default')
    """

    linkage: Fraction | None = None
    values: Mapping[str, int] = field(default_factory=dict)
    certainty: Mapping[str, Fraction] = field(default_factory=dict)
    shift: Mapping[str, Fraction] = field(default_factory=dict)
    freeform: Any = None

    @classmethod
    def of(cls, promises: Iterable[object]) -> Tolerance:
        """The strictest limits that the promises imply; a promise of another kind implies none."""
        linkage: Fraction | None = None
        values: dict[str, int] = {}
        certainty: dict[str, Fraction] = {}
        shift: dict[str, Fraction] = {}
        freeform = None
        for promise in promises:
            name, column = getattr(promise, "name", ""), str(getattr(promise, "of", ""))
            if name == "k-anonymity":
                linkage = min(linkage or Fraction(1), Fraction(1, _number(promise, "k", 1)))
            elif name in ("confidence-bounding", "alpha-k-anonymity"):
                share = _number(promise, "confidence" if name == "confidence-bounding" else "alpha", 1)
                certainty[column] = min(certainty.get(column, CERTAINTY), share)
                if name == "alpha-k-anonymity":
                    linkage = min(linkage or Fraction(1), Fraction(1, _number(promise, "k", 1)))
            elif name.endswith("l-diversity"):
                values[column] = max(values.get(column, VALUES), ceil(_number(promise, "l", VALUES)))
                if hasattr(promise, "c"):
                    c = _number(promise, "c", 1)
                    certainty[column] = min(certainty.get(column, CERTAINTY), c / (1 + c))
            elif name == "t-closeness" and _of_the_table(promise):
                t = _number(promise, "t", SHIFT)
                shift[column] = min(shift.get(column, t), t)
            elif name == "freeform":
                freeform = promise
        return cls(linkage, values, certainty, shift, freeform)

    @property
    def linkage_limit(self) -> tuple[Fraction, str]:
        """The limit, and who sets it."""
        return (LINKAGE, DEFAULT) if self.linkage is None else (self.linkage, PROMISED)

    def values_limit(self, column: str) -> int:
        return self.values.get(column, VALUES)

    def certainty_limit(self, column: str) -> Fraction:
        return self.certainty.get(column, CERTAINTY)

    def shift_limit(self, column: str) -> tuple[Fraction, str]:
        limit = self.shift.get(column)
        return (SHIFT, DEFAULT) if limit is None else (limit, PROMISED)


def _number(promise: object, name: str, otherwise: Fraction | int) -> Fraction:
    return Fraction(getattr(promise, name, otherwise))


def _of_the_table(promise: object) -> bool:
    """Whether a closeness is measured as this attack measures it: value by value, from the table itself."""
    return getattr(promise, "distance", "") == "equal" and getattr(promise, "reference", None) is None

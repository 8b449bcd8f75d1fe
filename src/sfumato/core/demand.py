"""Demands: what a promise asks, as plain data, so that a later policy can be seen to ask no less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from hashlib import sha256
from typing import Self

from sfumato.core.json_object import JsonMapping, JsonObject


class Order(StrEnum):
    """How the values of one parameter compare; a parameter without an order has to stay as it is."""

    LARGER = "larger"
    """A larger number asks more; true asks more than false."""
    SMALLER = "smaller"
    """A smaller number asks more."""
    FREE = "free"
    """Whatever it is, what is promised of a published table is the same."""


@dataclass(frozen=True)
class Demand:
    """One promise with its parameters: those that must stay (`same`), and those that have an order.

    `at_least` and `at_most` are exact. `same` holds column names, words and numbers, and of whatever
    may hold values (a reference, a knowledge table) a fingerprint; what stands at its default is left out.
    """

    promise: str
    kind: str | None = None
    same: Mapping[str, str] = field(default_factory=dict)
    at_least: Mapping[str, Fraction] = field(default_factory=dict)
    at_most: Mapping[str, Fraction] = field(default_factory=dict)
    sentence: str = ""

    @classmethod
    def of_parameters(cls, name: str, kind: str | None, parameters: JsonMapping, sentence: str) -> Self:
        """Returns the demand of a promise whose parameters have no order: only equal ones will do."""
        return cls(name, kind, {"parameters": fingerprint(parameters)}, sentence=sentence)

    def covers(self, asked: Demand) -> bool:
        """Whether whoever keeps this one keeps the one that was asked.

        >>> five, two = (Demand("k-anonymity", at_least={"k": Fraction(k)}) for k in (5, 2))
        >>> five.covers(two), two.covers(five)
        (True, False)
        """
        if (self.promise, self.kind, dict(self.same)) != (asked.promise, asked.kind, dict(asked.same)):
            return False
        return _ordered(self.at_least, asked.at_least, larger=True) and _ordered(
            self.at_most, asked.at_most, larger=False
        )

    def as_dict(self) -> JsonObject:
        """Returns the demand as JSON."""
        return {
            "promise": self.promise,
            "kind": self.kind,
            "same": dict(self.same),
            "at_least": {name: str(number) for name, number in self.at_least.items()},
            "at_most": {name: str(number) for name, number in self.at_most.items()},
            "sentence": self.sentence,
        }

    @classmethod
    def from_dict(cls, words: JsonMapping) -> Self:
        """Reads its JSON form."""
        return cls(
            str(words["promise"]),
            words["kind"],
            dict(words["same"]),
            {name: Fraction(number) for name, number in words["at_least"].items()},
            {name: Fraction(number) for name, number in words["at_most"].items()},
            str(words["sentence"]),
        )


def fingerprint(value: object) -> str:
    """Returns a digest of plain data: texts, numbers, truths, bytes, and collections of these.

    >>> fingerprint({"a": 1, "b": (2, None)}) == fingerprint({"b": [2, None], "a": 1})
    True
    """
    return sha256(_plain_text(value).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def missing_demands(
    given: Iterable[Sequence[Demand]], asked: Iterable[Sequence[Demand]]
) -> list[tuple[Demand, tuple[Demand, ...]]]:
    """Returns every demand that was asked and that nothing given covers, with those that come nearest.

    A promise is a sequence: what it asks, then what follows from that.
    """
    offers = [tuple(demands) for demands in given]
    every = [demand for demands in offers for demand in demands]
    lacking = []
    for demands in asked:
        wanted = demands[0]
        if not any(demand.covers(wanted) for demand in every):
            near = tuple(o[0] for o in offers if (o[0].promise, o[0].kind) == (wanted.promise, wanted.kind))
            lacking.append((wanted, near))
    return lacking


def _ordered(given: Mapping[str, Fraction], asked: Mapping[str, Fraction], *, larger: bool) -> bool:
    """Whether every number that was asked is given, and on the right side."""
    if given.keys() != asked.keys():
        return False
    return all(given[name] >= asked[name] if larger else given[name] <= asked[name] for name in asked)


def _plain_text(value: object) -> str:
    if isinstance(value, Mapping):
        pairs = sorted((_plain_text(key), _plain_text(item)) for key, item in value.items())
        return f"{{{','.join(f'{key}:{item}' for key, item in pairs)}}}"
    if isinstance(value, set | frozenset):
        return f"({','.join(sorted(map(_plain_text, value)))})"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return f"[{','.join(map(_plain_text, value))}]"
    if isinstance(value, Fraction):
        return str(value)
    return repr(value)

"""Verdicts and findings: evidence, not booleans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import Self, TypeVar

from sfumato.system.json_object import JsonMapping, JsonObject

Measure = int | Fraction | float
"""Exact where the definition is rational; a float (rounded against the publisher) where it is not."""


class Evidence(StrEnum):
    """What a promise can be judged on."""

    PUBLISHED = "published"
    EARLIER = "published + earlier releases"
    REFERENCE = "published + reference"


@dataclass(frozen=True)
class Verdict:
    """Whether a promise holds on what is published, and by how much.

    `holds` is `None` where the evidence at hand cannot decide it: never to be read as "holds".
    `measured` is the worst class's value, `limit` what the promise asks; `people` and `classes` count
    those in violation. `sealed`: it holds by a certificate whose signature was checked, not by what was
    judged now.
    """

    promise: str
    holds: bool | None
    measured: Measure | None
    limit: Measure
    worst: int | None = None
    people: int = 0
    classes: int = 0
    evidence: Evidence = Evidence.PUBLISHED
    reason: str = ""
    sealed: bool = False

    @property
    def margin(self) -> Measure | None:
        """Distance between what was measured and the limit."""
        if self.measured is None:
            return None
        if isinstance(self.measured, float) or isinstance(self.limit, float):
            return abs(float(self.measured) - float(self.limit))
        return abs(Fraction(self.measured) - Fraction(self.limit))

    @property
    def word(self) -> str:
        if self.sealed and self.holds:
            return "sealed"
        return {True: "holds", False: "BROKEN", None: "not decidable"}[self.holds]


WITHSTOOD = "withstood"
WITHSTOOD_IN_PART = "withstood as far as tried"


@dataclass(frozen=True)
class Finding:
    """What an attack achieved, on how many people, and how, in a sentence without cell values.

    `confidence` is the adversary's best chance; `breach` says that it is more than the policy allows.
    `details` holds counts and column names for reports; `values` what only `--show-values` prints.
    `not_tried` says which part of what such an adversary may know or do was left out, and how to try it.
    `certain` people's value of the last of the columns, a sensitive one, is learned beyond doubt.
    """

    attack: str
    adversary: str
    sentence: str
    confidence: Fraction
    people: int
    breach: bool
    columns: tuple[str, ...] = ()
    details: Mapping[str, int | Fraction | str] = field(default_factory=dict)
    values: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    not_tried: str = ""
    certain: int = 0

    @property
    def harm(self) -> tuple[bool, int, Fraction, Fraction]:
        """How bad it is: a breach, for how many people certain, how many a guess hits, how sure it is."""
        return self.breach, self.certain, self.people * self.confidence, self.confidence

    @property
    def word(self) -> str:
        """What the attack came to; it was withstood without more words only if all of it was tried."""
        if self.breach:
            return "BREACH"
        return WITHSTOOD_IN_PART if self.not_tried else WITHSTOOD

    @property
    def told(self) -> str:
        """The sentence, and what was not tried."""
        return f"{self.sentence}; not tried: {self.not_tried}" if self.not_tried else self.sentence


# How far an adversary may get: what promises say of attacks, as data that both sides can read.
#
# A promise states limits (`Promise.limits`); an attack looks for those that concern it. Neither knows the
# other, so a promise of one package limits an attack of another. A number has a *measure*, which the attack
# defines; what no number can say is a class of its own, derived from `AttackLimit`.

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

    `column` is the sensitive column that is concerned, `None` where the measure is about people; with
    `values`, nothing is said of what adversaries learn of its other values.
    """

    measure: AttackMeasure
    value: Fraction
    column: str | None = None
    values: tuple[str, ...] = ()


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
        stated = [b.value for b in self._bounds(measure) if b.column == column]
        if not stated:
            return measure.default, DEFAULT
        return (max(stated) if measure.at_least else min(stated)), PROMISED

    def over_columns(self, measure: AttackMeasure) -> Fraction:
        """Returns the strictest limit of a measure, whatever the column."""
        stated = [b.value for b in self._bounds(measure)] or [measure.default]
        return max(stated) if measure.at_least else min(stated)

    def _bounds(self, measure: AttackMeasure) -> Iterator[Bound]:
        """The bounds on a measure that concern every value."""
        return (bound for bound in self.of_kind(Bound) if bound.measure == measure and not bound.values)

    def of_values(self, measure: AttackMeasure, column: str) -> tuple[Bound, ...]:
        """Returns the bounds on a measure that concern some values of a column."""
        bounds = self.of_kind(Bound)
        return tuple(b for b in bounds if b.values and (b.measure, b.column) == (measure, column))

    def sought(self, column: str) -> tuple[str, ...] | None:
        """Returns the values of a column that promises protect, `None` where they protect all, or none."""
        bounds = [b for b in self.of_kind(Bound) if b.column == column]
        if not bounds or not all(b.values for b in bounds):
            return None
        return tuple(dict.fromkeys(value for bound in bounds for value in bound.values))

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


# Demands: what a promise asks, as plain data, so that a later policy can be seen to ask no less.


class Order(StrEnum):
    """How the values of one parameter compare; a parameter without an order has to stay as it is."""

    LARGER = "larger"
    """A larger number asks more; true asks more than false."""
    SMALLER = "smaller"
    """A smaller number asks more."""
    FREE = "free"
    """Whatever it is, what is promised of a published table is the same."""


@dataclass(frozen=True)
class PromiseStrength:
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
    values: tuple[str, ...] = ()
    """Fingerprints of the values that alone are protected; none where all of them are."""

    @classmethod
    def of_parameters(cls, name: str, kind: str | None, parameters: JsonMapping, sentence: str) -> Self:
        """Returns the strength of a promise whose parameters have no order: only equal ones will do."""
        return cls(name, kind, {"parameters": fingerprint(parameters)}, sentence=sentence)

    def covers(self, asked: PromiseStrength) -> bool:
        """Whether whoever keeps this one keeps the one that was asked.

        >>> five, two = (PromiseStrength("k-anonymity", at_least={"k": Fraction(k)}) for k in (5, 2))
        >>> five.covers(two), two.covers(five)
        (True, False)
        """
        if (self.promise, self.kind, dict(self.same)) != (asked.promise, asked.kind, dict(asked.same)):
            return False
        if self.values and not (asked.values and set(asked.values) <= set(self.values)):
            return False
        return _ordered(self.at_least, asked.at_least, larger=True) and _ordered(
            self.at_most, asked.at_most, larger=False
        )

    def as_dict(self) -> JsonObject:
        """Returns it as JSON."""
        return {
            "promise": self.promise,
            "kind": self.kind,
            "same": dict(self.same),
            "at_least": {name: str(number) for name, number in self.at_least.items()},
            "at_most": {name: str(number) for name, number in self.at_most.items()},
            "sentence": self.sentence,
            **({"values": list(self.values)} if self.values else {}),
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
            tuple(words.get("values", ())),
        )


def fingerprint(value: object) -> str:
    """Returns a digest of plain data: texts, numbers, truths, bytes, and collections of these.

    >>> fingerprint({"a": 1, "b": (2, None)}) == fingerprint({"b": [2, None], "a": 1})
    True
    """
    from hashlib import sha256  # noqa: PLC0415  # no call for help needs it

    return sha256(_plain_text(value).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def missing_strengths(
    stated: Iterable[Sequence[PromiseStrength]], wanted_strengths: Iterable[Sequence[PromiseStrength]]
) -> list[tuple[PromiseStrength, tuple[PromiseStrength, ...]]]:
    """Returns every strength that was asked for and that nothing given covers, with those that come nearest.

    A promise is a sequence: what it asks, then what follows from that.
    """
    offers = [tuple(strengths) for strengths in stated]
    every = [strength for strengths in offers for strength in strengths]
    lacking = []
    for strengths in wanted_strengths:
        wanted = strengths[0]
        if not any(strength.covers(wanted) for strength in every):
            near = tuple(o[0] for o in offers if (o[0].promise, o[0].kind) == (wanted.promise, wanted.kind))
            lacking.append((wanted, near))
    return lacking


def _ordered(stated: Mapping[str, Fraction], wanted: Mapping[str, Fraction], *, larger: bool) -> bool:
    """Whether every number that was asked is given, and on the right side."""
    if stated.keys() != wanted.keys():
        return False
    return all(stated[name] >= wanted[name] if larger else stated[name] <= wanted[name] for name in wanted)


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

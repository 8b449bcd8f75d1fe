"""Confidence bounding, alone and with a least class size: (alpha, k)-anonymity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from sfumato.models.contract import ClassPromise, Promise, Truth
from sfumato.models.parameters import (
    VALUES_KEY,
    ColumnParam,
    FractionParam,
    IntegerParam,
    Parameter,
    ValuePromise,
    ValueShares,
    histogram_of,
    largest_ratio,
    product_less,
    verdict,
)
from sfumato.models.registry import make, register
from sfumato.system.verdict import ABSENCE, CERTAINTY, RECOGNITION, Bound, Order, Verdict
from sfumato.table.classes import Classes
from sfumato.table.microdata import Counts


@register
@dataclass(frozen=True)
class ConfidenceBounding(ValuePromise, ClassPromise):
    """In no class can a sensitive value be guessed with more than the given confidence.

    The confidence is the share of the people who have the most frequent value, all its spellings together,
    whatever else they have, among those who have a value: an adversary may know that somebody does. To have
    none is a guess, too: missing cells, in whatever words, may be had by no larger share of all. With
    `values`, only these may not be guessed: a bound of their own each, by several promises of this kind.
    Source: Wang, Fung and Yu, *Handicapping attacker's confidence: an alternative to k-anonymization*, 2007,
    with one bound for all values, or a bound for some (their templates).
    Monotone: yes (the share in a union lies between the shares). Hereditary: no. Evidence: the published
    table. Does not promise: a least number of people or of values.

    >>> from sfumato.table.classes import histogram
    >>> from sfumato.table.taxonomy import Taxonomy
    >>> disease = Taxonomy.flat(["cold", "flu"])
    >>> one = histogram(disease, np.array([0, 0]), np.array([0, 1]), np.array([2, 1]), 1)
    >>> classes = Classes(one.totals, one.totals, {"disease": one})
    >>> [bool(ConfidenceBounding("disease", c).holds_on(classes)[0]) for c in ("2/3", "3/5")]
    [True, False]
    """

    of: str
    confidence: Fraction
    values: tuple[str, ...] | None = None

    plain: ClassVar[str] = (
        "Nobody's value of {of} can be guessed with a confidence of more than {confidence}."
    )
    plain_of_values: ClassVar[str] = (
        "Nobody can be said to have {values} of {of} with a confidence of more than {confidence}."
    )
    silent_on: ClassVar[str] = "It asks for no least number of people who look alike."
    bounds_every_value: ClassVar[bool] = True
    name: ClassVar[str] = "confidence-bounding"
    monotone: ClassVar[bool] = True
    cone: ClassVar[bool] = True
    known_alone: ClassVar[bool] = True
    threats: ClassVar[tuple[str, ...]] = ("homogeneity",)
    keys: ClassVar[tuple[Parameter, ...]] = (
        ColumnParam("of", meaning="The sensitive column that is protected."),
        FractionParam(
            "confidence",
            high=Fraction(1),
            strict=True,
            meaning="No value may be had by a larger share of those in a class who have one.",
        ),
        VALUES_KEY,
    )
    orders: ClassVar[Mapping[str, Order]] = {"confidence": Order.SMALLER}

    @property
    def protects(self) -> bool:
        return self.confidence < 1

    def limits(self) -> tuple[Bound, ...]:
        return _limits(self.of, self.confidence, self.values)

    def holds_on(self, classes: Classes) -> Truth:
        return _judged(classes, self.of, self.confidence, self.values)[0]

    def verdict(self, classes: Classes) -> Verdict:
        truth, worst, measured = _judged(classes, self.of, self.confidence, self.values)
        return verdict(self, classes, truth, limit=self.confidence, worst=worst, measured=measured)

    def __str__(self) -> str:
        return f"confidence bounding of {self.of_what}, at most {self.confidence}"


@register
@dataclass(frozen=True)
class AlphaKAnonymity(ValuePromise, ClassPromise):
    """Every class has at least k people, and no value is held by more than a share alpha of them.

    That is a share of those who have a value, and of all where the value is missing: `ConfidenceBounding`.

    Source: Wong, Li, Fu and Wang, *(alpha, k)-anonymity: an enhanced k-anonymity model for privacy-preserving
    data publishing*, 2006, for all values (the general model), or for those in `values`.
    Monotone: yes. Hereditary: no. Evidence: the published table. The verdict measures the largest share.
    Does not promise: that a class looks like the table as a whole.
    """

    of: str
    alpha: Fraction
    k: int
    values: tuple[str, ...] | None = None

    plain: ClassVar[str] = (
        "At least {k} people look alike, and at most a share of {alpha} of them has the same value of {of}."
    )
    plain_of_values: ClassVar[str] = (
        "At least {k} people look alike, and at most a share of {alpha} of them has {values} of {of}."
    )
    silent_on: ClassVar[str] = "People who look alike may differ much from the table as a whole."
    bounds_every_value: ClassVar[bool] = True
    name: ClassVar[str] = "alpha-k-anonymity"
    monotone: ClassVar[bool] = True
    cone: ClassVar[bool] = True
    known_alone: ClassVar[bool] = True
    threats: ClassVar[tuple[str, ...]] = ("homogeneity", "linkage")
    keys: ClassVar[tuple[Parameter, ...]] = (
        ColumnParam("of", meaning="The sensitive column that is protected."),
        FractionParam(
            "alpha",
            high=Fraction(1),
            strict=True,
            meaning="No value may be had by a larger share of those in a class who have one.",
        ),
        IntegerParam("k", meaning="At least so many people in every class."),
        VALUES_KEY,
    )
    orders: ClassVar[Mapping[str, Order]] = {"alpha": Order.SMALLER, "k": Order.LARGER}

    def implied(self) -> tuple[Promise, ...]:
        """Both halves of it."""
        return make("k-anonymity", {"k": self.k}), ConfidenceBounding(self.of, self.alpha, self.values)

    @property
    def protects(self) -> bool:
        return self.alpha < 1

    @property
    def least_people(self) -> int:
        return self.k

    def limits(self) -> tuple[Bound, ...]:
        return (*_limits(self.of, self.alpha, self.values), Bound(RECOGNITION, Fraction(1, self.k)))

    def holds_on(self, classes: Classes) -> Truth:
        large: Truth = classes.people >= self.k
        return large & _judged(classes, self.of, self.alpha, self.values)[0]

    def verdict(self, classes: Classes) -> Verdict:
        within, worst, measured = _judged(classes, self.of, self.alpha, self.values)
        small, reason = classes.people < self.k, ""
        truth = within & ~small
        if small.any():
            worst, reason = int(classes.people.argmin()), f"a class has fewer than {self.k} people"
        return verdict(self, classes, truth, limit=self.alpha, worst=worst, measured=measured, reason=reason)

    def __str__(self) -> str:
        return f"(alpha, k)-anonymity of {self.of_what}, alpha = {self.alpha}, k = {self.k}"


def _limits(column: str, share: Fraction, values: tuple[str, ...] | None) -> tuple[Bound, ...]:
    if values is not None:
        return (Bound(CERTAINTY, share, column, values),)
    return Bound(CERTAINTY, share, column), Bound(ABSENCE, share, column)


def _judged(
    classes: Classes, column: str, share: Fraction, values: tuple[str, ...] | None
) -> tuple[Truth, int | None, Fraction | None]:
    """Which classes allow no guess beyond this share, where the best guess is, and how sure it is."""
    if values is None:
        guesses = Guesses.of(classes, column)
        return guesses.within(share), *guesses.best()
    shares = ValueShares.of(classes, column, values)
    return shares.within(lambda _: share), *shares.worst(lambda _: Fraction(0))


@dataclass(frozen=True, eq=False)
class Guesses:
    """How many people of each class have its most frequent value, and how many have any.

    Somebody who has several values is counted with each of them, and once among all; somebody who has several
    spellings of one value with each of these, which is more than there are, and errs on the safe side. So it
    does to count somebody who has a value in one row and none in another among those without.
    """

    most: Counts
    known: Counts
    missing: Counts | None
    people: Counts

    @classmethod
    def of(cls, classes: Classes, column: str) -> Self:
        """Returns the counts of these classes; `missing` is `None` where the column has no such cell."""
        whole = histogram_of(classes, column)
        meant = whole.taxonomy.meanings
        with_value = whole.by_meaning(missing=False)
        most = np.zeros(len(classes), np.int64)
        np.maximum.at(most, with_value.owner, with_value.counts)
        if not (meant < 0).any():
            return cls(most, classes.people, None, classes.people)
        unknown = meant[whole.values] < 0
        missing = np.zeros(len(classes), np.int64)
        np.add.at(missing, whole.owner[unknown], whole.counts[unknown])
        return cls(most, np.maximum(classes.people - missing, np.maximum(most, 1)), missing, classes.people)

    def within(self, limit: Fraction) -> Truth:
        """Whether neither a value nor having none is guessed with more than this confidence, exactly."""
        values_within = _shares_within(self.most, self.known, limit)
        return (
            values_within
            if self.missing is None
            else values_within & _shares_within(self.missing, self.people, limit)
        )

    def best(self) -> tuple[int, Fraction] | tuple[None, None]:
        """The class with the most confident guess, and its confidence; `None` where there are no classes."""
        if not len(self.people):
            return None, None
        if self.missing is None:
            return largest_ratio(self.most, self.known)
        place, share = largest_ratio(
            np.concatenate((self.most, self.missing)), np.concatenate((self.known, self.people))
        )
        return place % len(self.people), share


def _shares_within(most: Counts, everybody: Counts, limit: Fraction) -> Truth:
    """Whether most / everybody <= limit."""
    return ~product_less(everybody, limit.numerator, most, limit.denominator)

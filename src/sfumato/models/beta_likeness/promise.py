"""β-likeness, basic and enhanced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.models.contract import Promise, RelativePromise, Truth
from sfumato.models.parameters import (
    BESIDE,
    ColumnParam,
    FractionParam,
    Parameter,
    ParametrizedPromise,
    ReferenceDistribution,
    ReferenceFile,
    histogram_of,
    verdict,
)
from sfumato.models.registry import register
from sfumato.system.verdict import Evidence, Measure, Order, Verdict
from sfumato.table.classes import Classes, GainLimit, gain_of


@dataclass(frozen=True)
class _BetaLikeness(ParametrizedPromise, RelativePromise):
    """What both kinds have in common."""

    of: str
    beta: Fraction
    reference: ReferenceDistribution | None = None

    name: ClassVar[str] = "beta-likeness"
    monotone: ClassVar[bool] = True
    cone: ClassVar[bool] = True
    known_alone: ClassVar[bool] = True
    threats: ClassVar[tuple[str, ...]] = ("gain",)
    keys: ClassVar[tuple[Parameter, ...]] = (
        ColumnParam("of", meaning="The sensitive column that is protected."),
        FractionParam(
            "beta", strict=True, meaning="By how much a value may be likelier in a class than in the table."
        ),
        ReferenceFile(
            "reference",
            meaning="Counts of a fixed population whose shares are what is known before, or a file of them;"
            " else those of the published table.",
        ),
    )
    orders: ClassVar[Mapping[str, Order]] = {"beta": Order.SMALLER}

    @property
    def evidence(self) -> Evidence:
        return Evidence.PUBLISHED if self.reference is None else Evidence.REFERENCE

    @property
    def relative(self) -> bool:
        return self.reference is None

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The reference, if it stands in a file."""
        if self.reference is None or self.reference.file is None:
            return ()
        return ((self.reference.file, self.reference.digest),)

    @property
    def _limit(self) -> GainLimit:
        return GainLimit(self.of, self.beta, enhanced=self.kind == "enhanced", reference=self.reference)

    def limits(self) -> tuple[GainLimit, ...]:
        return (self._limit,)

    def holds_on(self, classes: Classes) -> Truth:
        truth: Truth = np.ones(len(classes), dtype=bool)
        for h in self._limit.readings(histogram_of(classes, self.of)):
            within, _ = self._limit.judge(h)
            truth[h.owner[~within]] = False
        return truth

    def verdict(self, classes: Classes) -> Verdict:
        truth = self.holds_on(classes)
        worst: int | None = None
        measured: Measure | None = None
        limit: Measure = self.beta
        worst_entry = self._limit.worst_of(self._limit.readings(histogram_of(classes, self.of)))
        if worst_entry is not None:
            h, entry = worst_entry
            worst, holders = int(h.owner[entry]), int(h.overall[h.values[entry]])
            if holders:
                everyone = h.everyone
                gain = gain_of(int(h.counts[entry]), int(h.totals[worst]), holders, everyone)
                measured, limit = max(gain, Fraction(0)), self._limit.most(holders, everyone)
        beside = "table" if self.reference is None else "reference"
        lacking = f"a class holds a value that the {beside} lacks"
        reason = "" if measured is not None or worst is None else lacking
        return verdict(self, classes, truth, limit=limit, worst=worst, measured=measured, reason=reason)

    def __str__(self) -> str:
        beside = "" if self.reference is None else BESIDE
        return f"{self.kind} beta-likeness of {self.of}, beta = {self.beta}{beside}"


@register
@dataclass(frozen=True)
class EnhancedBetaLikeness(_BetaLikeness):
    """In no class does the belief in a value grow by more than min(beta, -ln p) times what it was, p.

    For a value with the share p in the published table (in the `reference`, if there is one) and q > p in a
    class, (q - p) / p may be at most `beta`, and at most -ln p: what most people have cannot become certain
    for anybody either, however large beta is. Values that a class makes less likely are not limited; one that
    the reference lacks may not occur. The verdict measures the gain of the value that uses up most of what it
    may gain, and names what that one may gain. Where spellings of a value count as one, it is asked of texts
    and of values; where cells are missing, also of those who have a value.
    Source: Cao and Karras, *Publishing microdata with a robust privacy guarantee*, 2012 (Definition 3).
    Monotone: yes (the share in a union lies between the shares). Hereditary: no. Evidence: the published
    table, or the published table and the reference. Does not promise: a least number of people (combine with
    k-anonymity), nor anything against somebody who believes something else than these shares beforehand; rare
    values may vanish from a class. Where one person has several rows, each counts once per value and class; a
    union of classes then is no sum, and the claim to be monotone is not covered.

    >>> from sfumato.table.classes import histogram
    >>> from sfumato.table.taxonomy import Taxonomy
    >>> disease = Taxonomy.flat(["cold", "flu"])
    >>> two = histogram(disease, np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([3, 1, 4]), 2)
    >>> classes = Classes(two.totals, two.totals, {"disease": two})
    >>> [bool(EnhancedBetaLikeness("disease", b).holds_on(classes).all()) for b in (1, 2)]
    [False, False]
    """

    plain: ClassVar[str] = (
        "No value of {of} becomes likelier for somebody by more than {beta} times its share of the "
        "table, a frequent one by less."
    )
    silent_on: ClassVar[str] = "It asks for no least number of people who look alike."
    kind: ClassVar[str | None] = "enhanced"

    def implied(self) -> tuple[Promise, ...]:
        """The basic kind is one of its two limits."""
        return (BasicBetaLikeness(self.of, self.beta, self.reference),)


@register
@dataclass(frozen=True)
class BasicBetaLikeness(_BetaLikeness):
    """In no class does the belief in a value grow by more than beta times what it was.

    For a value with the share p in the published table and q > p in a class, (q - p) / p may be at most
    `beta`. A value that more than one in 1 + beta have may become certain; `EnhancedBetaLikeness` limits it,
    too. Everything else is as said there.
    Source: Cao and Karras, *Publishing microdata with a robust privacy guarantee*, 2012 (Definition 2).

    >>> from sfumato.table.classes import histogram
    >>> from sfumato.table.taxonomy import Taxonomy
    >>> disease = Taxonomy.flat(["cold", "flu"])
    >>> two = histogram(disease, np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([3, 1, 4]), 2)
    >>> classes = Classes(two.totals, two.totals, {"disease": two})
    >>> BasicBetaLikeness("disease", 1).verdict(classes).measured
    Fraction(1, 1)
    """

    plain: ClassVar[str] = (
        "No value of {of} becomes likelier for somebody by more than {beta} times its share of the table."
    )
    silent_on: ClassVar[str] = (
        "It asks for no least number of people who look alike; a frequent value may become certain."
    )
    kind: ClassVar[str | None] = "basic"

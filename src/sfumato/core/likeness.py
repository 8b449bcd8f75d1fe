"""Likeness: how much likelier a value may become for the people of a class than it is for everybody.

The relative gain of a value with the share p in the whole table and q in a class is (q - p) / p. What it is
compared with is a rational number or -ln p; both comparisons are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from math import log1p, nextafter

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Histogram
from sfumato.core.limits import AttackLimit
from sfumato.core.verdict import Measure

DOUBT = 1e-12
"""Far more than a few products and quotients of whole numbers lose in floating point, relative to them."""

Truth = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GainLimit(AttackLimit):
    """No value of the column gains more than `beta`; `enhanced`: nor more than -ln of its share p."""

    column: str
    beta: Fraction
    enhanced: bool

    def allows(self, gain: Fraction, held: int, everyone: int) -> bool:
        """Whether a value that `held` of `everyone` have may gain so much, exactly."""
        if gain <= 0:
            return True
        return gain <= self.beta and (not self.enhanced or is_below_log(gain, everyone, held))

    def most(self, held: int, everyone: int) -> Measure:
        """How much a value that so many have may gain: exact where it is `beta`, else rounded down."""
        if not self.enhanced or is_below_log(self.beta, everyone, held):
            return self.beta
        near = Fraction(log1p((everyone - held) / held))
        while near > 0 and not is_below_log(near, everyone, held):
            near = Fraction(nextafter(float(near), 0))
        return float(near)

    def judge(self, h: Histogram) -> tuple[Truth, Floats]:
        """Per entry of a histogram: whether its value gains no more than it may, exactly; and the share of
        what it may gain that it uses up, rounded (infinite where the whole table lacks the value)."""
        everyone, size = int(h.overall.sum()), h.totals[h.owner]
        held = h.overall[h.values]
        there = held > 0
        ratio = np.full(len(h.counts), np.inf)
        np.divide(h.counts * float(everyone), size * held.astype(float), out=ratio, where=there)
        allowed = np.full(len(h.counts), float(self.beta))
        if self.enhanced:
            logs = np.log(float(max(everyone, 1))) - np.log(np.maximum(held, 1).astype(float))
            allowed = np.minimum(allowed, logs)
        kept: Truth = ratio <= 1 + allowed
        settled: dict[tuple[int, int, int], bool] = {}
        for i in np.flatnonzero(there & (abs(ratio - 1 - allowed) <= DOUBT * (2 + allowed))).tolist():
            case = (int(h.counts[i]), int(size[i]), int(held[i]))
            if case not in settled:
                settled[case] = self.allows(gain_of(*case, everyone), case[2], everyone)
            kept[i] = settled[case]
        gain = np.maximum(ratio - 1, 0)
        used = np.divide(gain, allowed, out=np.where(gain > 0, np.inf, 0.0), where=allowed > 0)
        return kept, used

    def worst_of(self, readings: Sequence[Histogram]) -> tuple[Histogram, int] | None:
        """The entry that uses up most of what it may gain, among those that gain too much if there are such:
        its histogram and place; `None` if there are no entries."""
        found: tuple[bool, float, Histogram, int] | None = None
        for h in readings:
            kept, used = self.judge(h)
            if len(used):
                entry = int(np.where(kept.all() | ~kept, used, -1.0).argmax())
                here = (not kept[entry], float(used[entry]), h, entry)
                found = here if found is None or here[:2] > found[:2] else found
        return None if found is None else found[2:]


def readings_of(h: Histogram) -> tuple[Histogram, ...]:
    """Returns a histogram by texts, by values where spellings of one count as one, and of known values alone.

    Values hold more people than their spellings, so they gain no more than one of these does; but what is
    common may gain less (-ln p). Of somebody who is known to have a value another thing is believed, before
    and after. So the limit must be kept in every reading.
    """
    folded, known = h.by_meaning(missing=True), h.by_meaning(missing=False)
    readings = (h,) if folded is h else (h, folded)
    return (*readings, known) if (h.taxonomy.meanings < 0).any() else readings


def gain_of(count: int, size: int, held: int, everyone: int) -> Fraction:
    """The relative gain of a value: `count` of a class of `size` have it, and `held` of `everyone`.

    >>> gain_of(1, 2, 1, 10)
    Fraction(4, 1)
    """
    return Fraction(count * everyone, size * held) - 1


def is_below_log(number: Fraction, above: int, below: int) -> bool:
    """Whether a positive number is at most ln(above / below), for whole numbers above >= below >= 1.

    e to a rational number other than 0 is transcendental (Lindemann), so the two are never equal: logarithms
    of growing precision, each correctly rounded, tell them apart.

    >>> is_below_log(Fraction(693147, 1000000), 2, 1), is_below_log(Fraction(693148, 1000000), 2, 1)
    (True, False)
    """
    digits = 40
    while True:
        context = Context(prec=digits)
        one, other = context.ln(Decimal(above)), context.ln(Decimal(below))
        error = sum(Fraction(10) ** (part.adjusted() + 1 - digits) for part in (one, other) if part)
        apart = number - (Fraction(one) - Fraction(other))
        if abs(apart) > error:
            return apart < 0
        digits *= 2

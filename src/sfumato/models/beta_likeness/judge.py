"""The second judge of β-likeness: shares compared as quotients, e to a gain through its own series."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log1p, nextafter

import numpy as np
from numpy.typing import NDArray

from sfumato.system.verdict import Measure, Verdict
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.registry import second_judge, verdict
from sfumato.verify.tally import Tally, ValueCounts

UNSURE = 1e-9
"""Gains nearer to what is allowed than this, relatively, are compared exactly."""


@second_judge("beta-likeness", "enhanced")
@second_judge("beta-likeness", "basic")
def beta_likeness(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no value of a class gains more than beta or, if enhanced, -ln of its share.

    Shares are those of the published table, or of the reference.

    Where spellings count as one value it is asked of the texts, and again of the values; where some
    people have no value, a third time of the others.
    """
    spread = tally.spreads[promise.of]
    missing = bool(tally.whole(promise.of)[spread.meant < 0].any())  # whatever the reference says
    whole, outside = tally.expected(promise.of, promise.reference)
    values = np.zeros(len(whole) + 1, dtype=np.int64)
    np.add.at(values, spread.meant + 1, whole)
    folded = spread.by_meaning(missing=True)
    gains = [
        _gains(tally, promise, spread, whole, outside),
        _gains(tally, promise, folded, values, outside),
    ]
    if missing:
        values[0] = 0
        gains.append(_gains(tally, promise, spread.by_meaning(missing=False), values, outside))
    broken = np.any([reading.broken for reading in gains], axis=0)
    worst = max(gains, key=lambda reading: (reading.broken.any(), reading.used))
    return verdict(promise, tally, broken, measured=worst.gain, limit=worst.limit)


@dataclass(frozen=True)
class _Gains:
    """Which classes make a value too likely, and the largest part of what is allowed that is used up."""

    broken: NDArray[np.bool_]
    used: float
    gain: Fraction | None
    limit: Measure


def _gains(
    tally: Tally, promise: PromiseData, spread: ValueCounts, whole: NDArray[np.int64], outside: int
) -> _Gains:
    classes, beta, enhanced = len(tally.people), Fraction(promise.beta), promise.kind == "enhanced"
    size = _sums(spread.owner, spread.count, classes)[spread.owner]
    holders, everyone = whole[spread.value], int(whole.sum()) + outside
    bound = np.full(len(holders), float(beta))
    with np.errstate(divide="ignore"):  # nobody of a reference has the value: it grows without bound
        growth = (spread.count / size) / (holders / max(everyone, 1)) - 1
        if enhanced:
            bound = np.minimum(bound, -np.log(holders / max(everyone, 1)))
    over = growth > bound
    for i in np.flatnonzero(abs(growth - bound) <= UNSURE * (1 + bound)).tolist():
        gain = Fraction(int(spread.count[i]) * everyone, int(size[i]) * int(holders[i])) - 1
        rarity = Fraction(everyone, int(holders[i]))
        over[i] = gain > beta or (enhanced and gain > 0 and _grows_beyond(gain, rarity))
    broken = np.zeros(classes, dtype=bool)
    broken[spread.owner[over]] = True
    if not len(growth):
        return _Gains(broken, 0.0, None, beta)
    used = np.divide(growth, bound, out=np.zeros(len(growth)), where=bound > 0)
    worst = int(np.where(over | ~over.any(), used, -np.inf).argmax())
    if not holders[worst]:
        return _Gains(broken, inf, None, beta)
    gain = Fraction(int(spread.count[worst]) * everyone, int(size[worst]) * int(holders[worst])) - 1
    limit = _stated(beta, enhanced, Fraction(everyone, int(holders[worst])))
    return _Gains(broken, float(used[worst]), max(gain, Fraction(0)), limit)


def _sums(place: NDArray[np.int64], count: NDArray[np.int64], places: int) -> NDArray[np.int64]:
    sums = np.zeros(places, dtype=np.int64)
    np.add.at(sums, place, count)
    return sums


def _stated(beta: Fraction, enhanced: bool, rarity: Fraction) -> Measure:
    """Returns beta or ln of the rarity, whichever is less; the latter rounded down."""
    if not enhanced or not _grows_beyond(beta, rarity):
        return beta
    near = log1p(rarity - 1)
    while near > 0 and _grows_beyond(Fraction(near), rarity):
        near = nextafter(near, 0)
    return near


def _grows_beyond(exponent: Fraction, ratio: Fraction) -> bool:
    """Returns whether e to a positive exponent is more than a ratio; they are never equal.

    A partial sum of the series is less than e to the exponent. What is left out is less than a geometric
    series, once the terms fall.
    """
    term = total = Fraction(1)
    number = 0
    while True:
        number += 1
        term *= exponent / number
        total += term
        if total >= ratio:
            return True
        quotient = exponent / (number + 2)
        if quotient < 1 and total + term * exponent / (number + 1) / (1 - quotient) <= ratio:
            return False

"""The second judge of distinct l-diversity."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import log, nextafter

import numpy as np
from numpy.typing import NDArray

from sfumato.system.verdict import Measure, Verdict
from sfumato.verify.cells import greatest, over, sign_of_entropy_margin
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.registry import beyond_shares, second_judge, verdict
from sfumato.verify.tally import Tally, ValueCounts


@second_judge("l-diversity", "distinct")
def distinct_l_diversity(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no class has fewer than l values, or more than one in l with one of those named."""
    if promise.get("values"):
        most = Fraction(1, promise.l)
        broken, place, share = beyond_shares(tally, promise, lambda _: most, lambda _: Fraction(0))
        return verdict(promise, tally, broken, measured=share, limit=most, worst=place)
    with_value = tally.spreads[promise.of].by_meaning(missing=False)
    values = np.bincount(with_value.owner, minlength=len(tally.people))
    worst = int(values.argmin()) if len(values) else None
    fewest = None if worst is None else int(values[worst])
    return verdict(promise, tally, values < promise.l, measured=fewest, limit=promise.l, worst=worst)


# The second judge of entropy l-diversity.

UNSURE = 1e-9
"""Entropies nearer to each other, or to log l, than this are compared exactly."""
DIGITS = 60


@second_judge("l-diversity", "entropy")
def entropy_l_diversity(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no class has values with an entropy below log l."""
    spread, wanted = tally.spreads[promise.of].by_meaning(missing=False), Fraction(promise.l)
    entropy = _entropies(spread, len(tally.people))
    broken = entropy < log(wanted)
    settled: dict[tuple[int, ...], bool] = {}
    for place in np.flatnonzero(abs(entropy - log(wanted)) <= UNSURE).tolist():
        counts = _counts_of(spread, place)
        if not counts:
            continue
        if counts not in settled:
            settled[counts] = sign_of_entropy_margin(counts, wanted) < 0
        broken[place] = settled[counts]
    if not len(entropy):
        return verdict(promise, tally, broken, measured=None, limit=wanted)
    void = np.bincount(spread.owner, minlength=len(entropy)) == 0
    if void.any():
        return verdict(promise, tally, broken | void, measured=0, limit=wanted, worst=int(void.argmax()))
    worst, measured = _lowest(spread, entropy)
    if not broken[worst] and measured < wanted:
        measured = wanted  # exactly l, rounded down
    return verdict(promise, tally, broken, measured=measured, limit=wanted, worst=worst)


def _entropies(spread: ValueCounts, classes: int) -> NDArray[np.float64]:
    totals = np.bincount(spread.owner, weights=spread.count, minlength=classes)
    share = spread.count / totals[spread.owner]
    sums = np.bincount(spread.owner, weights=-share * np.log(share), minlength=classes)
    return sums.astype(np.float64)


def _lowest(spread: ValueCounts, entropy: NDArray[np.float64]) -> tuple[int, Measure]:
    """Returns the class with the lowest entropy, as a number of equally frequent values, rounded down."""
    near: dict[tuple[int, ...], int] = {}
    for place in np.flatnonzero(entropy <= entropy.min() + UNSURE).tolist():
        near.setdefault(_counts_of(spread, place), place)
    effective = {counts: _effective(counts) for counts in near}
    least = min(effective.values())
    counts = min((c for c, number in effective.items() if number == least), key=near.__getitem__)
    if len(set(counts)) == 1:
        return near[counts], len(counts)
    with localcontext(prec=DIGITS):
        low = least * (1 - Decimal("1e-40"))
    rounded = float(low)
    return near[counts], rounded if Decimal(rounded) <= low else nextafter(rounded, 0)


def _effective(counts: tuple[int, ...]) -> Decimal:
    """Returns e to the entropy, to some forty digits."""
    if len(set(counts)) == 1:
        return Decimal(len(counts))
    everyone = sum(counts)
    with localcontext(prec=DIGITS):
        spent = sum((count * Decimal(count).ln() for count in counts), Decimal(0))
        return everyone / (spent / everyone).exp()


def _counts_of(spread: ValueCounts, place: int) -> tuple[int, ...]:
    start, stop = np.searchsorted(spread.owner, (place, place + 1))
    return tuple(sorted(map(int, spread.count[start:stop])))


# The second judge of recursive (c, l)-diversity.


@second_judge("l-diversity", "recursive")
def recursive_l_diversity(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no class has r1 >= c * (rl + ... + rm), the counts of its values in falling order."""
    spread, classes = tally.spreads[promise.of].by_meaning(missing=False), len(tally.people)
    order = np.lexsort((-spread.count, spread.owner))
    owner, count = spread.owner[order], spread.count[order]
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    most, tail = np.zeros(classes, dtype=np.int64), np.zeros(classes, dtype=np.int64)
    most[owner[place == 0]] = count[place == 0]
    late = place >= promise.l - 1
    np.add.at(tail, owner[late], count[late])
    poor = tail == 0
    broken = poor.copy()
    broken[~poor] |= ~over(tail[~poor], most[~poor], 1 / Fraction(promise.c))
    limit = Fraction(promise.c)
    if poor.any():
        few, first = f"a class has fewer than {promise.l} different values", int(poor.argmax())
        return verdict(promise, tally, broken, measured=None, limit=limit, worst=first, reason=few)
    worst, measured = greatest(most, tail)
    return verdict(promise, tally, broken, measured=measured, limit=limit, worst=worst)

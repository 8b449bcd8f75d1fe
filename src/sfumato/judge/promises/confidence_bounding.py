"""The second judges of confidence bounding and of (α, k)-anonymity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.verdict import Verdict
from sfumato.judge.exact_numbers import greatest, over
from sfumato.judge.policy_data import PromiseData
from sfumato.judge.registry import second_judge, verdict
from sfumato.judge.tables.tally import Tally, ValueCounts


@second_judge("confidence-bounding")
def confidence_bounding(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether in no class one value has more than this share."""
    most, everybody = _commonest(tally.spreads[promise.of], len(tally.people)), tally.people
    limit = Fraction(promise.confidence)
    worst, measured = greatest(most, everybody)
    return verdict(promise, tally, over(most, everybody, limit), measured=measured, limit=limit, worst=worst)


@second_judge("alpha-k-anonymity")
def alpha_k_anonymity(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether every class has k people, and no value of it more than the share alpha."""
    most, everybody = _commonest(tally.spreads[promise.of], len(tally.people)), tally.people
    limit = Fraction(promise.alpha)
    small = tally.people < promise.k
    broken = over(most, everybody, limit) | small
    worst, measured = greatest(most, everybody)
    reason = ""
    if small.any():
        worst, reason = int(tally.people.argmin()), f"a class has fewer than {promise.k} people"
    return verdict(promise, tally, broken, measured=measured, limit=limit, worst=worst, reason=reason)


def _commonest(spread: ValueCounts, classes: int) -> NDArray[np.int64]:
    """Returns how many people have the commonest value of every class; some may have others besides."""
    spread = spread.by_meaning(missing=True)
    most = np.zeros(classes, np.int64)
    np.maximum.at(most, spread.owner, spread.count)
    return most

"""The second judges of confidence bounding and of (α, k)-anonymity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.system.verdict import Verdict
from sfumato.verify.cells import greatest, over
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.registry import beyond_shares, second_judge, verdict
from sfumato.verify.tally import Tally


@second_judge("confidence-bounding")
def confidence_bounding(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether in no class one value has more than this share, or a cell without one."""
    limit = Fraction(promise.confidence)
    broken, worst, measured = _beyond(tally, promise, limit)
    return verdict(promise, tally, broken, measured=measured, limit=limit, worst=worst)


@second_judge("alpha-k-anonymity")
def alpha_k_anonymity(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether every class has k people, and no value of it more than the share alpha."""
    limit = Fraction(promise.alpha)
    small = tally.people < promise.k
    broken, worst, measured = _beyond(tally, promise, limit)
    reason = ""
    if small.any():
        worst, reason = int(tally.people.argmin()), f"a class has fewer than {promise.k} people"
    return verdict(promise, tally, broken | small, measured=measured, limit=limit, worst=worst, reason=reason)


def _beyond(
    tally: Tally, promise: PromiseData, limit: Fraction
) -> tuple[NDArray[np.bool_], int | None, Fraction | None]:
    """Returns which classes have a share beyond the limit, and the class with the largest share.

    A class is asked twice: of its people with a value, how many have the commonest one; of all its people,
    how many have an empty cell. Who has both counts as one without a value. Where the promise names values,
    it is asked how many have each of these, and nothing else.
    """
    if promise.get("values"):
        return beyond_shares(tally, promise, lambda _: limit, lambda _: Fraction(0))
    spread, people = tally.spreads[promise.of], tally.people
    with_value = spread.by_meaning(missing=False)
    above = np.zeros((2, len(people)), dtype=np.int64)
    np.maximum.at(above[0], with_value.owner, with_value.count)
    void = spread.meant[spread.value] < 0
    np.add.at(above[1], spread.owner[void], spread.count[void])
    below = np.stack((np.maximum(people - above[1], above[0]), people))
    below[below == 0] = 1  # nobody of the class has a value
    alike, empty = over(above.ravel(), below.ravel(), limit).reshape(2, -1)
    worst, measured = greatest(above.ravel(), below.ravel())
    return alike | empty, None if worst is None else worst % len(people), measured

"""The second judge of recursive (c, l)-diversity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato.core.verdict import Verdict
from sfumato.judge.exact_numbers import greatest, over
from sfumato.judge.policy_data import PromiseData
from sfumato.judge.registry import second_judge, verdict
from sfumato.judge.tables.tally import Tally


@second_judge("l-diversity", "recursive")
def recursive_l_diversity(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no class has r1 >= c * (rl + ... + rm), the counts of its values in falling order."""
    spread, classes = tally.spreads[promise.of].by_meaning(missing=False), len(tally.people)
    order = np.lexsort((-spread.count, spread.owner))
    owner, count = spread.owner[order], spread.count[order]
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    most, rest = np.zeros(classes, dtype=np.int64), np.zeros(classes, dtype=np.int64)
    most[owner[place == 0]] = count[place == 0]
    late = place >= promise.l - 1
    np.add.at(rest, owner[late], count[late])
    poor = rest == 0
    broken = poor.copy()
    broken[~poor] |= ~over(rest[~poor], most[~poor], 1 / Fraction(promise.c))
    limit = Fraction(promise.c)
    if poor.any():
        few, first = f"a class has fewer than {promise.l} different values", int(poor.argmax())
        return verdict(promise, tally, broken, measured=None, limit=limit, worst=first, reason=few)
    worst, measured = greatest(most, rest)
    return verdict(promise, tally, broken, measured=measured, limit=limit, worst=worst)

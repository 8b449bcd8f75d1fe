"""The second judge of distinct l-diversity."""

from __future__ import annotations

import numpy as np

from sfumato.core.verdict import Verdict
from sfumato.judge.policy_data import PromiseData
from sfumato.judge.registry import second_judge, verdict
from sfumato.judge.tables.tally import Tally


@second_judge("l-diversity", "distinct")
def distinct_l_diversity(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no class has fewer than l values."""
    known = tally.spreads[promise.of].by_meaning(missing=False)
    values = np.bincount(known.owner, minlength=len(tally.people))
    worst = int(values.argmin()) if len(values) else None
    fewest = None if worst is None else int(values[worst])
    return verdict(promise, tally, values < promise.l, measured=fewest, limit=promise.l, worst=worst)

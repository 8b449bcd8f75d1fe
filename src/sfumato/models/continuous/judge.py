"""The second judge of continuous publishing, as far as one file goes; a chain is judged by `judge/chain`."""

from __future__ import annotations

from dataclasses import replace

from sfumato.system.verdict import Verdict
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.registry import people_verdict, second_judge
from sfumato.verify.tally import Tally


@second_judge("continuous")
def continuous(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether every class has k people; beside earlier releases that is not enough to know."""
    alone = people_verdict(tally, promise)
    if not promise.earlier or alone.holds is False:
        return alone
    beside = f"not decidable from this file: {promise.earlier} earlier releases count, too"
    return replace(alone, holds=None, measured=None, worst=None, reason=beside)

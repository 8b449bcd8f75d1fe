"""The second judge of k-anonymity."""

from __future__ import annotations

from sfumato.system.verdict import Verdict
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.registry import people_verdict, second_judge
from sfumato.verify.tally import Tally


@second_judge("k-anonymity")
def k_anonymity(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no class has fewer than k people."""
    return people_verdict(tally, promise)

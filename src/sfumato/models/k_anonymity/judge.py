"""The second judge of k-anonymity."""

from __future__ import annotations

from sfumato.system.verdict import Verdict
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.registry import second_judge, verdict
from sfumato.verify.tally import Tally


@second_judge("k-anonymity")
def k_anonymity(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no class has fewer than k people."""
    worst = int(tally.people.argmin()) if len(tally.people) else None
    smallest = None if worst is None else int(tally.people[worst])
    return verdict(promise, tally, tally.people < promise.k, measured=smallest, limit=promise.k, worst=worst)

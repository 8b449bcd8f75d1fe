"""Judging what was written: by a second implementation, from the bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.declare.policy import Policy
from sfumato.engine import open_source
from sfumato.journey.meaning import limit_of
from sfumato.protect.plan import Plan
from sfumato.release.recheck import recheck
from sfumato.terms.errors import BrokenPromise
from sfumato.terms.progress import Progress
from sfumato.terms.promise import Promises
from sfumato.terms.verdict import Verdict


def judged(
    staged: Path, data: Any, plan: Plan, policy: Policy, *, private: Path, progress: Progress
) -> tuple[Verdict, ...]:
    """What a second implementation says of the written bytes; `private` is a folder for the witness."""
    progress("recheck", 0)
    if policy.person is None or policy.person in policy.published:
        return agreed(recheck(staged, _with_priors(policy, plan), memory=limit_of(data)))
    witness = private / f"witness{staged.suffix}"
    gone = tuple(name for name in policy.dropped if name != policy.person)
    open_source(data).write(plan.recoding, witness, drop=gone, numbered=(policy.person,), progress=progress)
    return agreed(recheck(staged, _with_priors(policy, plan), witness=witness, memory=limit_of(data)))


def _with_priors(meant: Policy, plan: Plan) -> Policy:
    """The policy with the priors that the plan took from the original table; nothing else is the plan's."""
    pairs = list(zip(meant.promises, plan.policy.promises, strict=False))
    if not any(getattr(ours, "unbound", False) for ours, _ in pairs):
        return meant
    made = [plans if getattr(ours, "unbound", False) else ours for ours, plans in pairs]
    return replace(meant, promises=Promises(tuple(made)))


def agreed(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The verdicts on the written bytes, if each is for them: any doubt is a no."""
    for verdict in verdicts:
        if verdict.holds is not True:
            raise BrokenPromise(
                f"the written file does not keep {verdict.promise} ({verdict.word}); nothing was published.",
                remedy="The plan said otherwise: please report this.",
            )
    return verdicts

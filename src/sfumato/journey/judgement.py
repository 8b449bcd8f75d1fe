"""Judging what was written: by a second implementation, from the bytes."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.errors import BrokenPromise
from sfumato.core.progress import Progress
from sfumato.core.verdict import Verdict
from sfumato.judge.file import recheck
from sfumato.policy.judge_data import judge_data
from sfumato.policy.policy import Policy
from sfumato.protection.plan import Plan
from sfumato.system.memory import Memory


def judged(
    staged: Path, plan: Plan, policy: Policy, *, witness: Path | None, memory: Memory, progress: Progress
) -> tuple[Verdict, ...]:
    """What a second implementation says of the written bytes, with the witness where there is one."""
    progress("recheck", 0)
    rules = judge_data(policy if plan.reference is None else plan.reference.bind(policy))
    return agreed(recheck(staged, rules, witness=witness, memory=memory))


def agreed(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The verdicts on the written bytes, if each is for them: any doubt is a no."""
    for verdict in verdicts:
        if verdict.holds is not True:
            raise BrokenPromise(
                f"the written file does not keep {verdict.promise} ({verdict.word}); nothing was published.",
                remedy="The plan said otherwise: please report this.",
            )
    return verdicts

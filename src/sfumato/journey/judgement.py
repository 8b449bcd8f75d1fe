"""Judging what was written: by a second implementation, from the bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.core.errors import BrokenPromise
from sfumato.core.progress import Progress
from sfumato.core.verdict import Verdict
from sfumato.engine import open_source
from sfumato.journey.arguments import limit_of
from sfumato.judge.file import recheck
from sfumato.policy.judge_data import judge_data
from sfumato.policy.policy import Policy
from sfumato.protection.plan import Plan


def judged(
    staged: Path, data: Any, plan: Plan, policy: Policy, *, private: Path, progress: Progress
) -> tuple[Verdict, ...]:
    """What a second implementation says of the written bytes; `private` is a folder for the witness."""
    progress("recheck", 0)
    told = judge_data(policy if plan.reference is None else plan.reference.bind(policy))
    if policy.person is None or policy.person in policy.published:
        return agreed(recheck(staged, told, memory=limit_of(data)))
    witness = private / f"witness{staged.suffix}"
    gone = tuple(name for name in policy.dropped if name != policy.person)
    open_source(data).write(plan.recoding, witness, drop=gone, numbered=(policy.person,), progress=progress)
    return agreed(recheck(staged, told, witness=witness, memory=limit_of(data)))


def agreed(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The verdicts on the written bytes, if each is for them: any doubt is a no."""
    for verdict in verdicts:
        if verdict.holds is not True:
            raise BrokenPromise(
                f"the written file does not keep {verdict.promise} ({verdict.word}); nothing was published.",
                remedy="The plan said otherwise: please report this.",
            )
    return verdicts

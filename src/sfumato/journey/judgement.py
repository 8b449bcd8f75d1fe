"""Judging what was written: by a second implementation, from the bytes."""
# ruff: noqa: PLC0415  # what judges chains is loaded where there is one

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sfumato.core.errors import BadData, BrokenPromise
from sfumato.core.progress import Progress
from sfumato.core.verdict import Verdict
from sfumato.judge.file import recheck
from sfumato.policy.judge_data import judge_data
from sfumato.policy.policy import Policy
from sfumato.protection.plan import Plan
from sfumato.show.card import several
from sfumato.system.memory import Memory

WrittenForm = Mapping[str, str]
"""The `encoding` and the `delimiter` of a written CSV file, where these are not UTF-8 and commas."""
PLAIN: WrittenForm = {}


def judged(
    staged: Path,
    plan: Plan,
    policy: Policy,
    *,
    witness: Path | None,
    form: WrittenForm = PLAIN,
    memory: Memory,
    progress: Progress,
) -> tuple[Verdict, ...]:
    """What a second implementation says of the written bytes, with the witness where there is one."""
    rules = judge_data(policy if plan.reference is None else plan.reference.bind(policy))
    return agreed(recheck(staged, rules, witness=witness, form=form, memory=memory, progress=progress))


def agreed(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The verdicts on the written bytes, if each is for them: any doubt is a no."""
    for verdict in verdicts:
        if verdict.holds is not True:
            raise BrokenPromise(
                f"the written file does not keep {verdict.promise} ({verdict.word}); nothing was published.",
                remedy="The plan said otherwise: please report this.",
            )
    return verdicts


def check_counts(file: Path, document: Mapping[str, object], form: WrittenForm = PLAIN) -> None:
    """Raises `BadData` unless the written file, read again by the judge, leaves this imprint for later."""
    from sfumato.judge.chain.shown_counts import file_shows

    if not file_shows(file, document, form=form):
        raise BadData(
            "the written file does not hold the counts that later releases would be checked against",
            where=file.name,
            remedy="Columns that are published unchanged need a taxonomy that tells every value apart.",
        )


def judged_in_chain(
    documents: Sequence[Mapping[str, object]], policy: Policy, settled: Sequence[int | None] = ()
) -> tuple[tuple[Verdict, ...], int]:
    """What the second judge says of the promises about earlier releases, and how many targets it leaves open.

    `documents` are the imprints of all releases, oldest first; `settled` says how many candidates it found
    beside each of them, where it was asked then. A promise whose targets are partly open is not
    decided from the published tables.
    """
    from sfumato.judge.chain.ruling import chain_verdict

    verdicts, most = [], 0
    for promise in policy.promises:
        if promise.looks_back:
            verdict, left_open = chain_verdict(documents, promise.judge_data(), settled)
            reason = f"beside {several(len(documents) - 1, 'earlier release')}"
            if left_open:
                not_settled = f"{several(left_open, 'target')} not settled from the tables alone"
                reason += f"; proved on the data, {not_settled}"
            verdicts.append(replace(verdict, reason=reason))
            most = max(most, left_open)
    return tuple(verdicts), most

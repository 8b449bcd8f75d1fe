"""The check of a release beside the earlier ones of its chain, from what is remembered of each."""
# ruff: noqa: PLC0415  # what compares releases is loaded where there is something to compare

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sfumato.core.errors import BadData, RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.verdict import Verdict
from sfumato.engine import open_source
from sfumato.journey.history import imprints_of
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import Coalition
from sfumato.policy.set_columns import forms_of
from sfumato.protection.plan import Plan
from sfumato.releases.ledger.record import HistoryCheck, HistoryComparison, Record
from sfumato.show.card import several


def imprint_to_keep(plan: Plan) -> Mapping[str, object] | None:
    """Returns what later releases and other recipients' versions are held against, if they are."""
    is_global = plan.recoding.cuts is not None and not plan.recoding.rewritten
    if plan.policy.promises.looks_back or (is_global and plan.policy.recipients is not None):
        return plan.imprint.as_dict()
    return None


def recipient_check(policy: Policy) -> HistoryCheck:
    """Returns the check of a recipient's version: beside what they got earlier, and of its bytes."""

    def check(history: Sequence[Record], record: Record) -> Mapping[str, object] | HistoryComparison | None:
        own = [earlier for earlier in history if earlier.recipient == record.recipient]
        if policy.promises.looks_back:
            return chain_check(policy)(own, record)
        matched = policy.recipients is not None and policy.recipients.coalition is not Coalition.NONE
        for file in record.files if matched and not forms_of(policy) else ():
            _check_imprint(file, Imprint.from_json(record.memory))
        return None

    return check


def chain_check(policy: Policy) -> HistoryCheck:
    """Returns the check of a release beside all earlier ones of its chain."""

    def check(history: Sequence[Record], record: Record) -> Mapping[str, object] | HistoryComparison | None:
        if not policy.promises.looks_back:
            if history:
                raise RefusedByHistory(
                    f"chain {record.chain} has {len(history)} earlier releases, and no promise of the policy"
                    " is about them",
                    remedy="Add the promise continuous, or, for other people, start a new chain.",
                )
            return None
        imprint = Imprint.from_json(record.memory)
        return judge_beside_earlier(record.files, imprint, imprints_of(history), policy)

    return check


def judge_beside_earlier(
    files: Sequence[Path], imprint: Imprint, earlier: Sequence[Imprint], policy: Policy
) -> HistoryComparison | None:
    """Returns the fewest candidates of anybody beside the earlier releases; raises where these are too few.

    `files` are the written ones, read again here: they must leave the imprint that is judged. Of what the
    published tables leave open, k candidates were proved on the data: whoever holds them knows a world.
    """
    for file in files:
        _check_imprint(file, imprint)
    if not earlier:
        return None
    from sfumato.attacks.chain.correspondence import correspondence

    joint = correspondence([*earlier, imprint], policy)
    if joint.holds is False:
        raise RefusedByHistory(
            f"next to the earlier releases fewer than {joint.k} people are possible for somebody",
            remedy="Publish less detail, or wait until more people have arrived.",
        )
    reason = f"beside {several(len(earlier), 'earlier release')}"
    if joint.open:
        reason += f"; proved on the data, {several(joint.open, 'target')} not settled from the tables alone"
    verdicts = tuple(
        Verdict(str(promise), True, joint.least, joint.k or 1, evidence=promise.evidence, reason=reason)
        for promise in policy.promises
        if promise.looks_back
    )
    figures = {"FA": joint.FA, "BA": joint.BA, **({"open": joint.open} if joint.open else {})}
    return HistoryComparison(figures, verdicts)


def _check_imprint(file: Path, imprint: Imprint) -> None:
    """Raises `BadData` unless the written file, read again, leaves this imprint for later releases."""
    from sfumato.attacks.chain.table_imprint import count_published, is_release

    if not is_release(count_published(open_source(file), imprint), imprint):
        raise BadData(
            "the written file does not hold the counts that later releases would be checked against",
            where=file.name,
            remedy="Columns that are published unchanged need a taxonomy that tells every value apart.",
        )

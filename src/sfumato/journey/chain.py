"""A release in its chain: what is remembered of the earlier ones, and what they say beside the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.attacks.chain.correspondence import correspondence
from sfumato.attacks.chain.table_imprint import count_published, is_release
from sfumato.core.errors import BadData, RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.verdict import Verdict
from sfumato.engine import open_source
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import Coalition
from sfumato.policy.set_columns import forms_of
from sfumato.protection.plan import Plan
from sfumato.show.card import several

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.ledger.record import HistoryCheck, HistoryComparison, Record


def looks_back(policy: Policy) -> bool:
    """Whether a promise of the policy is about earlier releases."""
    return policy.promises.looks_back


def imprints(history: Sequence[Record]) -> tuple[Imprint, ...]:
    """What the ledger remembers of the earlier releases, oldest first."""
    for record in history:
        if not record.memory:
            raise RefusedByHistory(
                f"release {record.sequence} of chain {record.chain} left no imprint, so nothing can be"
                " published beside it",
                remedy="It was made without the promise continuous: start a new chain, about other people.",
            )
    return tuple(Imprint.from_json(record.memory) for record in history)


def remembered_in(ledger: Ledger | str, chain: str) -> tuple[Imprint, ...]:
    """The imprints of a chain in a ledger, which is only read; none where the chain has not begun."""
    return imprints(history_in(ledger, chain))


def history_in(ledger: Ledger | str, chain: str) -> tuple[Record, ...]:
    """The releases of a chain in a ledger, which is only read."""
    from sfumato.releases.ledger.ledger import Ledger  # noqa: PLC0415  # databases wait until one is named

    opened = ledger if isinstance(ledger, Ledger) else Ledger(ledger, readonly=True)
    return opened.history(chain)


def memory_of(plan: Plan) -> Mapping[str, Any] | None:
    """What later releases of the chain, and versions for others, have to know of this one."""
    alike = plan.recoding.cuts is not None and not plan.recoding.rewritten
    if looks_back(plan.policy) or (alike and plan.policy.recipients is not None):
        return plan.imprint.as_dict()
    return None


def beside_own(policy: Policy) -> HistoryCheck:
    """The check of a recipient's version: against what they got earlier, and of its bytes."""

    def check(history: Sequence[Record], record: Record) -> Mapping[str, Any] | HistoryComparison | None:
        own = [earlier for earlier in history if earlier.recipient == record.recipient]
        if looks_back(policy):
            return beside_history(policy)(own, record)
        matched = policy.recipients is not None and policy.recipients.coalition is not Coalition.NONE
        for file in record.files if matched and not forms_of(policy) else ():
            _compare(file, Imprint.from_json(record.memory))
        return None

    return check


def beside_history(policy: Policy) -> HistoryCheck:
    """The check of a release against all earlier ones of its chain, from what is remembered of each."""

    def check(history: Sequence[Record], record: Record) -> Mapping[str, Any] | HistoryComparison | None:
        if not looks_back(policy):
            if history:
                raise RefusedByHistory(
                    f"chain {record.chain} has {len(history)} earlier releases, and no promise of the policy"
                    " is about them",
                    remedy="Add the promise continuous, or, for other people, start a new chain.",
                )
            return None
        return judged_beside(record.files, Imprint.from_json(record.memory), imprints(history), policy)

    return check


def judged_beside(
    files: Sequence[Path], imprint: Imprint, earlier: Sequence[Imprint], policy: Policy
) -> HistoryComparison | None:
    """What is left to everybody beside the earlier releases; raises where that is too little.

    `files` are the written ones, read again here: they must leave the imprint that is judged. Of what the
    published tables leave open, k candidates were proved on the data: whoever holds them knows a world.
    """
    from sfumato.releases.ledger.record import HistoryComparison  # noqa: PLC0415  # as above

    for file in files:
        _compare(file, imprint)
    if not earlier:
        return None
    found = correspondence([*earlier, imprint], policy)
    if found.holds is False:
        raise RefusedByHistory(
            f"next to the earlier releases fewer than {found.k} people are possible for somebody",
            remedy="Publish less detail, or wait until more people have arrived.",
        )
    reason = f"beside {several(len(earlier), 'earlier release')}"
    if found.open:
        reason += f"; proved on the data, {several(found.open, 'target')} not settled from the tables alone"
    verdicts = tuple(
        Verdict(str(promise), True, found.least, found.k or 1, evidence=promise.evidence, reason=reason)
        for promise in policy.promises
        if promise.looks_back
    )
    figures = {"FA": found.FA, "BA": found.BA, **({"open": found.open} if found.open else {})}
    return HistoryComparison(figures, verdicts)


def _compare(file: Path, imprint: Imprint) -> None:
    """Raise unless the written file, read again, leaves the imprint that later releases are held against."""
    if not is_release(count_published(open_source(file), imprint), imprint):
        raise BadData(
            "the written file does not hold the counts that later releases would be checked against",
            where=file.name,
            remedy="Columns that are published unchanged need a taxonomy that tells every value apart.",
        )

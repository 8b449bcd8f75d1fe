"""The check of a release beside the earlier ones of its chain, from what is remembered of each."""
# ruff: noqa: PLC0415  # what compares releases is loaded where there is something to compare

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.verdict import Verdict
from sfumato.journey.history import RememberedReleases, imprint_document
from sfumato.journey.judgement import PLAIN, WrittenForm, check_counts, judged_in_chain
from sfumato.journey.settled_releases import AttackFigures, Settled, closing_release, settled_releases
from sfumato.policy.compatibility.search_fit import searches_of
from sfumato.policy.policy import Policy
from sfumato.policy.searches import ability_of
from sfumato.policy.set_columns import forms_of
from sfumato.policy.several_tables import (
    BY_POSITIONS,
    against_register,
    is_for_colluders,
    together_sentence,
)
from sfumato.protection.plan import Plan
from sfumato.releases.ledger.record import HistoryCheck, HistoryComparison, Record
from sfumato.releases.receipt import ALONE
from sfumato.show.card import several

if TYPE_CHECKING:
    from sfumato.attacks.chain.correspondence import Correspondence
    from sfumato.judge.chain.together import TogetherRuling


def imprint_to_keep(plan: Plan) -> Mapping[str, object] | None:
    """Returns what later releases and other recipients' versions are held against, if they are."""
    is_global = plan.recoding.cuts is not None and not plan.recoding.rewritten
    if plan.policy.promises.looks_back or (is_global and plan.policy.recipients is not None):
        return plan.imprint.as_dict()
    return None


def stands_beside_others(policy: Policy) -> bool:
    """Whether the search makes tables that may stand beside others of a chain."""
    abilities = [ability_of(name) for name in searches_of(policy)]
    return all(ability is None or ability.beside_others for ability in abilities)


def check_alone(policy: Policy, history: Sequence[Record]) -> None:
    """Raises where a table that must stand alone would have another one beside it."""
    alone = [str(earlier.figures[ALONE]) for earlier in history if ALONE in earlier.figures]
    if not history or (not alone and stands_beside_others(policy)):
        return
    search = policy.protect.search if not stands_beside_others(policy) else alone[0]
    raise RefusedByHistory(
        f"search {search} publishes the same value differently from class to class, so two tables of a chain"
        " leave those in whom their classes overlap, and no promise judges that",
        where="protect.search",
        remedy="Release it once, in a chain of its own, or use a search that recodes whole columns: top-down,"
        " lattice or optimum.",
    )


TogetherJudge = Callable[[Policy, Sequence[Record], Record], "TogetherRuling | None"]
"""Has the second judge look at a release and earlier ones, put together by somebody with a register."""


def recipient_check(
    policy: Policy, together: TogetherJudge, remembered: RememberedReleases, form: WrittenForm = PLAIN
) -> HistoryCheck:
    """Returns the check of a recipient's version: beside what they and others got, and of its bytes."""

    def check(history: Sequence[Record], record: Record) -> Mapping[str, object] | HistoryComparison | None:
        own = [earlier for earlier in history if earlier.recipient == record.recipient]
        matched = is_for_colluders(policy)
        if policy.promises.looks_back:
            held = history if matched and against_register(policy) else own
            return chain_check(policy, together, remembered, form)(held, record)
        for file in record.files if matched and not forms_of(policy) else ():
            check_counts(file, imprint_document(record), form)
        if matched and against_register(policy) and record.files:
            return kept_together(policy, together(policy, history, record))
        return None

    return check


def kept_together(policy: Policy, ruling: TogetherRuling | None) -> HistoryComparison | None:
    """Returns the smallest position as a figure, and the verdict that a certificate records of it."""
    if ruling is None:
        return None
    if not policy.promises.looks_back:
        return HistoryComparison(
            {}, (Verdict(together_sentence(policy), True, None, 0, reason=BY_POSITIONS),)
        )
    verdicts = tuple(
        Verdict(str(p), True, ruling.smallest, p.least_people, evidence=p.evidence, reason=BY_POSITIONS)
        for p in policy.promises
        if p.looks_back
    )
    return HistoryComparison({"position": ruling.smallest}, verdicts)


def chain_check(
    policy: Policy, together: TogetherJudge, remembered: RememberedReleases, form: WrittenForm = PLAIN
) -> HistoryCheck:
    """Returns the check of a release beside all earlier ones of its chain."""

    def check(history: Sequence[Record], record: Record) -> Mapping[str, object] | HistoryComparison | None:
        if not policy.promises.looks_back:
            if history:
                raise RefusedByHistory(
                    f"chain {record.chain} has {several(len(history), 'earlier release')}, and no promise of"
                    f" the policy is about {'it' if len(history) == 1 else 'them'}",
                    remedy="Add the promise continuous, or, for other people, start a new chain.",
                )
            return None
        documents = [*remembered.documents(history), imprint_document(record)]
        if against_register(policy):
            for file in record.files:
                check_counts(file, documents[-1], form)
            return kept_together(policy, together(policy, history, record) if record.files else None)
        imprints = (*remembered.imprints(history), Imprint.from_dict(documents[-1])) if history else ()
        settled = settled_releases(history, imprints, policy)
        return judge_beside_earlier(record.files, documents, policy, form, imprints=imprints, settled=settled)

    return check


def judge_beside_earlier(
    files: Sequence[Path],
    documents: Sequence[Mapping[str, object]],
    policy: Policy,
    form: WrittenForm = PLAIN,
    *,
    imprints: Sequence[Imprint] = (),
    settled: Sequence[Settled | None] = (),
) -> HistoryComparison | None:
    """Returns the fewest candidates of anybody beside the earlier releases; raises where these are too few.

    `documents` are the imprints of all releases, oldest first; the last is that of `files`, which are read
    again here: they must leave it. `imprints` are the same as the documents, where the caller has read them;
    the second judge reads documents by itself. It decides, and `correspondence` attacks; either may refuse.
    Of what the published tables leave open, k candidates were proved on the data, by who knows a world.
    `settled` is what both found beside earlier releases: people whom nothing new is shown of since then are
    not looked at again.
    """
    for file in files:
        check_counts(file, documents[-1], form)
    if len(documents) < 2:
        return None

    fewest = [None if known is None else known.fewest for known in settled]
    verdicts, left_open = judged_in_chain(documents, policy, fewest)
    imprints = imprints or [Imprint.from_dict(document) for document in documents]
    attacked, fewest_of = _attacked(imprints, policy, settled)
    if attacked.holds is False or any(verdict.holds is False for verdict in verdicts):
        raise RefusedByHistory(
            f"next to the earlier releases fewer than {attacked.k} people are possible for somebody",
            remedy="Publish less detail, or wait until more people have arrived.",
        )
    figures = {
        "FA": fewest_of.forward,
        "BA": fewest_of.backward,
        **({"open": left_open} if left_open else {}),
    }
    return HistoryComparison(figures, tuple(replace(verdict, holds=True) for verdict in verdicts))


def _attacked(
    imprints: Sequence[Imprint],
    policy: Policy,
    settled: Sequence[Settled | None],
) -> tuple[Correspondence, AttackFigures]:
    """Returns the attack, from the last release on that settles who came until then, and its figures of all.

    People who came until then are in the figures, and the attack does not look at them.
    """
    from sfumato.attacks.chain.correspondence import correspondence

    start = closing_release(imprints, settled)
    known = None if start is None else settled[start]
    found = correspondence(imprints[start or 0 :], policy, only_fewest=True)
    figures = AttackFigures(found.FA, found.BA)
    return found, figures if known is None else known.figures.followed_by(figures)

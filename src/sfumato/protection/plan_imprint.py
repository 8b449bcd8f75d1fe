"""The imprint of a plan: what later releases have to know of what it publishes."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.imprint import Imprint
from sfumato.core.proved_candidates import ProvedCandidates
from sfumato.core.recoding import Recoding
from sfumato.core.verdict import Verdict
from sfumato.policy.policy import Policy
from sfumato.policy.set_columns import forms_of


def imprint_of(policy: Policy, recoding: Recoding, verdicts: Sequence[Verdict]) -> Imprint:
    """Returns counts and marks of a recoding that a policy allows, and what its verdicts prove."""
    sets = {part: name for name, form in forms_of(policy).items() for part in form.parts}
    published = [n for n in policy.published if not policy.columns[n].role.is_key]
    batch_columns = [p.batch_column for p in policy.promises if p.batch_column]
    return Imprint.of(
        recoding,
        list(dict.fromkeys(sets.get(name, name) for name in published)),
        since=batch_columns[0] if batch_columns else None,
        people=any(promise.tells_people for promise in policy.promises),
        policy=policy.digest,
        after=[i.digest for p in policy.promises for i in p.earlier],
        candidates=_candidates(policy, verdicts),
    )


def _candidates(policy: Policy, verdicts: Sequence[Verdict]) -> ProvedCandidates | None:
    """Returns what was proved of everybody's candidates beside all releases so far."""
    said = {verdict.promise: verdict for verdict in verdicts}
    promises = [promise for promise in policy.promises.of_table if str(promise) in said]
    found = (promise.candidates(said[str(promise)]) for promise in promises)
    return next((kept for kept in found if kept is not None), None)

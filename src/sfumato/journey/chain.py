"""A release in its chain: what is remembered of the earlier ones, and what they say beside the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.attack.correspondence import correspondence
from sfumato.declare.policy import Policy
from sfumato.protect.plan import Plan
from sfumato.terms.errors import RefusedByHistory
from sfumato.terms.imprint import Imprint
from sfumato.terms.promise import BesideEarlier

if TYPE_CHECKING:
    from sfumato.release.ledger.record import Check, Record


def looks_back(policy: Policy) -> bool:
    """Whether a promise of the policy is about earlier releases."""
    return any(isinstance(promise, BesideEarlier) for promise in policy.promises)


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


def memory_of(plan: Plan) -> Mapping[str, Any] | None:
    """What later releases of the chain have to know of this one."""
    return plan.imprint.as_dict() if looks_back(plan.policy) else None


def beside_history(policy: Policy) -> Check:
    """The check of a release against all earlier ones of its chain, from what is remembered of each."""

    def check(history: Sequence[Record], record: Record) -> Mapping[str, Any] | None:
        if not looks_back(policy):
            if history:
                raise RefusedByHistory(
                    f"chain {record.chain} has {len(history)} earlier releases, and no promise of the policy"
                    " is about them",
                    remedy="Add the promise continuous, or, for other people, start a new chain.",
                )
            return None
        if not history:
            return None
        found = correspondence([*imprints(history), Imprint.from_json(record.memory)], policy)
        if found.holds is not True:
            raise RefusedByHistory(
                f"next to earlier releases fewer than {found.k} people are possible for somebody",
                remedy="Publish less detail, or wait until more people have arrived.",
            )
        return {"FA": found.FA, "BA": found.BA}

    return check

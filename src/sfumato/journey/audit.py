"""Judging what is published, and attacking it."""
# ruff: noqa: PLC0415  # not every audit looks at a ledger, or into a store

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.attacks.audit import Audit
from sfumato.attacks.audit import audit as audit_source
from sfumato.core.errors import RefusedByHistory, WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.engine import open_source
from sfumato.journey.arguments import AnyMemory, AnyPolicy, policy_of, within
from sfumato.journey.chain import history_in, imprints
from sfumato.policy.policy import Policy
from sfumato.policy.reference import Reference, referred
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger


AnyReference = Reference | str | Path
"""What the owner kept of the original table (`plan.reference`), or the path of its file."""


def audit(
    data: Any,
    policy: AnyPolicy,
    *,
    reference: AnyReference | None = None,
    against: Ledger | str | None = None,
    chain: str = "main",
    memory: AnyMemory = None,
    progress: Progress | None = None,
) -> Audit:
    """Judge a published table, and attack it as every adversary would; nothing but the table is looked at.

    The address of a release in a store (`s3://bucket/releases/2026-11`, or of the table in it) will do: what
    its manifest names is fetched to a private folder, checked, and gone afterwards.

    With `against`, a ledger, also together with every release of a chain: whoever holds all of them may learn
    more than any of them tells alone. `memory` is how much may be used, such as "4GB". A promise that
    compares with the original table needs its `reference`; that of a file is looked for beside it, or beside
    the folder of its release.
    """
    from sfumato.releases.download import local_copy

    meant = referred(policy_of(policy), data, reference)
    with local_copy(data, spill=Memory.of(memory).spill) as near:
        return _audited(within(near, memory), meant, None, against, chain, progress or silent)


def audit_by(
    name: str,
    data: Any,
    policy: AnyPolicy,
    *,
    reference: AnyReference | None = None,
    against: Ledger | str | None = None,
    chain: str = "main",
    progress: Progress | None = None,
) -> Audit:
    """Judge a published table, and attack it as one adversary would."""
    from sfumato.releases.download import local_copy

    meant = referred(policy_of(policy), data, reference)
    with local_copy(data) as near:
        return _audited(near, meant, name, against, chain, progress or silent)


def _audited(
    data: Any,
    meant: Policy,
    name: str | None,
    against: Ledger | str | None,
    chain: str,
    progress: Progress,
) -> Audit:
    source = open_source(data)
    found = audit_source(source, meant, attacks=None if name is None else (name,), progress=progress)
    if against is None:
        return found
    from sfumato.attacks.chain.history import audit_beside, without_comparison

    history = history_in(against, chain)
    if not history:
        raise WrongCall(f"chain {chain} has no release in this ledger", remedy="See `sfumato history`.")
    try:
        releases = imprints(history)
    except RefusedByHistory as lost:
        return without_comparison(found, lost)
    return audit_beside(found, source, meant, releases, chain=chain, only=name, progress=progress)

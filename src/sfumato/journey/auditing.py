"""Judging what is published, and attacking it."""
# ruff: noqa: PLC0415  # not every audit looks at a ledger, or into a store

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.attack.audit import Audit
from sfumato.attack.audit import audit as audit_source
from sfumato.declare.policy import Policy
from sfumato.declare.reference import Reference, referred
from sfumato.engine import open_source
from sfumato.journey.chain import history_in, imprints
from sfumato.journey.meaning import AnyMemory, AnyPolicy, policy_of, within
from sfumato.terms.errors import RefusedByHistory, WrongCall
from sfumato.terms.memory import Memory
from sfumato.terms.progress import Progress, silent

if TYPE_CHECKING:
    from sfumato.release.ledger.ledger import Ledger


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
    from sfumato.release.fetching import at_hand

    meant = referred(policy_of(policy), data, reference)
    with at_hand(data, spill=Memory.of(memory).spill) as near:
        return _audited(within(near, memory), meant, None, against, chain, progress or silent)


def attack(
    name: str,
    data: Any,
    policy: AnyPolicy,
    *,
    reference: AnyReference | None = None,
    against: Ledger | str | None = None,
    chain: str = "main",
    progress: Progress | None = None,
) -> Audit:
    """One adversary alone."""
    from sfumato.release.fetching import at_hand

    meant = referred(policy_of(policy), data, reference)
    with at_hand(data) as near:
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
    from sfumato.attack.beside import held_against, not_compared

    history = history_in(against, chain)
    if not history:
        raise WrongCall(f"chain {chain} has no release in this ledger", remedy="See `sfumato history`.")
    try:
        releases = imprints(history)
    except RefusedByHistory as lost:
        return not_compared(found, lost)
    return held_against(found, source, meant, releases, chain=chain, only=name, progress=progress)

"""The verb `audit`: judging what is published, and attacking it."""

# ruff: noqa: PLC0415  # a ledger, a store and what compares releases are loaded where they are named

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.attacks.audit import Audit
from sfumato.attacks.audit import audit as audit_source
from sfumato.attacks.published_labels import BYTES
from sfumato.inputs import (
    AnyMemory,
    AnyPolicy,
    NotedWarnings,
    Warn,
    load_policy,
    open_table,
    warn_of_policy,
    without_bare_rows,
)
from sfumato.policy.policy import Policy
from sfumato.policy.reference import Reference, with_reference
from sfumato.system.address import Address, is_address, is_database
from sfumato.system.errors import BadData, RefusedByHistory, UsageError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, one_step, silent
from sfumato.table.source import AnyTable, Source
from sfumato.workflows.history import imprints_of, read_history

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger


AnyReference = Reference | str | Path
"""What the owner kept of the original table (`plan.reference`), or the path of its file."""


def audit(
    data: AnyTable | Address,
    policy: AnyPolicy,
    *,
    reference: AnyReference | None = None,
    against: Ledger | str | None = None,
    chain: str = "main",
    key: str | Path | None = None,
    memory: AnyMemory = None,
    warn: Warn | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Judge a published table, and attack it as every adversary would; nothing but the table is looked at.

    What the manifest of a release in a store names is fetched to a private folder, checked, and gone
    afterwards.

    Args:
        data: the published table, as for `protect`, or the address of a release in a store
            (`s3://bucket/releases/2026-11`), or of the table in it.
        policy: the policy that the table was published under.
        reference: what the owner kept of the original table (`plan.reference`, or the path of its file), for
            promises that compare with it. That of a file is looked for beside it, or beside the folder of its
            release.
        against: a ledger, or its URL. The table is also judged together with every release of a chain:
            whoever holds all of them may learn more than any of them tells alone.
        chain: the chain of that ledger.
        key: the publisher's public key, or its file. What tables alone do not decide is then taken from the
            certificate beside the file, if it is genuine and says so (`sealed`).
        memory: how much memory may be used, such as "4GB".
        warn: receives each `Diagnosis` of what the policy allows and probably does not mean.
        progress: receives the phase, how much is done, and out of how much.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
    >>> sf.audit(plan.apply(people), plan.policy).holds
    True
    """
    rules = load_policy(policy)
    warn_of_policy(rules, NotedWarnings.of(warn))
    audited = _audit(
        data,
        with_reference(rules, data, reference),
        attack=None,
        against=against,
        chain=chain,
        memory=memory,
        progress=progress or silent,
    )
    return audited if key is None else _with_seals(audited, data, rules, key)


def _with_seals(audited: Audit, data: AnyTable | Address, policy: Policy, key: str | Path) -> Audit:
    """The audit, with what a genuine certificate beside it records of earlier releases and of its bytes.

    The certificate names the digest of the bytes that were judged before they were published.
    """
    from sfumato.releases.certificate import CERTIFICATE, examine
    from sfumato.releases.ledger.keys import public_keys

    if not isinstance(data, str | PathLike) or is_address(data):
        raise UsageError("a certificate is looked for beside a file", remedy="Audit the file of a release.")
    beside = Path(data).with_name(CERTIFICATE)
    if not beside.is_file():
        raise UsageError(f"there is no {CERTIFICATE} beside the file", remedy="Leave the key out.")
    seals = examine(beside, key=public_keys(Path(key)))
    if not seals.holds or not seals.pinned:
        raise BadData(seals.faults[0], where=beside.name, remedy="Do not trust these files.")
    recorded = seals.as_dict()
    if recorded["policy"] != policy.digest:
        raise BadData("the certificate is about another policy", where=beside.name)
    about_earlier = {str(promise) for promise in policy.promises.cross_release}
    sealed = about_earlier & {v["promise"] for v in recorded["verdicts"] if v["holds"]}
    verdicts = tuple(
        replace(v, holds=True, sealed=True, reason="recorded by the certificate, which is genuine")
        if v.holds is None and v.promise in sealed
        else v
        for v in audited.verdicts
    )
    open_bytes = [o for o in audited.objections if o.concerns == BYTES and o.holds is None]
    objections = tuple(o for o in audited.objections if o not in open_bytes)
    return replace(audited, verdicts=verdicts, objections=objections)


def audit_by(
    attack: str,
    data: AnyTable | Address | Sequence[AnyTable],
    policy: AnyPolicy,
    *,
    reference: AnyReference | None = None,
    against: Ledger | str | None = None,
    chain: str = "main",
    progress: Progress | None = None,
) -> Audit:
    """Judge a published table, and attack it as one adversary would.

    Several tables are releases of the same people, oldest first: the last is judged, and the adversary holds
    all of them.
    """
    tables: Sequence[Any] = data if isinstance(data, list | tuple) else (data,)  # AnyTable may be anything
    if len(tables) != 1:
        return _audit_together(attack, tables, load_policy(policy), reference, against, progress or silent)
    return _audit(
        tables[0],
        with_reference(load_policy(policy), tables[0], reference),
        attack=attack,
        against=against,
        chain=chain,
        memory=None,
        progress=progress or silent,
    )


def _audit(
    data: AnyTable | Address,
    policy: Policy,
    *,
    attack: str | None,
    against: Ledger | str | None,
    chain: str,
    memory: AnyMemory,
    progress: Progress,
) -> Audit:
    with _at_hand(data, Memory.of(memory).spill) as table:
        source, policy = without_bare_rows(open_table(table, memory, policy), policy)
        attacks = None if attack is None else (attack,)
        result = audit_source(source, policy, attacks=attacks, progress=progress)
        if against is None:
            return result
        return _audit_beside(result, source, policy, against, chain=chain, attack=attack, progress=progress)


def _audit_together(
    attack: str,
    tables: Sequence[AnyTable],
    policy: Policy,
    reference: AnyReference | None,
    against: Ledger | str | None,
    progress: Progress,
) -> Audit:
    """Several releases, attacked by somebody who holds all of them; the last is judged."""
    from sfumato.attacks.chain_history import audit_together, holds_several
    from sfumato.models.attack_contract import make

    make(attack)
    if not tables or not holds_several(attack):
        raise UsageError(
            f"{attack} strikes one table, and {len(tables)} were given", remedy="Attack them one by one."
        )
    if against is not None:
        raise UsageError(
            "releases are given, and a ledger to hold them against", remedy="Give one or the other."
        )
    newest = tables[-1]
    rules = with_reference(policy, newest, reference)
    source, rules = without_bare_rows(open_table(newest, policy=rules), rules)
    result = audit_source(source, rules, attacks=(attack,), progress=progress)
    with one_step(progress, "beside earlier releases"):
        return audit_together(result, tables, rules, only=attack)


# A file of a chain of groups: its rows are of different people, but for bare ones, which count for nobody.


@contextmanager
def _at_hand(data: AnyTable | Address, spill: Path | None) -> Iterator[AnyTable]:
    """The table on this machine: what is in a store is fetched, and gone afterwards."""
    if isinstance(data, Address) or (isinstance(data, str) and is_address(data) and not is_database(data)):
        from sfumato.releases.downloads import local_copy

        with local_copy(str(data), spill=spill) as copy:
            yield copy
    else:
        yield data


def _audit_beside(
    result: Audit,
    source: Source,
    policy: Policy,
    ledger: Ledger | str,
    *,
    chain: str,
    attack: str | None,
    progress: Progress,
) -> Audit:
    """The audit, continued beside every release of a chain."""
    from sfumato.attacks.chain_history import audit_beside, without_comparison

    history = read_history(ledger, chain)
    if not history:
        raise UsageError(f"chain {chain} has no release in this ledger", remedy="See `sfumato history`.")
    try:
        releases = imprints_of(history)
    except RefusedByHistory as lost:
        return without_comparison(result, lost)
    return audit_beside(result, source, policy, releases, chain=chain, only=attack, progress=progress)

"""The verb `audit`: judging what is published, and attacking it."""

# ruff: noqa: PLC0415  # a ledger, a store and what compares releases are loaded where they are named

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.attacks.audit import Audit
from sfumato.attacks.audit import audit as audit_source
from sfumato.attacks.published_labels import BYTES
from sfumato.inputs import AnyMemory, AnyPolicy, Warn, load_policy, open_table, warn_of_policy
from sfumato.policy.content import ColumnRule
from sfumato.policy.policy import BY_POSITIONS, Policy
from sfumato.policy.reference import Reference, judge_data, with_reference
from sfumato.search.plan import Plan
from sfumato.system.disk import Address, is_address, is_database
from sfumato.system.errors import BadData, BrokenPromise, RefusedByHistory, UsageError
from sfumato.system.memory import Memory
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, one_step, silent
from sfumato.system.verdict import Verdict
from sfumato.table.microdata import BARE, Role
from sfumato.table.source import AnyTable, Source
from sfumato.verify.file import recheck
from sfumato.workflows.trace import imprints_of, read_history

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
    warn_of_policy(rules, warn)
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
    """The audit, with what a genuine certificate beside the file records of positions, and of its bytes.

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
    sealed = {v["promise"]: v for v in recorded["verdicts"] if v["holds"] and v["reason"] == BY_POSITIONS}
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
        source, policy = _first_rows(open_table(table, memory, policy), policy)
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
    source, rules = _first_rows(open_table(newest, policy=rules), rules)
    result = audit_source(source, rules, attacks=(attack,), progress=progress)
    with one_step(progress, "beside earlier releases"):
        return audit_together(result, tables, rules, only=attack)


# A file of a chain of groups: its rows are of different people, but for bare ones, which count for nobody.


def view_policy(policy: Policy, *, marked: bool = False) -> Policy:
    """Returns the policy that a file is judged and described by: every row that is not bare is a person."""
    columns = {**policy.columns, **({BARE: ColumnRule(Role.INSENSITIVE)} if marked else {})}
    return replace(policy, columns=columns, person=None, knows=None, chain=None)


def _first_rows(source: Source, policy: Policy) -> tuple[Source, Policy]:
    """Returns what is judged of a file of a chain of groups: every row is a person, without bare rows."""
    if policy.chain is None:
        return source, policy
    if BARE not in source.columns:
        return source, view_policy(policy)
    from sfumato.table.form_of_source import RowSource
    from sfumato.table.known_rows import chosen_rows, rows_where

    if not isinstance(source, RowSource):
        raise UsageError(
            f"bare rows of a {source.kind} table are not told apart", remedy="Write it to Parquet first."
        )
    bare = rows_where(source.reader, BARE, "yes")
    return chosen_rows(source, ~bare), view_policy(policy, marked=True)


@contextmanager
def _at_hand(data: AnyTable | Address, spill: Path | None) -> Iterator[AnyTable]:
    """The table on this machine: what is in a store is fetched, and gone afterwards."""
    if isinstance(data, Address) or (isinstance(data, str) and is_address(data) and not is_database(data)):
        from sfumato.releases.files import local_copy

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
    granted = min((int(r.override["k"]) for r in history if r.override is not None), default=None)
    return audit_beside(
        result, source, policy, releases, chain=chain, only=attack, granted=granted, progress=progress
    )


# Judging what was written: by a second implementation, from the bytes.


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
    from sfumato.verify.chain.ruling import file_shows

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
    from sfumato.verify.chain.ruling import chain_verdict

    verdicts, most = [], 0
    for promise in policy.promises.cross_release:
        verdict, left_open = chain_verdict(documents, promise.judge_data(), settled)
        reason = f"beside {pluralize(len(documents) - 1, 'earlier release')}"
        if left_open:
            not_settled = f"{pluralize(left_open, 'target')} not settled from the tables alone"
            reason += f"; proved on the data, {not_settled}"
        verdicts.append(replace(verdict, reason=reason))
        most = max(most, left_open)
    return tuple(verdicts), most


# The witness of a published file: its rows with a number for each person, for the second judge alone.

AS_PUBLISHED = (".csv", ".tsv", ".parquet", ".pq")
TELLS_ALL = ".jsonl"
"""The witness of any other file: no name of a column, no text and no number is too odd for it."""


def needs_witness(policy: Policy) -> bool:
    """Returns whether promises count people whom the published file does not tell apart."""
    return policy.person is not None and policy.person not in policy.published


def numbered_columns(policy: Policy) -> tuple[str, ...]:
    """Returns the columns of which a witness holds numbers."""
    return (policy.person,) if policy.person is not None and needs_witness(policy) else ()


def witness_path(policy: Policy, staged: Path, private: Path) -> Path | None:
    """Returns where, in a private folder, the witness of a staged file is; nothing if it needs none."""
    suffix = staged.suffix if staged.suffix in AS_PUBLISHED else TELLS_ALL
    return private / f"witness{suffix}" if needs_witness(policy) else None

"""The verb `release`: a safe table in a new folder and in the ledger, both or neither."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.inputs import (
    AnyMemory,
    AnyPolicy,
    AnyTransformation,
    NotedWarnings,
    Warn,
    load_policy,
    load_transformation,
    needed_files,
    open_table,
    warn_in_python,
    with_name_check,
    with_preset_check,
    with_warnings,
)
from sfumato.policy.compatibility import against_groups
from sfumato.policy.content import check_confirmed
from sfumato.policy.policy import Names, Policy, with_confirmed
from sfumato.policy.recipients import By
from sfumato.policy.reference import reference_path
from sfumato.releases.files import check_not_needed, kept_on_success
from sfumato.releases.issue import PlannedRelease, begin, issue, judge_folders, rehearse
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import HistoryCheck, ReleaseRecord
from sfumato.releases.names import checked_name, same_name
from sfumato.releases.overrides import WeakerOverride, folders_of, recipients_of
from sfumato.releases.receipt import Event, Receipt, with_identifying_rows
from sfumato.releases.targets import check_first
from sfumato.system.address import Address, is_address
from sfumato.system.disk import require_locks
from sfumato.system.errors import Infeasible, UsageError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.table.data_file import written_formats
from sfumato.table.form_of_source import RowSource, first_reader
from sfumato.table.microdata import BARE
from sfumato.table.observers import TableFingerprint, with_fingerprint
from sfumato.table.reading.loaded_file import LoadedFileReader
from sfumato.table.source import PARQUET, SPARK, AnyTable, Source, with_digits
from sfumato.verify.tables import one_database
from sfumato.workflows.chain_check import baseline_check
from sfumato.workflows.delivery import Delivery, person_columns

if TYPE_CHECKING:
    from sfumato.workflows.chain_release import ChainDelivery

# The format of a release where nobody names one: that of the data, if it is written.

RELEASED_AS = {SPARK: PARQUET} | {
    kind: name for name, written in written_formats().items() for kind in written.releases
}
"""Kinds of data by the format that their releases have, where it has another name."""


def release_format(source: Source) -> str:
    """Returns the format of the data, where it is written; else CSV, which the owner of a file is told."""
    kind = RELEASED_AS.get(source.kind, source.kind)
    if kind in written_formats():
        return kind
    reader = first_reader(source.reader) if isinstance(source, RowSource) else None
    if isinstance(reader, LoadedFileReader):
        reader.tell(f"what is released is a CSV file, since no {reader.kind} is written")
    return "csv"


def release(
    data: AnyTable,
    policy: AnyPolicy,
    *,
    ledger: Ledger | str,
    into: str | Path | Address | None = None,
    to: str | Sequence[str] | None = None,
    chain: str = "main",
    confirm: Names = (),
    format: str | None = None,
    checks: Sequence[HistoryCheck] = (),
    overrides: Sequence[WeakerOverride | str | Path] = (),
    ignore_chains: Sequence[str] = (),
    key: str | Path | None = None,
    dry_run: bool = False,
    reuse_plan: AnyTransformation | None = None,
    memory: AnyMemory = None,
    warn: Warn | None = None,
    progress: Progress | None = None,
) -> Receipt | Event:
    """Publish a table to a new folder and enter it in the ledger: both, or neither.

    The release is planned and checked beside all earlier ones of its chain, from what the ledger remembers.
    The folder holds the table, a manifest and a signed certificate; it appears whole, after the bytes were
    read again and judged. What later judges need of the original table is kept beside the folder, for its
    owner. For a store, the table is judged on this machine first (in the spill folder of `memory`, which
    Spark's workers share), then uploaded.

    A policy that promises less than the chain's first one is refused, unless one of the `overrides` lets it
    (`sfumato override --weaker`). The same table, or a person of it, in another chain for the same recipient
    is refused, too, unless `ignore_chains` names that chain.

    Args:
        data: the original table, as for `protect`.
        policy: the policy, as for `protect`.
        ledger: the ledger, or its URL.
        into: the new folder, or its address in an object store, such as `s3://bucket/releases/2026-11`.
        to: who receives the table. Several recipients get a version each, as the policy's `recipients` say,
            in folders of their names; the result then is an `Event`.
        chain: the name of the series of releases about the same people that this one continues.
        confirm: columns that may be published unchanged although nothing is promised of them, as somebody
            who read the reasons says: those that wait for that (`policy.waiting`).
        format: the format of the published table, such as "parquet"; that of the data by default.
        checks: more checks of the release against the history of its chain.
        overrides: signed overrides, or their files: they let the policy promise less.
        ignore_chains: chains that may hold the same people. Nothing is promised of what both tell together.
        key: the file of the signing key, where the ledger is named by its URL.
        dry_run: only rehearse: nothing is written, and `into` is not needed.
        reuse_plan: an earlier plan or the certificate of a release, which is taken over as `protect` does.
        memory: how much memory may be used, such as "4GB".
        warn: receives each `Diagnosis` of what the policy allows and probably does not mean.
        progress: receives the phase, how much is done, and out of how much.

    >>> import polars as pl, sfumato as sf
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> policy = sf.protect(people, k=2, quasi="age", sensitive="disease").policy
    >>> with TemporaryDirectory() as home:
    ...     receipt = sf.release(people, policy, ledger=f"sqlite:///{home}/ledger.db", into=f"{home}/first")
    ...     sorted(path.name for path in Path(home, "first").iterdir())
    ['certificate.json', 'data.csv', 'dictionary.html', 'dictionary.json', 'manifest.json']
    """
    names, chain, show = recipients_of(to), checked_name(chain, "chain"), progress or silent
    noted, places = NotedWarnings(warn or warn_in_python), folders_of(names)
    _check_place(place := _place_of(into, dry_run=dry_run), ledger, dry_run=dry_run)
    rules, source = _opened_table(data, with_confirmed(load_policy(policy), confirm), memory, dry_run=dry_run)
    name, aside = _file_name(format, source), Memory.of(memory).spill or source.memory.spill
    _check_staging(source, place, aside)
    read = _checked_on_the_way(source, rules, noted, show)
    _check_reference(place, needed_files(policy, rules, ledger, [data, reuse_plan, *overrides]))
    baseline = baseline_check(overrides, rules, opened := _opened(ledger, key, dry_run=dry_run), chain)
    apart, taken = _chains_apart(opened, ignore_chains), load_transformation(reuse_plan, rules)
    if _goes_by_groups(rules, opened, chain, plainly=not (names or taken), rows=read[0]):
        from sfumato.workflows.chain_release import ChainDelivery  # noqa: PLC0415  # for groups alone

        if taken is not None:
            raise UsageError(
                "a chain of groups takes over no earlier plan: newcomers are grouped by themselves",
                remedy="Leave `reuse_plan` out.",
            )
        new_delivery: Delivery | ChainDelivery = ChainDelivery(
            *read,
            rules,
            places,
            baseline=baseline,
            ledger=opened,
            ignore_chains=apart,
            noted=noted,
            progress=show,
        )
    else:
        new_delivery = Delivery(
            *read,
            rules,
            places,
            baseline=baseline,
            ledger=opened,
            ignore_chains=apart,
            reuse_plan=taken,
            progress=show,
        )
    with new_delivery as delivery:
        every = (delivery.check, *checks)
        if place is None or dry_run or opened is None:
            return _rehearsed(opened, delivery, chain, every, noted)
        with kept_on_success(reference_path(place)) as delivery.keep, one_database():
            begun = begin(opened, into=place, chain=chain, aside=aside, progress=show)
            with _noted_refusal(opened, rules, read[1]):
                versions = _planned(delivery, begun.history, noted)
            with judge_folders(begun, versions, name=name, checks=every) as folders:
                receipts = issue(folders)
    return receipts[0] if len(names) < 2 else Event(receipts)


@contextmanager
def _noted_refusal(ledger: Ledger, policy: Policy, fingerprint: TableFingerprint) -> Iterator[None]:
    """Counts that no plan keeps the promises: where they are about values, that tells something of these."""
    try:
        yield
    except Infeasible:
        if any(not promise.by_size for promise in policy.promises):
            ledger.note_refusal(fingerprint.digest)
        raise


def _planned(
    delivery: Delivery | ChainDelivery, history: Sequence[ReleaseRecord], noted: NotedWarnings
) -> list[PlannedRelease]:
    """Returns what is to be released; raises where nothing says whose rows are whose."""
    planned = delivery.plan(history)
    noted.ask_whose_rows()
    return planned


def _goes_by_groups(
    policy: Policy, ledger: Ledger | None, chain: str, *, plainly: bool, rows: Source
) -> bool:
    """Whether a release is a view of groups of people: wherever its policy and the chain allow it.

    `plainly` says that there is no recipient and no plan to take over.
    """
    if policy.chain is not None:
        return True
    by_patterns = policy.recipients is not None and policy.recipients.by is By.PATTERNS
    if by_patterns or any(against_groups(policy)) or BARE in policy.published:
        return False
    if not isinstance(rows, RowSource):
        return False
    history = () if ledger is None else ledger.history(chain)
    return history[-1].is_of_groups if history else plainly or policy.person is not None


def _rehearsed(
    ledger: Ledger | None,
    delivery: Delivery | ChainDelivery,
    chain: str,
    checks: Sequence[HistoryCheck],
    noted: NotedWarnings,
) -> Receipt | Event:
    """What would be published; of several versions also how many recipients can be served, and how many
    leaked rows identify each."""
    if ledger is not None:
        ledger.check_open(chain)
    history = () if ledger is None else ledger.history(chain)
    receipts = rehearse(ledger, history, _planned(delivery, history, noted), checks=checks)
    receipts = tuple(with_identifying_rows(receipt, delivery.identifying_rows) for receipt in receipts)
    capacity = None if delivery.versions is None else delivery.versions.capacity().as_dict()
    return receipts[0] if len(delivery.names) < 2 else Event(receipts, capacity)


def _opened_table(
    data: AnyTable, policy: Policy, memory: AnyMemory, *, dry_run: bool
) -> tuple[Policy, Source]:
    """The policy and its table; raises where a column waits for confirmation, unless nothing is written."""
    if not dry_run:
        check_confirmed(policy)
    return policy, open_table(data, memory, policy)


def _checked_on_the_way(
    source: Source, policy: Policy, warn: Warn | None, progress: Progress
) -> tuple[Source, TableFingerprint]:
    """The source to read from now on, and the fingerprint that its first pass fills in.

    The fingerprint is that of the rows as they are: fewer digits make no other table of them.
    """
    source = with_preset_check(source, policy, progress)
    policy.check_columns(source.columns)
    source, fingerprint = with_fingerprint(source, person_columns(policy))
    checked = with_name_check(with_digits(source, policy.digits), policy)
    return with_warnings(checked, policy, warn, progress=progress), fingerprint


def _file_name(format: str | None, source: Source) -> str:
    """The name of the published file, whose ending says what it is; by default as the data is."""
    if format is None:
        return f"data.{release_format(source)}"
    if format not in written_formats():
        raise UsageError(
            "a release has a format that is written", remedy=f"Say one of {', '.join(written_formats())}."
        )
    return f"data.{format}"


def _place_of(into: str | Path | Address | None, *, dry_run: bool) -> Path | Address | None:
    """What the release is to become: a folder, or an address in a store."""
    if into is None:
        if not dry_run:
            raise UsageError(
                "no target named", remedy="Say where with --into FOLDER, or only plan with --dry-run."
            )
        return None
    return Address.of(str(into)) if is_address(into) else Path(str(into))


def _check_place(place: Path | Address | None, ledger: Ledger | str, *, dry_run: bool) -> None:
    """Raise, before a ledger is made, where nothing could be published."""
    if not dry_run:
        require_locks()
    if place is not None and not dry_run and isinstance(ledger, str):
        check_first(place, ledger)


def _check_reference(place: Path | Address | None, needed: Mapping[Path, str]) -> None:
    """Raise where what is kept of the original table would replace a file that is needed."""
    if place is not None:
        check_not_needed(reference_path(place), needed)


def _check_staging(source: Source, place: Path | Address | None, aside: Path | None) -> None:
    """Raise where what Spark's workers write could not be judged before it is uploaded."""
    if isinstance(place, Address) and source.kind == SPARK and aside is None:
        raise UsageError(
            "what Spark writes is judged before it is uploaded to a store",
            remedy="Name a folder for it that driver and workers share, with --spill.",
        )


def _opened(ledger: Ledger | str, key: str | Path | None, *, dry_run: bool) -> Ledger | None:
    """The ledger; for a rehearsal only read, and `None` where it is not there yet."""
    if isinstance(ledger, Ledger):
        return ledger
    if not dry_run:
        return Ledger(ledger, key=key)
    return Ledger(ledger, key=key, readonly=True) if LedgerDatabase(ledger).exists else None


def _chains_apart(ledger: Ledger | None, ignore_chains: Sequence[str]) -> list[str]:
    """The names of chains that this release is not held against; raises where there is no such chain."""
    names = [same_name(name) for name in ignore_chains]
    there = ledger.chains if names and ledger else set()
    for name in names:
        if name not in there:
            raise UsageError(f"the ledger has no chain {name}", remedy="`sfumato history` lists the chains.")
    return names


# The verb `override`: a second person signs for a policy that promises less.


def sign_weaker(
    policy: AnyPolicy, *, reason: str, by: str, until: str, key: Path, out: Path, chain: str = "main"
) -> WeakerOverride:
    """Sign that releases of a chain may follow this policy, though it promises less than the first one did.

    The key is one that the *first* policy of the chain lists under `recipients.overriders`; a release refuses
    the override of anybody else. It is for this policy, word by word, until a day.
    """
    rules = load_policy(policy)
    unsigned = WeakerOverride(rules.digest, checked_name(chain, "chain"), reason, by, until)
    if out.exists():
        raise UsageError("the output exists already", where=out.name, remedy="Name another file.")
    signer = Key.load(key) if key.exists() else Key.make(key)
    signed = unsigned.sign(signer)
    out.write_bytes(signed.as_bytes())
    return signed

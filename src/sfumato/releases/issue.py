"""Issuing a release: written aside, judged from its bytes, entered in the ledger, then made visible.

The commit of the ledger is the publish event. Before it everything can be thrown away; after it recovery can
only go forward. Whatever happens in between, a release is in the ledger and complete, or in neither.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from sfumato.policy.reference import reference_path
from sfumato.releases import certificate as manifest
from sfumato.releases import staging
from sfumato.releases.files import settle_recovered
from sfumato.releases.ledger.encryption import Staged, clean
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import HistoryCheck, HistoryComparison, Record
from sfumato.releases.ledger.records import Entry
from sfumato.releases.receipt import Receipt
from sfumato.releases.staging import StepHook, heeding, no_hook, uninterrupted
from sfumato.releases.targets import FolderTarget, Target, target_of
from sfumato.system.disk import Address, FolderLock, digest_of, is_address, remove_folder, write_to_disk
from sfumato.system.errors import BadData, BadLedger, OutOfReach, SfumatoError, Unfinished, WrongCall
from sfumato.system.json_object import JsonMapping, JsonObject
from sfumato.system.presentation.cards import verdict_document
from sfumato.system.progress import Progress, silent, stop_request
from sfumato.system.verdict import Verdict

# Recovery: a release that a crash cut off is finished or rolled back, as the ledger says.

Outcome = Literal[
    "finished", "rolled back", "under way", "out of reach", "blocked", "lost", "forgotten", "cleaned"
]


@dataclass(frozen=True)
class RecoveredRelease:
    """The outcome for a release that was under way, with all its versions.

    finished      it is in the ledger, and visible
    rolled back   it is not in the ledger; what was written is gone
    under way     a process is at it, or may be: on the machine `host`, if that is named
    out of reach  its store cannot be reached now
    blocked       it is in the ledger and staged, and something (`why`) is in the way of its folder
    lost          it is in the ledger, but its files are neither staged nor in place
    forgotten     it was lost, and is looked for no more; it stays in the ledger
    cleaned       it is no release but an erasure, or an encryption: the database holds no trace of before it
    """

    release: str
    outcome: Outcome
    target: str
    host: str = ""
    why: str = ""


def recover(ledger: Ledger, *, host: str | None = None) -> tuple[RecoveredRelease, ...]:
    """Finishes or rolls back every release under way on this machine, or on `host`, which is no more.

    What other machines brought to a store and entered in the ledger is finished, too. One that cannot be
    finished stands in no other's way. Recovering twice is the same as recovering once.
    """
    here, recovered = staging.host(ledger), list(_clean(ledger))
    for row in ledger.staged():
        target = target_of(row.target, aside=row.folder.parent)
        home = target.staging(row.release)
        if row.folder not in (home, staging.staged_in(home.parent, row.release)):
            continue  # nothing else is ever touched
        if row.host not in (here, host) and not target.shared:
            continue
        why = ""
        try:
            ours = row.host in (here, host)
            outcome = _recover(ledger, row, target) if ours else _complete(ledger, row, target)
            _settle_reference(row, outcome)
        except OutOfReach:
            outcome = "out of reach"
        except (Unfinished, BadLedger, OSError) as error:
            outcome, why = "blocked", _cause(error)
        elsewhere = "" if row.host == here else row.host
        recovered.append(RecoveredRelease(row.release, outcome, row.target, elsewhere, why))
    return tuple(recovered)


def _clean(ledger: Ledger) -> Iterator[RecoveredRelease]:
    """Cleans the database after erasures and encryptions that could not do it."""
    try:
        count = clean(ledger.database)
    except SfumatoError as error:
        yield RecoveredRelease("erasure", "blocked", ledger.database.name, why=error.message)
        return
    if count:
        yield RecoveredRelease("erasure", "cleaned", ledger.database.name)


def recover_into(ledger: Ledger, release: str, into: str | Path) -> RecoveredRelease:
    """Puts a release that is in the ledger and staged in another folder than it was meant for."""
    row, given = _row(ledger, release), Path(into)
    if not target_of(row.target).shared and row.folder.is_dir():
        target = FolderTarget(given.absolute(), given, staged=row.folder)
        target.check()
        outcome = _recover(ledger, row, target, roll_back=False)
        return RecoveredRelease(row.release, outcome, str(target.place))
    raise WrongCall(
        "nothing of this release is staged in a folder of this machine", where=release, remedy=LOOK_AGAIN
    )


def forget(ledger: Ledger, release: str) -> RecoveredRelease:
    """Looks for a lost release no more: its entry stays, and counts as published."""
    row = _row(ledger, release)
    target = target_of(row.target, aside=row.folder.parent)
    outcome = _recover(ledger, row, target, roll_back=False)
    if outcome == "lost":
        ledger.unstage(row.release)
        outcome = "forgotten"
    return RecoveredRelease(row.release, outcome, row.target)


def _settle_reference(row: Staged, outcome: Outcome) -> None:
    """Keeps what later judges need of the original table, if the release is published."""
    if outcome in ("finished", "rolled back"):
        place = Address.of(row.target) if is_address(row.target) else Path(row.target)
        settle_recovered(reference_path(place), published=outcome == "finished")


LOOK_AGAIN = "See `sfumato ledger recover` for what is under way."


def _row(ledger: Ledger, release: str) -> Staged:
    here = staging.host(ledger)
    for row in ledger.staged():
        if row.release == release and row.host == here:
            return row
    raise WrongCall("no such release is under way on this machine", where=release, remedy=LOOK_AGAIN)


def _cause(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return error.message if isinstance(error, SfumatoError) else type(error).__name__


def _recover(ledger: Ledger, row: Staged, target: Target, *, roll_back: bool = True) -> Outcome:
    claim = FolderLock.take(row.folder)
    if claim is None and row.folder.is_dir():
        return "under way"
    try:
        entries = ledger.settle(row.release)
        if not entries and not roll_back:
            raise WrongCall(
                "this release is not in the ledger: nothing was published",
                where=row.release,
                remedy=LOOK_AGAIN,
            )
        if not entries:
            target.withdraw(row.release)
        elif not target.complete(entries):
            return "lost"
        ledger.unstage(row.release)
        return "finished" if entries else "rolled back"
    finally:
        if claim is not None:
            claim.release()


def _complete(ledger: Ledger, row: Staged, target: Target) -> Outcome:
    """Finishes what another machine staged and entered; what it has not entered may still be under way."""
    entries = ledger.event(row.release)
    if not entries:
        return "under way"
    if not target.complete(entries):
        return "lost"
    ledger.unstage(row.release)
    return "finished"


PRIVATE_FOLDER = "private"
"""Below the staging folder: what the judge needs and nobody else may see."""


@dataclass(frozen=True)
class PreparedRelease:
    """A release before it is written: what the ledger will hold, and how to write and judge it.

    `write(path)` writes the published table; `judge(path, private)` reads it again and raises if it is
    unsafe, with `private` a folder for what must not outlive it. `describe(path)` returns further files to
    publish beside it, by their names. `place` is the folder of one version among several, below that of
    their event. `form` is how a CSV file is written, where not in UTF-8 with commas.
    """

    policy: str
    write: Callable[[Path], object]
    judge: Callable[[Path, Path], tuple[Verdict, ...]]
    describe: Callable[[Path], Mapping[str, bytes]] = field(default=lambda _: {})
    verdicts: tuple[Verdict, ...] = ()
    taxonomies: Mapping[str, str] = field(default_factory=dict)
    cuts: Mapping[str, Sequence[int]] | None = None
    trees: JsonMapping = field(default_factory=dict)
    override: JsonMapping | None = None
    weaker: JsonMapping | None = None
    despite: Sequence[str] = ()
    statement: JsonMapping = field(default_factory=dict)
    table: str = ""
    recipient: str | None = None
    place: str = ""
    figures: JsonMapping = field(default_factory=dict)
    memory: bytes = b""
    people: bytes = b""
    versions: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)


Prepare = Callable[[Sequence[Record]], Sequence[PreparedRelease]]
"""Plans every version of a release, given the earlier releases of its chain."""


def rehearse(
    ledger: Ledger | None, prepare: Prepare, *, chain: str, checks: Sequence[HistoryCheck] = ()
) -> tuple[Receipt, ...]:
    """Returns what a release, in all its versions, would come to now; writes nothing.

    A ledger that is not there yet has no history.
    """
    if ledger is not None:
        ledger.check_open(chain)
    history = () if ledger is None else ledger.history(chain)
    records = []
    for prepared in prepare(history):
        record = replace(_record(prepared, "", chain, at=""), verdicts=_documents(prepared.verdicts))
        records.append(_compare_with_history(history, record, checks))
    if ledger is not None:
        ledger.check_elsewhere(records)
    return tuple(map(Receipt, records))


def issue_all(
    ledger: Ledger,
    prepare: Prepare,
    *,
    into: str | Path | Address,
    name: str = "data.csv",
    chain: str,
    checks: Sequence[HistoryCheck] = (),
    aside: Path | None = None,
    progress: Progress = silent,
    at: StepHook = no_hook,
) -> tuple[Receipt, ...]:
    """Releases one table in one or several versions, each to its place in a new folder: all, or none.

    What goes to a store is written and judged in a hidden folder in `aside`, or the temporary folder, first.
    """
    at, stop_request.published = heeding(at), False
    target = target_of(into, aside=aside, progress=progress)
    recover(ledger)
    target.check()
    ledger.check_open(chain)
    erasures, history = ledger.erasures, ledger.history(chain)
    at("begun")
    versions = prepare(history)
    at("planned")
    event = uuid.uuid4().hex
    folder = target.staging(event)
    claim = target.reserve(event)
    try:
        try:
            at("occupied")
            ledger.stage(event, host=staging.host(ledger), folder=folder, target=target.place)
            at("staged")
            now = ledger.clock().isoformat()
            records = []
            for i, prepared in enumerate(versions):
                record = _record(prepared, event if i == 0 else uuid.uuid4().hex, chain, at=now)
                record = _stage(prepared, replace(record, event=event), folder / prepared.place / name, at)
                records.append(_compare_with_history(history, record, checks))
                if history:
                    progress("beside earlier releases", i + 1, len(versions))
                at("compared")
            ledger.check_elsewhere(records)
            target.bring(event, records, at=at)
            at("ready")
        except BaseException:
            _give_up(ledger, event, target)
            raise
        after = history[-1].hash if history else ""
        with uninterrupted():
            progress("enter in the ledger", 0, 1)
            entries = _commit(ledger, records, after, erasures, target, at)
            stop_request.published = True
            at("committed")
            target.show(entries, at=at)
            progress("enter in the ledger", 1, 1)
            with contextlib.suppress(SfumatoError):  # recovery will
                ledger.unstage(event)
            at("done")
    finally:
        claim.release()
    return tuple(
        Receipt(
            record,
            target.place / record.place,
            (name, *(file.name for file in made.described)),
            target.named / record.place,
        )
        for made, record in zip(records, map(Record.of, entries), strict=True)
    )


def _record(prepared: PreparedRelease, release: str, chain: str, *, at: str) -> Record:
    return Record(
        release,
        chain,
        prepared.policy,
        at=at,
        recipient=prepared.recipient,
        versions=prepared.versions,
        taxonomies=prepared.taxonomies,
        cuts=prepared.cuts,
        trees=prepared.trees,
        override=prepared.override,
        weaker=prepared.weaker,
        despite=prepared.despite,
        statement=prepared.statement,
        table=prepared.table,
        place=prepared.place,
        figures=prepared.figures,
        memory=prepared.memory,
        people=prepared.people,
    )


def _stage(prepared: PreparedRelease, record: Record, file: Path, at: StepHook) -> Record:
    """Writes the table, has its bytes judged, and describes it; the manifest names what was judged."""
    file.parent.mkdir(mode=0o700, exist_ok=not prepared.place)
    private = file.parent / PRIVATE_FOLDER
    private.mkdir(mode=0o700)
    prepared.write(file)
    at("written")
    listed = manifest.describe([file], release=record.release, form=prepared.form)
    verdicts = prepared.judge(file, private)
    remove_folder(private)
    described = _write_beside(file, prepared.describe(file))
    if wrong := manifest.manifest_faults(file.parent, listed):
        raise BadData(f"a file changed while it was judged: {wrong[0]}", where=file.name)
    listed["files"] += manifest.describe(described, release=record.release)["files"]
    write_to_disk(file.parent / manifest.MANIFEST, manifest.manifest_bytes(listed))
    at("judged")
    named = digest_of(file.parent / manifest.MANIFEST)
    return replace(record, verdicts=_documents(verdicts), files=(file,), described=described, manifest=named)


def _write_beside(file: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Writes what describes a table beside it; returns the files."""
    written = tuple(file.with_name(name) for name in contents)
    for path, content in zip(written, contents.values(), strict=True):
        write_to_disk(path, content)
    return written


def _compare_with_history(
    history: Sequence[Record], record: Record, checks: Sequence[HistoryCheck]
) -> Record:
    """Returns the record after all checks, which raise, add figures, or judge again."""
    figures, verdicts = dict(record.figures), {verdict["promise"]: verdict for verdict in record.verdicts}
    for check in checks:
        result = check(history, record) or {}
        comparison = result if isinstance(result, HistoryComparison) else HistoryComparison(result)
        figures.update(comparison.figures)
        verdicts.update({verdict["promise"]: verdict for verdict in _documents(comparison.verdicts)})
    return replace(record, figures=figures, verdicts=list(verdicts.values()))


def _commit(
    ledger: Ledger, records: Sequence[Record], after: str, erasures: int, target: Target, at: StepHook
) -> tuple[Entry, ...]:
    """Enters the release; where that fails, asks the ledger before anything is thrown away."""
    event = records[0].release
    try:
        return ledger.commit_event(
            records, after=after, erasures=erasures, before_commit=lambda: at("entered")
        )
    except Unfinished:
        raise
    except BaseException:
        try:
            entries = ledger.settle(event)
        except SfumatoError:
            raise Unfinished(
                "whether the release counts is not known yet: the ledger cannot be asked",
                remedy="Run `sfumato ledger recover` when it can.",
            ) from None
        if entries:
            return entries
        _give_up(ledger, event, target)
        raise


def _give_up(ledger: Ledger, event: str, target: Target) -> None:
    """Removes what was staged, since nothing was committed; what cannot be removed now, recovery removes."""
    with contextlib.suppress(OSError, SfumatoError):
        target.withdraw(event)
        ledger.unstage(event)


def _documents(verdicts: Sequence[Verdict]) -> list[JsonObject]:
    return [verdict_document(verdict) for verdict in verdicts]

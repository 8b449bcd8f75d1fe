"""Issuing a release: written aside, judged from its bytes, entered in the ledger, then made visible.

The commit of the ledger is the publish event. Before it everything can be thrown away; after it recovery can
only go forward. Whatever happens in between, a release is in the ledger and complete, or in neither.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from sfumato.policy.reference import reference_path
from sfumato.releases import certificate as manifest
from sfumato.releases import staging
from sfumato.releases.files import settle_recovered
from sfumato.releases.ledger.encryption import Staged, clean
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import HistoryCheck, HistoryComparison, ReleaseRecord
from sfumato.releases.ledger.records import Entry
from sfumato.releases.receipt import Receipt
from sfumato.releases.staging import StepHook, no_hook, stopping_when_asked, uninterrupted
from sfumato.releases.targets import FolderTarget, Target, target_of
from sfumato.system.address import Address, is_address
from sfumato.system.disk import FolderLock, digest_of, remove_folder, write_to_disk
from sfumato.system.errors import BadData, BadLedger, SfumatoError, StoreUnavailable, Unfinished, UsageError
from sfumato.system.json_object import document_bytes
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
        except StoreUnavailable:
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
    row, folder = _row(ledger, release), Path(into)
    if not target_of(row.target).shared and row.folder.is_dir():
        target = FolderTarget(folder.absolute(), folder, staged=row.folder)
        target.check()
        outcome = _recover(ledger, row, target, roll_back=False)
        return RecoveredRelease(row.release, outcome, str(target.place))
    raise UsageError(
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
    raise UsageError("no such release is under way on this machine", where=release, remedy=LOOK_AGAIN)


def _cause(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return error.message if isinstance(error, SfumatoError) else type(error).__name__


def _recover(ledger: Ledger, row: Staged, target: Target, *, roll_back: bool = True) -> Outcome:
    claim = FolderLock.take(row.folder)
    if claim is None and row.folder.is_dir():
        return "under way"
    try:
        entries = ledger.resolve(row.release)
        if not entries and not roll_back:
            raise UsageError(
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
class PlannedRelease:
    """One version of a release before it is written: its record so far, and how to write and judge its file.

    `write(path)` writes the published table; `judge(path, private)` reads it again and raises if it is
    unsafe, with `private` a folder for what must not outlive it. `describe(path)` returns further files to
    publish beside it, by their names. `form` is how a CSV file is written, where not in UTF-8 with commas.
    """

    record: ReleaseRecord
    write: Callable[[Path], object]
    judge: Callable[[Path, Path], tuple[Verdict, ...]]
    describe: Callable[[Path], Mapping[str, bytes]] = field(default=lambda _: {})
    form: Mapping[str, str] = field(default_factory=dict)


def rehearse(
    ledger: Ledger | None,
    history: Sequence[ReleaseRecord],
    versions: Sequence[PlannedRelease],
    *,
    checks: Sequence[HistoryCheck] = (),
) -> tuple[Receipt, ...]:
    """Returns what a release, in all its versions, would come to now; writes nothing."""
    records = [_compare_with_history(history, version.record, checks) for version in versions]
    if ledger is not None:
        ledger.check_elsewhere(records)
    return tuple(map(Receipt, records))


# A release has three parts: it begins with the history of its chain, by which it is planned; its folders are
# written and judged; they are issued. Before the last one nothing is published, and all can be given up.


@dataclass(frozen=True)
class BegunRelease:
    """A release that is to be planned by the `history` of its chain, as it was at the beginning.

    `erasures` is how often people had been erased by then. `at` is called at every step.
    """

    ledger: Ledger
    chain: str
    target: Target
    history: tuple[ReleaseRecord, ...]
    erasures: int
    at: StepHook
    progress: Progress


def begin(
    ledger: Ledger,
    *,
    into: str | Path | Address,
    chain: str,
    aside: Path | None = None,
    progress: Progress = silent,
    at: StepHook = no_hook,
) -> BegunRelease:
    """Begins a release into a new folder: cleans up after crashes, and returns what it is planned by.

    What goes to a store is written and judged in a hidden folder in `aside`, or the temporary folder, first.
    """
    at, stop_request.published = stopping_when_asked(at), False
    target = target_of(into, aside=aside, progress=progress)
    recover(ledger)
    target.check()
    ledger.check_open(chain)
    erasures, history = ledger.erasures, ledger.history(chain)
    at("begun")
    return BegunRelease(ledger, chain, target, history, erasures, at, progress)


@dataclass
class JudgedFolders:
    """The staged folders of an event: written, judged, and held by this process until they are issued.

    `committing` says that the ledger is asked to enter them: from then on it decides what becomes of them.
    """

    begun: BegunRelease
    event: str
    records: tuple[ReleaseRecord, ...] = ()
    committing: bool = False

    def give_up(self) -> None:
        """Removes what was staged, since nothing was committed; what remains, recovery removes."""
        with contextlib.suppress(OSError, SfumatoError):
            self.begun.target.withdraw(self.event)
            self.begun.ledger.unstage(self.event)


@contextmanager
def judge_folders(
    begun: BegunRelease,
    versions: Sequence[PlannedRelease],
    *,
    name: str = "data.csv",
    checks: Sequence[HistoryCheck] = (),
) -> Iterator[JudgedFolders]:
    """Writes every version to a hidden folder and has it judged; gives all up where anything fails."""
    at, ledger, target, history = begun.at, begun.ledger, begun.target, begun.history
    at("planned")
    folders = JudgedFolders(begun, uuid.uuid4().hex)
    folder = target.staging(folders.event)
    claim = target.reserve(folders.event)
    try:
        at("occupied")
        ledger.stage(folders.event, host=staging.host(ledger), folder=folder, target=target.place)
        at("staged")
        now = ledger.clock().isoformat()
        for i, version in enumerate(versions):
            release = folders.event if i == 0 else uuid.uuid4().hex
            record = replace(version.record, release=release, event=folders.event, chain=begun.chain, at=now)
            record = _judge_folder(version, record, folder / record.place / name, at)
            folders.records += (_compare_with_history(history, record, checks),)
            if history:
                begun.progress("beside earlier releases", i + 1, len(versions))
            at("compared")
        yield folders
    except BaseException:
        if not folders.committing:
            folders.give_up()
        raise
    finally:
        claim.release()


def issue(folders: JudgedFolders) -> tuple[Receipt, ...]:
    """Releases judged folders, each to its place in a new folder: all, or none."""
    begun, records = folders.begun, folders.records
    at, ledger, target, progress = begun.at, begun.ledger, begun.target, begun.progress
    ledger.check_elsewhere(records)
    target.bring(folders.event, records, at=at)
    at("ready")
    with uninterrupted():
        folders.committing = True
        progress("enter in the ledger", 0, 1)
        entries = _commit(folders)
        stop_request.published = True
        at("committed")
        target.show(entries, at=at)
        progress("enter in the ledger", 1, 1)
        with contextlib.suppress(SfumatoError):  # recovery will
            ledger.unstage(folders.event)
        at("done")
    return tuple(
        Receipt(
            entered,
            target.place / entered.place,
            tuple(file.name for file in (*judged.files, *judged.described)),
            target.named / entered.place,
        )
        for judged, entered in zip(records, map(ReleaseRecord.of, entries), strict=True)
    )


def _judge_folder(version: PlannedRelease, record: ReleaseRecord, file: Path, at: StepHook) -> ReleaseRecord:
    """Writes the table, has its bytes judged, and describes it; the manifest names what was judged."""
    file.parent.mkdir(mode=0o700, exist_ok=not record.place)
    private = file.parent / PRIVATE_FOLDER
    private.mkdir(mode=0o700)
    version.write(file)
    at("written")
    listed = manifest.describe([file], release=record.release, form=version.form)
    verdicts = version.judge(file, private)
    remove_folder(private)
    described = _write_beside(file, version.describe(file))
    if faults := manifest.manifest_faults(file.parent, listed):
        raise BadData(f"a file changed while it was judged: {faults[0]}", where=file.name)
    listed["files"] += manifest.describe(described, release=record.release)["files"]
    write_to_disk(file.parent / manifest.MANIFEST, document_bytes(listed))
    at("judged")
    digest = digest_of(file.parent / manifest.MANIFEST)
    documents = list(map(verdict_document, verdicts))
    return replace(record, verdicts=documents, files=(file,), described=described, manifest=digest)


def _write_beside(file: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Writes what describes a table beside it; returns the files."""
    written = tuple(file.with_name(name) for name in contents)
    for path, content in zip(written, contents.values(), strict=True):
        write_to_disk(path, content)
    return written


def _compare_with_history(
    history: Sequence[ReleaseRecord], record: ReleaseRecord, checks: Sequence[HistoryCheck]
) -> ReleaseRecord:
    """Returns the record after all checks, which raise, add figures, or judge again."""
    figures = dict(record.figures)
    verdicts = {verdict["promise"]: verdict for verdict in record.verdicts}
    for check in checks:
        result = check(history, record) or {}
        comparison = result if isinstance(result, HistoryComparison) else HistoryComparison(result)
        figures.update(comparison.figures)
        verdicts.update(
            {verdict["promise"]: verdict for verdict in map(verdict_document, comparison.verdicts)}
        )
    return replace(record, figures=figures, verdicts=list(verdicts.values()))


def _commit(folders: JudgedFolders) -> tuple[Entry, ...]:
    """Enters the release; where that fails, asks the ledger before anything is thrown away."""
    begun = folders.begun
    ledger, history = begun.ledger, begun.history
    try:
        return ledger.commit_event(
            folders.records,
            after=history[-1].hash if history else "",
            erasures=begun.erasures,
            before_commit=lambda: begun.at("entered"),
        )
    except Unfinished:
        raise
    except BaseException:
        try:
            entries = ledger.resolve(folders.event)
        except SfumatoError:
            raise Unfinished(
                "whether the release counts is not known yet: the ledger cannot be asked",
                remedy="Run `sfumato ledger recover` when it can.",
            ) from None
        if entries:
            return entries
        folders.give_up()
        raise

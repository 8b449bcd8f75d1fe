"""Recovery: a release that a crash cut off is finished or rolled back, as the ledger says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfumato.core.errors import BadLedger, OutOfReach, SfumatoError, Unfinished, WrongCall
from sfumato.policy.reference import reference_path
from sfumato.releases import staging
from sfumato.releases.ledger.encryption import clean
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.underway import Staged
from sfumato.releases.private_file import settle_recovered
from sfumato.releases.targets.folder import FolderTarget
from sfumato.releases.targets.target import Target, target_of
from sfumato.system.address import Address, is_address
from sfumato.system.disk import FolderLock

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

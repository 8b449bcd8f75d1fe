"""Recovery: a release that a crash cut off is finished or rolled back, as the ledger says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfumato.core.errors import OutOfReach
from sfumato.releases import staging
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.underway import Staged
from sfumato.releases.targets.target import Target, target_of
from sfumato.system.disk import FolderLock

Outcome = Literal["finished", "rolled back", "under way", "out of reach", "lost"]


@dataclass(frozen=True)
class RecoveredRelease:
    """The outcome for a release that was under way, with all its versions.

    finished      it is in the ledger, and visible
    rolled back   it is not in the ledger; what was written is gone
    under way     a process is at it, or may be: on the machine `host`, if that is named
    out of reach  its store cannot be reached now
    lost          it is in the ledger, but its files are neither staged nor in place
    """

    release: str
    outcome: Outcome
    target: str
    host: str = ""


def recover(ledger: Ledger, *, host: str | None = None) -> tuple[RecoveredRelease, ...]:
    """Finishes or rolls back every release under way on this machine, or on `host`, which is no more.

    What other machines brought to a store and entered in the ledger is finished, too. Recovering twice is the
    same as recovering once.
    """
    here, recovered = staging.host(ledger), []
    for row in ledger.staged():
        target = target_of(row.target, aside=row.folder.parent)
        if row.folder != target.staging(row.release):  # nothing else is ever touched
            continue
        if row.host not in (here, host) and not target.shared:
            continue
        try:
            ours = row.host in (here, host)
            outcome = _recover(ledger, row, target) if ours else _complete(ledger, row, target)
        except OutOfReach:
            outcome = "out of reach"
        recovered.append(
            RecoveredRelease(row.release, outcome, row.target, "" if row.host == here else row.host)
        )
    return tuple(recovered)


def _recover(ledger: Ledger, row: Staged, target: Target) -> Outcome:
    claim = FolderLock.take(row.folder)
    if claim is None and row.folder.is_dir():
        return "under way"
    try:
        entries = ledger.settle(row.release)
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

"""Recovery: what a crash left half-done is finished or rolled back, as the ledger says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfumato.release import staging
from sfumato.release.disk import Claim, wipe
from sfumato.release.ledger.ledger import Ledger

Outcome = Literal["finished", "rolled back", "under way", "lost"]


@dataclass(frozen=True)
class Recovered:
    """What became of a release that was under way, or of all versions of one.

    finished      it is in the ledger, and its folder is in place
    rolled back   it is not in the ledger; what was written is gone
    under way     a process is at it
    lost          it is in the ledger, but its files are neither staged nor in place
    """

    release: str
    outcome: Outcome
    target: str


def recover(ledger: Ledger) -> tuple[Recovered, ...]:
    """Look after every release under way on this machine. Doing it twice is doing it once."""
    found = []
    for release, folder, target in ledger.staged(staging.host(ledger)):
        if folder == staging.folder_of(target, release):  # nothing else is ever touched
            found.append(Recovered(release, _recover(ledger, release, folder, target), str(target)))
    return tuple(found)


def _recover(ledger: Ledger, release: str, folder: Path, target: Path) -> Outcome:
    claim = Claim.take(folder)
    if claim is None and folder.is_dir():
        return "under way"
    try:
        entries = ledger.settle(release)
        if not entries:
            wipe(folder)
        elif claim is not None:
            staging.check_staged(entries, folder)
            staging.finish(entries, target)
        elif not staging.is_in_place(entries, target):
            return "lost"
        ledger.unstage(release)
        return "finished" if entries else "rolled back"
    finally:
        if claim is not None:
            claim.release()

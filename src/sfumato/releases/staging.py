"""Staging: a hidden folder on this machine, held by the process that fills it."""

from __future__ import annotations

import socket
from pathlib import Path

from sfumato.core.errors import LedgerConflict
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.disk import FolderLock


def staged_in(parent: Path, event: str) -> Path:
    """Where a release is written before it counts. Versions for several recipients are folders in it."""
    return parent / f".staged-{event}"


def host(ledger: Ledger) -> str:
    """Which machine a staged folder is on; a SQLite ledger is on the same one."""
    return "" if ledger.database.path is not None else socket.gethostname()


def occupy(folder: Path) -> FolderLock:
    """Make the folder and hold it."""
    folder.mkdir(mode=0o700)
    claim = FolderLock.take(folder)
    if claim is None:
        raise LedgerConflict("the staging folder was taken away", remedy="Try again.")
    return claim


def sweep(parent: Path) -> None:
    """Remove empty staging folders that a crash left behind before anything was noted."""
    for folder in parent.glob(".staged-*"):
        claim = FolderLock.take(folder)
        if claim is None:
            continue
        try:
            folder.rmdir()
        except OSError:
            pass  # not empty: a ledger knows what it is
        finally:
            claim.release()

"""Staging folders: hidden folders on this machine, each locked by the process that fills it."""

from __future__ import annotations

import socket
from pathlib import Path

from sfumato.core.errors import LedgerConflict
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.disk import FolderLock


def staged_in(parent: Path, event: str) -> Path:
    """Returns the folder in which a release, with all its versions, is written before it counts."""
    return parent / f".staged-{event}"


def host(ledger: Ledger) -> str:
    """Returns the machine a staging folder is on; nothing for a SQLite ledger, which is on the same one."""
    return "" if ledger.database.path is not None else socket.gethostname()


def make_and_lock(folder: Path) -> FolderLock:
    """Makes the folder and locks it."""
    folder.mkdir(mode=0o700)
    claim = FolderLock.take(folder)
    if claim is None:
        raise LedgerConflict("the staging folder was taken away", remedy="Try again.")
    return claim


def remove_empty(parent: Path) -> None:
    """Removes empty staging folders that a crash left behind before the ledger knew of them."""
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

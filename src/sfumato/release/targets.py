"""Targets: where a release is to become visible, a new folder or a place in an object store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from sfumato.core.progress import Progress, silent
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.entry import Entry
from sfumato.releases.ledger.record import Record
from sfumato.releases.steps import StepHook, no_hook
from sfumato.releases.targets.folder import FolderTarget
from sfumato.releases.targets.object_store import StoreTarget
from sfumato.system.address import Address, is_address
from sfumato.system.disk import FolderLock


class Target(Protocol):
    """A place for a release, which is written and judged in a staging folder, brought there, and shown.

    Before the ledger's commit everything can be withdrawn; after it the release can only be completed, from
    what was brought before. Every method may be called again.
    """

    @property
    def place(self) -> Path | Address:
        """What the release becomes."""
        ...

    @property
    def named(self) -> Path | Address:
        """The same, as the caller named it."""
        ...

    @property
    def shared(self) -> bool:
        """Whether other machines reach it, and can complete what was begun here."""
        ...

    def check(self) -> None:
        """Raises for what could not be published later."""
        ...

    def staging(self, event: str) -> Path:
        """Returns the folder in which a release is written before it counts."""
        ...

    def reserve(self, event: str) -> FolderLock:
        """Makes and locks the staging folder; raises if another release has the place."""
        ...

    def bring(self, event: str, records: Sequence[Record], *, at: StepHook = no_hook) -> None:
        """Puts all that is needed after the commit where it will stay; raises if the place is taken."""
        ...

    def withdraw(self, event: str) -> None:
        """Removes what was brought, since nothing was committed."""
        ...

    def show(self, entries: Sequence[Entry], *, at: StepHook = no_hook) -> None:
        """Makes visible what the ledger holds."""
        ...

    def complete(self, entries: Sequence[Entry]) -> bool:
        """Makes visible what the ledger holds; returns whether it was in place or brought before."""
        ...


def target_of(
    into: str | Path | Address, *, aside: Path | None = None, progress: Progress = silent
) -> Target:
    """Returns the target at a path or an address. What goes to a store is staged in the folder `aside`."""
    if isinstance(into, Address) or (isinstance(into, str) and is_address(into)):
        return StoreTarget(Address.of(into), aside, progress)
    return FolderTarget(Path(into).absolute(), Path(into))


def check_first(into: str | Path | Address, ledger: str) -> None:
    """Raises for a target that cannot be used, before a ledger is made for it.

    A ledger that is there may have to recover something first, perhaps in this very place.
    """
    if not LedgerDatabase(ledger).exists:
        target_of(into).check()

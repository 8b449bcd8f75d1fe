"""Where a release is to become visible: a new folder, or a place in an object store."""
# ruff: noqa: PLC0415  # one kind of target does not load the other

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from sfumato.core.progress import Progress, silent
from sfumato.releases.ledger.database import Database
from sfumato.releases.ledger.entry import Entry
from sfumato.releases.ledger.record import Record
from sfumato.releases.steps import Step, nothing
from sfumato.system.address import Address, is_address


class Target(Protocol):
    """A release is written and judged in a folder of this machine, brought to its place, and shown.

    Before the ledger's commit everything can be withdrawn; after it the release can only be completed, from
    what was brought before. All of this can be done again.
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
        """Refuse early what could not be published later."""
        ...

    def staging(self, event: str) -> Path:
        """Where a release is written before it counts."""
        ...

    def bring(self, event: str, records: Sequence[Record], *, at: Step = nothing) -> None:
        """Have all that is needed after the commit where it will stay; refused if the place is taken."""
        ...

    def withdraw(self, event: str) -> None:
        """Nothing was committed: leave nothing behind."""
        ...

    def show(self, entries: Sequence[Entry], *, at: Step = nothing) -> None:
        """Make visible what the ledger holds."""
        ...

    def complete(self, entries: Sequence[Entry]) -> bool:
        """See that what the ledger holds is visible; no, where it is neither in place nor was brought."""
        ...


def target_of(
    into: str | Path | Address, *, aside: Path | None = None, progress: Progress = silent
) -> Target:
    """The target that was meant. What goes to a store is staged in the folder `aside`."""
    if isinstance(into, Address) or (isinstance(into, str) and is_address(into)):
        from sfumato.releases.targets.object_store import StoreTarget

        return StoreTarget(Address.of(into), aside, progress)
    from sfumato.releases.targets.folder import FolderTarget

    return FolderTarget(Path(into).absolute(), Path(into))


def check_first(into: str | Path | Address, ledger: str) -> None:
    """Refuse a target before a ledger is made for it. One that is there may have to recover something first,
    perhaps in this very place."""
    if not Database(ledger).exists:
        target_of(into).check()

"""A studio: one folder, its policy, the table that is looked at, and the work that goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from sfumato.studio.folder import DataChoice, OpenedFolder
from sfumato.studio.jobs import Jobs
from sfumato.studio.policy_file import PolicyFile
from sfumato.studio.security import Gate
from sfumato.studio.table_view import LookSettings


@dataclass
class Studio:
    """Everything that pages share; the chosen table is that of all tabs, since there is one policy."""

    folder: OpenedFolder
    policy: PolicyFile
    jobs: Jobs
    gate: Gate
    warn: Callable[[str], None] = field(repr=False)
    """Says something in the terminal."""
    look: LookSettings = field(default_factory=LookSettings)
    """What the page Discover asks of the table."""
    _chosen: str | None = None
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def data(self) -> DataChoice | None:
        """The table that is looked at; where none was chosen and there is one alone, that one."""
        tables = self.folder.tables()
        with self._lock:
            for choice in tables:
                if choice.key == self._chosen:
                    return choice
        return tables[0] if len(tables) == 1 else None

    def choose(self, key: str) -> DataChoice:
        """Looks at another table from now on."""
        choice = self.folder.table(key)
        with self._lock:
            self._chosen = choice.key
        return choice

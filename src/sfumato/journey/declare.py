"""The verb `declare`: a policy to start from."""

from __future__ import annotations

from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable
from sfumato.journey.table_argument import open_table
from sfumato.policy.draft import draft
from sfumato.policy.policy import Policy


def declare(data: AnyTable, *, preset: str | None = None, progress: Progress | None = None) -> Policy:
    """A working policy from the data alone, to be read and corrected by whoever knows the data."""
    return draft(open_table(data).survey(progress=progress or silent), preset=preset)

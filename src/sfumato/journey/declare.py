"""The verb `declare`: a policy to start from."""

from __future__ import annotations

from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable
from sfumato.journey.header_row import check_header
from sfumato.journey.table_argument import open_table
from sfumato.policy.draft import draft
from sfumato.policy.policy import Policy


def declare(
    data: AnyTable, *, preset: str | None = None, header: bool = False, progress: Progress | None = None
) -> Policy:
    """A working policy from the data alone, to be read and corrected by whoever knows the data.

    The first line of a CSV file that may be a row is refused, unless `header` says that it names the columns.
    """
    source = open_table(data)
    check_header(source, header=header)
    return draft(source.survey(progress=progress or silent), preset=preset)

"""The verb `declare`: a policy to start from."""

from __future__ import annotations

from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable
from sfumato.journey.header_row import check_header
from sfumato.journey.table_argument import open_table
from sfumato.journey.warnings import Warn
from sfumato.policy.doctor.policy import several_rows
from sfumato.policy.draft import draft
from sfumato.policy.policy import Policy


def declare(
    data: AnyTable,
    *,
    preset: str | None = None,
    header: bool = False,
    warn: Warn | None = None,
    progress: Progress | None = None,
) -> Policy:
    """A working policy from the data alone, to be read and corrected by whoever knows the data.

    The first line of a CSV file that may be a row is refused, unless `header` says that it names the columns.
    `warn` receives what the data leave open: an identifier that repeats, where nothing tells that it names
    people.
    """
    source = open_table(data)
    check_header(source, header=header)
    survey = source.survey(progress=progress or silent)
    policy = draft(survey, preset=preset)
    if warn is not None:
        for diagnosis in several_rows(policy, survey):
            warn(diagnosis)
    return policy

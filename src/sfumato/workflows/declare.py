"""The verb `declare`: a policy to start from."""

from __future__ import annotations

from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable
from sfumato.journey.draft_evidence import DraftEvidence
from sfumato.journey.draft_trial import tried
from sfumato.journey.warnings import Warn
from sfumato.policy.doctor.policy import several_rows
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

    Roles come from headers in five languages, from the cells, and from what `discover` recognizes in them.
    What nobody is thought to know is `insensitive` and waits for somebody to confirm it (`policy.confirm`).
    The draft is planned on the table before it is returned: `protect` does not refuse it, and its note says
    what it costs.

    The first line of a CSV file that may be a row is refused, unless `header` says that it names the columns.
    `warn` receives what the data leave open: an identifier that repeats, where nothing tells that it names
    people; columns that are lost, and which ones to leave out.
    """
    show = progress or silent
    evidence = DraftEvidence.of(data, header=header, progress=show)
    policy, warnings = tried(evidence.draft(preset), evidence.source, evidence.survey, progress=show)
    if warn is not None:
        for diagnosis in (*several_rows(policy, evidence.survey), *warnings):
            warn(diagnosis)
    return policy

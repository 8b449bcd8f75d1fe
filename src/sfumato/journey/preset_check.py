"""A check of the data where a policy bears the name of a preset with rules for columns."""

from __future__ import annotations

from sfumato.core.problem import refuse
from sfumato.core.progress import Progress
from sfumato.discovery.identifiers.detection import findings
from sfumato.engine.source import Source
from sfumato.policy.policy import Policy
from sfumato.policy.safe_harbor_cells import cell_problems


def check_preset(source: Source, policy: Policy, progress: Progress) -> None:
    """Raises `BadPolicy` with every rule of the preset that published cells break; reads the table once."""
    if policy.preset is None:
        return
    names = [name for name in policy.published if name in source.columns]
    survey = source.survey(names, progress=progress)
    refuse(list(cell_problems(policy, survey, findings(survey))), policy.origin)

"""A check of the data where a policy bears the name of a preset with rules for columns."""

from __future__ import annotations

from sfumato.core.problem import refuse
from sfumato.core.progress import Progress
from sfumato.discovery.identifiers.detection import findings
from sfumato.engine.source import Source
from sfumato.policy.policy import Policy
from sfumato.policy.safe_harbor_cells import cell_problems


def with_preset_check(source: Source, policy: Policy, progress: Progress) -> Source:
    """Returns the source; raises `BadPolicy` with every rule of its preset that published cells break.

    The table is read for that, where the policy bears the name of a preset.
    """
    if policy.preset is None:
        return source
    names = [name for name in policy.published if name in source.columns]
    survey = source.survey(names, progress=progress)
    refuse(list(cell_problems(policy, survey, findings(survey))), policy.origin)
    return source

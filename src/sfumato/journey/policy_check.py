"""The verb `policy check`: what is wrong with a policy, alone or beside data."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.errors import BadPolicy
from sfumato.core.problem import Problem, short
from sfumato.core.progress import Progress, silent
from sfumato.discovery.identifiers.detection import findings
from sfumato.engine import AnyTable
from sfumato.engine.source import Source
from sfumato.engine.survey import Survey
from sfumato.engine.surveying_reader import show_first_texts, survey_with_sets
from sfumato.journey.policy_argument import AnyPolicy, check_some_declared, load_policy
from sfumato.journey.table_argument import open_table
from sfumato.policy.doctor.diagnosis import Diagnosis, Severity
from sfumato.policy.doctor.knowledge import HeldTermSets
from sfumato.policy.doctor.policy import examine, examine_held, examine_path, worst_first
from sfumato.policy.doctor.rows import examine_rows
from sfumato.policy.policy import Policy
from sfumato.policy.presets import preset as preset_of
from sfumato.policy.safe_harbor import broken_rules
from sfumato.policy.safe_harbor_cells import cell_problems
from sfumato.policy.set_columns import forms_of
from sfumato.policy.telling_columns import ColumnsBesideKeys


def check_policy(
    policy: AnyPolicy,
    data: AnyTable | None = None,
    *,
    preset: str | None = None,
    progress: Progress | None = None,
) -> list[Diagnosis]:
    """Returns everything that is wrong with a policy, alone or beside data, worst first, with the repair.

    Of a policy file that cannot be loaded, the problems of its hierarchy files are told, too.
    """
    known_rule = preset_of(preset) if preset else None
    try:
        rules = load_policy(policy)
    except BadPolicy:
        if not isinstance(policy, str | Path):
            raise
        return examine_path(policy)
    survey = None
    if data is None:
        diagnoses = examine(rules)
    else:
        survey, diagnoses = examine_beside(open_table(data, policy=rules), rules, progress or silent)
    if rules.preset is None and not (known_rule and known_rule.checks_columns):
        return diagnoses
    broken = list(broken_rules(rules))
    if survey is not None:
        broken += cell_problems(rules, survey, findings(survey))
    told = {problem.place: problem for problem in reversed(broken)}
    return worst_first([*diagnoses, *map(_broken_rule, reversed(told.values()))])


def _broken_rule(problem: Problem) -> Diagnosis:
    where = f"column {short(str(problem.place[-1]))}"
    return Diagnosis("safe-harbor", Severity.ERROR, where, problem.message, 1, problem.remedy)


def examine_beside(source: Source, policy: Policy, progress: Progress) -> tuple[Survey, list[Diagnosis]]:
    """Returns what a table holds, which is read once, and what is wrong with a policy beside it."""
    check_some_declared(source.columns, policy)
    here = set(source.columns)
    forms = {name: form for name, form in forms_of(policy).items() if set(form.parts or (name,)) <= here}
    unchanged, told = ColumnsBesideKeys.of(policy.columns, source.columns), []
    shown = show_first_texts(source, unchanged.names, lambda rows: told.extend(examine_rows(unchanged, rows)))
    columns, sets = survey_with_sets(shown, source.columns, forms, progress=progress)
    held = {name: HeldTermSets(column.values, column.counts) for name, column in sets.columns.items()}
    return columns, worst_first([*examine(policy, columns), *examine_held(policy, held), *told])

"""A policy from a table and the roles that a caller names: what a notebook needs to protect at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Role
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promises
from sfumato.core.spelling import meaning
from sfumato.engine.source import Source
from sfumato.policy.category_groups import grouped_categories
from sfumato.policy.changed_policy import RoleNames, changed_columns, changed_promises
from sfumato.policy.column_evidence import NO_FINDING, ColumnEvidence, texts
from sfumato.policy.column_profile import ColumnProfile
from sfumato.policy.column_taxonomy import taxonomy_of
from sfumato.policy.draft import draft
from sfumato.policy.policy import ColumnRule, Policy
from sfumato.promises import make

LEAST_VALUES = 2
"""So many different values every class has of each sensitive column, unless the caller says otherwise."""
KINDS = {"l": "l-diversity", "t": "t-closeness"}


def policy_of_roles(
    source: Source, names: RoleNames, numbers: Mapping[str, object], *, progress: Progress = silent
) -> Policy:
    """Returns a policy with the roles and numbers that a caller names, and a draft of everything else.

    A column that is not named has the role of the draft: an identifier is dropped, a quasi-identifier
    generalized. Every sensitive column with two values gets a promise: l different ones in each class, 2
    unless `l` or `t` is given.
    """
    if not names.roles and not numbers:
        raise WrongCall(
            "neither a policy nor a role is given", remedy="As in protect(table, k=5, quasi=['age'])."
        )
    from sfumato.discovery.identifiers.detection import findings  # noqa: PLC0415  # a policy needs none

    survey = source.survey(progress=progress)
    drafted = draft(survey, findings=findings(survey))
    columns = changed_columns(drafted, names)
    for name, rule in columns.items():
        if rule.role is Role.QUASI and drafted.columns[name].role is not Role.QUASI:
            profile = ColumnProfile.of(name, survey.columns[name], survey.rows, NO_FINDING)
            columns[name] = ColumnRule(Role.QUASI, taxonomy_of(profile)[0], "named by the caller")
        elif rule.role is not drafted.columns[name].role:
            columns[name] = ColumnRule(rule.role, None, "named by the caller")
    if drafted.person is None:
        least = max(promise.least_people for promise in drafted.promises)
        columns.update(grouped_categories(columns, survey, least))
    several = [
        name
        for name, rule in columns.items()
        if rule.role is Role.SENSITIVE and _different(survey.columns[name]) >= LEAST_VALUES
    ]
    stated = {key: numbers[key] for key in ("l", "t") if key in numbers} or {"l": LEAST_VALUES}
    about = [make(KINDS[key], {"of": name, key: value}) for key, value in stated.items() for name in several]
    of_people = changed_promises(drafted, columns, {key: numbers[key] for key in ("k",) if key in numbers})
    by_size = [promise for promise in of_people if promise.by_size and not promise.derived]
    waiting = {name: why for name, why in drafted.confirm.items() if name not in names.roles}
    return replace(drafted, columns=columns, promises=Promises((*by_size, *about)), note="", confirm=waiting)


def _different(column: ColumnEvidence) -> int:
    """Returns how many values a promise would count."""
    return len({meaning(text) for text in texts(column)} - {None})

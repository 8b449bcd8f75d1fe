"""Warnings of a policy that is put to use: what is allowed and probably not meant."""
# ruff: noqa: PLC0415  # what examines a policy is loaded for those who want to be warned

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.core.errors import SfumatoError
from sfumato.core.progress import Progress, silent
from sfumato.engine.source import Source
from sfumato.policy.policy import Policy

if TYPE_CHECKING:
    from sfumato.core.taxonomy import Label
    from sfumato.engine.survey import Survey
    from sfumato.policy.doctor.diagnosis import Diagnosis

Warn = Callable[["Diagnosis"], None]
"""Receives the warnings, one by one."""


class NotedWarnings:
    """Passes warnings on and remembers their names."""

    def __init__(self, warn: Warn) -> None:
        self._warn = warn
        self.names: set[str] = set()

    def __call__(self, diagnosis: Diagnosis) -> None:
        self.names.add(diagnosis.name)
        self._warn(diagnosis)

    @property
    def rows_only(self) -> bool:
        """Whether an identifier repeats and nothing says whose rows are whose: rows are counted."""
        from sfumato.policy.doctor.policy import SEVERAL_ROWS

        return SEVERAL_ROWS in self.names


def warn_of_policy(policy: Policy, warn: Warn | None) -> None:
    """Report what the policy and its files alone give reason to warn of."""
    if warn is not None:
        for diagnosis in _warnings(policy):
            warn(diagnosis)


def with_warnings(
    source: Source, policy: Policy, warn: Warn | None, *, progress: Progress = silent
) -> Source:
    """Report what a policy and its table give reason to warn of; returns the source to read from now on.

    What the policy alone tells is reported at once, what the columns hold (identifiers only where the policy
    does not say what tells people apart; columns that tell a key) in the first pass over the returned source:
    the pass that counts is also the one that surveys. A source that cannot do both (one in Spark, or one held
    to a limit of memory) is surveyed here. Where a survey fails, nothing is reported: what is wrong with the
    table is for the verb to say.
    """
    if warn is None:
        return source
    from sfumato.engine.surveying_reader import show_first_texts, survey_on_first_pass, survey_with_sets
    from sfumato.policy.doctor.rows import examine_rows
    from sfumato.policy.set_columns import forms_of
    from sfumato.policy.telling_columns import ColumnsBesideKeys

    warn_of_policy(policy, warn)
    looked_at = policy.columns if policy.person is None else policy.published
    names = [name for name in looked_at if name in source.columns]
    here = set(source.columns)
    forms = {name: form for name, form in forms_of(policy).items() if set(form.parts or (name,)) <= here}

    def report(columns: Survey, sets: Survey) -> None:
        with suppress(SfumatoError, OSError):
            for diagnosis in _warnings_of_table(policy, columns, sets):
                warn(diagnosis)

    unchanged = ColumnsBesideKeys.of(policy.columns, source.columns)

    def look(rows: Mapping[str, Sequence[Label]]) -> None:
        for diagnosis in examine_rows(unchanged, rows):
            warn(diagnosis)

    source = show_first_texts(source, unchanged.names, look)
    surveying = survey_on_first_pass(source, names, forms, report)
    if surveying is not None:
        return surveying
    with suppress(SfumatoError, OSError):
        report(*survey_with_sets(source, names, forms, progress=progress))
    return source


def _warnings(policy: Policy) -> Sequence[Diagnosis]:
    """The warnings that need no table; what waits for confirmation may be planned, so it is one of them."""
    from sfumato.policy.doctor.policy import UNCONFIRMED, Severity, examine

    found = [
        replace(each, gravity=Severity.WARNING) if each.name == UNCONFIRMED else each
        for each in examine(policy)
    ]
    return [each for each in found if each.gravity is Severity.WARNING]


def _warnings_of_table(policy: Policy, columns: Survey, sets: Survey) -> Sequence[Diagnosis]:
    """The warnings that a table gives reason for, beside those of its policy alone."""
    from sfumato.policy.doctor.knowledge import HeldTermSets
    from sfumato.policy.doctor.policy import Severity, examine_held, examine_table

    held = {name: HeldTermSets(c.values, c.counts) for name, c in sets.columns.items()}
    found = [*examine_table(policy, columns, warnings=True), *examine_held(policy, held)]
    return [each for each in found if each.gravity is Severity.WARNING]

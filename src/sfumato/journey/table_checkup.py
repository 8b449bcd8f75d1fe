"""The verb `doctor` for a table: the file and the policy, looked at together and tried out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.data_file import NO_FORM, SourceForm
from sfumato.core.errors import BadPolicy, SfumatoError
from sfumato.core.problem import short
from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable
from sfumato.engine.form_of_source import source_form
from sfumato.engine.rows import RowSource
from sfumato.engine.source import Source
from sfumato.engine.survey import ColumnSurvey, Survey
from sfumato.journey.header_row import check_header
from sfumato.journey.policy_argument import load_policy
from sfumato.journey.policy_check import examine_beside
from sfumato.journey.protect_file import protect_file
from sfumato.journey.release_format import release_format
from sfumato.journey.table_argument import open_table
from sfumato.policy.doctor.diagnosis import Diagnosis, Severity, diagnosis_lines
from sfumato.policy.doctor.policy import UNCONFIRMED, examine_path, worst_first
from sfumato.policy.policy import Policy
from sfumato.show.card import Card, Printable, figure, several
from sfumato.show.document import json_ready
from sfumato.system.private_folder import private_folder

REFUSED = "refused"


@dataclass(frozen=True)
class TrialRun:
    """What `protect` made of the table: written in a private folder, judged from its bytes, and removed."""

    format: str
    rows: int
    suppressed: int
    loss: float | int

    def __str__(self) -> str:
        told = (
            f"{several(self.rows - self.suppressed, 'row')} as {self.format}, {self.suppressed:,} suppressed"
        )
        return f"{told}, loss {figure(self.loss)}; judged from its bytes and removed"


@dataclass(frozen=True)
class TableCheckup(Printable):
    """A file and, where one was named, its policy: what is there, and what `protect` makes of it."""

    kind: str
    form: SourceForm
    survey: Survey
    policy: Policy | None
    has_policy: bool
    diagnoses: tuple[Diagnosis, ...]
    trial: TrialRun | None = None

    @property
    def errors(self) -> int:
        return sum(diagnosis.gravity is Severity.ERROR for diagnosis in self.diagnoses)

    @property
    def sound(self) -> bool:
        """Whether nothing stands in the way of `protect`."""
        return not self.errors

    def as_dict(self) -> dict[str, object]:
        return {
            "sound": self.sound,
            "file": {"kind": self.kind, "rows": self.survey.rows, "form": self.form.words},
            "columns": [
                {**_facts(column), "role": self._role(name)} for name, column in self.survey.columns.items()
            ],
            "diagnoses": [json_ready(diagnosis) for diagnosis in self.diagnoses],
            "trial": None if self.trial is None else json_ready(self.trial),
        }

    def card(self) -> Card:
        lines: list[tuple[str, ...]] = [("file", self._file())]
        lines += [("tried", str(self.trial))] if self.trial is not None else []
        lines += [(), *self._columns()]
        return Card(self._title(), lines, [*diagnosis_lines(self.diagnoses), *self._next()])

    def _title(self) -> str:
        if not self.has_policy:
            return "the file can be read"
        if self.sound:
            return "protect will publish this file"
        return f"protect will refuse this: {several(self.errors, 'error')}"

    def _file(self) -> str:
        how = [
            f"{key} {'tab' if word == chr(9) else word}"
            for key, word in self.form.words.items()
            if key != "query"
        ]
        size = f"{several(self.survey.rows, 'row')}, {several(len(self.survey.columns), 'column')}"
        return ", ".join([self.kind, size, *how])

    def _columns(self) -> Iterator[tuple[str, ...]]:
        for name, column in self.survey.columns.items():
            values = (
                several(column.distinct, "value")
                if column.complete
                else f"{column.distinct:,} values or more"
            )
            empty = f"{column.missing:,} empty" if column.missing else ""
            yield short(name), self._role(name) or "", column.kind, values, empty

    def _role(self, name: str) -> str | None:
        if self.policy is None:
            return None
        rule = self.policy.columns.get(name)
        return "not declared" if rule is None else rule.role.value

    def _next(self) -> Iterator[str]:
        if not self.has_policy:
            yield "A policy for it: sfumato init DATA"
        elif self.policy is not None and self.policy.promises.looks_back:
            yield "Tried alone. Beside earlier releases: sfumato release DATA -p POLICY --dry-run"


def _facts(column: ColumnSurvey) -> dict[str, object]:
    return {
        "name": column.name,
        "kind": column.kind,
        "distinct": column.distinct,
        "complete": column.complete,
        "missing": column.missing,
    }


def checkup_table(
    data: AnyTable,
    policy: str | Path | None = None,
    *,
    header: bool = False,
    progress: Progress | None = None,
) -> TableCheckup:
    """Returns what is to be said of a file and a policy together; nothing is published.

    Without a policy, what the file holds. With one, everything that `policy check` finds and, where that is
    nothing but columns that wait for confirmation, what `protect` would refuse: it is tried in a private
    folder. Raises where the file itself cannot be read, or the policy declares none of its columns.
    """
    show = progress or silent
    rules, found = (None, []) if policy is None else _loaded(policy)
    source = open_table(data, policy=rules)
    if rules is None:
        check_header(source, header=header)
        survey = source.survey(progress=show)
    else:
        survey, beside = examine_beside(source, rules, show)
        found += beside
    trial = None
    if rules is not None and all(_may_be_tried(diagnosis) for diagnosis in found):
        trial, refusals = _tried(rules, source, show)
        found += refusals
    form = source_form(source.reader) if isinstance(source, RowSource) else NO_FORM
    said = tuple(worst_first(found))
    return TableCheckup(source.kind, form, survey, rules, policy is not None, said, trial)


def _loaded(policy: str | Path) -> tuple[Policy | None, list[Diagnosis]]:
    """Returns the policy, or what is wrong with its file."""
    try:
        return load_policy(policy), []
    except BadPolicy:
        return None, examine_path(policy)


def _may_be_tried(diagnosis: Diagnosis) -> bool:
    return diagnosis.gravity is not Severity.ERROR or diagnosis.name == UNCONFIRMED


def _tried(policy: Policy, source: Source, progress: Progress) -> tuple[TrialRun | None, list[Diagnosis]]:
    """Protects the table as if every column were confirmed; returns what came of it, or why nothing did."""
    kind = release_format(source)
    try:
        with private_folder() as folder:
            plan, _ = protect_file(source, policy.confirm_all(), folder / f"data.{kind}", progress=progress)
    except SfumatoError as error:
        where = error.where or "table"
        return None, [Diagnosis(REFUSED, Severity.ERROR, where, error.message, 1, error.remedy, error.values)]
    return TrialRun(kind, plan.rows, plan.suppressed, plan.loss), []

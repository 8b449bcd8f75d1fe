"""The verb `policy confirm`: somebody says that columns may be published unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from sfumato.draft.doctor import (
    Diagnosis,
    HeldTermSets,
    Severity,
    examine,
    examine_held,
    examine_path,
    examine_rows,
    worst_first,
)
from sfumato.draft.functional_dependencies import ColumnsBesideKeys
from sfumato.draft.safe_harbor_cells import cell_problems
from sfumato.inputs import AnyPolicy, check_some_declared, load_policy, open_table
from sfumato.policy.columns import forms_of
from sfumato.policy.content import with_entries
from sfumato.policy.other_tools import ArxColumn, ArxProject
from sfumato.policy.policy import Policy
from sfumato.policy.presets import broken_rules
from sfumato.policy.presets import preset as preset_of
from sfumato.policy.taxonomies.files import as_csv
from sfumato.policy.taxonomies.ready.catalogue import CATALOGUE, ReadyTaxonomy
from sfumato.system.disk import read_document
from sfumato.system.errors import BadPolicy, Problem, UsageError, did_you_mean, short
from sfumato.system.presentation.cards import Card, Printable, pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.observers import show_first_texts, survey_with_sets
from sfumato.table.source import AnyTable, Source
from sfumato.table.survey import Survey


def confirm_file(path: str | Path, columns: Sequence[str] = (), *, every: bool = False) -> tuple[str, ...]:
    """Confirms columns in a policy file; returns those that still wait.

    They are taken out of `confirm`; of a sensitive column that no promise protects, the word is written there
    (`dx: true`). With `every`, sensitive columns are left out: each needs a word of its own. Nothing else in
    the file changes, not even its comments. Raises `UsageError` where a column does not wait.
    """
    if every == bool(columns):
        raise (
            UsageError("no column named", remedy="Name columns, or say --all.")
            if not columns
            else UsageError("columns and all at a time", remedy="Name columns, or say --all.")
        )
    file = Path(path)
    policy = Policy.load(file)
    confirmed = policy.confirm_all() if every else policy.confirm_columns(*columns)
    if (policy.confirm, policy.confirmed) == (confirmed.confirm, confirmed.confirmed):
        return tuple(confirmed.waiting)
    text = with_entries(read_document(file).decode("utf-8-sig"), set(confirmed.confirm), confirmed.confirmed)
    aside = file.with_name(f".{file.name}.confirmed")
    aside.write_text(text, encoding="utf-8", newline="")
    try:
        changed = Policy.load(aside)
        written = (changed.digest, dict(changed.confirm), set(changed.confirmed))
        if written != (policy.digest, dict(confirmed.confirm), set(confirmed.confirmed)):
            raise BadPolicy(
                "the entries of confirm cannot be taken out of this file",
                where=file.name,
                remedy="Take them out in an editor.",
            )
        aside.chmod(file.stat().st_mode)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
    return tuple(confirmed.waiting)


# The verb `policy check`: what is wrong with a policy, alone or beside data.


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
        from sfumato.discovery.identifiers import findings  # noqa: PLC0415  # a report asks only what waits

        broken += cell_problems(rules, survey, findings(survey))
    by_place = {problem.place: problem for problem in reversed(broken)}
    return worst_first([*diagnoses, *map(_broken_rule, reversed(by_place.values()))])


def _broken_rule(problem: Problem) -> Diagnosis:
    where = f"column {short(str(problem.place[-1]))}"
    return Diagnosis("safe-harbor", Severity.ERROR, where, problem.message, 1, problem.remedy)


def examine_beside(source: Source, policy: Policy, progress: Progress) -> tuple[Survey, list[Diagnosis]]:
    """Returns what a table holds, which is read once, and what is wrong with a policy beside it."""
    check_some_declared(source.columns, policy)
    here = set(source.columns)
    forms = {name: form for name, form in forms_of(policy).items() if set(form.parts or (name,)) <= here}
    unchanged, diagnoses = ColumnsBesideKeys.of(policy.columns, source.columns), []
    observed = show_first_texts(
        source, unchanged.names, lambda rows: diagnoses.extend(examine_rows(unchanged, rows))
    )
    columns, sets = survey_with_sets(observed, source.columns, forms, progress=progress)
    term_sets = {name: HeldTermSets(column.values, column.counts) for name, column in sets.columns.items()}
    return columns, worst_first([*examine(policy, columns), *examine_held(policy, term_sets), *diagnoses])


# Ready taxonomies for people to look at: a card of all, or one as a hierarchy file.


def ready_list() -> list[dict[str, str]]:
    """Returns name, title, source, date and licence of every ready taxonomy."""
    return [
        {
            "name": entry.name,
            "title": entry.title,
            "source": entry.source,
            "date": entry.date,
            "licence": entry.licence,
        }
        for entry in CATALOGUE.values()
    ]


def ready_card() -> Card:
    """Returns the names and titles of all."""
    lines = [(entry.name, entry.title) for entry in CATALOGUE.values()]
    return Card(
        "ready taxonomies", lines, ["sources and licences: --json; as a file: sfumato policy ready NAME"]
    )


def ready_text(name: str) -> str:
    """Returns a ready taxonomy as a hierarchy file; raises `UsageError` where it has no list."""
    entry = CATALOGUE.get(name)
    if entry is None:
        hint = did_you_mean(name, list(CATALOGUE), otherwise=f"There are {', '.join(CATALOGUE)}.")
        raise UsageError("there is no ready taxonomy of this name", remedy=hint)
    if entry.rule:
        raise UsageError(
            f"{name} has no list: it stands for other words of a policy",
            remedy=f"Write taxonomy: {dict(entry.rule)} instead, and change it there.",
        )
    return as_csv(ReadyTaxonomy(name).listed())


# Taking over a project of ARX: its hierarchies as files, and a first policy that names them.

POLICY, HIERARCHIES = "policy.yaml", "hierarchies"
WITH_TREE = ("quasi", "sensitive")
"""Roles whose hierarchy is of use."""


@dataclass(frozen=True)
class ArxTransfer(Printable):
    """A project that was taken over: what was written, and what somebody has to write by hand."""

    project: ArxProject
    files: dict[str, str]
    faults: tuple[str, ...] = ()

    def card(self) -> Card:
        lines = [(short(column.name), column.role, self._tree_of(column)) for column in self.project.columns]
        return Card("a policy from a project of ARX", lines, list(self._notes()))

    def as_dict(self) -> dict[str, object]:
        """JSON-ready; no value of a hierarchy."""
        return {
            "columns": {
                column.name: {
                    "role": column.role,
                    "file": self.files.get(column.name),
                    "refused": column.refused or None,
                }
                for column in self.project.columns
            },
            "k": self.project.k,
            "models": list(self.project.other_models),
            "faults": list(self.faults),
        }

    def _tree_of(self, column: ArxColumn) -> str:
        if column.name in self.files:
            levels = max(len(row) for row in column.rows)
            return f"{self.files[column.name]}: {pluralize(len(column.rows), 'value')}, {levels} levels"
        return f"hierarchy refused: {column.refused}" if column.refused else "no hierarchy"

    def _notes(self) -> Iterator[str]:
        for model in self.project.other_models:
            yield f"not taken over, write it under promises: {short(model)}"
        yield from self.faults
        yield "roles are those of the project: read them once more, somebody may know more than was thought"


def take_over_arx_project(project: Path, into: Path) -> ArxTransfer:
    """Writes the hierarchies of a project and a policy that names them into a folder, and returns both.

    Roles, hierarchies, levels, the suppression limit and k are taken over; every other privacy model is told
    in ARX's words. No row of the project's data is read. Raises `UsageError` where a file would be replaced.
    """
    read = ArxProject.read(project)
    names = dict(_file_names(read))
    policy = into / POLICY
    taken = [policy, *(into / name for name in names.values())]
    if there := sum(path.exists() for path in taken):
        raise UsageError(
            f"{pluralize(there, 'file')} that would be written exist already",
            remedy="Name another folder with --into.",
        )
    text = _policy_text(read, names)
    (into / HIERARCHIES).mkdir(parents=True, exist_ok=True)
    for column in read.columns:
        if column.name in names:
            (into / names[column.name]).write_text(column.content, encoding="utf-8")
    policy.write_text(text, encoding="utf-8")
    return ArxTransfer(read, names, tuple(_faults(policy)))


def _file_names(project: ArxProject) -> Iterator[tuple[str, str]]:
    """Yields the columns whose hierarchy is of use, and a file name for each that no two share."""
    used: set[str] = set()
    for number, column in enumerate(project.columns):
        if column.role in WITH_TREE and column.rows:
            plain = re.sub(r"[^\w-]+", "_", column.name).strip("_")[:80]
            name = plain if plain and plain.casefold() not in used else f"{plain}_{number + 1}".lstrip("_")
            used.add(name.casefold())
            yield column.name, f"{HIERARCHIES}/{name}.csv"


def _policy_text(project: ArxProject, files: dict[str, str]) -> str:
    """Returns the policy as a file, a line per column."""
    lines = ["# From a project of ARX: read the roles once more, and promise what is missing.", "columns:"]
    for column in project.columns:
        words: dict[str, object] = {"role": column.role}
        if column.name in files:
            ordered = {"ordered": True} if column.ordered else {}
            words["taxonomy"] = {"file": files[column.name], **ordered}
            last = max(len(row) for row in column.rows) - 1
            if column.role == "quasi" and column.least:
                words["start"] = column.least
            if column.role == "quasi" and column.most is not None and column.most < last:
                words["at-most"] = column.most
        lines.append(
            f"  {json.dumps(column.name, ensure_ascii=False)}: {json.dumps(words, ensure_ascii=False)}"
        )
    lines.append("promises:")
    lines += [f"  - k-anonymity: {{k: {project.k}}}"] if project.k else ["  []"]
    lines += [f"  # ARX: {model}" for model in project.other_models if model.isprintable()]
    share = Fraction(project.suppress or 0)
    lines.append(
        f"protect: {{search: lattice, suppress: {json.dumps(str(share) if share else 0)}, price: 1}}"
    )
    return "\n".join(lines) + "\n"


def _faults(policy: Path) -> Iterator[str]:
    """Yields what is still wrong with the policy that was written."""
    try:
        Policy.load(policy)
    except BadPolicy as wrong:
        for problem in wrong.problems:
            yield " ".join(f"{problem['key']}: {problem['message']} {problem['remedy']}".split())

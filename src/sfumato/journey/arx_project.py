"""Taking over a project of ARX: its hierarchies as files, and a first policy that names them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from sfumato.core.errors import BadPolicy, WrongCall
from sfumato.core.problem import short
from sfumato.policy.arx_project import ArxColumn, ArxProject
from sfumato.policy.policy import Policy
from sfumato.show.card import Card, Printable, several

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
            return f"{self.files[column.name]}: {several(len(column.rows), 'value')}, {levels} levels"
        return f"hierarchy refused: {column.refused}" if column.refused else "no hierarchy"

    def _notes(self) -> Iterator[str]:
        for model in self.project.other_models:
            yield f"not taken over, write it under promises: {short(model)}"
        yield from self.faults
        yield "roles are those of the project: read them once more, somebody may know more than was thought"


def take_over_arx_project(project: Path, into: Path) -> ArxTransfer:
    """Writes the hierarchies of a project and a policy that names them into a folder, and returns both.

    Roles, hierarchies, levels, the suppression limit and k are taken over; every other privacy model is told
    in ARX's words. No row of the project's data is read. Raises `WrongCall` where a file would be replaced.
    """
    read = ArxProject.read(project)
    names = dict(_file_names(read))
    policy = into / POLICY
    taken = [policy, *(into / name for name in names.values())]
    if there := sum(path.exists() for path in taken):
        raise WrongCall(
            f"{several(there, 'file')} that would be written exist already",
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
    lines = [
        "# From a project of ARX: read the roles once more, and promise what is missing.",
        "columns:",
    ]
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

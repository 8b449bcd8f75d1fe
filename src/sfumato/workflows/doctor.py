"""The verb `doctor`: is everything there that the program needs, and how to get what is not."""

from __future__ import annotations

import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sfumato.draft.doctor import UNCONFIRMED, Diagnosis, Severity, diagnosis_lines, examine_path, worst_first
from sfumato.inputs import check_header, load_policy, open_table, unheard
from sfumato.policy.policy import Policy
from sfumato.system.address import Address
from sfumato.system.disk import private_folder
from sfumato.system.errors import BadPolicy, SfumatoError, short
from sfumato.system.memory import PROGRAM_BYTES, in_words, machine_memory
from sfumato.system.presentation.cards import Card, Printable, format_number, json_ready, pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.data_file import NO_FORM, SourceForm
from sfumato.table.form_of_source import RowSource, source_form
from sfumato.table.source import AnyTable, Source
from sfumato.table.survey import ColumnSurvey, Survey
from sfumato.workflows.confirm import examine_beside
from sfumato.workflows.protect_file import protect_file
from sfumato.workflows.release import release_format

NEEDED = (
    *("numpy", "numba", "narwhals", "polars", "pyarrow", "duckdb", "ruamel.yaml"),
    *("typer", "rich", "sqlalchemy", "cryptography", "rfc8785", "python-stdnum"),
)
EXTRAS = {
    "pandas": "pandas",
    "pyspark": "spark",
    "psycopg": "postgres",
    "obstore": "stores",
    "altair": "charts",
    "starlette": "studio",
}
OLDEST_JAVA = 17
DISK = 10**9
"""Less room than this on a disk is worth a note."""


class State(StrEnum):
    """How it stands with a part."""

    FINE = "fine"
    NOTE = "note"
    """Missing or short, and only an extra needs it."""
    MISSING = "missing"


@dataclass(frozen=True)
class Requirement:
    """One thing that was looked at: what was found, and what to do about it."""

    part: str
    state: State
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Checkup(Printable):
    """Everything that was looked at."""

    findings: tuple[Requirement, ...]

    @property
    def sound(self) -> bool:
        """Whether everything is there that is needed."""
        return all(part.state is not State.MISSING for part in self.findings)

    def as_dict(self) -> dict[str, object]:
        return {"sound": self.sound, "findings": [json_ready(part) for part in self.findings]}

    def card(self) -> Card:
        worst_first = sorted(self.findings, key=lambda part: [*State].index(part.state), reverse=True)
        lines = [(part.part, part.state.value, part.found) for part in worst_first]
        remedies = [f"{part.part}: {part.remedy}" for part in self.findings if part.remedy]
        title = "everything needed is there" if self.sound else "something needed is missing"
        return Card(title, lines, remedies)


def doctor(
    *, ledger: str | None = None, store: str | None = None, spill: str | Path | None = None
) -> Checkup:
    """Look at Python, packages, compiled code, memory, disk, Java, Spark; at a ledger or store if named."""
    return Checkup(
        (
            _python(),
            *(_package(name) for name in NEEDED),
            *(_extra(name, extra) for name, extra in EXTRAS.items()),
            _java(),
            _compiled(),
            _memory(),
            *_folders(spill),
            *([] if ledger is None else [_ledger(ledger)]),
            *([] if store is None else [_store(store)]),
        )
    )


def _python() -> Requirement:
    fine = sys.version_info >= (3, 11)
    return Requirement(
        "Python",
        State.FINE if fine else State.MISSING,
        platform.python_version(),
        "" if fine else "apt-get install python3.11 python3.11-venv",
    )


def _package(name: str) -> Requirement:
    try:
        return Requirement(name, State.FINE, version(name))
    except PackageNotFoundError:
        return Requirement(name, State.MISSING, "not installed", "pip install sfumato")


def _extra(name: str, extra: str) -> Requirement:
    try:
        return Requirement(name, State.FINE, version(name))
    except PackageNotFoundError:
        return Requirement(name, State.NOTE, "not installed", f"pip install 'sfumato[{extra}]'")


def _java() -> Requirement:
    """Spark alone needs it."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    remedy = "For Spark: apt-get install openjdk-17-jre-headless"
    if java is None:
        return Requirement("Java", State.NOTE, "not found", remedy)
    try:
        answer = subprocess.run(  # noqa: S603  # the system's own Java
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return Requirement("Java", State.NOTE, "cannot be started", remedy)
    named = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if named is None:
        return Requirement("Java", State.NOTE, "does not tell its version", remedy)
    number = int(named[2] or 0) if named[1] == "1" else int(named[1])
    fine = number >= OLDEST_JAVA
    return Requirement("Java", State.FINE if fine else State.NOTE, str(number), "" if fine else remedy)


def _compiled() -> Requirement:
    """Compiled loops are kept beside the package, if that can be written to."""
    kernels = Path(str(importlib.import_module("sfumato.kernels").__file__)).parent
    place = Path(os.environ.get("NUMBA_CACHE_DIR") or kernels / "__pycache__")
    nearest = next(folder for folder in (place, *place.parents) if folder.exists())
    if os.access(nearest, os.W_OK):
        loops = len(list(place.rglob("*.nbi"))) if place.is_dir() else 0
        return Requirement("compiled code", State.FINE, f"{loops} loops kept")
    remedy = "Set NUMBA_CACHE_DIR to a folder that can be written to."
    return Requirement("compiled code", State.NOTE, "cannot be kept: every run compiles again", remedy)


def _memory() -> Requirement:
    total = machine_memory()
    fine = total >= 2 * PROGRAM_BYTES
    remedy = "" if fine else f"Give it {in_words(2 * PROGRAM_BYTES)} at least."
    return Requirement("memory", State.FINE if fine else State.MISSING, in_words(total), remedy)


def _folders(spill: str | Path | None) -> Iterator[Requirement]:
    """The folder for what must not outlive a call, and the one where results go by default."""
    try:
        place = Path(spill) if spill is not None else Path(tempfile.gettempdir())
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        remedy = "Name another with --spill or TMPDIR."
        yield Requirement("temporary folder", State.MISSING, error.strerror or "cannot be written to", remedy)
    else:
        yield _room("temporary folder", place)
    yield _room("this folder", Path())


def _room(part: str, place: Path) -> Requirement:
    free = shutil.disk_usage(place).free
    fine = free >= DISK
    remedy = "" if fine else "Large tables wait there while they are sorted, or are written there: make room."
    return Requirement(part, State.FINE if fine else State.NOTE, f"{in_words(free)} free", remedy)


def _ledger(url: str) -> Requirement:
    from sfumato.releases.ledger.database import LedgerDatabase  # noqa: PLC0415  # databases only when asked for
    from sfumato.releases.ledger.ledger import Ledger  # noqa: PLC0415  # as above

    try:
        if not LedgerDatabase(url).exists:
            remedy = "The first release makes it; PostgreSQL needs the database: createdb NAME."
            return Requirement("ledger", State.NOTE, "reachable, and there is no ledger yet", remedy)
        releases = len(Ledger(url, readonly=True).history())
    except SfumatoError as error:
        return Requirement("ledger", State.MISSING, error.message, error.remedy or "Is the server running?")
    return Requirement("ledger", State.FINE, f"{releases} releases")


def _store(address: str) -> Requirement:
    """Only looked at: whether it can be written to, a release finds out before it counts."""
    from sfumato.releases.targets import Store  # noqa: PLC0415  # stores only when asked for

    try:
        empty = not Store(Address.of(address)).first_names()
    except SfumatoError as error:
        return Requirement("store", State.MISSING, error.message, error.remedy)
    return Requirement("store", State.FINE, f"reachable, {'nothing' if empty else 'something'} is there")


# The verb `doctor` for a table: the file and the policy, looked at together and tried out.

REFUSED = "refused"


@dataclass(frozen=True)
class TrialRun:
    """What `protect` made of the table: written in a private folder, judged from its bytes, and removed."""

    format: str
    rows: int
    suppressed: int
    loss: float | int

    def __str__(self) -> str:
        outcome = (
            f"{pluralize(self.rows - self.suppressed, 'row')} as {self.format}, {self.suppressed:,}"
            " suppressed"
        )
        return f"{outcome}, loss {format_number(self.loss)}; judged from its bytes and removed"


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
        return f"protect will refuse this: {pluralize(self.errors, 'error')}"

    def _file(self) -> str:
        how = [
            f"{key} {'tab' if word == chr(9) else word}"
            for key, word in self.form.words.items()
            if key != "query"
        ]
        size = f"{pluralize(self.survey.rows, 'row')}, {pluralize(len(self.survey.columns), 'column')}"
        return ", ".join([self.kind, size, *how])

    def _columns(self) -> Iterator[tuple[str, ...]]:
        for name, column in self.survey.columns.items():
            values = (
                pluralize(column.distinct, "value")
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
    rules, diagnoses = (None, []) if policy is None else _loaded(policy)
    source = open_table(data, policy=rules)
    if rules is None:
        check_header(source, header=header)
        survey = source.survey(progress=show)
    else:
        survey, beside = examine_beside(source, rules, show)
        diagnoses += beside
    trial = None
    if rules is not None and all(_may_be_tried(diagnosis) for diagnosis in diagnoses):
        trial, refusals = _tried(rules, source, show)
        diagnoses += refusals
    form = source_form(source.reader) if isinstance(source, RowSource) else NO_FORM
    sorted_diagnoses = tuple(worst_first(diagnoses))
    return TableCheckup(source.kind, form, survey, rules, policy is not None, sorted_diagnoses, trial)


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
            plan, _ = protect_file(
                source,
                policy.confirm_columns(*policy.waiting),
                folder / f"data.{kind}",
                warn=unheard,
                progress=progress,
            )
    except SfumatoError as error:
        where = error.where or "table"
        return None, [Diagnosis(REFUSED, Severity.ERROR, where, error.message, 1, error.remedy, error.values)]
    return TrialRun(kind, plan.rows, plan.suppressed, plan.loss), []

"""A policy as the page Declare shows it, and what its table says to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sfumato.draft.doctor import Diagnosis
from sfumato.draft.evidence import NO_FINDING, ColumnProfile
from sfumato.draft.roles import taxonomy_of
from sfumato.inputs import open_table, unheard
from sfumato.models.parameters import (
    ChoiceParam,
    ColumnParam,
    FlagParam,
    FractionParam,
    IntegerParam,
    OptionalParam,
    Parameter,
    ParametrizedPromise,
)
from sfumato.models.quasi_sensitive.knowledge import BeliefLimit
from sfumato.models.registry import definitions
from sfumato.policy.content import ColumnRule
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies.files import Branch, NestedTree
from sfumato.policy.yaml import MOST_FILE_BYTES
from sfumato.releases.certificate import CERTIFICATE
from sfumato.releases.ledger.erasure import withdrawals
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.releases.receipt import Event, Receipt, beside_lines, remarks_on
from sfumato.reports.report import Audience
from sfumato.search.counted_lattice import CountedLattice, LatticeMap
from sfumato.studio.page import Question, policy_within
from sfumato.studio.policy_edit import TERM_MARK
from sfumato.studio.table_view import ChartView
from sfumato.system.disk import LARGEST_NOTE, read_document
from sfumato.system.errors import BadInput, SfumatoError, UsageError, short
from sfumato.system.json_object import JsonObject, read_json
from sfumato.system.presentation.cards import format_number
from sfumato.system.progress import Progress, one_step
from sfumato.table.microdata import Role
from sfumato.table.survey import ColumnSurvey
from sfumato.table.taxonomy import ANY, Taxonomy
from sfumato.workflows.attack import AttackRehearsal, rehearse_attacks
from sfumato.workflows.choices import CountedChoices, Solutions, counted_choices, risk_map
from sfumato.workflows.confirm import examine_beside
from sfumato.workflows.release import release
from sfumato.workflows.report import ModelScores, model_scores, report
from sfumato.workflows.trace import trace

MOST_NODES = 600
"""A tree with more nodes is shown in part, and edited as text."""
MOST_VALUES = 400
"""Columns with more values are not made into a written tree here."""
MOST_EXAMPLES = 6
MOST_TERMS = 200


@dataclass(frozen=True)
class TreeRow:
    """A node of a tree on a page: its path, how deep it is, and whether it is secret."""

    path: str
    label: str
    depth: int
    group: bool
    values: int
    marked: bool
    secret: bool


@dataclass(frozen=True)
class ParameterField:
    """A parameter of a promise in a form; `kind` is that of the field."""

    name: str
    meaning: str
    kind: str
    value: object = ""
    words: tuple[str, ...] = ()
    low: int = 0
    required: bool = True


@dataclass(frozen=True)
class PromiseLook:
    """A promise in plain words, with what can be changed of it."""

    title: str
    sentence: str
    silent_on: str
    fields: tuple[ParameterField, ...]
    name: str = ""
    kind: str = ""


@dataclass(frozen=True)
class LevelLook:
    """A level of a taxonomy beside the data: how many groups there are, and some of them."""

    level: int
    groups: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class ColumnCheckup:
    """What the data says to one column: levels of its taxonomy, values, and a taxonomy that would fit."""

    levels: tuple[LevelLook, ...] = ()
    values: tuple[str, ...] = field(default=(), repr=False)
    proposed: Mapping[str, object] | None = field(default=None, repr=False)
    why: str = ""


@dataclass(frozen=True)
class FindingLook:
    """A finding of the doctor; `column` is the one it is about, where it is about one."""

    diagnosis: Diagnosis
    column: str = ""


@dataclass(frozen=True)
class PolicyCheckup:
    """What a table says to a policy."""

    findings: tuple[FindingLook, ...]
    columns: Mapping[str, ColumnCheckup]


def check_beside(path: Path, policy_path: Path, *, progress: Progress) -> PolicyCheckup:
    """Returns what a table says to a policy; it is read once."""
    policy = policy_within(read_document(policy_path, most=MOST_FILE_BYTES).decode("utf-8-sig"), policy_path)
    source = open_table(path, policy=policy)
    survey, diagnoses = examine_beside(source, policy, progress)
    names = {f"column {short(name)}": name for name in (*survey.columns, *policy.columns)}
    findings = tuple(FindingLook(diagnosis, names.get(diagnosis.where, "")) for diagnosis in diagnoses)
    columns = {name: _checkup(column, policy, survey.rows) for name, column in survey.columns.items()}
    return PolicyCheckup(findings, columns)


def _checkup(column: ColumnSurvey, policy: Policy, rows: int) -> ColumnCheckup:
    if not column.complete or column.kind == "list":
        return ColumnCheckup()
    profile = ColumnProfile.of(column.name, column, rows, NO_FINDING)
    drafted, why = taxonomy_of(profile)
    rule = policy.columns.get(column.name)
    names_people = rule is None or rule.role is Role.IDENTIFIER
    few = column.distinct <= MOST_VALUES and not names_people
    values = tuple(sorted(v for v in column.values if v is not None)) if few else ()
    levels: tuple[LevelLook, ...] = ()
    if rule is not None and rule.taxonomy is not None:
        try:
            levels = tuple(levels_of(rule.tree_of(column.values)))
        except BadInput:  # the doctor says what is wrong with it
            levels = ()
    return ColumnCheckup(levels, values, dict(drafted.spec), why)


def levels_of(tree: Taxonomy) -> Iterator[LevelLook]:
    """Yields the levels of a tree: the nodes that stand for everything below them there.

    >>> [(look.level, look.groups) for look in levels_of(Taxonomy.flat(["a", "b"]))]
    [(0, 2), (1, 1)]
    """
    for level, reached in enumerate(tree.levels):
        nodes = np.unique(reached)
        examples = nodes[:MOST_EXAMPLES] if level else nodes[:0]
        labels = tuple(str(tree.labels[node]) for node in examples)
        yield LevelLook(level, len(nodes), labels)


def tree_rows(rule: ColumnRule) -> tuple[TreeRow, ...]:
    """Returns the nodes of a written tree in order, at most `MOST_NODES` of them."""
    if not isinstance(rule.taxonomy, NestedTree):
        return ()
    marks = secret_labels(rule)
    every = ANY in marks or rule.role is Role.SENSITIVE
    rows: list[TreeRow] = []
    for position, branch in enumerate(rule.taxonomy.branches):
        _rows_of(branch, (position,), marks, every, rows)
        if len(rows) > MOST_NODES:
            break
    return tuple(rows[:MOST_NODES])


def _rows_of(
    branch: Branch, path: tuple[int, ...], marks: frozenset[str], inside: bool, rows: list[TreeRow]
) -> int:
    """Adds a node and what is below it; returns how many values that is."""
    label, below = (branch, ()) if isinstance(branch, str) else branch
    secret = inside or label in marks
    place = len(rows)
    words = ".".join(map(str, path))
    rows.append(TreeRow(words, label, len(path) - 1, bool(below), 0, label in marks, secret))
    values = sum(_rows_of(child, (*path, n), marks, secret, rows) for n, child in enumerate(below)) or 1
    row = rows[place]
    rows[place] = TreeRow(row.path, row.label, row.depth, row.group, values, row.marked, row.secret)
    return values


def secret_labels(rule: ColumnRule) -> frozenset[str]:
    """Returns the labels that a policy marks as secret."""
    words = {} if rule.options is None else rule.options.words()
    marks = words.get("sensitive", ())
    return frozenset(str(label) for label in marks) if isinstance(marks, Sequence) else frozenset()


def promise_looks(policy: Policy) -> tuple[PromiseLook, ...]:
    """Returns the promises that a policy states, in plain words and as forms."""
    return tuple(_look(p, policy) for p in policy.promises.stated if isinstance(p, ParametrizedPromise))


def _look(promise: ParametrizedPromise, policy: Policy) -> PromiseLook:
    parameters = promise.parameters()
    fields = tuple(f for key in promise.keys if (f := _field(key, policy, parameters.get(key.name, ""))))
    return PromiseLook(
        str(promise), promise.in_words(), promise.silent_on, fields, promise.name, promise.kind or ""
    )


def offered_promises(policy: Policy) -> tuple[PromiseLook, ...]:
    """Returns the promises that can be added by a form: those that need no file."""
    looks = []
    for kind in definitions():
        fields = [_field(key, policy, "") for key in kind.keys if key.required]
        if all(fields):
            full = f"{kind.kind} {kind.name}" if kind.kind else kind.name
            editable = tuple(f for f in fields if f is not None)
            sentence = re.sub(r"\{(\w+)[^}]*\}", r"\1", kind.plain.replace("{of}", "the column"))
            looks.append(PromiseLook(full, sentence, kind.silent_on, editable, kind.name, kind.kind or ""))
    return tuple(looks)


def _field(key: Parameter, policy: Policy, value: object) -> ParameterField | None:
    """Returns the field of a form for a parameter; none for files and other long words."""
    parameter = key.parameter if isinstance(key, OptionalParam) else key
    plain = ParameterField(key.name, key.meaning, "exact", value, required=key.required)
    match parameter:
        case IntegerParam():
            return replace(plain, kind="whole", low=parameter.low)
        case FractionParam():
            return plain
        case ColumnParam():
            return replace(plain, kind="choice", words=tuple(policy.columns))
        case ChoiceParam():
            return replace(plain, kind="choice", words=parameter.words)
        case FlagParam():
            return replace(plain, kind="flag")
    return None


@dataclass(frozen=True)
class KnowledgeView:
    """What outsiders are taken to know of a column's terms: labels with their terms.

    It can be edited where all of it is shown and no term holds the mark that stands between terms.
    """

    column: str
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    file: str | None
    editable: bool


def knowledge_tables(policy: Policy) -> tuple[KnowledgeView, ...]:
    """Returns what outsiders are taken to know of terms, column by column."""
    tables: dict[str, KnowledgeView] = {}
    for limit in policy.promises.limits.of_kind(BeliefLimit):
        if not limit.parts and limit.column not in tables:
            knowledge = limit.knowledge
            rows = tuple((label, tuple(sorted(terms))) for label, terms in knowledge.rows[:MOST_TERMS])
            plain = not any(TERM_MARK in term for _, terms in rows for term in terms)
            editable = plain and len(rows) == len(knowledge.rows)
            tables[limit.column] = KnowledgeView(limit.column, rows, knowledge.file, editable)
    return tuple(tables.values())


def taxonomy_kind(rule: ColumnRule) -> str:
    """Returns the key by which a policy names the taxonomy of a column; empty where it has none."""
    spec: JsonObject = {} if rule.taxonomy is None else dict(rule.taxonomy.spec)
    return next(iter(spec), "")


# The work of the page Protect: a lattice that answers any k, and solutions side by side.


@dataclass(frozen=True)
class SolutionsView:
    """Solutions, and the picture of what a larger k costs."""

    solutions: Solutions
    chart: ChartView | None


@dataclass(frozen=True)
class LatticeView:
    """A counted lattice, and the map of it where it is small enough to be looked at."""

    counted: CountedLattice
    map: LatticeMap | None


class LastTable:
    """The table that was counted last, kept by the worker: several jobs ask about the same one."""

    def __init__(self) -> None:
        self._question: Question | None = None
        self._choices: CountedChoices | None = None
        self._lattice: CountedLattice | UsageError | None = None

    def choices(self, question: Question, progress: Progress) -> CountedChoices:
        """Returns the counted table, counted now unless it was counted last."""
        if self._choices is None or self._question != question:
            self._question = self._choices = self._lattice = None
            policy = question.policy()
            against = question.against if policy.promises.looks_back else None
            self._choices = counted_choices(question.data, policy, against=against, progress=progress)
            self._question = question
        return self._choices

    def lattice(self, question: Question, progress: Progress) -> CountedLattice | UsageError:
        """Returns the counted lattice of the table, or why there is none."""
        choices = self.choices(question, progress)
        if self._lattice is None:
            try:
                self._lattice = choices.lattice(progress=progress)
            except UsageError as reason:
                self._lattice = reason
        return self._lattice


_last = LastTable()


def count_lattice(question: Question, *, progress: Progress) -> LatticeView:
    """Returns the counted lattice; raises `UsageError` where there can be none."""
    lattice = _last.lattice(question, progress)
    if isinstance(lattice, UsageError):
        raise lattice
    return LatticeView(lattice, _last.choices(question, progress).lattice_map(progress=progress))


def train_models(
    question: Question, searches: tuple[str, ...], target: str, *, progress: Progress
) -> ModelScores:
    """Returns how well models tell a column that learnt from each solution."""
    return model_scores(question.data, question.policy(), searches, target, progress=progress)


def find_solutions(question: Question, *, progress: Progress) -> SolutionsView:
    """Returns what the policy's search finds, with the picture."""
    lattice = _last.lattice(question, progress)
    choices = _last.choices(question, progress)
    solutions = choices.solutions(progress=progress)
    with one_step(progress, "drawing"):
        counted = None if isinstance(lattice, UsageError) else lattice
        return SolutionsView(solutions, _drawn(choices.policy, counted, solutions))


def _drawn(policy: Policy, lattice: CountedLattice | None, solutions: Solutions) -> ChartView | None:
    chart = risk_map(policy, lattice, solutions.compared)
    return None if chart is None else ChartView.of(chart)


# The work of the page Attack: every adversary, before and after.


def strike(question: Question, *, progress: Progress) -> AttackRehearsal:
    """Attacks the table as it is and as it would be published; beside earlier releases where there are."""
    policy = question.policy()
    against = question.against if policy.promises.looks_back else None
    return rehearse_attacks(question.data, policy, against=against, progress=progress)


# The work of the page Release: rehearsals, releases and reports, and what the ledger tells.

MOST_FOLDERS = 200
"""So many folders are looked at for releases."""
DEEPEST = 2
"""Versions for several recipients are so many folders deep."""


@dataclass(frozen=True)
class ReleaseOrder:
    """What is to be released: to whom, in which chain, to which folder."""

    to: tuple[str, ...]
    chain: str
    into: str


@dataclass(frozen=True)
class VersionView:
    """One version of a release: for whom, what was promised and measured, how it can be told apart."""

    recipient: str
    verdicts: tuple[tuple[str, bool | None, str, str], ...]
    figures: tuple[tuple[str, str], ...]
    beside: tuple[str, ...]
    remarks: tuple[str, ...]
    identifies: str


@dataclass(frozen=True)
class ReleaseView:
    """A release, or the rehearsal of one; `capacity` says how many recipients could be served."""

    published: bool
    folder: str
    versions: tuple[VersionView, ...]
    capacity: str


@dataclass(frozen=True)
class ReleasedFolder:
    """A folder of the opened one that holds a release, and the files in it."""

    path: str
    release: str
    files: tuple[str, ...]


def rehearse(question: Question, order: ReleaseOrder, *, progress: Progress) -> ReleaseView:
    """Returns what would be released, without writing anything."""
    receipt = release(
        question.data,
        question.policy(),
        ledger=question.ledger,
        to=order.to or None,
        chain=order.chain,
        dry_run=True,
        warn=unheard,
        progress=progress,
    )
    return _view(receipt, "")


def publish(question: Question, order: ReleaseOrder, *, progress: Progress) -> ReleaseView:
    """Releases: the table in a new folder and in the ledger, both or neither."""
    receipt = release(
        question.data,
        question.policy(),
        ledger=question.ledger,
        into=question.policy_path.with_name(order.into),
        to=order.to or None,
        chain=order.chain,
        warn=unheard,
        progress=progress,
    )
    return _view(receipt, order.into)


def write_report(question: Question, folder: str, audience: Audience, *, progress: Progress) -> str:
    """Writes the report on a release beside its folder; returns the name of its file."""
    root = question.policy_path.parent
    original = question.data if audience == "internal" else None
    document = report(
        root / folder, question.policy(), original=original, audience=audience, progress=progress
    )
    name = f"report-{folder.replace('/', '-')}-{audience}.html"
    with one_step(progress, "writing"):
        document.save(root / name, overwrite=True)
    return name


def history_of(ledger: str) -> tuple[tuple[ReleaseRecord, str], ...]:
    """Returns the releases of a ledger, oldest first, each with why it was withdrawn, if it was."""
    opened = Ledger(ledger, readonly=True)
    try:
        withdrawn = withdrawals(opened)
        return tuple(
            (record, str(withdrawn[record.release]["reason"]) if record.release in withdrawn else "")
            for record in opened.history(memory=False)
        )
    finally:
        opened.close()


def releases_in(folder: Path) -> tuple[ReleasedFolder, ...]:
    """Returns the releases that lie in a folder, by their certificates; at most so many."""
    folders = []
    for certificate in _certificates(folder):
        inside = certificate.parent
        try:
            entry = read_json(read_document(certificate, most=LARGEST_NOTE))["entry"]
            name = str(entry["release"])
        except (OSError, ValueError, KeyError, TypeError, SfumatoError):
            continue  # somebody else's file of that name
        files = sorted(file.name for file in inside.iterdir() if file.is_file() and not file.is_symlink())
        folders.append(ReleasedFolder(inside.relative_to(folder).as_posix(), name, tuple(files)))
    return tuple(folders)


def _certificates(folder: Path) -> list[Path]:
    certificates, level = [], [folder]
    for _ in range(DEEPEST):
        level = [
            inside
            for above in level
            for inside in sorted(above.iterdir())
            if inside.is_dir() and not inside.is_symlink() and not inside.name.startswith(".")
        ][:MOST_FOLDERS]
        certificates += [inside / CERTIFICATE for inside in level if (inside / CERTIFICATE).is_file()]
    return certificates


def _view(handed_over: Receipt | Event, folder: str) -> ReleaseView:
    receipts: Sequence[Receipt] = handed_over.receipts if isinstance(handed_over, Event) else (handed_over,)
    capacity = handed_over.capacity if isinstance(handed_over, Event) else None
    return ReleaseView(
        handed_over.published,
        folder,
        tuple(_version(receipt) for receipt in receipts),
        "" if capacity is None else str(capacity["sentence"]),
    )


def _version(receipt: Receipt) -> VersionView:
    record, identifying = receipt.record, receipt.identifying_rows
    names = ("rows", "suppressed", "classes", "k", "loss")
    return VersionView(
        record.recipient or "",
        tuple((v["promise"], v["holds"], str(v["measured"]), str(v["limit"])) for v in record.verdicts),
        tuple((name, format_number(record.figures[name])) for name in names if name in record.figures),
        tuple(beside_lines(record.figures)),
        tuple(remarks_on(record.weaker, record.ignore_chains, record.imported)),
        "" if identifying is None else str(identifying["sentence"]),
    )


# The work of the page Trace: whose copy a leak is, and how often an innocent would fit it as well.

MOST_SHOWN = 20
"""So many recipients are shown."""


@dataclass(frozen=True)
class TraceView:
    """What a leak tells: names of recipients and columns, and counts; `verdict` in a sentence.

    `suspects` are recipients, whether they are charged, and how often an innocent fits as well.
    """

    ours: bool
    verdict: str
    charged: tuple[str, ...]
    rows: Mapping[str, int]
    suspects: tuple[tuple[str, bool, str], ...]
    notes: tuple[str, ...]
    charts: tuple[ChartView, ...]


def trace_leak(leak: Path, ledger: str, *, progress: Progress) -> TraceView:
    """Returns whose copy a leak is."""
    traced = trace(leak, ledger=ledger, progress=progress)
    with one_step(progress, "drawing"):
        card = traced.card()
        return TraceView(
            traced.ours,
            card.title,
            traced.charged,
            dict(traced.rows),
            tuple((s.recipient, s.charged, s.chance) for s in traced.suspects[:MOST_SHOWN]),
            tuple(card.notes),
            tuple(ChartView.of(chart) for chart in traced.charts()),
        )

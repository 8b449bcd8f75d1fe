"""A policy as the page Declare shows it, and what its table says to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sfumato.core.beliefs import BeliefLimit
from sfumato.core.errors import BadInput
from sfumato.core.json_object import JsonObject
from sfumato.core.microdata import Role
from sfumato.core.problem import short
from sfumato.core.progress import Progress
from sfumato.core.taxonomy import ANY, Taxonomy
from sfumato.engine.survey import ColumnSurvey
from sfumato.journey.policy_check import examine_beside
from sfumato.journey.table_argument import open_table
from sfumato.policy.column_evidence import NO_FINDING
from sfumato.policy.column_profile import ColumnProfile
from sfumato.policy.column_taxonomy import taxonomy_of
from sfumato.policy.doctor.diagnosis import Diagnosis
from sfumato.policy.policy import ColumnRule, Policy
from sfumato.policy.taxonomies import NestedTree
from sfumato.policy.taxonomies.tree import Branch
from sfumato.policy.yaml import MOST_FILE_BYTES
from sfumato.promises.parameters import Choice, Declared, Exact, Flag, Name, Optional, Parameter, Whole
from sfumato.promises.registry import definitions
from sfumato.studio.policy_edit import TERM_MARK
from sfumato.studio.policy_within import policy_within
from sfumato.system.disk import read_document

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
    findings = tuple(FindingLook(one, names.get(one.where, "")) for one in diagnoses)
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
        shown = nodes[:MOST_EXAMPLES] if level else nodes[:0]
        labels = tuple(str(tree.labels[node]) for node in shown)
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
    return tuple(_look(p, policy) for p in policy.promises if not p.derived and isinstance(p, Declared))


def _look(promise: Declared, policy: Policy) -> PromiseLook:
    held = promise.parameters()
    fields = tuple(f for key in promise.keys if (f := _field(key, policy, held.get(key.name, ""))))
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
            known = tuple(f for f in fields if f is not None)
            said = re.sub(r"\{(\w+)[^}]*\}", r"\1", kind.plain.replace("{of}", "the column"))
            looks.append(PromiseLook(full, said, kind.silent_on, known, kind.name, kind.kind or ""))
    return tuple(looks)


def _field(key: Parameter, policy: Policy, value: object) -> ParameterField | None:
    """Returns the field of a form for a parameter; none for files and other long words."""
    asked = key.asked if isinstance(key, Optional) else key
    plain = ParameterField(key.name, key.meaning, "exact", value, required=key.required)
    match asked:
        case Whole():
            return replace(plain, kind="whole", low=asked.low)
        case Exact():
            return plain
        case Name():
            return replace(plain, kind="choice", words=tuple(policy.columns))
        case Choice():
            return replace(plain, kind="choice", words=asked.words)
        case Flag():
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
            known = limit.knowledge
            rows = tuple((label, tuple(sorted(terms))) for label, terms in known.rows[:MOST_TERMS])
            plain = not any(TERM_MARK in term for _, terms in rows for term in terms)
            editable = plain and len(rows) == len(known.rows)
            tables[limit.column] = KnowledgeView(limit.column, rows, known.file, editable)
    return tuple(tables.values())


def taxonomy_kind(rule: ColumnRule) -> str:
    """Returns the key by which a policy names the taxonomy of a column; empty where it has none."""
    spec: JsonObject = {} if rule.taxonomy is None else dict(rule.taxonomy.spec)
    return next(iter(spec), "")

"""Compatibility of what a policy says of term sets: columns, knowledge, and what tables say together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sfumato.core.beliefs import BeliefLimit
from sfumato.core.knowledge import Knowledge, merged_rows
from sfumato.core.microdata import Role
from sfumato.core.problem import Place, Problem, short
from sfumato.core.promise import Promises
from sfumato.core.spelling import meaning
from sfumato.core.term_sets import VALUE_MARK
from sfumato.policy.compatibility.promise_places import with_places
from sfumato.policy.content import PolicyContent
from sfumato.policy.set_columns import forms_of
from sfumato.promises.quasi_sensitive.joint_tables import MOST_MERGED_ROWS, MOST_TABLES
from sfumato.promises.quasi_sensitive.set_options import SetOptions
from sfumato.promises.quasi_sensitive.set_options import options_of as set_options_of


def set_columns(policy: PolicyContent) -> Iterator[Problem]:
    """Yields what is wrong about set-valued columns."""
    for name, rule in policy.columns.items():
        if rule.role is not Role.QUASI_SENSITIVE:
            continue
        options = set_options_of(rule)
        if options.separator is not None and options.set is not None:
            yield Problem(("columns", name, "separator"), "a column that is part of a set has no separator")
        yield from _part_of_a_set(policy, name, options)
        if options.set is not None and options.set in policy.columns:
            yield Problem(("columns", name, "set"), f"{short(options.set)} is the name of a column")
        if rule.taxonomy is not None:
            yield Problem(
                ("columns", name, "taxonomy"), "term sets are shortened, not generalized along a tree"
            )
    if not 0 <= policy.protect.terms.margin < 1:
        yield Problem(("protect", "terms", "margin"), "must be a share from 0 to below 1")


def _part_of_a_set(policy: PolicyContent, name: str, options: SetOptions) -> Iterator[Problem]:
    """Yields what is wrong about a column that stands for terms of a set."""
    for key, said in (("marks", options.marks is not None), ("values", options.values)):
        if said and options.set is None:
            yield Problem(
                ("columns", name, key), "only a column that is part of a set has it.", "Say which set."
            )
    if options.marks is not None and options.values:
        yield Problem(("columns", name, "marks"), "a column whose values are terms has no marks")
    form = forms_of(policy).get(options.set or "")
    if form is not None and VALUE_MARK in name and any(one.values for one in form.part_forms):
        yield Problem(
            ("columns", name, "set"),
            f"the name holds {VALUE_MARK}, which stands between a column and its value in terms of this set.",
            "Rename the column.",
        )


def one_knowledge(policy: PolicyContent) -> Iterator[Problem]:
    """Yields columns whose terms would be removed for more than one knowledge."""
    if policy.protect.terms.method == "keep":
        return
    known: dict[str, str] = {}
    for i, promise in enumerate(policy.promises):
        for limit in Promises((promise,)).limits.of_kind(BeliefLimit):
            digest = limit.knowledge.digest
            if known.setdefault(limit.column, digest) != digest:
                yield Problem(
                    ("promises", str(i)),
                    f"terms of {short(limit.column)} are removed for one knowledge, and the promises name"
                    " several.",
                    "Join them into one knowledge table, or set protect.terms.method to keep.",
                )


def joint_knowledge(policy: PolicyContent) -> Iterator[Problem]:
    """Yields tables of knowledge that cannot be judged together although they are about the same labels."""
    tables: dict[tuple[str, str], Knowledge] = {}
    places: dict[tuple[str, str], Place] = {}
    for place, promise in with_places(policy):
        for limit in Promises((promise,)).limits.of_kind(BeliefLimit):
            if not limit.parts:
                tables.setdefault((limit.column, limit.knowledge.digest), limit.knowledge)
                places.setdefault((limit.column, limit.knowledge.digest), place)
    if spelled := _label_spelled_twice(tables):
        yield Problem(
            places[spelled],
            "labels of the knowledge differ in nothing but their spelling (case, blanks, points): they would"
            " count as different ones.",
            "Write every label in one way, in all tables of knowledge.",
        )
        return
    seen: dict[frozenset[str], list[Knowledge]] = {}
    for table, knowledge in tables.items():
        labels = frozenset(knowledge.labels)
        if any(labels & others and labels != others for others in seen):
            yield Problem(
                places[table],
                "its knowledge shares some labels with that of another promise, and not all: what both say"
                " together is not judged.",
                "Give both tables the same labels, or no label in common.",
            )
            return
        alike = seen.setdefault(labels, [])
        if alike and alike[0].weights != knowledge.weights:
            yield Problem(
                (*places[table], "prevalence"),
                "another promise is about the same labels and says otherwise how common they are.",
                "Give both promises the same prevalence.",
            )
            return
        alike.append(knowledge)
    for group in seen.values():
        if len(group) > MOST_TABLES:
            what = (
                f"{len(group)} tables of knowledge are about the same labels, and at most {MOST_TABLES} are"
            )
            yield Problem(("promises",), f"{what} judged together.", "Join some of them into one.")
        elif merged_rows(group) > MOST_MERGED_ROWS:
            what = (
                f"what {len(group)} tables of knowledge say together has {merged_rows(group):,} rows, and at"
            )
            remedy = "Give labels fewer rows, or join the tables into one."
            yield Problem(("promises",), f"{what} most {MOST_MERGED_ROWS:,} are judged.", remedy)


def _label_spelled_twice(tables: Mapping[tuple[str, str], Knowledge]) -> tuple[str, str] | None:
    """Returns the first of these tables with another spelling of a label, of its own or of one before it."""
    written: dict[str, str] = {}
    for table, knowledge in tables.items():
        if any(written.setdefault(meaning(label) or label, label) != label for label in knowledge.labels):
            return table
    return None

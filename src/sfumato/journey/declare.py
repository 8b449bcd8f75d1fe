"""Making a policy, and finding what is wrong with one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.knowledge import Knowledge
from sfumato.core.microdata import Coding, Role
from sfumato.core.progress import Progress, silent
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.term_sets import SetForm, terms_of
from sfumato.engine import open_source
from sfumato.engine.source import Source
from sfumato.journey.arguments import AnyPolicy, check_header, policy_of
from sfumato.policy.doctor.diagnosis import Diagnosis, Severity
from sfumato.policy.doctor.knowledge import HeldTermSets
from sfumato.policy.doctor.policy import examine, examine_held, examine_path, worst_first
from sfumato.policy.doctor.safe_harbor import safe_harbor
from sfumato.policy.draft import draft
from sfumato.policy.policy import Policy
from sfumato.policy.presets import preset as preset_of
from sfumato.policy.set_columns import forms_of
from sfumato.promises.quasi_sensitive.knowledge_proposal import propose

if TYPE_CHECKING:
    pass


def declare(data: Any, *, preset: str | None = None, progress: Progress | None = None) -> Policy:
    """A working policy from the data alone, to be read and corrected by whoever knows the data."""
    return draft(open_source(data).survey(progress=progress or silent), preset=preset)


def knowledge(
    data: Any,
    *,
    label: str,
    terms: str | Sequence[str],
    separator: str = ";",
    support: int = 1,
    share: Fraction = Fraction(0),
) -> Knowledge:
    """A knowledge table from a frame or a file: a column of labels beside one of terms.

    `terms` names a column of delimited text, of lists, or of one term per row; or several 0/1 columns. With
    `support` the rows are taken for records about people, and a term belongs to a label if it occurs in that
    many of its records (and in that `share` of them); with 1, all rows of a label are kept as they are.
    """
    form = SetForm(separator) if isinstance(terms, str) else SetForm(parts=tuple(terms))
    codings = [Coding(label, Role.SENSITIVE, _flat), Coding(_SET, Role.QUASI_SENSITIVE, _flat, form)]
    if isinstance(terms, str):
        codings[1] = replace(codings[1], name=terms)
    table = open_source(data).count(codings)
    labels, sets = (table.column(c.name).taxonomy.leaf_labels for c in codings)
    records = [
        (str(labels[a]), terms_of(sets[b]), n)
        for a, b, n in zip(
            table.codes(label).tolist(),
            table.codes(codings[1].name).tolist(),
            table.counts.tolist(),
            strict=True,
        )
        if labels[a] is not None
    ]
    if support > 1 or share > 0:
        return propose(records, support=support, share=share)
    single = all(len(held) <= 1 for _, held, _ in records)
    return propose(records, support=1) if single else Knowledge.of((a, held) for a, held, _ in records)


_SET = "terms"


def _flat(values: Sequence[Label]) -> Taxonomy:
    return Taxonomy.flat(sorted(values, key=lambda value: (value is None, value or "")))


def _sets_held(source: Source, policy: Policy) -> dict[str, HeldTermSets]:
    """The term sets that the set-valued columns of a source hold."""
    found = {}
    for name, form in forms_of(policy).items():
        if set(form.parts or (name,)) <= set(source.columns):
            table = source.count([Coding(name, Role.QUASI_SENSITIVE, _flat, form)])
            found[name] = HeldTermSets(table.column(name).taxonomy.leaf_labels, table.counts)
    return found


def check(
    policy: AnyPolicy, data: Any = None, *, preset: str | None = None, progress: Progress | None = None
) -> list[Diagnosis]:
    """Everything that is wrong with a policy, alone or beside data, worst first, with the repair."""
    asked = preset_of(preset) if preset else None
    source = None if data is None else open_source(data)
    survey = None if source is None else source.survey(progress=progress or silent)
    if isinstance(policy, str | Path):
        found = examine_path(policy, survey)
        if any(diagnosis.name == "policy" for diagnosis in found):
            return found
    meant = policy_of(policy)
    if survey is not None:
        check_header(tuple(survey.columns), meant)
    if not isinstance(policy, str | Path):
        found = examine(meant, survey)
    if source is not None:
        found = worst_first([*found, *examine_held(meant, _sets_held(source, meant))])
    return found + (safe_harbor(meant) if asked and asked.checks_columns else [])


def warnings(policy: AnyPolicy, data: Any = None, *, progress: Progress | None = None) -> list[Diagnosis]:
    """What is allowed and probably not meant: the warnings of `check`, on the columns that are published."""
    meant = policy_of(policy)
    if data is None:
        found = examine(meant)
    else:
        source = open_source(data)
        names = [name for name in meant.published if name in source.columns]
        found = examine(meant, source.survey(names, progress=progress or silent))
        found += examine_held(meant, _sets_held(source, meant))
    return [diagnosis for diagnosis in worst_first(found) if diagnosis.gravity is Severity.WARNING]

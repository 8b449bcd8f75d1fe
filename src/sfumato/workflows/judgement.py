"""Judging what was written: by a second implementation, from the bytes and, where needed, a witness."""

# ruff: noqa: PLC0415  # what compares releases is loaded where there are several

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.inputs import view_policy
from sfumato.models.registry import make
from sfumato.policy.content import ColumnRule
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_column, judge_data, judge_data_of
from sfumato.system.errors import BadData, BrokenPromise
from sfumato.system.json_object import JsonObject
from sfumato.system.memory import Memory
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress
from sfumato.system.verdict import Verdict
from sfumato.table.microdata import BARE, Role
from sfumato.verify.file import recheck
from sfumato.verify.groups import CLASS_NUMBER, GROUP_NUMBER, PERSON_NUMBER, check_members

if TYPE_CHECKING:
    from sfumato.search.plan import Plan


WrittenForm = Mapping[str, str]
"""The `encoding` and the `delimiter` of a written CSV file, where these are not UTF-8 and commas."""
PLAIN: WrittenForm = {}


def judged(
    staged: Path,
    plan: Plan,
    policy: Policy,
    *,
    witness: Path | None,
    form: WrittenForm = PLAIN,
    memory: Memory,
    progress: Progress,
) -> tuple[Verdict, ...]:
    """What a second implementation says of the written bytes, with the witness where there is one."""
    rules = judge_data(policy if plan.reference is None else plan.reference.bind(policy))
    return agreed(recheck(staged, rules, witness=witness, form=form, memory=memory, progress=progress))


def agreed(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The verdicts on the written bytes, if each is for them: any doubt is a no."""
    for verdict in verdicts:
        if verdict.holds is not True:
            raise BrokenPromise(
                f"the written file does not keep {verdict.promise} ({verdict.word}); nothing was published.",
                remedy="The plan said otherwise: please report this.",
            )
    return verdicts


def check_counts(file: Path, document: Mapping[str, object], form: WrittenForm = PLAIN) -> None:
    """Raises `BadData` unless the written file, read again by the judge, leaves this imprint for later."""
    from sfumato.verify.chain.ruling import file_shows

    if not file_shows(file, document, form=form):
        raise BadData(
            "the written file does not hold the counts that later releases would be checked against",
            where=file.name,
            remedy="Columns that are published unchanged need a taxonomy that tells every value apart.",
        )


def judged_in_chain(
    documents: Sequence[Mapping[str, object]], policy: Policy, settled: Sequence[int | None] = ()
) -> tuple[tuple[Verdict, ...], int]:
    """What the second judge says of the promises about earlier releases, and how many targets it leaves open.

    `documents` are the imprints of all releases, oldest first; `settled` says how many candidates it found
    beside each of them, where it was asked then. A promise whose targets are partly open is not
    decided from the published tables.
    """
    from sfumato.attacks.chain_history import judged_beside

    verdicts, most = [], 0
    for promise in policy.promises.cross_release:
        verdict, left_open = judged_beside(documents, promise, settled)
        reason = f"beside {pluralize(len(documents) - 1, 'earlier release')}"
        if left_open:
            not_settled = f"{pluralize(left_open, 'target')} not settled from the tables alone"
            reason += f"; proved on the data, {not_settled}"
        verdicts.append(replace(verdict, reason=reason))
        most = max(most, left_open)
    return tuple(verdicts), most


# The witness of a published file: its rows with a number for each person, for the second judge alone.

AS_PUBLISHED = (".csv", ".tsv", ".parquet", ".pq")
TELLS_ALL = ".jsonl"
"""The witness of any other file: no name of a column, no text and no number is too odd for it."""


def needs_witness(policy: Policy) -> bool:
    """Returns whether promises count people whom the published file does not tell apart."""
    return policy.person is not None and policy.person not in policy.published


def numbered_columns(policy: Policy) -> tuple[str, ...]:
    """Returns the columns of which a witness holds numbers."""
    return (policy.person,) if policy.person is not None and needs_witness(policy) else ()


def witness_path(policy: Policy, staged: Path, private: Path) -> Path | None:
    """Returns where, in a private folder, the witness of a staged file is; nothing if it needs none."""
    suffix = staged.suffix if staged.suffix in AS_PUBLISHED else TELLS_ALL
    return private / f"witness{suffix}" if needs_witness(policy) else None


def judged_view(
    path: Path,
    rules: Mapping[str, Any],
    numbered: Path | None,
    *,
    form: WrittenForm = PLAIN,
    memory: Memory,
    progress: Progress,
) -> tuple[Verdict, ...]:
    """What a second implementation says of a written view: its rows are of different people, bare ones aside.

    `numbered` has the same rows, with numbers of people, groups and classes, in a private folder. Where
    people show several rows, classes that look alike may be of the same people: verdicts are on its classes.
    """
    verdicts = agreed(recheck(path, rules, form=form, memory=memory, progress=progress))
    if numbered is None:
        return verdicts
    agreed((check_members(path, numbered, form=form, memory=memory),))
    if not rules["several"]:
        return verdicts
    return agreed(recheck(numbered, class_rules(rules), form=form, memory=memory, progress=progress))


def class_rules(rules: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns what the judge is told of a file that numbers people, groups and classes: classes are told
    apart.
    """
    unchanged, key = (judge_column(ColumnRule(role)) for role in (Role.INSENSITIVE, Role.QUASI))
    told = {name: {**unchanged, "ranges": False} for name in NUMBERS}
    columns = {**rules["columns"], **told, CLASS_NUMBER: {**key, "ranges": False}}
    return {**rules, "columns": columns, "numbers": NUMBERS}


def rules_of_generations(rules: Mapping[str, Any], policies: Sequence[JsonObject]) -> Mapping[str, Any]:
    """Returns what the judge is told of a file whose groups were made by several policies: which columns it
    has, and the smallest k.

    Boxes have the texts of the tree that they were made with: each policy's groups are judged by it alone.
    """
    least = min(
        max((promise["least_people"] for promise in judge_data_of(words)["promises"]), default=1)
        for words in policies
    )
    key = judge_column(ColumnRule(Role.QUASI))
    columns = {
        name: key if Role(column["role"]).is_key else column for name, column in rules["columns"].items()
    }
    return {**rules, "columns": columns, "promises": [make("k-anonymity", {"k": least}).judge_data()]}


NUMBERS = (PERSON_NUMBER, GROUP_NUMBER)


def view_rules(policy: Policy, *, marked: bool) -> Mapping[str, Any]:
    """Returns what the judge of a view is told: `marked` says whether a column tells bare rows."""
    several = policy.people.rows != 1
    return judge_data(view_policy(policy, marked=marked)) | {
        "bare": BARE if marked else None,
        "several": several,
    }

"""Tables put together by whoever has a register: what the second judge is asked of them, and its ruling."""

# ruff: noqa: PLC0415  # what judges several tables is loaded where there are some

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from sfumato.models.contract import Promise, with_least_people
from sfumato.policy.columns import forms_of
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import Coalition
from sfumato.policy.reference import judge_data
from sfumato.system.errors import BadData, RefusedByHistory
from sfumato.system.progress import Progress, silent
from sfumato.table.arrow_rows import arrow_rows, file_of, words_of
from sfumato.table.source import Source

if TYPE_CHECKING:
    from sfumato.verify.chain.ruling import TablesTogether, TogetherRuling


Document = Mapping[str, object]


@dataclass(frozen=True)
class KnownTable:
    """A table: what is remembered of it, the smaller k of an override, and who holds it, if anybody."""

    document: Document
    k: int | None = None
    holder: str | None = None


def judge_together(
    source: Source,
    policy: Policy,
    tables: Sequence[KnownTable],
    *,
    new: int | None = None,
    progress: Progress = silent,
) -> TogetherRuling:
    """Returns what the second judge says of tables that one person may hold, oldest first.

    The last of them, `new` in number (all, if nothing is said), were not judged together before. The judge
    reads the source with its own reader. Raises where the source does not give the published counts again,
    and `RefusedByHistory` where a promise is broken or cannot be decided.
    """
    from sfumato.verify.chain.ruling import SourceRows, judge_source_file
    from sfumato.verify.chain.source import PositionRequest

    since = next((promise.batch_column for promise in policy.promises.cross_release), None)
    request = PositionRequest.of(judge_data(policy), [table.document for table in tables], since)
    question, ruling = asked_of(policy, tables, new=new), None
    progress("positions", 0, 1)
    if (path := file_of(source)) is not None:
        try:
            ruling = judge_source_file(
                path, source.columns, request, question, form=words_of(source), memory=source.memory
            )
        except BadData:  # the engine has read it, so its rows can be judged
            ruling = None
    if ruling is None:
        with SourceRows(request, memory=source.memory) as rows:
            for batch, counts in arrow_rows(source, rows.wanted, sets=forms_of(policy), progress=progress):
                rows.add(batch, counts)
            ruling = rows.rule(question)
    for verdict in ruling.verdicts:
        if verdict.holds is not True:
            raise RefusedByHistory(
                f"put together with what others hold, the release does not keep {verdict.promise}"
                f" ({verdict.word}: {verdict.reason})",
                remedy="Publish less detail, or ask for less.",
            )
    return ruling


def asked_of(policy: Policy, tables: Sequence[KnownTable], *, new: int | None = None) -> TablesTogether:
    """Returns what is asked of which tables.

    Of values: of the positions of all tables. Of people: of those of every two where only pairs collude, and
    of all otherwise; with a smaller k where somebody was granted that. Of what is likely: of every two tables
    of which one is `new`.
    """
    from sfumato.verify.chain.ruling import TablesTogether

    promises = policy.promises
    looking_back = promises.cross_release
    others = promises.of_class if not looking_back or any(p.asks_others for p in looking_back) else ()
    sizes = [p for p in (*others, *looking_back) if p.by_size]
    values = tuple(p.judge_data() for p in others if not p.by_size)
    every = tuple(range(len(tables)))
    groups = [(every, values)] if values else []
    rule = policy.recipients
    in_pairs = rule is not None and rule.coalition is Coalition.PAIRS
    granted = sorted({table.k for table in tables if table.k is not None})
    for k in (*granted, None):
        concerned = tuple(
            i for i in every if tables[i].k is None or (k is not None and (tables[i].k or 0) >= k)
        )
        together = _of_two_holders(tables, concerned) if in_pairs else [concerned]
        groups += [
            (tables_together, tuple(_people(p, k) for p in sizes))
            for tables_together in together
            if tables_together and sizes
        ]
    first_new = 0 if new is None else len(tables) - new
    pairs = tuple((i, j) for i, j in combinations(every, 2) if j >= first_new)
    likely = tuple(p.judge_data() for p in others if p in promises.about_beliefs)
    return TablesTogether(tuple(groups), pairs, likely)


def _of_two_holders(tables: Sequence[KnownTable], concerned: Sequence[int]) -> list[tuple[int, ...]]:
    """Returns what any two hold together; a table that nobody is named for is one holder's by itself."""
    who = {i: tables[i].holder or f"table {i}" for i in concerned}
    holders = list(dict.fromkeys(who.values()))
    pairs: list[tuple[str, ...]] = [*combinations(holders, 2)] or [tuple(holders)]
    return [tuple(i for i in concerned if who[i] in pair) for pair in pairs]


def _people(promise: Promise, k: int | None) -> dict[str, object]:
    """Returns a promise of people, or of fewer of them, as the judge of k-anonymity is told it."""
    smaller = with_least_people(promise, k) if k is not None and promise.least_people > k else promise
    least = smaller.least_people
    data = {**smaller.judge_data(), "promise": "k-anonymity", "kind": None, "earlier": 0}
    return {**data, "parameters": {"k": least}}


# What is said where recipients cannot all have versions: why, and which tolerance would be enough.


def refused_beside_earlier(enough: Fraction | None) -> RefusedByHistory:
    """Returns the refusal of a version beside earlier ones; with a tolerance of `enough` there is one."""
    if enough is None:
        return RefusedByHistory(
            "no version for a recipient is safe beside what they and others hold",
            remedy="Ask for less frame-proof, or start a new chain; a wider tolerance does not help.",
        )
    return RefusedByHistory(
        "no version for a recipient is safe beside what they and others hold, and as good as the policy asks",
        remedy=f"Set recipients.tolerance to {enough * 100}%, or start a new chain.",
    )


def remedy_for_several(enough: Fraction | None) -> str:
    """Returns what to do where fewer versions of a table fit beside each other than recipients are named."""
    if enough is not None:
        return f"Set recipients.tolerance to {enough * 100}%, or name fewer."
    return "Name fewer, ask for less frame-proof or a smaller coalition, or give taxonomies more levels."

"""Two phases: first the keys are generalized, then terms are removed where a class still says too much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfumato.core.microdata import Microdata, Role
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import ClassPromise, Promise, Promises
from sfumato.policy.policy import Policy
from sfumato.protection.controls import refuse_broken_controls
from sfumato.protection.searches.search import Aim, Outcome, Search
from sfumato.protection.term_removal.one_class import TermLimit
from sfumato.protection.term_removal.report import TermReport

__all__ = [
    "TermReport",
    "is_kept_by_terms",
    "key_promises",
    "removes_terms",
    "search_in_two_phases",
    "with_original",
]


def with_original(policy: Policy, table: Microdata) -> Policy:
    """Returns the policy with what its promises take from this table, the original one."""
    informed = tuple(promise.given_original(table) for promise in policy.promises)
    same = all(new is old for new, old in zip(informed, policy.promises, strict=True))
    return policy if same else replace(policy, promises=Promises(informed))


def key_promises(promises: Promises) -> Promises:
    """Returns the promises that phase one keeps."""
    return Promises(tuple(p for p in promises if not is_kept_by_terms(p)))


def is_kept_by_terms(promise: Promise) -> bool:
    """Whether a promise is about term sets, from which phase two removes terms."""
    return promise.column_role is Role.QUASI_SENSITIVE


def limits_of(promises: Promises) -> list[TermLimit]:
    """Returns what has to be kept in phase two: column by column, or columns that are judged together."""
    by_column: dict[str, list[ClassPromise]] = {}
    for promise in promises.of_class:
        if is_kept_by_terms(promise) and not promise.derived:
            by_column.setdefault(promise.sensitive[0], []).append(promise)
    limits = []
    while by_column:
        column, some = by_column.popitem()
        derived = [p for p in promises.of_class if p.derived and column in p.reads]
        others = dict.fromkeys(name for p in derived for name in p.reads if name in by_column)
        for other in others:
            some += by_column.pop(other)
        limits.append(
            TermLimit.jointly(*some, *derived, *_among(promises, others)) if others else TermLimit.of(*some)
        )
    return limits[::-1]


def _among(promises: Promises, columns: Mapping[str, None]) -> list[ClassPromise]:
    """Returns what is derived for some of these columns together, and of no other."""
    return [p for p in promises.of_class if p.derived and set(p.reads) <= set(columns)]


def removes_terms(policy: Policy) -> bool:
    """Whether there is a second phase."""
    return policy.protect.terms.method != "keep" and bool(limits_of(policy.promises))


def search_in_two_phases(
    search: Search, table: Microdata, policy: Policy, aim: Aim, *, progress: Progress = silent
) -> tuple[Outcome, TermReport | None]:
    """Returns what a search finds, after phase two, and the report of that phase, if there was one."""
    rule = policy.protect.terms
    limits = limits_of(policy.promises)
    if not removes_terms(policy):
        return search(table, policy.promises, aim, progress=progress), None
    from sfumato.protection.term_removal.phase import suppress_terms  # noqa: PLC0415  # most policies have no terms

    outcome = search(table, key_promises(policy.promises), aim, progress=progress)
    left = aim.allowed(table) - outcome.recoding.suppressed
    recoding, report = suppress_terms(outcome.recoding, limits, rule, allowed=left, progress=progress)
    refuse_broken_controls(recoding, aim)
    loss, levels, optimal = outcome.loss, outcome.levels, outcome.optimal
    if recoding.count != outcome.recoding.count or recoding.cuts is None:
        loss = aim.loss_of(recoding, levels if recoding.cuts else None)
        optimal = optimal and recoding.count == outcome.recoding.count
    levels = levels if recoding.cuts else None
    return replace(outcome, recoding=recoding, loss=loss, levels=levels, optimal=optimal), report

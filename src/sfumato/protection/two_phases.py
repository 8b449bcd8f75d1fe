"""Two phases: first the keys are generalized, then terms are removed where a class still says too much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.core.classes import Classes
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promise, Promises
from sfumato.policy.policy import Policy
from sfumato.promises.quasi_sensitive.definition import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.protection.loss import measure
from sfumato.protection.searches.search import Aim, Outcome, Search
from sfumato.protection.term_removal.one_class import QuasiSensitive, TermLimit
from sfumato.protection.term_removal.phase import suppress_terms
from sfumato.protection.term_removal.report import TermReport

__all__ = ["TermReport", "bound", "find_in_two_phases", "of_keys", "removes_terms"]

QUASI_SENSITIVE = "quasi-sensitive"


def bound(policy: Policy, table: Microdata) -> Policy:
    """The policy with the priors that this table, the original one, gives."""
    made: list[Promise] = []
    for promise in policy.promises:
        if isinstance(promise, QuasiSensitiveCloseness):
            everything = Classes.of(table, np.zeros(table.distinct, np.int32), sensitive=promise.sensitive)
            made.append(promise.given_original(everything))
        else:
            made.append(promise)
    same = all(new is old for new, old in zip(made, policy.promises, strict=True))
    return policy if same else replace(policy, promises=Promises(tuple(made)))


def of_keys(promises: Promises) -> Promises:
    """The promises that phase one keeps."""
    return Promises(tuple(p for p in promises if p.name != QUASI_SENSITIVE))


def limits_of(promises: Promises) -> list[TermLimit]:
    """What has to be kept in phase two, column by column."""
    found: dict[str, list[QuasiSensitive]] = {}
    for promise in promises:
        if isinstance(promise, QuasiSensitiveDiversity | QuasiSensitiveCloseness):
            found.setdefault(promise.of, []).append(promise)
    return [TermLimit.of(*some) for some in found.values()]


def removes_terms(policy: Policy) -> bool:
    """Whether there is a second phase."""
    return policy.protect.terms.method != "keep" and bool(limits_of(policy.promises))


def find_in_two_phases(
    search: Search, table: Microdata, policy: Policy, aim: Aim, *, progress: Progress = silent
) -> tuple[Outcome, TermReport | None]:
    """What a search finds, and what phase two made of it, if there was one."""
    rule = policy.protect.terms
    limits = limits_of(policy.promises)
    if not removes_terms(policy):
        return search(table, policy.promises, aim, progress=progress), None
    outcome = search(table, of_keys(policy.promises), aim, progress=progress)
    left = aim.allowed(table) - outcome.recoding.suppressed
    recoding, report = suppress_terms(outcome.recoding, limits, rule, allowed=left, progress=progress)
    loss, levels, optimal = outcome.loss, outcome.levels, outcome.optimal
    if recoding.count != outcome.recoding.count or recoding.cuts is None:
        loss = measure(aim.loss, recoding, levels=levels if recoding.cuts else None, weights=aim.weights)
        optimal = optimal and recoding.count == outcome.recoding.count
    return Outcome(recoding, loss, levels if recoding.cuts else None, optimal, outcome.checked), report

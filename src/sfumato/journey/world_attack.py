"""The verb `attack` for adversaries who know the search, and what it would have published in other worlds."""

from __future__ import annotations

from pathlib import Path

from sfumato.attacks.attack import Attack
from sfumato.attacks.audit import Audit
from sfumato.attacks.audit import audit as audit_source
from sfumato.attacks.worlds.downcoding import Downcoding
from sfumato.attacks.worlds.known_search import STEPS, KnownSearch
from sfumato.attacks.worlds.minimality import ValueMinimality
from sfumato.attacks.worlds.term_removal import TermMinimality
from sfumato.core.errors import WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable
from sfumato.journey.known_removal import known_removal
from sfumato.journey.known_search import known_search
from sfumato.journey.policy_argument import AnyPolicy, load_policy
from sfumato.journey.table_argument import open_table
from sfumato.policy.policy import Policy
from sfumato.policy.reference import Reference, with_reference

TOO_MANY = "there are more worlds than may be listed, and single classes tell nothing: "


def attack_keys(
    data: AnyTable,
    policy: AnyPolicy,
    *,
    steps: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Audit:
    """Attack what the key columns of a published table hide, knowing the policy's search."""
    rules = load_policy(policy)
    known = known_search(rules, steps=STEPS if steps is None else steps, seed=seed)
    return _audit(Downcoding(known), known, data, rules, progress or silent)


def attack_values(
    data: AnyTable,
    policy: AnyPolicy,
    register: AnyTable,
    *,
    steps: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Audit:
    """Attack the sensitive values of a published table, knowing the policy's search and everybody's keys.

    The `register` is a table with the key columns of everybody in the published one, and of whoever was
    suppressed; whatever else it holds is not looked at.
    """
    rules, show = load_policy(policy), progress or silent
    known = known_search(rules, steps=STEPS if steps is None else steps, seed=seed)
    source = open_table(register, policy=rules)
    codings = [coding for coding in rules.codings if coding.role.is_key]
    if absent := [coding.name for coding in codings if coding.name not in source.columns]:
        raise WrongCall(
            f"the register has no column {', '.join(absent)}",
            where="register",
            remedy="It must have every key column of the policy, as it was before it was published.",
        )
    people = source.count(codings, missing=rules.missing, progress=show)
    return _audit(ValueMinimality(known, people), known, data, rules, show)


def attack_terms(
    data: AnyTable,
    policy: AnyPolicy,
    *,
    reference: Reference | str | Path | None = None,
    steps: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Attack what terms that are gone would have given away, knowing how the policy removes them."""
    rules = with_reference(load_policy(policy), data, reference)
    if any(promise.needs_original for promise in rules.promises):
        raise WrongCall(
            "worlds cannot be listed without what was kept of the original table",
            where="reference",
            remedy="Name it with --reference, or store the prior in the policy.",
        )
    known = known_removal(rules, steps=STEPS if steps is None else steps)
    source = open_table(data, policy=rules)
    audit = audit_source(source, rules, attacks=(TermMinimality(known),), progress=progress or silent)
    if audit.failed:
        raise WrongCall(audit.failed[0], where="attack", remedy="See `sfumato attack --help`.")
    if not any(finding.details["classes looked at"] for finding in audit.findings):
        raise WrongCall(
            "term-removal has nothing to strike: every class has more worlds than may be listed",
            remedy="Allow more --steps, or try it on a part of the table.",
        )
    return audit


def _audit(attack: Attack, known: KnownSearch, data: AnyTable, policy: Policy, progress: Progress) -> Audit:
    audit = audit_source(open_table(data, policy=policy), policy, attacks=(attack,), progress=progress)
    if audit.failed:
        raise WrongCall(audit.failed[0], where="attack", remedy="See `sfumato attack --help`.")
    if not audit.findings:
        what = TOO_MANY + known.classes_silent if audit.rows else "the table has no rows"
        raise WrongCall(
            f"{attack.name} cannot strike: {what}",
            remedy="Allow more `--steps`, or attack a part of the table.",
        )
    return audit

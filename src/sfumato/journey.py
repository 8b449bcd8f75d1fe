"""The order of the verbs: the only module that knows what comes after what."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.attack.audit import Audit
from sfumato.attack.audit import audit as audit_source
from sfumato.declare.policy import Policy
from sfumato.engine import open_source
from sfumato.protect.plan import Plan, make_plan
from sfumato.release.publish import check_target, publish
from sfumato.release.recheck import recheck
from sfumato.terms.errors import BrokenPromise
from sfumato.terms.progress import Progress, silent
from sfumato.terms.verdict import Verdict

AnyPolicy = Policy | str | Path | Mapping[str, Any]
"""A policy, the path of its file, or what the file would say."""


def policy_of(given: AnyPolicy) -> Policy:
    """The policy that was meant."""
    if isinstance(given, Policy):
        return given
    return Policy.load(given) if isinstance(given, str | Path) else Policy.from_dict(given)


def protect(data: Any, policy: AnyPolicy, *, progress: Progress | None = None) -> Plan:
    """Find out what each column has to become so that every promise holds.

    `data` is a dataframe (pandas, Polars eager or lazy, PyArrow, DuckDB relation) or the path of a CSV or
    Parquet file. Nothing is written; `plan.apply(data)` makes the safe table.
    """
    told, meant = progress or silent, policy_of(policy)
    source = open_source(data)
    meant.check_columns(source.columns)
    table = source.count(meant.codings, missing=meant.missing, person=meant.person, progress=told)
    return make_plan(table, meant, progress=told)


def protect_file(
    data: Any,
    policy: AnyPolicy,
    out: str | Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> tuple[Plan, tuple[Verdict, ...]]:
    """Protect, and publish to a CSV or Parquet file; the plan, and the verdicts on the bytes of the file.

    The file appears under its name only after a second implementation has read it and agreed.
    """
    target, told, meant = Path(out), progress or silent, policy_of(policy)
    check_target(target, source=Path(data) if isinstance(data, str | Path) else None, overwrite=overwrite)
    plan = protect(data, meant, progress=told)

    def write(staged: Path) -> None:
        open_source(data).write(plan.recoding, staged, drop=meant.dropped, progress=told)

    def judge(staged: Path) -> tuple[Verdict, ...]:
        told("recheck", 0)
        return agreed(recheck(staged, meant), meant)

    return plan, publish(target, write, judge, overwrite=overwrite)


def agreed(verdicts: tuple[Verdict, ...], policy: Policy) -> tuple[Verdict, ...]:
    """The verdicts on the written bytes, if none is against them.

    Where the policy counts people and the column that tells them apart is not published, the file alone
    cannot decide; the plan has, on the people themselves. Any other doubt is a no.
    """
    unseen = policy.person is not None and policy.person not in policy.published
    for verdict in verdicts:
        if verdict.holds is False or (verdict.holds is None and not unseen):
            raise BrokenPromise(
                f"the written file does not keep {verdict.promise} ({verdict.word}); nothing was published.",
                remedy="The plan said otherwise: please report this.",
            )
    return verdicts


def audit(data: Any, policy: AnyPolicy, *, progress: Progress | None = None) -> Audit:
    """Judge a published table, and attack it as every adversary would; nothing but the table is looked at."""
    return audit_source(open_source(data), policy_of(policy), progress=progress or silent)


def attack(name: str, data: Any, policy: AnyPolicy, *, progress: Progress | None = None) -> Audit:
    """One adversary alone."""
    return audit_source(open_source(data), policy_of(policy), attacks=(name,), progress=progress or silent)


def declare(data: Any, *, preset: str | None = None, progress: Progress | None = None) -> Policy:
    """A working policy from the data alone, to be read and corrected by whoever knows the data."""
    raise NotImplementedError

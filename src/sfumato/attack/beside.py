"""An audit beside the releases of a chain: what the table gives away together with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.attack.across import Corresponding, adversaries
from sfumato.attack.attack import Attack, strike_all, worst_first
from sfumato.attack.audit import Audit, Beside
from sfumato.attack.correspondence import Correspondence, asked_k, correspondence
from sfumato.attack.objection import Objection
from sfumato.attack.published import Published
from sfumato.attack.standing import counted, imprint_of, is_release
from sfumato.attack.tolerance import Tolerance
from sfumato.declare.policy import Policy
from sfumato.engine.source import Source
from sfumato.terms.errors import SfumatoError
from sfumato.terms.imprint import Imprint
from sfumato.terms.progress import Progress, silent
from sfumato.terms.promise import BesideEarlier
from sfumato.terms.verdict import Finding, Verdict

NOT_COMPARED = "the table cannot be held against the earlier releases"


def held_against(
    found: Audit,
    source: Source,
    policy: Policy,
    releases: Sequence[Imprint],
    *,
    chain: str,
    only: str | None = None,
    progress: Progress = silent,
) -> Audit:
    """The audit of a table, continued beside the releases of a chain, oldest first.

    A table that is one of the releases is looked at where it stands; any other as the release that would
    come next. Promises about earlier releases are decided, and everybody strikes who holds all of them, or
    the one that `only` names.
    """
    beside = Beside(chain, len(releases))
    try:
        table = counted(source, releases[-1], progress=progress)
        place = next((i for i, release in enumerate(releases) if is_release(table, release)), None)
        if place is None:
            releases = (*releases, imprint_of(table, releases[-1], policy=policy))
        else:
            beside = replace(beside, place=place + 1)
        progress("beside earlier releases", 0)
        joint = correspondence(releases, policy)
    except SfumatoError as refused:
        return not_compared(replace(found, beside=beside), refused)
    findings, failed = _strike(joint, releases, policy, only)
    verdicts = [_decided(v, joint, policy) for v in found.verdicts]
    return replace(
        found,
        verdicts=tuple(verdicts),
        findings=worst_first([*found.findings, *findings]),
        failed=(*found.failed, *failed),
        beside=beside,
    )


def not_compared(found: Audit, why: SfumatoError) -> Audit:
    """The audit, with the question left open."""
    objection = Objection(f"{NOT_COMPARED}: {why.message}", (), None)
    return replace(found, objections=(*found.objections, objection))


def _strike(
    joint: Correspondence, releases: Sequence[Imprint], policy: Policy, only: str | None
) -> tuple[list[Finding], tuple[str, ...]]:
    tolerance = Tolerance.of(policy.promises)
    chosen = [a for a in adversaries(releases, policy) if only in (None, a.name)]
    matched = [a for a in chosen if isinstance(a, Corresponding) and len(releases) > 1]
    others: list[Attack] = [a for a in chosen if not isinstance(a, Corresponding)]
    asked = asked_k(policy) or int(1 / tolerance.linkage_limit[0])
    told = [finding for a in matched for finding in a.told(joint, asked)]
    nothing: Published = None  # type: ignore[assignment]  # these adversaries look at imprints alone
    findings, failed = strike_all(nothing, others, tolerance)
    return [*told, *findings], failed


def _decided(verdict: Verdict, joint: Correspondence, policy: Policy) -> Verdict:
    """The verdict on a promise about earlier releases; any other as it is."""
    for promise in policy.promises:
        if isinstance(promise, BesideEarlier) and verdict.promise == str(promise):
            bound = "" if joint.certain else "; a bound, not the exact number"
            return Verdict(
                verdict.promise,
                joint.holds,
                joint.least,
                joint.k or 0,
                evidence=promise.evidence,
                reason=f"beside {len(joint.targets) - 1} other releases{bound}",
            )
    return verdict

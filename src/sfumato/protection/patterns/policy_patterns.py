"""The patterns of a table under a policy."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import RecipientRule
from sfumato.protection.patterns.metrics import METRICS
from sfumato.protection.patterns.patterns import Patterns, classify
from sfumato.protection.people_check import check_people
from sfumato.protection.plan import aim_of
from sfumato.protection.two_phases import key_promises, with_original


def patterns_of(
    table: Microdata,
    policy: Policy,
    *,
    quality: str | None = None,
    tolerance: Fraction | None = None,
    progress: Progress = silent,
) -> Patterns:
    """Returns every pattern of the policy's key columns, judged by its promises.

    Versions are equally good by `quality`, a metric, up to `tolerance`; where these are not given, as the
    policy says of recipients, else equal in the loss that it keeps small. Where terms are removed
    for a quasi-sensitive promise, that comes after a pattern is chosen: here only the promises that levels
    decide are judged.
    """
    rule = policy.recipients or RecipientRule()
    metric = quality or rule.quality or policy.protect.loss
    share = rule.tolerance if tolerance is None else tolerance
    if metric not in METRICS:
        raise WrongCall(f"patterns have no metric '{metric}'", remedy=f"Known: {', '.join(METRICS)}.")
    if share < 0:
        raise WrongCall("a tolerance is not negative", remedy="0 means equal quality.")
    check_people(table, policy.promises)
    meant = with_original(policy, table)
    promises = meant.promises if policy.protect.terms.method == "keep" else key_promises(meant.promises)
    patterns = classify(table, promises, aim_of(policy), progress=progress)
    return replace(patterns, quality=metric, tolerance=share)

"""Sensitive columns in which many cells are empty, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfumato.core.limits import ABSENCE, AttackLimits
from sfumato.core.problem import short
from sfumato.core.spelling import Spelling, meaning
from sfumato.policy.column_evidence import ColumnEvidence
from sfumato.policy.doctor.diagnosis import Diagnosis, Severity
from sfumato.policy.policy import ColumnRule, Policy

SPARSE = Fraction(1, 10)
"""From this share of empty cells on, what they cost is said."""


def sparse_values(
    name: str, rule: ColumnRule, column: ColumnEvidence, policy: Policy, rows: int
) -> Iterator[Diagnosis]:
    """Yields a warning where a promise looks at those who have a value alone, and many have none."""
    asked = [promise for promise in policy.promises if promise.known_alone and name in promise.sensitive]
    count = _empty(rule, column)
    if not asked or count < SPARSE * rows:
        return
    share = Fraction(count, rows)
    keys = " and ".join(f"`{key}`" for key in dict.fromkeys(promise.name for promise in asked))
    verb = "counts" if keys.count("`") == 2 else "count"
    what = f"it is empty in {float(share):.0%} of rows: {keys} {verb} among the rows that have a value"
    allowed, _ = AttackLimits.of(limit for promise in asked for limit in promise.limits()).limit(
        ABSENCE, name
    )
    if share > allowed:
        what += f", and allows a share of {allowed} without one"
    remedy = "Fill it, drop it, or ask less: groups have to be larger than if every row had one."
    yield Diagnosis("sparse", Severity.WARNING, f"column {short(name)}", what, count, remedy)


def _empty(rule: ColumnRule, column: ColumnEvidence) -> int:
    """Returns how many cells are missing, or say in words that nothing is known."""
    if rule.spelling is not Spelling.FOLDED:
        return column.missing
    pairs = zip(column.values, column.counts.tolist(), strict=False)
    return column.missing + sum(int(n) for text, n in pairs if text is not None and meaning(text) is None)

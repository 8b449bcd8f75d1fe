"""Cards for people: an audit, and a table before and after."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from sfumato.attack.audit import Audit
from sfumato.terms.card import Card, Lines, aligned, several, verdict_lines
from sfumato.terms.verdict import Finding


def audit_card(audit: Audit) -> Card:
    """One line per promise and per attack, worst first."""
    struck = attack_card(audit.findings)
    remarks = [o for o in audit.objections if o.holds is not False]
    notes = [o.sentence + (f": {', '.join(o.columns)}" if o.columns else "") for o in remarks]
    title = "every promise holds"
    for holds, words in ((None, "not decidable from this file"), (False, "broken")):
        if count := sum(v.holds is holds for v in audit.verdicts):
            title = f"{several(count, 'promise')} of {len(audit.verdicts)} {words}"
    return Card(title, [*verdict_lines(audit.verdicts), (), *struck.lines], notes)


def attack_card(findings: Sequence[Finding]) -> Card:
    """One line per finding, worst first."""
    order = sorted(findings, key=lambda f: (not f.breach, -f.confidence))
    won = sum(f.breach for f in order)
    title = f"{several(won, 'attack')} of {len(order)} succeeded"
    return Card(title, [finding_line(f) for f in order])


def finding_line(finding: Finding) -> tuple[str, ...]:
    """An attack, whether it got more than is allowed, and how."""
    who, colon, _ = finding.adversary.partition(":")
    name = f"{finding.attack}, {who}" if colon else finding.attack
    return (name, "BREACH" if finding.breach else "withstood", finding.sentence)


def values_of(findings: Sequence[Finding]) -> list[str]:
    """The values that findings are about, for somebody who asked to see them: never part of a card."""
    return [
        f"{finding.attack}: {', '.join(f'{name} = {value}' for name, value in finding.values.items())}"
        for finding in findings
        if finding.values
    ]


def side_by_side(before: Lines, after: Lines, *, titles: tuple[str, str]) -> str:
    """Two small tables beside each other, header first.

    >>> print(side_by_side([("zip",), ("02138",)], [("zip",), ("021**",)], titles=("before", "after")))
    before  │  after
    zip     │  zip
    02138   │  021**
    """
    left, right = aligned(before), aligned(after)
    width = max(len(line) for line in (titles[0], *left))
    pairs = zip_longest((titles[0], *left), (titles[1], *right), fillvalue="")
    return "\n".join(f"{a.ljust(width)}  │  {b}".rstrip() for a, b in pairs)

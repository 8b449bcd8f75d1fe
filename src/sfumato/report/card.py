"""Cards for people: an audit, and a table before and after."""

from __future__ import annotations

from itertools import zip_longest

from sfumato.attack.audit import Audit
from sfumato.terms.card import Card, Lines, aligned, several, verdict_lines
from sfumato.terms.verdict import Finding


def audit_card(audit: Audit, *, show_values: bool = False) -> Card:
    """One line per promise and per attack, worst first."""
    findings = sorted(audit.findings, key=lambda f: (not f.breach, -f.confidence))
    lines = [*verdict_lines(audit.verdicts), (), *(finding_line(f) for f in findings)]
    notes = [
        o.sentence + (f": {', '.join(o.columns)}" if o.columns else "")
        for o in audit.objections
        if o.holds is not False
    ]
    notes += [note for f in findings if show_values and (note := _values(f))]
    broken = sum(v.holds is False for v in audit.verdicts)
    unknown = sum(v.holds is None for v in audit.verdicts)
    if broken:
        title = f"{several(broken, 'promise')} of {len(audit.verdicts)} broken"
    elif unknown:
        title = f"{several(unknown, 'promise')} of {len(audit.verdicts)} not decidable from this file"
    else:
        title = "every promise holds" if audit.verdicts else "attacked"
    return Card(title, lines, notes)


def finding_line(finding: Finding) -> tuple[str, ...]:
    """An attack, whether it got more than is allowed, and how."""
    who, colon, _ = finding.adversary.partition(":")
    name = f"{finding.attack}, {who}" if colon else finding.attack
    return (name, "BREACH" if finding.breach else "withstood", finding.sentence)


def _values(finding: Finding) -> str:
    shown = ", ".join(f"{name} = {value}" for name, value in finding.values.items())
    return f"{finding.attack}: {shown}" if shown else ""


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
